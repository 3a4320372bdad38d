"""The sheets in `fixtures/dialects` say what Debezium's own classes say, in every mode.

`--bless` writes down what Debezium says now, below each declared row that names a type as SQL writes it, a
JDBC type or a modifier; the reviewer reads the diff. What needs a live server is not asked here: which JDBC
type and length a driver tells of a Db2, SQL Server or Oracle column (the sheets cite the drivers), and which
types a PostgreSQL server has (the driver's constants stand in).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemaman.debezium.connector import CONNECTORS, DeclaredColumn
from schemaman.debezium.connectors._type_expression import format_type_expression
from schemaman.debezium.converters.connect import read_columns, read_type
from schemaman.debezium.table_changes import unquote_label
from schemaman.history.fold.event_match import find_loss, has_nullability
from schemaman.model.ddl import format_type
from tests.jvm.debezium import OPTIONS, Answer, Node, ask, settings
from tests.support import type_sheets as sheets
from tests.support.type_sheets import ABSENT, Row, declared_column

_TOLD = {"jdbcType": "jdbc_type", "typeName": "type_name", "length": "length", "scale": "scale"}
_SILENT = {"mysql": {"Geometry"}, "mariadb": {"Geometry"}, "postgresql": {"Geometry", "Geography"}}
ASKED = sorted(OPTIONS)
Answers = dict[str, list[tuple[Row, Answer]]]


def asked(row: Row) -> bool:
    """Whether Debezium can be asked about the row."""
    return row.witness == "unread" or (
        row.witness == "declared" and bool({"sql", "jdbc_type", "modifier"} & set(row.attributes))
    )


@pytest.fixture(scope="module")
def answers() -> Answers:
    """For each connector the rows that Debezium was asked about, with its answers."""
    found = {name: [row for row in sheets.rows(name) if asked(row)] for name in ASKED}
    told = ask({name: [row.attributes for row in each] for name, each in found.items()})
    return {name: list(zip(found[name], told[name], strict=True)) for name in ASKED}


def attributes(row: Row, answer: Answer) -> Node:
    """The loose parts of a column, as `tableChanges` tells them."""
    assert isinstance(answer.declared, dict), f"{row}: {answer.declared}"
    kept = {k: v for k, v in row.attributes.items() if k in ("sql", "modifier")}
    told = {ours: answer.declared[theirs] for theirs, ours in _TOLD.items()}
    labels = answer.declared["enumValues"]
    told["enum_values"] = None if labels is None else [unquote_label(each) for each in labels]
    return kept | {k: v for k, v in told.items() if v is not None}


def becomes(connector: str, answer: Answer) -> list[tuple[Node | None, str]]:
    """Each node with the settings that make it: none are named for the first, which stands for all others."""
    nodes = [_bare(field) for field in answer.fields[:-1]]
    groups: dict[str, list[str]] = {json.dumps(nodes[0]): []}
    for setting, node in zip(settings(connector)[1:-1], nodes[1:], strict=True):
        if node != nodes[0]:
            groups.setdefault(json.dumps(node), []).extend(f"{k}={v}" for k, v in setting.items())
    return [(json.loads(node), " ".join(made)) for node, made in groups.items()]


def _bare(field: Node | None) -> Node | None:
    return None if field is None else {k: v for k, v in field.items() if k not in ("field", "optional")}


def told(connector: str, row: Row, answer: Answer) -> list[str]:
    """The declared row and the emitted rows below it."""
    if row.witness == "unread":
        assert isinstance(answer.declared, str), f"{row}: it can be read now"
        return [sheets.line("unread", row.attributes, row.type)]
    parts = attributes(row, answer)
    column: DeclaredColumn = declared_column(parts)
    source = CONNECTORS.get(connector).declared_type(column)
    spelled = format_type_expression(column.type_name, column.length, column.scale, column.enum_values)
    found = [sheets.line("declared", parts, format_type(source), spelled)]
    for node, made in becomes(connector, answer):
        if node is None:
            found.append(sheets.line("emitted", None, ABSENT, made))
        else:
            wire = read_type(node)
            found.append(
                sheets.line("emitted", node, format_type(wire), made, find_loss(source, wire, spelled) or "")
            )
    return found


@pytest.mark.parametrize("connector", ASKED)
def test_a_sheet_says_what_debezium_says(connector: str, answers: Answers, bless: bool) -> None:
    ours = {row.number: row for row in sheets.rows(connector)}
    theirs = {row.number: told(connector, row, answer) for row, answer in answers[connector]}
    body: list[str] = []
    for number, text in enumerate(sheets.lines(connector), 2):
        if number in theirs:
            body += theirs[number]
        elif number not in ours or ours[number].witness != "emitted":
            body.append(text)
    if bless:
        sheets.write(connector, body)
    assert sheets.lines(connector) == body, f"{connector}.tsv is not what Debezium says: `make bless`"


@pytest.mark.parametrize("connector", ASKED)
def test_propagated_source_types_are_those_declared(connector: str, answers: Answers) -> None:
    for row, answer in answers[connector]:
        field: Any = answer.fields[-1]
        if field is not None:
            (column,) = read_columns({"type": "struct", "fields": [field]})
            parts = declared_column(attributes(row, answer))
            assert (
                column.source_type
                == format_type_expression(parts.type_name, parts.length, parts.scale).upper()
            ), str(row)
            assert column.name.lower() == "c"


@pytest.mark.parametrize("connector", ASKED)
def test_a_required_column_is_a_required_field_where_the_type_tells_it(
    connector: str, answers: Answers
) -> None:
    fields = [answer.required for _, answer in answers[connector] if answer.required is not None]
    assert fields
    assert not [f for f in fields if f["optional"] and has_nullability(read_type(f))]
    silent = {f["name"].rpartition(".")[2] for f in fields if not has_nullability(read_type(f))}
    assert silent == _SILENT.get(connector, set())
