"""How often the sink calls the engine for a table of a batch; these counts must not grow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.store.sql.store import SqlStore
from tests.support.memory_lake import MemoryLake
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event

FIELDS = {"id": node("int32"), "a": node("string", optional=True)}


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_table_costs_one_inspection_a_batch(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    calls: list[str] = []

    def count(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*words: object) -> object:
            calls.append(name)
            return call(*words)

        return counted

    for name in ("inspect", "run", "query"):
        monkeypatch.setattr(MemoryLake, name, count(name, getattr(MemoryLake, name)))
    sink, costs = MemorySink(store, NO_REGISTRY, format), []
    more = {**FIELDS, "b": node("int32", optional=True)}
    for offset, fields in enumerate((FIELDS, FIELDS, more, more)):
        row = {name: offset if name in ("id", "b") else "x" for name in fields}
        sink.take([row_event(fields, "c", row, offset=offset)])
        costs.append(tuple(calls))
        calls.clear()
    created, idle, altered, later = costs
    assert idle == later == ("inspect",)
    assert altered == ("inspect", "run", "run", "inspect", "run")  # the last one records how rows are read
    assert len(created) <= 7
    sink.take([])
    assert calls == []
