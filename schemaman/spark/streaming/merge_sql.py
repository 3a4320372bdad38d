"""The statements that write staged rows into a sink table: one MERGE, one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from schemaman.migration.row_columns import (
    DELETED,
    OFFSET,
    ORDER,
    PARTITION,
    STREAM,
    TOPIC,
)
from schemaman.migration.spark_sql import literal
from schemaman.migration.targets._types import has_variant
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column
from schemaman.model.types import Array, Map, Struct, Type
from schemaman.sink.row_order import NO_POSITION_TEXT
from schemaman.sink.uncertain_keys import NEVER_PROVEN
from schemaman.spark.streaming.staged_columns import HelperColumns, make_helper_columns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_merge(
    table: str,
    staged: str,
    columns: Sequence[Column],
    key: Sequence[str],
    truncated: str | None,
    metadata: Mapping[str, object] | None = None,
    *,
    keeps: bool = True,
    has_null_keys: bool = True,
) -> str:
    """Rows by their key; the greater position wins.

    `columns` are all of the table, `key` those of its key. `truncated`: the position of a TRUNCATE in the
    batch, which ends every row that is older; `metadata` is what their metadata columns then hold. A row that
    was deleted, or is ended so, keeps no value when it comes again. `keeps` is false if no staged row keeps a
    value of the table: a shorter statement takes less time to plan. `has_null_keys` is false if no staged row
    has NULL in its key: engines join faster by `=`.
    """
    own = [c.name for c in columns if c.name not in (ORDER, DELETED)]
    names = [*own, ORDER, DELETED]
    helpers = make_helper_columns(columns)
    later = f"(t.{quote(ORDER)} IS NULL OR s.{quote(ORDER)} > t.{quote(ORDER)})"
    values = {c.name: format_value(f"s.{quote(c.name)}", c.type) for c in columns}
    dead = _format_deleted(truncated)
    sets = [
        f"t.{quote(n)} = {_format_kept(helpers, i, n, values[n], dead) if keeps else values[n]}"
        for i, n in enumerate(own)
        if n not in key
    ]
    sets += [f"t.{quote(n)} = s.{quote(n)}" for n in (ORDER, DELETED)]
    same = "<=>" if has_null_keys else "="
    lines = [
        f"MERGE INTO {table} t USING {staged} s",
        f"ON {' AND '.join(f't.{quote(k)} {same} s.{quote(k)}' for k in key)}",
        f"WHEN MATCHED AND {later} THEN UPDATE SET {', '.join(sets)}",
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(map(quote, names))}) "
        f"VALUES ({', '.join(values[n] for n in names)})",
    ]
    if truncated is not None:
        position = literal(truncated)
        older = f"NOT coalesce(t.{quote(DELETED)}, false) AND coalesce(t.{quote(ORDER)}, '') < {position}"
        ended = {DELETED: "true", ORDER: position}
        ended |= {name: _format_constant(value) for name, value in (metadata or {}).items()}
        sets = [f"t.{quote(name)} = {text}" for name, text in ended.items()]
        lines.append(f"WHEN NOT MATCHED BY SOURCE AND {older} THEN UPDATE SET {', '.join(sets)}")
    return "\n".join(lines)


def format_append(table: str, staged: str, columns: Sequence[Column]) -> str:
    """Rows of a table without a key: each record once, known by its stream, topic, partition and offset."""
    names = [c.name for c in columns]
    same = " AND ".join(f"t.{quote(n)} = s.{quote(n)}" for n in (STREAM, TOPIC, PARTITION, OFFSET))
    return (
        f"MERGE INTO {table} t USING {staged} s\nON {same}\n"
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(map(quote, names))}) "
        f"VALUES ({', '.join(format_value(f's.{quote(c.name)}', c.type) for c in columns)})"
    )


def format_missing_row_query(
    table: str, staged: str, key: Sequence[str], helpers: HelperColumns, truncated: str | None = None
) -> str:
    """Select the staged rows that need a value from the table that no row of the table can have.

    A row of the table does not have the value in these cases. It is older than the order in the column
    `behind`, where a record of the row waits, or than that in the column `anew`. It is older than a TRUNCATE
    in the batch, at the position `truncated`. The column `unread` has a span, and the row is not from within
    it. The table has the row as deleted, at the order in the column `unsent` or later. A row of the table
    that is not older than the whole staged row stays unchanged.
    """
    on = " AND ".join(f"t.{quote(k)} <=> s.{quote(k)}" for k in key)
    order, dead = f"t.{quote(ORDER)}", _format_deleted(truncated)
    # a row from before the first batch has no order, and cannot be distinguished from a missing row
    there = f"t.{quote(helpers.needs_row)}"
    has = f"{there} AND NOT {dead}"
    for column in (helpers.behind, helpers.anew):
        has += f" AND (s.{quote(column)} IS NULL OR {order} > s.{quote(column)})"
    came, ends = f"substring_index({order}, '/', -1)", f"substring_index(s.{quote(helpers.unread)}, '/', "
    has += f" AND (s.{quote(helpers.unread)} IS NULL OR {came} BETWEEN {ends}1) AND {ends}-1))"
    has = f"{order} >= s.{quote(ORDER)} OR ({has})"
    was_deleted = f"{dead} AND {order} >= s.{quote(helpers.unsent)} AND {order} < s.{quote(ORDER)}"
    rows = f"(SELECT *, true AS {quote(helpers.needs_row)} FROM {table})"
    return (
        f"SELECT s.* FROM {staged} s LEFT JOIN {rows} t ON {on} "
        f"WHERE (s.{quote(helpers.needs_row)} AND NOT coalesce({has}, false)) "
        f"OR coalesce({was_deleted}, false)"
    )


def format_newer_row_query(
    table: str, staged: str, key: Sequence[str], dropped: Sequence[tuple[int, Column]], helpers: HelperColumns
) -> str:
    """Select the staged rows with another value of a dropped column (`left`) than a newer row of the table.

    The number of a column is that in `kept`; the column `since` has the order of the value. A row that is
    already in the table, because its batch is repeated, is not selected.
    """
    on = " AND ".join(f"t.{quote(k)} <=> s.{quote(k)}" for k in key)
    newer = f"t.{quote(ORDER)} > s.{quote(helpers.since)} AND t.{quote(ORDER)} <> s.{quote(ORDER)}"
    newer += f" AND NOT coalesce(t.{quote(DELETED)}, false)"
    others = " OR ".join(
        f"(NOT array_contains(s.{quote(helpers.kept)}, {number}) AND {_format_difference(column)})"
        for number, column in dropped
    )
    return f"SELECT s.* FROM {staged} s JOIN {table} t ON {on} AND {newer} AND ({others})"


def format_other_row_query(
    table: str,
    staged: str,
    key: Sequence[str],
    parts: Sequence[str],
    keys: Sequence[Sequence[str]],
    helpers: HelperColumns,
    truncated: str | None = None,
    other_key_from: str = NEVER_PROVEN.position,
) -> str:
    """Select the staged rows whose key is uncertain, and which the table does not confirm (`uncertain_keys`).

    `parts` are the columns of the possible `keys`, which are empty if they are not known. An empty key is one
    of which no column is known: each other row may be the same by it. `truncated` is the
    position of a TRUNCATE in the batch. A row of the table that is not older stays. It shows that the change
    is superseded if it is the same in all columns of keys, and no older row is left that the change may have
    been of. Otherwise it may be another row of the source. A row may be any one by a column of a key that it
    lacks: all rows got the column at once, which no record shows. A newer row from before `other_key_from` is
    the same one: then the source had no other key than that of the table. A new row is in the table
    already where that has a live row of its key from the position of its change.
    """
    on = " AND ".join(f"t.{quote(k)} <=> s.{quote(k)}" for k in key)
    fresh, alike, last = (f"s.{quote(name)}" for name in (helpers.fresh, helpers.alike, helpers.last))
    alive = f"t.{quote(helpers.needs_row)} AND NOT {_format_deleted(truncated)}"
    own = f"s.{quote(helpers.parts)}"
    same = _format_same("t", own, parts)
    rows = f"(SELECT *, true AS {quote(helpers.needs_row)} FROM {table})"

    def format_conflict(others: str, condition: str, *, lacks_columns: bool = False) -> str:
        found = (
            f"EXISTS (SELECT 1 FROM {others} r WHERE "
            f"{_format_equal('r', own, columns, lacks_columns=lacks_columns)} "
            f"AND NOT ({_format_same('r', own, parts)}) AND {condition})"
            for columns in keys
        )
        return " OR ".join(found)

    there = f"NOT {_format_deleted(truncated, 'r')}"
    claims = (f"r.{quote(name)}" for name in (helpers.fresh, helpers.first))
    came_first = " OR ".join(f"{claim} < {alike}" for claim in claims)
    is_plain = " AND ".join(f"r.{quote(name)} IS NULL" for name in (helpers.fresh, helpers.first))
    came_first += f" OR ({is_plain} AND r.{quote(ORDER)} < {alike})"
    came_before = f"(r.{quote(helpers.alike)} IS NOT NULL OR {came_first})"
    is_itself = _format_same("r", "s", key)
    is_gone_before = f"r.{quote(DELETED)} AND r.{quote(ORDER)} < {alike}"
    before = f"NOT ({is_itself}) AND NOT ({is_gone_before}) AND {came_before}"
    is_staged = format_conflict(staged, before, lacks_columns=True)
    in_table = format_conflict(table, there, lacks_columns=True)
    conflicts = f"({in_table} OR {is_staged})" if keys else "true"
    claimed = f"coalesce({fresh}, {alike}, {last})"
    is_newer = f"coalesce(t.{quote(ORDER)} >= {claimed}, false)"
    # A row that came meanwhile, by another key, perhaps.
    came = f"t.{quote(ORDER)} >= coalesce(s.{quote(helpers.first)}, {last}) AND t.{quote(ORDER)} <> {last}"
    came += f" AND t.{quote(ORDER)} >= {literal(other_key_from)}"
    is_final = f"coalesce({fresh}, {alike}) IS NULL AND {last} = s.{quote(ORDER)}"
    is_other = f"coalesce({is_final} AND {came} AND NOT ({same}), false)"
    # The delete is of the row that the change made: it must not delete another one that is live meanwhile.
    deletes = f"({alive} AND t.{quote(ORDER)} < s.{quote(ORDER)})"
    is_gone = f"({fresh} IS NOT NULL AND s.{quote(DELETED)} AND NOT coalesce({deletes}, false))"
    older = f"{there} AND coalesce(r.{quote(ORDER)}, '') < {alike}"
    is_left = format_conflict(table, older, lacks_columns=True) if keys else "false"
    is_over = f"t.{quote(ORDER)} = s.{quote(ORDER)} OR {is_gone} OR (({same}) AND NOT ({is_left}))"
    newer = format_conflict(table, f"r.{quote(ORDER)} > {last}") if keys else "false"
    is_written = f"{alive} AND {_format_same_position(f't.{quote(ORDER)}', fresh)}"
    return (
        f"SELECT s.* FROM {staged} s LEFT JOIN {rows} t ON {on} WHERE NOT coalesce({is_written}, false) AND ("
        f"{is_other} OR ({is_newer} AND coalesce({fresh}, {alike}) IS NOT NULL AND NOT ({is_over})) "
        f"OR (NOT {is_newer} AND (({fresh} IS NOT NULL AND coalesce({alive}, false)) "
        f"OR (NOT coalesce({alike} IS NOT NULL AND {alive} AND {same}, false) "
        f"AND ({newer} OR ({alike} IS NOT NULL AND (s.{quote(DELETED)} OR {conflicts})))))))"
    )


def _format_same_position(one: str, other: str) -> str:
    """Whether two orders are at one known position of the source's log."""
    at, other_at = (
        f"substring({order}, 1, length({order}) - length(substring_index({order}, '/', -1)))"
        for order in (one, other)
    )
    return f"{at} = {other_at} AND {other} NOT LIKE {literal(NO_POSITION_TEXT + '/%')}"


