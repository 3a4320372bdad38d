"""The sheets in `fixtures/dialects`: declared columns, and below each what it becomes in events.

A row is `witness, attributes, type, told, lost`, with tabs between. `declared`: the loose parts of a column
and, last, how its type is spelled. `emitted`: a Connect schema node that the declared column above becomes
(`null` where it is left out), and in which settings; none are named where it is so in all that no other row
names. A fifth cell says what the node lost. `wire`: a node that stands alone. `unread`: a type of a statement
that Debezium's parser does not read. `#` begins a comment with the source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemaman.debezium.connector import DeclaredColumn
from tests.support.checkout import FIXTURES

HEAD = "witness\tattributes\ttype\ttold\tlost"
FOLDER = FIXTURES / "dialects"
ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `declared` is the line number of the declared row that an emitted one belongs to."""

    dialect: str
    number: int
    witness: str
    attributes: Any
    type: str
    told: str
    lost: str
    declared: int

    def __str__(self) -> str:
        return f"{self.dialect}:{self.number}"


def lines(dialect: str) -> list[str]:
    """The sheet of a dialect, line by line, without its head."""
    first, *rest = (FOLDER / f"{dialect}.tsv").read_text(encoding="utf-8").splitlines()
    assert first == HEAD, dialect
    return rest


def rows(dialect: str) -> list[Row]:
    """The rows of a sheet, without comments."""
    found: list[Row] = []
    declared = 0
    for number, line in enumerate(lines(dialect), 2):
        if line.startswith("#"):
            continue
        witness, attributes, type, told, lost = [*line.split("\t"), "", "", ""][:5]
        declared = number if witness == "declared" else declared
        found.append(Row(dialect, number, witness, json.loads(attributes), type, told, lost, declared))
    return found


def sheets() -> list[str]:
    """The names of all dialects that have a sheet."""
    return sorted(path.stem for path in FOLDER.glob("*.tsv"))


def declared_column(attributes: Mapping[str, Any]) -> DeclaredColumn:
    """The column that the loose parts of a declared row tell; labels come as a statement quotes them."""
    labels = attributes.get("enum_values")
    return DeclaredColumn(
        name="c",
        jdbc_type=attributes.get("jdbc_type", 0),
        type_name=attributes["type_name"],
        type_expression=None,
        length=attributes.get("length"),
        scale=attributes.get("scale"),
        position=1,
        nullable=True,
        enum_values=None if labels is None else tuple(labels),
    )


def line(witness: str, attributes: object, type: str, told: str = "", lost: str = "") -> str:
    """A row as it stands in a sheet."""
    cells = [witness, json.dumps(attributes, ensure_ascii=False), type, told, lost]
    return "\t".join(cells).rstrip("\t")


def write(dialect: str, body: Sequence[str]) -> None:
    """Replace the sheet of a dialect."""
    text = "\n".join([HEAD, *body]) + "\n"
    Path(FOLDER / f"{dialect}.tsv").write_text(text, encoding="utf-8")
