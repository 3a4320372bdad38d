"""The lake in memory, for every test without Spark: tables that read the statements of a plan, and hold rows.

It knows the statements of our renderer and refuses every other, so a wrong statement shows without Spark.
Staged rows are merged as the MERGE statement says: `streaming/test_merge_statements` holds both together.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as arrow

from schemaman.errors import StatementFailed
from schemaman.migration.properties.names import CHECK_PREFIX
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import DELETED, OFFSET, OP, ORDER, PARTITION, TOPIC, list_row_columns
from schemaman.migration.spark_sql import format_identifiers, quote_table_name
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import quote_text
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeComment,
    ChangeNullable,
    ChangeType,
    DropColumn,
    RenameColumn,
    patch,
)
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import String, Struct
from schemaman.sink.row_mapping import RowMap
from schemaman.sink.row_order import is_same_position
from schemaman.sink.upsert import LakeChange
from schemaman.sink.written_rows import is_written
from schemaman.spark.streaming.row_staging import CHANGE_ARROW, ChangeFolder
from schemaman.spark.streaming.staged_columns import HelperColumns, make_staged_helpers
from schemaman.spark.streaming.unread_records import is_in_span
from schemaman.store.log import MigrationEntry
from tests.support.memory_filling import count_joined, insert_joined, spell_key_value
from tests.support.memory_sql import count_rows, update_rows

_PART = r"`(?:[^`]|``)+`"
_PATH = rf"{_PART}(?:\.{_PART})*"
_TEXT = r"'(?:[^'\\]|\\.)*'"
_NAME_OR_TEXT = rf"({_PART})|({_TEXT})"
_ALTERED = rf"(?:CREATE TABLE|ALTER TABLE|UPDATE|COMMENT ON TABLE) ({_PATH})"
_SPAN = r"`_row_order` >= '([^']*)'(?: AND `_row_order` < '([^']*)')?"
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


class Crash(BaseException):
    """The machine goes dark."""


class MemoryTable:
    """One table. `before` and `after` are called around every statement, and may raise.

    `fields` gives each column the number that its values lie under: a rename keeps it, nothing repeats it.
    `rows` are values by such numbers; `cells` is what a test knows of values in nested fields, by path.
    """

    def __init__(self, table: str, live: LakeTable | None = None) -> None:
        self.table = table
        self.live = live
        self.ran: list[str] = []
        self.fields: dict[str, int] = {}
        self.last_field = 0
        self.rows: dict[tuple[str, ...], dict[Any, Any]] = {}
        self.truncated = ""
        self.key_fields: set[int] = set()
        self.cells: dict[Path, set[tuple[int, int]]] = {}
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None
        self.counted: Callable[[str], int] = lambda _: 0

    def inspect(self, table: str, format: str) -> LakeTable | None:
        return self.live

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        span = re.search(_SPAN, statement)
        if span is None:
            unfit = self._count_unfit_keys(statement)
            return ((self.counted(statement) if unfit is None else unfit,),)
        own = re.search(r"`(\w+)` IS NOT NULL", statement)
        asked = self.fields[own[1]] if own else ORDER
        orders = [row[ORDER] for row in self.rows.values() if row.get(asked) is not None]
        found: dict[str, list[str]] = {}
        for order in (o for o in orders if o >= span[1] and (span[2] is None or o < span[2])):
            partition, offset = order.rpartition("/")[2].split(".")
            found.setdefault(partition, []).append(offset)
        return tuple((p, len(offsets), min(offsets)) for p, offsets in sorted(found.items()))

    def _count_unfit_keys(self, statement: str) -> int | None:
        """What the gates of another key and of united columns ask of a table; None for other queries."""
        found = re.search(r"WHERE NOT coalesce\(`_row_deleted`, false\) AND \((.*)\)$", statement)
        if found:
            names = [_parts(part)[0] for part in re.findall(_PART, found[1])]
            rows = [row for row in self.rows.values() if not row.get(DELETED)]
            return sum(any(row.get(self.fields[name]) is None for name in names) for row in rows)
        found = re.match(rf"SELECT count\(\*\) FROM {_PATH} WHERE (.*`{ORDER}`.*)$", statement)
        if found:
            return count_rows(list(self.rows.values()), self.fields, found[1]) if self.rows else 0
        casts = [
            (_parts(part)[0], name)
            for part, name in re.findall(rf"try_cast\(try_cast\(({_PART}) AS (\w+)", statement)
        ]
        if casts and self.live is not None and {name for name, _ in casts} <= {*self.live.schema.key}:
            ranges = [(self.fields[name], _BITS.get(type, 128)) for name, type in casts]
            return sum(
                any(not -(2 ** (bits - 1)) <= row.get(field, 0) < 2 ** (bits - 1) for field, bits in ranges)
                for row in self.rows.values()
            )
        found = re.search(r" WHERE .* IS NOT NULL GROUP BY (.*) HAVING count", statement)
        if not found:
            return None
        names = [_parts(part)[0] for part in re.findall(_PART, found[1])]
        keys = [
            tuple(spell_key_value(row.get(self.fields[name])) for name in names) for row in self.rows.values()
        ]
        counts = Counter(key for key in keys if "None" not in key)
        return sum(count > 1 for count in counts.values())

    def run(self, statement: str) -> None:
        self.before(statement)
        live = self._after(statement)
        if live is not None:
            ids = " ".join(str(self.fields[name]) for name in live.schema.names if name in self.fields)
            self.live = replace(
                live,
                version=str(int(self.live.version) + 1 if self.live else 0),
                column_ids=ids,
                field_ids={
                    (name,): str(self.fields[name]) for name in live.schema.names if name in self.fields
                },
            )
        self.ran.append(statement)
        self.after(statement)

    def _after(self, statement: str) -> LakeTable | None:
        if re.fullmatch(rf"CREATE NAMESPACE IF NOT EXISTS {_PATH}", statement):
            return self.live
        if statement.startswith("CREATE TABLE"):
            return self._created(statement)
        if self.live is None:
            raise StatementFailed(f"no table: {statement}")
        found = re.fullmatch(rf"UPDATE {_PATH} SET (.*) WHERE (.*)", statement, re.DOTALL)
        if found:
            if self.rows:
                update_rows(list(self.rows.values()), self.fields, found[1], found[2])
            return self.live
        found = re.fullmatch(rf"COMMENT ON TABLE {_PATH} IS (NULL|{_TEXT})", statement, re.DOTALL)
        if found:
            comment = None if found[1] == "NULL" else _text(found[1])
            return replace(self.live, schema=replace(self.live.schema, comment=comment or None))
        found = re.fullmatch(rf"ALTER TABLE {_PATH} (.*)", statement, re.DOTALL)
        if not found:
            raise StatementFailed(f"what is {statement}")
        return self._altered(self.live, found[1])

    def _created(self, statement: str) -> LakeTable:
        if self.live is not None:
            raise StatementFailed("TABLE_OR_VIEW_ALREADY_EXISTS")
        found = re.fullmatch(
            rf"CREATE TABLE {_PATH} \(\n(.*)\n\)\nUSING \w+(?:\nCOMMENT ({_TEXT}))?\nTBLPROPERTIES \((.*)\)",
            statement,
            re.DOTALL,
        )
        if not found:
            raise StatementFailed(statement)
        schema = replace(_columns(found[1]), comment=_text(found[2]) if found[2] else None)
        for column in schema.columns:
            self._follow(AddColumn((column.name,), column, None))
        return self._keyed(LakeTable(self.table, schema, "paper", "0", _properties(found[3])))

    def _altered(self, live: LakeTable, action: str) -> LakeTable:
        found = re.fullmatch(r"SET TBLPROPERTIES \((.*)\)", action, re.DOTALL)
        if found:
            return self._keyed(replace(live, properties={**live.properties, **_properties(found[1])}))
        found = re.fullmatch(r"UNSET TBLPROPERTIES IF EXISTS \((.*)\)", action, re.DOTALL)
        if found:
            gone = {_text(key) for key in re.findall(_TEXT, found[1], re.DOTALL)}
            kept = {key: value for key, value in live.properties.items() if key not in gone}
            return self._keyed(replace(live, properties=kept))
        found = re.fullmatch(rf"ADD CONSTRAINT ({_PART}) CHECK \((.*)\)", action, re.DOTALL)
        if found:
            check = CHECK_PREFIX + _parts(found[1])[0].lower()
            named = {part[1:-1] for part in re.findall(_PART, found[2])}
            if check in live.properties or not named <= set(live.schema.names):
                raise StatementFailed(f"there already, or about nothing that is there: {action}")
            return replace(live, properties={**live.properties, check: found[2]})
        found = re.fullmatch(rf"DROP CONSTRAINT ({_PART})", action)
        if found:
            kept = dict(live.properties)
            del kept[CHECK_PREFIX + _parts(found[1])[0].lower()]
            return replace(live, properties=kept)
        found = re.fullmatch(rf"DROP IDENTIFIER FIELDS {_PATH}(?:, {_PATH})*", action)
        if found:
            none = {**live.properties, "identifier-fields": "[]"}
            return replace(live, properties=none, identifiers=())
        found = re.fullmatch(rf"SET IDENTIFIER FIELDS ({_PART}(?:, {_PART})*)", action)
        if found:
            names = [_parts(name)[0] for name in re.findall(_PART, found[1])]
            columns = [live.schema.column(name) for name in names]
            assert all(column is not None and not column.nullable for column in columns)
            told = {**live.properties, "identifier-fields": format_identifiers(names)}
            return replace(live, properties=told, identifiers=tuple((name,) for name in names))
        schema = live.schema
        for change in _changes(schema, action):
            try:
                patched = patch(schema, [change])
            except KeyError as error:
                raise StatementFailed(f"{error} is there already, or is not there: {action}") from error
            self._follow(change)
            if isinstance(change, RenameColumn):
                live = _identified(live, change)
            # A table knows no key of ours: it is a property, and stays until it is set again.
            schema = replace(patched, key=live.schema.key)
        lowered = [name.lower() for name in schema.names]
        if len(lowered) != len(set(lowered)) or not lowered:
            raise StatementFailed(f"FIELD_ALREADY_EXISTS: {action}")
        return replace(live, schema=schema)

    def _follow(self, change: Change) -> None:
        match change:
            case AddColumn((name,), _, _):
                self.last_field += 1
                self.fields[name] = self.last_field
            case RenameColumn((old,), new):
                self.fields[new] = self.fields.pop(old)
            case DropColumn((name,), _):
                del self.fields[name]
            case _:
                pass
        if isinstance(change, RenameColumn | DropColumn):
            inside = {at: held for at, held in self.cells.items() if at[: len(change.path)] == change.path}
            self.cells = {at: held for at, held in self.cells.items() if at not in inside}
            if isinstance(change, RenameColumn):
                renamed = (*change.path[:-1], change.name)
                self.cells |= {(*renamed, *at[len(renamed) :]): held for at, held in inside.items()}

    def _keyed(self, live: LakeTable) -> LakeTable:
        key = read_record(live.properties).key or ()
        return replace(live, schema=replace(live.schema, key=key))

    def merge(self, staged: Mapping[str, Any], to: RowMap) -> bool:
        """Take a staged row as the MERGE does; whether it could be taken."""
        names = [c.name for c in to.columns]
        self._change_key(to.key)
        key = tuple(spell_key_value(staged[name]) for name in to.key or (TOPIC, PARTITION, OFFSET))
        old = self.rows.get(key)
        order = staged[ORDER]
        if old is not None and old[ORDER] is None:
            old = {**old, ORDER: ""}  # it was there before the first batch
        dead = old is not None and bool(old.get(DELETED) or (to.key and old[ORDER] < self.truncated))
        helpers = make_staged_helpers(to)
        if to.key and _lacks(staged, old, helpers, dead=dead):
            return False
        if old is not None and to.key and not dead and self._is_late(staged, old, to):
            return False
        if old is not None and (not to.key or order <= old[ORDER]):
            return True
        kept = {names[i] for i in staged[helpers.kept] or ()}
        kept |= {names[i] for i, at in staged[helpers.words] or () if old and at <= old[ORDER]}
        row = dict(old or {})
        for name in names:
            if name not in kept:
                row[self.fields[name]] = staged[name]
            elif not old or (dead and not staged[DELETED]):
                row[self.fields[name]] = None
        self.rows[key] = {**row, **{c.name: staged[c.name] for c in list_row_columns(to.key)}}
        self._note_rows()
        return True

    def has_written(self, staged: Mapping[str, Any], to: RowMap, *, is_alone: bool) -> bool:
        """Whether the table has the change of a staged row that names no row by the key."""
        helpers, order = make_staged_helpers(to), staged[ORDER]
        if staged[helpers.reason] is None or order is None:
            return False
        named = {self.fields[c.name]: staged[c.name] for c in to.columns if staged[c.name] is not None}
        there = [row for row in self.rows.values() if named.items() <= row.items() and row[ORDER]]
        came, is_kept = bool(staged[helpers.needs_row]), not staged[DELETED]
        return any(
            is_written(
                row[ORDER], order, came_before=came, is_alone=is_alone, revives=is_kept and bool(row[DELETED])
            )
            for row in there
        )

    def _note_rows(self) -> None:
        """Rows make a version of a table that has a successor, as they do of every real table."""
        if self.live is not None and read_record(self.live.properties).successor:
            self.live = replace(self.live, version=str(int(self.live.version) + 1))

    def _change_key(self, key: Sequence[str]) -> None:
        """Find the rows by another key than before, where the key of the table has changed."""
        fields = {self.fields[name] for name in key}
        if fields == self.key_fields:
            return
        if key and self.key_fields:
            rows = self.rows.values()
            values = [tuple(spell_key_value(row.get(self.fields[name])) for name in key) for row in rows]
            # A deleted row may lack values of the new key: no row can be it any more.
            self.rows = {
                (*each, str(number)) if "None" in each else each: row
                for number, (each, row) in enumerate(zip(values, self.rows.values(), strict=True))
            }
        self.key_fields = fields

    def is_other(self, staged: Mapping[str, Any], batch: Iterable[Mapping[str, Any]], to: RowMap) -> bool:
        """Whether the key of a row of a batch is uncertain, and the table does not confirm it."""
        helpers = make_staged_helpers(to)
        fresh, alike, last = staged[helpers.fresh], staged[helpers.alike], staged[helpers.last]
        if not last or not to.key:
            return False
        self._change_key(to.key)
        old = self.rows.get(tuple(spell_key_value(staged[name]) for name in to.key))
        parts = {name: self.fields[name] for name in to.key_parts}
        own = staged[helpers.parts]
        is_same = old is not None and own == {name: old.get(at) for name, at in parts.items()}
        live = [r for r in self.rows.values() if not self._is_dead(r)]
        there = [({name: r.get(at) for name, at in parts.items()}, r[ORDER] or "") for r in live]
        if fresh and old and not self._is_dead(old) and is_same_position(old[ORDER] or "", fresh):
            return False
        at = "" if old is None else old[ORDER] or ""
        is_final = not (fresh or alike) and last == staged[ORDER] and not is_same and at != last
        if old is not None and is_final and at >= max(staged[helpers.first] or last, to.other_key_from):
            return True
        if old is not None and at >= (fresh or alike or last):
            deletes = not self._is_dead(old) and old[ORDER] < staged[ORDER]
            is_gone = fresh and staged[DELETED] and not deletes
            if not (fresh or alike) or old[ORDER] == staged[ORDER] or is_gone:
                return False
            is_left = bool(alike) and any(
                order < alike and _do_conflict(own, row, to, lacks_columns=True) for row, order in there
            )
            return not is_same or is_left
        if fresh and old is not None and not self._is_dead(old):
            return True
        if alike and is_same and old is not None and not self._is_dead(old):
            return False
        newer = [r for r in self.rows.values() if (r[ORDER] or "") > last]
        if any(_do_conflict(own, {name: r.get(at) for name, at in parts.items()}, to) for r in newer):
            return True
        if not alike:
            return False
        others = [
            row for row in batch
            if not (row[DELETED] and row[ORDER] < alike)
            and any(row[name] != staged[name] for name in to.key)
            and (row[helpers.alike] or (row[helpers.fresh] or row[helpers.first] or row[ORDER]) < alike)
        ]  # fmt: skip
        return (
            staged[DELETED]
            or not to.possible_keys
            or any(
                _do_conflict(own, row, to, lacks_columns=True)
                for row in (*(row for row, _ in there), *others)
            )
        )

    def _is_dead(self, row: Mapping[Any, Any]) -> bool:
        return bool(row.get(DELETED)) or (row[ORDER] or "") < self.truncated

    def _is_late(self, staged: Mapping[str, Any], old: Mapping[Any, Any], to: RowMap) -> bool:
        helpers, names = make_staged_helpers(to), [c.name for c in to.columns]
        since, kept = staged[helpers.since], {names[i] for i in staged[helpers.kept] or ()}
        newer = since is not None and old[ORDER] > since and old[ORDER] != staged[ORDER]
        return newer and any(staged[name] != old.get(self.fields[name]) for name in to.dropped - kept)

    def insert(self, other: MemoryTable, columns: Mapping[str, str], keys: Sequence[tuple[str, ...]]) -> None:
        """Take rows of another table over; columns of the row columns have no numbers."""
        own = {c.name for c in list_row_columns(())} | {c.name for c in list_row_columns(("id",))}
        names = {
            old if old in own else other.fields[old]: new if new in own else self.fields[new]
            for old, new in columns.items()
        }
        for key in keys:
            self.rows[key] = {names[at]: value for at, value in other.rows[key].items() if at in names}

    def truncate(self, order: str, metadata: Mapping[str, Any]) -> None:
        values = {self.fields[name]: value for name, value in metadata.items()}
        for row in self.rows.values():
            if row[ORDER] < order and not row[DELETED]:
                row.update(values)
                row |= {DELETED: True, ORDER: order}
        self._note_rows()

    def read(self) -> list[dict[str, Any]]:
        """The rows as a reader sees them."""
        assert self.live is not None
        own = {c.name for c in list_row_columns(self.live.schema.key)}
        names = {n: n if n in own else self.fields[n] for n in self.live.schema.names}
        return [{name: row.get(at) for name, at in names.items()} for row in self.rows.values()]


def describe_change(change: LakeChange) -> dict[str, Any]:
    """A mapped change as the folder takes it, of a row of which all changes are in one test."""
    topic, partition, offset = change.record
    return {
        "row_key": b"k", "row_order": change.order, "topic": topic, "partition": partition, "offset": offset,
        "change": pickle.dumps(change), "reason": None, "unread": None,
    }  # fmt: skip


def stage(changes: Sequence[Mapping[str, Any]], to: RowMap) -> list[dict[str, Any]]:
    """The staged rows of described changes, which are in their order."""
    batch = arrow.RecordBatch.from_pylist(list(changes), CHANGE_ARROW)
    return [row for found in ChangeFolder(to)([batch]) for row in found.to_pylist()]


def _do_conflict(
    one: Mapping[str, Any], other: Mapping[str, Any], to: RowMap, *, lacks_columns: bool = False
) -> bool:
    """Whether two rows may be one: they are the same in one possible key, and not in all of them.

    `lacks_columns`: the other one may have each value in a column that it lacks.
    """
    same = (
        all(one[n] is not None and (one[n] == other[n] or (lacks_columns and other[n] is None)) for n in key)
        for key in to.possible_keys
    )
    return any(same) and any(one[n] != other[n] for n in to.key_parts)


def _lacks(
    staged: Mapping[str, Any], old: Mapping[Any, Any] | None, helpers: HelperColumns, *, dead: bool
) -> bool:
    """Whether a staged row needs a value that a row of a table cannot have."""
    if old is not None and old[ORDER] >= staged[ORDER]:
        return False
    unsent, unread = staged[helpers.unsent], staged[helpers.unread]
    if unsent and old is not None and dead and old[ORDER] >= unsent:
        return True
    if not staged[helpers.needs_row]:
        return False
    if old is None or dead:
        return True
    older = any(at and old[ORDER] <= at for at in (staged[helpers.behind], staged[helpers.anew]))
    return older or bool(unread and not is_in_span(old[ORDER], unread))


_NUMBERS = count(1)
"""Numbers of tables: a table that was moved is told from another one by its own."""


@dataclass
class MemoryLake:
    """Several tables by their addresses; a statement finds its table by the name that SQL has for it."""

    tables: dict[str, MemoryTable] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    views: dict[str, str] = field(default_factory=dict)
    """Views by their names in SQL: what stands behind the name."""

    def table(self, address: str) -> MemoryTable:
        """One table, whether it was made or not."""
        return self.tables.setdefault(address, MemoryTable(address))

    def inspect(self, table: str, format: str) -> LakeTable | None:
        self.addresses[TARGETS.get(format).table_name(table)] = table
        found = self.tables.get(table)
        return found.live if found is not None else None

    def run(self, statement: str) -> None:
        self.before(statement)
        self._run(statement)
        self.after(statement)

    def _run(self, statement: str) -> None:
        moved = re.fullmatch(rf"ALTER TABLE ({_PATH}) RENAME TO ({_PATH})", statement)
        view = re.fullmatch(rf"(CREATE|CREATE OR REPLACE|DROP) VIEW ({_PATH})(.*)", statement, re.DOTALL)
        if moved:
            catalog, to = _parts(moved[1])[0], _parts(moved[2])
            address = self._find_address(quote_table_name((catalog, *to)))
            if self.table(address).live is not None:
                raise StatementFailed(f"[TABLE_OR_VIEW_ALREADY_EXISTS] {statement}")
            table = self.tables.pop(self._find_address(moved[1]))
            table.table = address
            assert table.live is not None
            table.live = replace(table.live, name=table.table)
            self.tables[table.table] = table
        elif statement.startswith("INSERT INTO") and " AS older " in statement:
            insert_joined(self._named, statement)
        elif statement.startswith("INSERT INTO"):
            there, here = self._find_joined(statement)
            names, values = re.findall(r"\((.*?)\) SELECT (.*) FROM ", statement, re.DOTALL)[0]
            pairs = zip(re.findall(_PART, values), re.findall(_PART, names), strict=True)
            columns = {_parts(old)[0]: _parts(new)[0] for old, new in pairs}
            here.insert(there, columns, self._list_missing(there, here))
        elif statement.startswith("MERGE INTO"):
            for key, here in self._list_same(statement):
                del here.rows[key]
        elif view:
            if (view[1] == "CREATE") == (view[2] in self.views) or self._has_table(view[2]):
                raise StatementFailed(f"[VIEW_ALREADY_EXISTS or VIEW_NOT_FOUND] {statement}")
            self.views |= {view[2]: view[3]}
            if view[1] == "DROP":
                del self.views[view[2]]
        elif not statement.startswith("CREATE NAMESPACE"):
            found = re.match(_ALTERED, statement)
            assert found, statement
            table = self._named(found[1])
            is_new = table.live is None
            if is_new and found[1] in self.views:
                raise StatementFailed(f"[TABLE_OR_VIEW_ALREADY_EXISTS] {statement}")
            table.run(statement)
            if is_new and table.live is not None:
                table.live = replace(table.live, identity=f"table {next(_NUMBERS)}")

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        if statement.startswith("SHOW TBLPROPERTIES "):
            name = statement.removeprefix("SHOW TBLPROPERTIES ")
            if name not in self.views:
                raise StatementFailed(f"[TABLE_OR_VIEW_NOT_FOUND] {name}")
            mark = re.match(r" TBLPROPERTIES \('(.*?)' = '(.*?)'\)", self.views[name])
            return ((mark[1], mark[2]),) if mark else (("owner", "ann"),)
        if not statement.startswith("SELECT"):
            return (("x", "hive"),)
        if sized := re.fullmatch(rf"SELECT sum\(file_size_in_bytes\) FROM ({_PATH})\.files", statement):
            return ((100 * len(self._named(sized[1]).rows),),)
        if " LEFT SEMI JOIN " in statement and " AS older " not in statement:
            return ((len(self._list_same(statement)),),)
        if " AS older " in statement or self._asks_log(statement):
            return ((count_joined(self._named, statement),),)
        if " LEFT ANTI JOIN " in statement:
            return ((len(self._list_missing(*self._find_joined(statement))),),)
        found = re.match(
            rf"SELECT count.* FROM ({_PATH}) AS o LEFT JOIN ({_PATH}) AS n ON .*min\(", statement
        )
        if found:
            return ((_count_newer(*(self._named(name).rows for name in found.groups())),),)
        found = re.search(rf"FROM ({_PATH})", statement)
        assert found, statement
        return self._named(found[1]).query(statement)

    def _has_table(self, name: str) -> bool:
        address = self._find_address(name)
        return address in self.tables and self.tables[address].live is not None

    def _asks_log(self, statement: str) -> bool:
        """Whether a query counts the records of a log."""
        found = re.search(rf"^SELECT count\(\*\) FROM (?:\(SELECT 1 FROM )?({_PATH})", statement)
        live = self._named(found[1]).live if found else None
        return live is not None and OP in live.schema.names

    def _find_joined(self, statement: str) -> tuple[MemoryTable, MemoryTable]:
        """The table that rows come from, and the one that may have rows of their keys."""
        found = re.search(rf"FROM ({_PATH}) AS o LEFT ANTI JOIN ({_PATH}) AS n", statement)
        assert found, statement
        there, here = self._named(found[1]), self._named(found[2])
        assert there.live is not None, statement
        assert here.live is not None, statement
        return there, here

    def _list_same(self, statement: str) -> list[tuple[tuple[str, ...], MemoryTable]]:
        """The keys of rows that two tables have from the same record, with the table to delete them from."""
        found = re.search(rf" ({_PATH}) AS n (?:USING|LEFT SEMI JOIN) ({_PATH}) AS o ON ", statement)
        assert found, statement
        here, there = self._named(found[1]), self._named(found[2])
        same = [k for k, row in here.rows.items() if k in there.rows and there.rows[k][ORDER] == row[ORDER]]
        return [(key, here) for key in same]

    @staticmethod
    def _list_missing(there: MemoryTable, here: MemoryTable) -> list[tuple[str, ...]]:
        return [key for key in there.rows if key not in here.rows]

    def _named(self, name: str) -> MemoryTable:
        """The table of a name in SQL: one that was inspected, or that of a path."""
        return self.table(self._find_address(name))

    def _find_address(self, name: str) -> str:
        """The address of a name in SQL: a process that goes on may name a table that it did not inspect."""
        same = (address for address in self.tables if address.replace("`", "") == name.replace("`", ""))
        return self.addresses.get(name) or next(same, _parts(name)[-1])


def _count_newer(there: Mapping[Any, dict[Any, Any]], here: Mapping[Any, dict[Any, Any]]) -> int:
    """The rows that are newer than the first row here; where that is the first of all, than theirs here."""
    orders = [{key: row[ORDER] for key, row in rows.items() if row[ORDER]} for rows in (there, here)]
    first, last = (min(found.values(), default="") for found in orders)
    bounds = orders[1] if last < first else dict.fromkeys(orders[0], last)
    return sum(order > bounds[key] for key, order in orders[0].items() if bounds.get(key))


class MemoryJournal:
    """A journal in memory."""

    def __init__(self) -> None:
        self.lines: list[MigrationEntry] = []

    def read_plan_lines(self, plan: str) -> Sequence[MigrationEntry]:
        return [line for line in self.lines if line.plan == plan]

    def read_target_lines(self, target: str) -> Sequence[MigrationEntry]:
        return [line for line in self.lines if line.target == target]

    def begin(self, *lines: MigrationEntry) -> int:
        self.write(*lines)
        return len(self.lines) - len(lines) + 1

    def write(self, *lines: MigrationEntry) -> None:
        self.lines += lines


def _identified(live: LakeTable, rename: RenameColumn) -> LakeTable:
    """The table after a rename: an identifier field is one of Iceberg's by its id, so it keeps its part."""
    moved = {rename.path: (*rename.path[:-1], rename.name)}
    fields = tuple(moved.get(each, each) for each in live.identifiers)
    if fields == live.identifiers:
        return live
    told = {"identifier-fields": format_identifiers(".".join(path) for path in fields)}
    return replace(live, identifiers=fields, properties={**live.properties, **told})