def _format_same(one: str, other: str, columns: Sequence[str]) -> str:
    return " AND ".join(f"{one}.{quote(name)} <=> {other}.{quote(name)}" for name in columns)


def _format_equal(one: str, other: str, columns: Sequence[str], *, lacks_columns: bool = False) -> str:
    """Whether two rows are the same in columns, or if `lacks_columns`, as far as the first one has them."""
    pairs = ((f"{one}.{quote(name)}", f"{other}.{quote(name)}") for name in columns)
    if lacks_columns:
        found = (f"{other} IS NOT NULL AND coalesce({one} = {other}, true)" for one, other in pairs)
    else:
        found = (f"{one} = {other}" for one, other in pairs)
    return " AND ".join(found) or "true"


def format_written_query(
    table: str, staged: str, key_sets: Sequence[Sequence[str]], helpers: HelperColumns, *, is_alone: bool
) -> str:
    """Select the staged rows whose change the table has already, or a newer one: see `is_written`.

    A staged row has values in the columns of one of these keys; `needs_row`: it came before. It counts as
    deleted if its change is a delete.
    """
    there, own = f"t.{quote(ORDER)}", f"s.{quote(ORDER)}"
    came, own_came = (f"substring_index({order}, '/', -1)" for order in (there, own))
    deleted, own_deleted = (f"coalesce({alias}.{quote(DELETED)}, false)" for alias in ("t", "s"))
    is_same = f"{_format_same_position(there, own)} AND ({own_deleted} OR NOT {deleted})"
    has = f"{there} = {own} OR ({is_same})"
    newer = f"s.{quote(helpers.needs_row)}"
    if is_alone:
        partition, own_partition = (f"substring_index({c}, '.', 1)" for c in (came, own_came))
        newer = f"({newer} OR ({partition} = {own_partition} AND {came} >= {own_came}))"
    has = f"({has} OR ({there} > {own} AND {newer}))"
    parts = dict.fromkeys(name for columns in key_sets for name in columns)

    def format_one(columns: Sequence[str]) -> str:
        on = " AND ".join(f"t.{quote(name)} = s.{quote(name)}" for name in columns)
        others = "".join(f" AND s.{quote(name)} IS NULL" for name in parts if name not in columns)
        return f"SELECT s.* FROM {staged} s JOIN {table} t ON {on} WHERE {has}{others}"

    return " UNION ALL ".join(map(format_one, key_sets))


