"""Builds the JSON members of open questions: one shape in `status` and in `digest`."""

from __future__ import annotations

from collections.abc import Iterable

from schemaman.history.open_questions import OpenQuestion
from schemaman.report.json.tables import Json


def build_questions(questions: Iterable[OpenQuestion]) -> list[Json]:
    """A document for each question; `otherwise` is null where there is nothing to say."""
    return [
        {"table": q.table, "text": q.text, "commands": [*q.commands], "otherwise": q.otherwise or None}
        for q in questions
    ]
