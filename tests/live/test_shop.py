"""A real PostgreSQL, Debezium and Kafka: the history is what the catalogue said at every step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pytest

from schemaman.history.versions import SchemaVersion
from schemaman.model.ddl import format_type
from schemaman.model.types import without_labels
from tests.live import shop
from tests.live.connect import Worker
from tests.live.forms import Form, avro_with_headers, avro_with_ids, flattened, json_with_schemas
from tests.live.recorded_history import Told
from tests.live.schema_registry import Registered
from tests.live.streaming import streaming
from tests.support.checkout import PROOF
from tests.truth.recording import Fact
from tests.truth.tables import TrueTable
from tests.truth.truth import place_of
from tests.truth.wire import on_the_wire

Shape = tuple[tuple[tuple[str, str, bool], ...], tuple[str, ...]]
"""Columns in order (name, type in words, nullable), and the key."""


FORMS: dict[str, Callable[[Registered], Form]] = {
    "json": json_with_schemas,
    "avro_headers": avro_with_headers,
    **({"flat": flattened, "avro_ids": avro_with_ids} if PROOF else {}),
}
"""In a small run recordings of the same shop show the other forms (`tests/truth`)."""


@pytest.fixture(scope="module", params=FORMS)
def told(
    request: pytest.FixtureRequest,
    database: str,
    worker: Worker,
    broker: str,
    registered: Registered,
    tmp_path_factory: pytest.TempPathFactory,
) -> Told:
    """The shop, its tables changed while the connector streams."""
    form = FORMS[request.param](registered)
    with streaming(f"shop_{request.param}", database, worker, broker, form) as stream:
        shop.play(stream)
        return Told.now(stream, tmp_path_factory.mktemp("shop"))


def test_every_version_is_what_the_catalogue_said(told: Told, figure: Callable[[str, object], None]) -> None:
    assert [str(d) for d in told.differences()] == []
    figure(f"versions of live {told.name}, each equal to its catalogue", sum(_versions(told)))


@pytest.mark.case(1, 2, 4, 5, 7, 8, 10, 44, 56, 65)
def test_every_structure_of_the_catalogue_is_a_version(told: Told) -> None:
    """Table by table, in order: the shape, the record that began it, and how many records it has."""
    for table, history in told.histories.items():
        rows = [(_true_shape(told, f), f.place) for f in told.facts.values() if f.source["table"] == table]
        groups = [(shape, list(group)) for shape, group in groupby(rows, key=lambda row: row[0])]
        wanted = [(shape, group[0][1], len(group)) for shape, group in groups]
        assert [(_shape(v), place_of(v.at), v.records) for v in history.versions] == wanted, table
    assert told.histories.keys() == {f.source["table"] for f in told.facts.values()}


def test_a_fact_is_provisional_until_a_later_row_shows_it_again(told: Told) -> None:
    """Key and nullability come from the moment of reading: one row alone does not settle what is new."""
    open_facts = {
        f"{table}@{v.number}": v.unconfirmed
        for table, history in told.histories.items()
        for v in history.versions
        if v.unconfirmed
    }
    assert open_facts == shop.UNCONFIRMED
    for history in told.histories.values():
        for version in history.versions:
            assert version.status == ("provisional" if version.unconfirmed else "confirmed")


def _versions(told: Told) -> list[int]:
    return [len(history.versions) for history in told.histories.values()]


def _true_shape(told: Told, fact: Fact) -> Shape:
    step = told.truth.at(fact)
    assert step is not None, fact
    table: TrueTable = step.tables[fact.source["schema"], fact.source["table"]]
    return tuple((c.name, on_the_wire(c), c.nullable) for c in table.columns), table.key


def _shape(version: SchemaVersion) -> Shape:
    columns = version.schema.columns
    return tuple(
        (c.name, format_type(without_labels(c.type)), c.nullable) for c in columns
    ), version.schema.key
