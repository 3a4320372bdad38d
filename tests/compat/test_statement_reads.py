"""Which columns a statement reads, in which role: statements of several dialects, marked by hand."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schemaman.compat.impact.parsing import ParsedStatement, parse_statements
from schemaman.compat.impact.relations import Relation, Relations
from schemaman.compat.impact.statement_reads import read_statement

LETTERS = {
    "p": "projected", "f": "filter", "j": "join-key", "g": "group-key", "o": "order", "w": "window",
    "a": "aggregated", "s": "whole-row", "x": "excluded", "W": "written",
}  # fmt: skip
COLUMNS = {
    "orders": ("id", "customer_id", "status", "total", "placed_at", "address", "items", "payload"),
    "customers": ("id", "name", "email", "region"),
    "lines": ("order_id", "sku", "qty", "price"),
    'Odd "Table"': ("odd, name", "a`b"),
}
SHORT = {"o": "orders", "c": "customers", "l": "lines", "q": 'Odd "Table"'}
RELATIONS = Relations.of(
    Relation(
        name,
        (("inventory", "public", name), ("lake", name)),
        columns,
        ("former",),
        ("_row_order", "_row_deleted"),
    )
    for name, columns in COLUMNS.items()
)
_MARK = re.compile(r"(?P<table>[oclq])\.(?P<path>[^=]+)=(?P<roles>\w+)|! (?P<count>\d+)|-")

Expected = tuple[dict[str, frozenset[str]], int]


@dataclass(frozen=True, slots=True)
class Marked:
    """A statement of a dialect, and the roles of each column; then how many names are unresolved."""

    language: str
    sql: str
    expected: Expected


def marked_statements() -> Iterator[Marked]:
    lines = (Path(__file__).parent / "marked_statements.txt").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    for head, marks in zip(kept[::2], kept[1::2], strict=True):
        languages, sql = head[1:].split("] ", 1)
        for language in languages.split():
            yield Marked(language, sql, parse_marks(marks))


def parse_marks(text: str) -> Expected:
    roles: dict[str, frozenset[str]] = {}
    unresolved = 0
    for mark in _MARK.finditer(text):
        if mark["count"]:
            unresolved = int(mark["count"])
        elif mark["table"]:
            table = SHORT[mark["table"]]
            paths = COLUMNS[table] if mark["path"] == "*" else (mark["path"],)
            roles |= {f"{table}.{p}": frozenset(LETTERS[one] for one in mark["roles"]) for p in paths}
    return roles, unresolved


MARKED = tuple(marked_statements())


def tree_of(marked: Marked) -> Any:
    (parsed,) = parse_statements(marked.sql, marked.language)
    assert isinstance(parsed, ParsedStatement), parsed
    return parsed.tree


def read(marked: Marked) -> Expected:
    found = read_statement(tree_of(marked), RELATIONS, marked.language)
    uses: dict[str, frozenset[str]] = {
        f"{key}.{'.'.join(path)}": frozenset(roles) for (key, path), roles in found.uses.items()
    }
    return uses, len(found.unresolved)


@pytest.mark.parametrize("language", sorted({marked.language for marked in MARKED}))
def test_each_marked_statement_reads_exactly_its_columns(language: str) -> None:
    wrong = {m.sql: (read(m), m.expected) for m in MARKED if m.language == language and read(m) != m.expected}
    assert not wrong


def test_nearly_all_names_are_resolved(figure: Callable[[str, object], None]) -> None:
    """A statement that is not read fails in `read`."""
    found = [read_statement(tree_of(marked), RELATIONS, marked.language) for marked in MARKED]
    resolved, missed = sum(one.columns for one in found), sum(len(one.unresolved) for one in found)
    share = resolved / (resolved + missed)
    figure("marked SQL statements, each read exactly", len(MARKED))
    figure("their references to columns, and the resolved share", f"{resolved}, {share:.1%}")
    sys.stdout.write(f"{len(MARKED)} statements, {resolved} references, {share:.1%} resolved\n")
    assert len(MARKED) >= 300
    assert share >= 0.95
