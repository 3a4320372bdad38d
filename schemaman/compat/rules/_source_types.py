"""Finds a column whose type at the source has other parameters, while events carry the same type."""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Finding, Transition, Verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import ChangeAttribute


def find_parameter_changes(
    rule: str, verdicts: Verdicts, transition: Transition, words: frozenset[str], effect: str, fix: str
) -> Iterator[Finding]:
    """Find columns whose word at the source is one of `words` on both sides, with other parameters."""
    for change in transition.changes:
        match change:
            case ChangeAttribute(path, "source_type", str() as old, str() as new):
                if {_read_word(old), _read_word(new)} <= words and _fold(old) != _fold(new):
                    yield Finding(
                        rule,
                        transition.table,
                        path,
                        old,
                        new,
                        f"{_words.join_path(path)} went from {old} to {new}: {effect}",
                        verdicts,
                        fixes=(fix,),
                        claims=(("type-alias-only", path),),
                    )
            case _:
                continue


def _read_word(text: str) -> str:
    return _fold(text).partition("(")[0]


def _fold(text: str) -> str:
    return text.casefold().replace(" ", "")
