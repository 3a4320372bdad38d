"""A connector that writes values alone: what is inferred is what the catalogue said, nothing beyond it."""

from __future__ import annotations

from itertools import groupby

import pytest

from schemaman.model.ddl import format_type
from tests.live import shop
from tests.live.connect import Worker
from tests.live.forms import json_without_schemas
from tests.live.recorded_history import Told
from tests.live.schema_registry import Registered
from tests.live.streaming import streaming
from tests.truth.recording import Fact
from tests.truth.truth import place_of


@pytest.fixture(scope="module")
def told(
    database: str,
    worker: Worker,
    broker: str,
    registered: Registered,
    tmp_path_factory: pytest.TempPathFactory,
) -> Told:
    form = json_without_schemas(registered)
    with streaming("shop_bare", database, worker, broker, form) as stream:
        shop.play(stream)
        return Told.now(stream, tmp_path_factory.mktemp("shop"))


def test_names_and_keys_are_those_of_the_catalogue(told: Told) -> None:
    """Table by table, in order; in which order a key names its columns, an object of JSON does not tell."""
    for table, history in told.histories.items():
        rows = [(_true_names(told, f), f.place) for f in told.facts.values() if f.source["table"] == table]
        groups = [(names, list(group)) for names, group in groupby(rows, key=lambda row: row[0])]
        wanted = [(*names, group[0][1], len(group)) for names, group in groups]
        found = [(v.schema.names, set(v.schema.key), place_of(v.at), v.records) for v in history.versions]
        assert found == wanted, table


def test_nothing_is_claimed_of_types(told: Told) -> None:
    versions = [v for history in told.histories.values() for v in history.versions]
    assert {v.status for v in versions} == {"inferred"}
    types = {format_type(c.type) for v in versions for c in v.schema.columns}
    assert all(type.startswith("UNKNOWN('json:") for type in types)


def _true_names(told: Told, fact: Fact) -> tuple[tuple[str, ...], set[str]]:
    step = told.truth.at(fact)
    assert step is not None, fact
    table = step.tables[fact.source["schema"], fact.source["table"]]
    return tuple(c.name for c in table.columns), set(table.key)
