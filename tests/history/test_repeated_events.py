"""An event like the one before it, which changed nothing, is passed: the history stays the same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import tables
from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.decoded_runs import RunDecoder
from schemaman.debezium.observation import Observation
from schemaman.history.fold import fold as folding
from schemaman.history.fold.repeated_events import EventRepetition
from schemaman.history.versions import TableHistory
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from schemaman.model.schema import TableSchema
from tests.ingest.test_line_forms import RUNS
from tests.support.checkout import PROOF
from tests.support.recordings import recorded, registry
from tests.support.strategies import related, schemas

SOME = ("postgres/shop-json", "postgres/shop-crash", "db2/shop-3.4.1-json",
        "mariadb/bookshop-mariadb-3.5.0-json", "postgres/shop-downtime")  # fmt: skip


@cache
def observe_pieces(recording: str, size: int) -> tuple[Observation, ...]:
    """Observes a recording in pieces, and its second half once more in another partition."""
    schemas, records = registry(recording), recorded(recording)
    decoder, reading = RunDecoder("main", schemas), build_reading(schemas)
    moved = [replace(record, partition=record.partition + 9) for record in records[len(records) // 2 :]]
    found: list[Observation] = []
    for source in (records, moved):
        for at in range(0, len(source), size):
            for run in scan(source[at : at + size], reading):
                found += (o for o in decoder.decode(run) if isinstance(o, Observation))
    return tuple(found)


@pytest.mark.parametrize("recording", RUNS if PROOF else SOME)
def test_passing_repeated_events_gives_the_same_history(
    recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = observe_pieces(recording, 40)
    tables = sorted({o.table for o in found if o.table.table})
    passed = [folding.trace_fold(found, table, CONNECTORS.get) for table in tables]
    monkeypatch.setattr(EventRepetition, "is_repeated", lambda self, observation: False)
    assert passed == [folding.trace_fold(found, table, CONNECTORS.get) for table in tables]
    assert any(passed)


@st.composite
def observe_runs(draw: st.DrawFn) -> tuple[Observation, ...]:
    """Runs of a few structures in turn, of any release and connector, some with one record or a read row."""
    old, new = draw(related())
    some = st.sampled_from([old, new, draw(schemas())])
    shown = draw(st.lists(some.filter(lambda schema: bool(schema.columns)), min_size=2, max_size=8))
    connector = draw(st.sampled_from(["postgresql", "mysql"]))
    release = st.sampled_from(["3.5.0.Final", "2.1.0.Final", "1.9.0.Final"])
    runs = []
    for place, schema in enumerate(shown):
        run = tables.make_observation(0, place)
        last = run.first if draw(st.booleans()) else run.last
        runs.append(
            replace(
                run,
                schema=schema,
                connector=connector,
                connector_version=draw(release),
                snapshot=draw(st.sampled_from([False, False, True])),
                last=last,
                count=1 + last.offset - run.first.offset,
            )
        )
    return tuple(runs)


@given(observe_runs())
def test_the_other_edge_of_a_run_changes_nothing_if_it_is_passed(runs: tuple[Observation, ...]) -> None:
    passed = folding.trace_fold(runs, tables.table_of(0), CONNECTORS.get)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EventRepetition, "is_repeated", lambda self, observation: False)
        assert passed == folding.trace_fold(runs, tables.table_of(0), CONNECTORS.get)


@pytest.mark.parametrize("order", [(1, True, 1.0), (True, 1.0, 1), (1.0, 1, True)], ids=str)
def test_tables_that_change_alike_keep_the_types_of_their_own_defaults(
    order: tuple[int | float, ...],
) -> None:
    for default in order:
        runs = [tables.make_observation(0, place) for place in range(2)]
        runs = [replace(run, schema=_set_default(run.schema, default)) for run in runs]
        history: TableHistory | None = folding.fold(runs, tables.table_of(0), CONNECTORS.get)
        assert history is not None
        shown = [version.schema.columns[1].default for version in history.versions]
        assert [(value, type(value)) for value in shown] == [(default, type(default))] * 2


def _set_default(schema: TableSchema | None, default: int | float) -> TableSchema:
    """The schema with a default of its second column."""
    assert schema is not None
    first, second, *others = schema.columns
    return replace(schema, columns=(first, replace(second, default=default), *others))
