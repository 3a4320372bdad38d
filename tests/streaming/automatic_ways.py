"""A small stream for each automatic way on of autopilot, cut into batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, Rename, TableRename, format_coordinates
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import INT, keyless, told
from tests.streaming.test_moved_tables import Source, _event
from tests.streaming.test_renamed_and_changed import rename_and_change
from tests.streaming.test_taken_columns import Server, change_and_rename
from tests.support.killed_sink import Batch, Way
from tests.support.records import node, row_event, without_schemas


def _stream(*batches: Sequence[Record]) -> tuple[Batch, ...]:
    return tuple(Batch(records) for records in (*batches, [], []))


def _moved(fill: Callable[[Source], None], size: int) -> tuple[Batch, ...]:
    """The records of a MySQL server that states what it does."""
    source = Source(None)  # type: ignore[arg-type]
    fill(source)
    records = source.connector.records
    return _stream(*(records[at : at + size] for at in range(0, len(records), size)))


def _rename(source: Source) -> None:
    source.create("a", 1, 2)
    source.rename("a", "b")
    source.write("b", 2, "new", "u")
    source.write("b", 3)


def _change_and_rename() -> tuple[Batch, ...]:
    server = Server()
    change_and_rename(server)
    return _stream(server.connector.records[:5], server.connector.records[5:])


def _rename_and_change() -> tuple[Batch, ...]:
    server = Server()
    rename_and_change(server)
    return _stream(server.connector.records[:3], server.connector.records[3:])


def exchange_tables(source: Source) -> None:
    source.create("a", 1)
    source.create("b", 2)
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        source.rename(old, new)
    source.write("a", 3)
    source.write("b", 4)


def _rebuild(source: Source) -> None:
    source.create("t", 1, 2)
    source.create("t_copy", 1, 2)
    source.rename("t", "t_old")
    source.rename("t_copy", "t")
    source.write("t", 2, "new", "u")


def _make_anew(source: Source) -> None:
    source.create("t", 1, 2)
    source.drop("t")
    source.create("t", 3)


def _answer(*pairs: tuple[str, str]) -> Callable[[SqlStore], Decisions]:
    """A person says that columns were renamed in the newest version of the table."""

    def decide(store: SqlStore) -> Decisions:
        (table,) = store.tables()
        history = store.history(table)
        assert history is not None
        version = next(v for v in history.versions if v.candidates or v.number == 2)
        place = version.id, format_coordinates(version.at)
        return Decisions(tuple(Rename(str(table), old, new, *place) for old, new in pairs))

    return decide


def _same_table(store: SqlStore) -> Decisions:
    """A person says that the table b was the table a."""
    tables = {table.table: str(table) for table in store.tables()}
    return Decisions(table_renames=(TableRename(tables["b"], tables["a"]),))


def _stayed(store: SqlStore) -> Decisions:
    """A person says that the table had another schema for a time."""
    home, there = sorted(map(str, store.tables()), reverse=True)
    return Decisions(table_renames=(TableRename(home, there),))


def _ints(offset: int, row: dict[str, int | None], op: str = "c") -> Record:
    nodes = {name: node("int32", optional=name != "id") for name in row}
    return row_event(nodes, op, row, offset=offset)


def _dated(offset: int, id: int, day: int | None, op: str = "c") -> Record:
    when = node("int32", name="io.debezium.time.Date")
    return row_event({"id": INT, "day": when}, op, {"id": id, "day": day}, offset=offset)


def _united(*first: Record, changed: Record, last: Record, pairs: Sequence[tuple[str, str]]) -> Way:
    answer = _answer(*pairs)
    return Way((Batch(first), Batch([changed]), Batch([last], answer), Batch([], answer)))


FILLING = Policy(profile="autopilot", rules=(PolicyRule("auto", ("fill-successor",)),))
_OLDER = [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})]
_TWO = [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 2})]

WAYS: dict[str, Way] = {
    "column, and a wider type": Way(
        _stream(
            [told(0, {"id": 1, "n": 1})],
            [told(1, {"id": 1, "n": 2, "q": 3}, "u"), told(2, {"id": 2, "n": 2, "q": 5})],
        )
    ),
    "key with more columns": Way(
        _stream(
            _TWO,
            [told(3, {"id": 1, "n": 3}, key=("id", "n")), told(4, {"id": 2, "n": 2}, "u", ("id", "n"))],
        )
    ),
    "another key that rows prove": Way(
        _stream(_TWO, [told(3, {"id": 3, "n": 3}, key=("n",)), told(4, {"id": 9, "n": 2}, "u", ("n",))])
    ),
    "key that rows do not prove": Way(
        _stream(
            _OLDER,
            [told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 4, "n": 8}, key=("n",))],
            [told(4, {"id": 5, "n": 7}, "u", key=("n",))],
        )
    ),
    "late row of a table with a successor": Way(
        _stream(
            _OLDER,
            [told(3, {"id": 3, "n": 7}, key=("n",)), told(4, {"id": 4, "n": 8}, key=("n",))],
            [told(2, {"id": 1, "n": 5}, "u"), told(5, {"id": 9, "n": 8}, "u", key=("n",))],
        )
    ),
    "key that is gone": Way(
        _stream(
            _TWO,
            [keyless(2, {"id": 7, "n": 1}), keyless(3, {"id": 7, "n": 1}), keyless(4, {"id": 7, "n": 2})],
        )
    ),
    "key that is gone, filled": Way(
        _stream(
            _TWO,
            [keyless(3, {"id": 7, "n": 1}), keyless(4, {"id": 7, "n": 2})],
            [told(2, {"id": 2, "n": 2}, "d")],
        ),
        FILLING,
    ),
    "log that gets a key, filled": Way(
        _stream(
            [keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 2, "n": 2})],
            [told(2, {"id": 1, "n": 3}, "u"), told(3, {"id": 3, "n": 3}), told(4, {"id": 2, "n": 2}, "d")],
        ),
        FILLING,
    ),
    "log that gets a key": Way(
        _stream(
            [keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 1, "n": 2}, "u")],
            [told(2, {"id": 1, "n": 3}), told(3, {"id": 2, "n": 3}), told(4, {"id": 1, "n": 4}, "u")],
        )
    ),
    "type beside": Way(
        _stream(
            [told(0, {"id": 1, "price": 5}), told(1, {"id": 2, "price": 6})],
            [told(2, {"id": 1, "price": "five"}, "u"), told(3, {"id": 3, "price": "three"})],
            [told(5, {"id": 2, "price": 2.5}, "u")],
        )
    ),
    "type beside, with a view": Way(
        _stream(
            [told(0, {"id": 1, "price": 5}), told(1, {"id": 2, "price": 6})],
            [told(2, {"id": 1, "price": "five"}, "u"), told(3, {"id": 3, "price": "three"})],
        ),
        view="ice.read.{table}",
        formats=("iceberg",),
    ),
    "name of a part that the source uses": Way(
        _stream(
            [told(0, {"id": 1, "price": 5})],
            [told(1, {"id": 2, "price": "two"})],
            [
                told(2, {"id": 2, "price": "b", "price__2": 7}, "u"),
                told(3, {"id": 3, "price": "three", "price__2": 8}),
            ],
        )
    ),
    "texts beside": Way(
        _stream(
            [_dated(0, 1, 19_000), _dated(1, 2, -622_191_234)],
            [_dated(2, 1, 622_191_233, "u"), _dated(3, 2, 19_001, "u"), _dated(4, 3, None)],
        )
    ),
    "columns united after an answer": _united(
        told(0, {"id": 1, "z": 1, "old": 2}), told(1, {"id": 2, "z": 1, "old": 3}),
        changed=told(2, {"id": 2, "z": 1, "new": 4}, "u"),
        last=told(3, {"id": 3, "z": 1, "new": 5}),
        pairs=[("old", "new")],
    ),
    "names exchanged after an answer": _united(
        _ints(0, {"id": 0, "a": 0, "b": 10}), _ints(1, {"id": 1, "a": 1, "b": 11}),
        changed=_ints(3, {"id": 0, "b": 5, "a": None}, "u"),
        last=_ints(4, {"id": 3, "b": 7, "a": 8}),
        pairs=[("a", "b"), ("b", "a")],
    ),
    "name used again": Way(
        _stream(
            [told(0, {"id": 1, "a": 5, "b": 1}), told(1, {"id": 2, "a": 6, "b": 2})],
            [told(2, {"id": 1, "a": 5}, "u")],
            [told(3, {"id": 1, "a": 5, "b": "x"}, "u"), told(4, {"id": 3, "a": 5, "b": "y"})],
        )
    ),
    "names used again in one batch": Way(
        _stream(
            [told(0, {"id": 1, "a": 5, "b": 1})],
            [
                told(1, {"id": 2, "a": 6, "b": 2}),
                told(2, {"id": 1, "a": 5}, "u"),
                told(3, {"id": 1, "a": 5, "b": "x"}, "u"),
            ],
        )
    ),
    "table renamed": Way(_moved(_rename, 2), formats=("iceberg",)),
    "table renamed at a path, whose columns differ": Way(_change_and_rename(), formats=("delta",)),
    "table renamed and changed in one statement": Way(_rename_and_change(), formats=("iceberg",)),
    "table names exchanged": Way(_moved(exchange_tables, 3), formats=("iceberg",)),
    "table rebuilt": Way(_moved(_rebuild, 4), formats=("iceberg",)),
    "table made anew": Way(_moved(_make_anew, 2), formats=("iceberg",)),
    "tables united after an answer": Way(
        (
            Batch([_event("a", n, n, f"a{n}") for n in range(1, 4)]),
            Batch([_event("b", 5, 2, "new", "u"), _event("b", 6, 3, "b3", "d"), _event("b", 7, 9, "b9")]),
            Batch([_event("b", 8, 8, "b8")], _same_table),
            Batch([_event("b", 9, 1, "b1", "d")], _same_table),
        )
    ),
    "tables united after a stay": Way(
        (
            Batch([_event("t", n, n, f"t{n}") for n in range(1, 4)]),
            Batch([_event("t", 5, 5, "t5", schema="aside"), _event("t", 6, 6, "t6", schema="aside")]),
            Batch([_event("t", 7, 7, "t7")]),
            Batch([_event("t", 8, 8, "t8")], _stayed),
            Batch([_event("t", 9, 5, "t5", "d")], _stayed),
        )
    ),
    "JSON without types": Way(
        _stream(
            [without_schemas(told(0, {"id": "r1", "n": "1"}))],
            [without_schemas(told(n, {"id": f"r{n}", "n": "7", "note": "x"})) for n in (1, 2)],
        )
    ),
    "TRUNCATE": Way(
        _stream(
            [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})],
            [row_event({"id": INT, "n": INT}, "t", None, offset=20), told(30, {"id": 2, "n": 2})],
        )
    ),
    "row ahead of its confirmed key": Way(
        _stream(
            [told(0, {"id": 1, "n": 5}), told(1, {"id": 2, "n": 5})],
            [keyless(2, {"id": 3, "n": 5}), told(3, {"id": 4, "n": 5})],
            [told(4, {"id": 1, "n": 6}, "u")],
        )
    ),
}  # fmt: skip
