"""Keys that no record shows: a dump of bare values has none, which says nothing of the table's key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.history.step_facts import list_occurrences
from schemaman.io.files import find_file, read_records
from schemaman.report.views.words import format_version_key
from tests.cases.connector import INT, NOTE, TEXT, Connector, entry, shapes, steps, told, told_in_parts
from tests.support import chain
from tests.support.records import Node

ROW = {"id": INT, "email": TEXT}
WIDE = {**ROW, "more": NOTE}


def bare(records: Sequence[Record]) -> list[Record]:
    """The same records as lines of bare values show them."""
    return [replace(r, key=None, is_key_known=False) for r in records]


def connect(*rows: dict[str, Node]) -> Connector:
    """A connector that has written three rows of each of these structures."""
    connector = Connector()
    for columns in rows:
        connector.rows(columns)
    return connector


def test_a_dump_without_keys_leaves_the_key_unknown():
    history = told(bare(connect(ROW).records))["t"]
    assert shapes(history) == ["id INT!, email STRING! KEY ()"]
    assert history.latest.unconfirmed == ("key",)
    assert [(k.origins, k.is_confirmed) for k in history.keys] == [(("unknown",), False)]
    assert format_version_key(history, history.latest) == "unknown"


def test_a_null_key_is_no_unknown_key():
    records = [replace(r, key=None) for r in connect(ROW).records]
    history = told(records)["t"]
    assert [(k.origins, k.is_confirmed) for k in history.keys] == [(("none",), True)]


@pytest.mark.parametrize("hidden", [[0, 1, 2], [3, 4, 5], [1, 4], [0, 5]])
def test_records_without_keys_take_no_key_away(hidden: Sequence[int]):
    records = connect(ROW, ROW).records
    mixed = [bare([r])[0] if n in hidden else r for n, r in enumerate(records)]
    history = told(mixed)["t"]
    assert shapes(history) == ["id INT!, email STRING! KEY (id)"]
    assert history.latest.unconfirmed == ()


def test_another_version_without_keys_has_the_key_unconfirmed_and_nothing_breaks():
    records = connect(ROW, WIDE).records
    for hidden in (records[:3], records[3:]):
        mixed = [bare([r])[0] if r in hidden else r for r in records]
        history = told(mixed)["t"]
        assert [v.schema.key for v in history.versions] == [("id",), ("id",)]
        assert [v.unconfirmed for v in history.versions] == [
            ("key",) if r in hidden else () for r in (records[0], records[3])
        ]
        assert not any("key" in line for line in chain.finding_lines(history, history.versions))


def test_a_key_that_changed_is_seen_beside_records_without_keys():
    connector = connect(ROW)
    connector.rows(ROW, key=("email",))
    records = [*connector.records[:2], *bare(connector.records[2:4]), *connector.records[4:]]
    assert [v.schema.key for v in told(records)["t"].versions] == [("id",), ("email",)]


def test_the_order_of_arrival_does_not_matter():
    connector = connect(ROW)
    connector.rows(ROW, partition=1)
    connector.rows(WIDE, partition=2)
    records = [
        *bare(connector.records[:3]),
        *connector.records[3:6],
        *bare(connector.records[6:]),
    ]
    whole = told(records)["t"]
    for parts in ([records[5:], records[:5]], [[r] for r in records[::-1]], [records[::2], records[1::2]]):
        found = told_in_parts(parts)["t"]
        assert (found.versions, found.keys) == (whole.versions, whole.keys)


def test_rows_without_schemas_keep_their_key():
    connector = Connector()
    for _ in range(4):
        block = connector.source("t")
        row = {"id": 1, "email": "x"}
        payload = {"before": None, "after": row, "source": block, "op": "c", "ts_ms": connector.now}
        connector.write("srv.public.t", {"id": 1}, payload)
    for hidden in ([0, 1], [2, 3]):
        mixed = [bare([r])[0] if n in hidden else r for n, r in enumerate(connector.records)]
        history = told(mixed)["t"]
        assert [(v.schema.key, v.id) for v in history.versions] == [
            (("id",), told(connector.records)["t"].latest.id)
        ]
        assert history.latest.schema.columns == told(connector.records)["t"].latest.schema.columns


def test_events_without_keys_do_not_contradict_a_declared_key():
    connector = Connector(name="mysql")
    column = {"name": "id", "jdbcType": 4, "typeName": "INT", "position": 1, "optional": False}
    table: Node = {"primaryKeyColumnNames": ["id"], "columns": [column]}
    connector.change(entry("CREATE", '"shop"."t"', table), ddl="CREATE TABLE t (id INT PRIMARY KEY)")
    connector.rows({"id": INT})
    history = told([connector.records[0], *bare(connector.records[1:])])["t"]
    assert history.disagreements == ()
    assert [(k.columns, k.evidence) for k in history.keys] == [(("id",), "declared")]
    assert history.latest.unconfirmed == ()
    assert steps(history) == []


def test_lines_of_bare_values_and_lines_without_a_key_have_unknown_keys(tmp_path: Path):
    values = tmp_path / "values.ndjson"
    values.write_text('{"id": 1}\n{"id": 2}\n')
    assert [r.is_key_known for r in read(values, "t")] == [False, False]
    lines = tmp_path / "lines.ndjson"
    place = '"topic": "t", "partition": 0, "offset":'
    lines.write_text(f'{{{place} 0, "payload": "{{}}"}}\n{{{place} 1, "key": null, "payload": "{{}}"}}\n')
    assert [r.is_key_known for r in read(lines, None)] == [False, True]


def read(path: Path, topic: str | None) -> list[Record]:
    """The records of a file, all readable."""
    return [r for r in read_records(find_file(str(path)), topic=topic) if isinstance(r, Record)]


@pytest.mark.parametrize(("has_keys", "facts"), [(False, []), (True, ["topic"])])
def test_the_name_that_a_person_gave_a_dump_is_no_new_topic(has_keys: bool, facts: list[str]):
    connector = connect(ROW)
    known, later = list(connector.records), len(connector.records)
    connector.rows(ROW, topic="dump", named="srv.public.t")
    added = connector.records[later:]
    history = told([*known, *(added if has_keys else bare(added))])["t"]
    assert [fact.kind for one in list_occurrences(history) for fact in one.facts] == facts