def _format_difference(column: Column) -> str:
    """Whether two values are not the same; of types that Spark does not compare they never are."""
    if has_variant(column.type) or _has_map(column.type):
        return "true"
    return f"NOT (t.{quote(column.name)} <=> s.{quote(column.name)})"


def _has_map(type: Type) -> bool:
    """Whether there is a map in a type."""
    match type:
        case Map():
            return True
        case Array(element):
            return _has_map(element)
        case Struct(fields):
            return any(_has_map(field.type) for field in fields)
        case _:
            return False


def quote(name: str) -> str:
    """A name in back-ticks."""
    return quote_name(name)


def format_value(text: str, type: Type) -> str:
    """A staged value as the table holds it: a VARIANT is made of the text that it travelled as."""
    if not has_variant(type):
        return text
    match type:
        case Array(element):
            return f"transform({text}, e -> {format_value('e', element)})"
        case Map(_, value):
            return f"transform_values({text}, (k, v) -> {format_value('v', value)})"
        case Struct(fields):
            made = (f"{literal(f.name)}, {format_value(f'{text}.{quote(f.name)}', f.type)}" for f in fields)
            return f"if({text} IS NULL, NULL, named_struct({', '.join(made)}))"
        case _:
            return f"parse_json({text})"


def _format_constant(value: object) -> str:
    """A value of a metadata column in a statement."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case datetime():
            return f"timestamp_micros({(value - _EPOCH) // timedelta(microseconds=1)})"
        case _:
            return literal(str(value))


def _format_deleted(truncated: str | None, alias: str = "t") -> str:
    """Whether a row of the table was deleted, or is ended by a TRUNCATE in the batch."""
    deleted = f"coalesce({alias}.{quote(DELETED)}, false)"
    if truncated is None:
        return deleted
    return f"({deleted} OR coalesce({alias}.{quote(ORDER)}, '') < {literal(truncated)})"


def _format_kept(helpers: HelperColumns, number: int, name: str, value: str, dead: str) -> str:
    """The value of the source, or that of the table if the source has none or an older one."""
    stays = f"array_contains(s.{quote(helpers.kept)}, {number})"
    words = f"s.{quote(helpers.words)}"
    newer = f"coalesce(try_element_at({words}, {number}) <= t.{quote(ORDER)}, false)"
    old = f"CASE WHEN s.{quote(DELETED)} OR NOT {dead} THEN t.{quote(name)} END"
    return f"CASE WHEN {stays} OR ({words} IS NOT NULL AND {newer}) THEN {old} ELSE {value} END"
