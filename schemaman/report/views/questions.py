"""Builds the view of open questions: one grid in `status` and in `digest`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.history.open_questions import OpenQuestion
from schemaman.model.shell import PROGRAM
from schemaman.report.document import Block, Grid, Text
from schemaman.report.views import words


def build_questions_grid(questions: Sequence[OpenQuestion]) -> Iterator[Block]:
    """Show each open question with the commands that settle it; nothing without questions."""
    if questions:
        rows = tuple(
            (
                (Text(q.table, code=True),),
                (Text(q.text),),
                (Text("; ".join(q.commands), code=True),),
                (Text(q.otherwise, code=True) if _is_command(q.otherwise) else Text(q.otherwise, "muted"),),
            )
            for q in questions
        )
        title = words.format_count(len(rows), "open question")
        yield Grid(title, ("table", "question", "command if so", "otherwise"), rows)


def _is_command(text: str) -> bool:
    return text.startswith(f"{PROGRAM} ")