def _changes(schema: TableSchema, action: str) -> list[Change]:
    found = re.fullmatch(rf"RENAME COLUMN ({_PATH}) TO ({_PART})", action)
    if found:
        return [RenameColumn(_parts(found[1]), _parts(found[2])[0])]
    found = re.fullmatch(rf"DROP COLUMNS \(({_PATH}(?:, {_PATH})*)\)", action)
    if found:
        paths = [_parts(path) for path in re.findall(_PATH, found[1])]
        return [DropColumn(path, _ANY) for path in paths]
    found = re.fullmatch(r"ADD COLUMNS \((.*)\)", action, re.DOTALL)
    if found:
        return _added(schema, found[1])
    if not action.startswith("ALTER COLUMN "):
        raise StatementFailed(f"what is {action}")
    return [_one(schema, part) for part in _split(action.removeprefix("ALTER COLUMN "))]


_ANY = Column("any", String())
"""Stands for the column of a DROP, which is found by its path."""


def _added(schema: TableSchema, text: str) -> list[Change]:
    changes: list[Change] = []
    for part in _split(text):
        found = re.match(_PATH, part)
        assert found, part
        path, rest = _parts(found[0]), part[found.end() :]
        column = replace(_columns(f"x{rest}").columns[0], name=path[-1])
        siblings = [sibling.name for sibling in schema.columns]
        if len(path) > 1:
            parent = next(type for at, type, _ in walk_fields(schema) if at == path[:-1])
            assert isinstance(parent, Struct)
            siblings = [sibling.name for sibling in parent.fields]
        if path[-1] in siblings:
            raise StatementFailed(f"FIELD_ALREADY_EXISTS: {text}")
        change = AddColumn(path, column, siblings[-1])
        if len(path) > 1:
            from_column = _columns(f"x STRUCT<x: {rest.strip()}>").columns[0].type
            assert isinstance(from_column, Struct)
            change = replace(change, column=replace(from_column.fields[0], name=path[-1]))
        schema = patch(schema, [change])
        changes.append(change)
    return changes


def _one(schema: TableSchema, part: str) -> Change:
    found = re.fullmatch(rf"({_PATH}) (?:TYPE (.*)|(DROP NOT NULL)|COMMENT ({_TEXT}))", part, re.DOTALL)
    if not found:
        raise StatementFailed(f"what is {part}")
    path = _parts(found[1])
    type, nullable = next((t, n) for at, t, n in walk_fields(schema) if at == path)
    if found[2]:
        return ChangeType(path, type, _columns(f"x {found[2]}").columns[0].type)
    if found[3]:
        return ChangeNullable(path, nullable, True)
    return ChangeComment(path, None, _text(found[4]) or None)


def _columns(text: str) -> TableSchema:
    """A column list of Spark's as a table: literals are written otherwise, VARIANT is no source's type."""

    def ours(found: re.Match[str]) -> str:
        return found[1] or (quote_text(_text(found[2])) if found[2] else "UNKNOWN('variant')")

    return parse_columns(re.sub(rf"{_NAME_OR_TEXT}|\bVARIANT\b", ours, text, flags=re.DOTALL))


def _split(text: str) -> list[str]:
    """The items of a list: commas inside names, texts, brackets and parentheses do not part them."""
    items, depth, start = [], 0, 0
    for token in re.finditer(rf"{_PART}|{_TEXT}|[<(]|[>)]|,", text, re.DOTALL):
        if token[0] in "<(":
            depth += 1
        elif token[0] in ">)":
            depth -= 1
        elif token[0] == "," and depth == 0:
            items.append(text[start : token.start()].strip())
            start = token.end()
    return [*items, text[start:].strip()]


def _parts(path: str) -> Path:
    return tuple(part[1:-1].replace("``", "`") for part in re.findall(_PART, path))


def _text(literal: str) -> str:
    codes = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
    return re.sub(
        r"\\(u[0-9a-f]{4}|.)",
        lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else codes.get(m[1], m[1]),
        literal[1:-1],
        flags=re.DOTALL,
    )


def _properties(text: str) -> dict[str, str]:
    pairs = re.findall(rf"({_TEXT}) = ({_TEXT})", text, re.DOTALL)
    return {_text(key): _text(value) for key, value in pairs}
