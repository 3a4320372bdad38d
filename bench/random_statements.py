"""Random statements of a PostgreSQL shop: rows, and changes of tables that real migrations make.

Each row has a number of its own for life in a column that no statement names: it tells which row a row is.
A statement may be refused by the database, as a key with duplicates is. Its transaction is then rolled back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.lake_state.row_numbers import ROW

SCHEMA = "shop"
CREATE_ROW_NUMBERS = (f"CREATE SEQUENCE {SCHEMA}.rows",)
"""The statement before all others: the sequence of the numbers that rows have for life."""
TABLES = ("orders", "customers", "stock", "parcels", "visits", "notes", "prices", "carts", "tags", "audit")
COLUMNS = (
    "code",
    "note",
    "price",
    "qty",
    "state",
    "label",
    "place",
    "since",
    "until",
    "rank",
    "kind",
    "extra",
)
WORDS = ("red", "blue", "new", "sent", "o''clock", "", "straße", "x" * 30)
_LOSSLESS = {
    "smallint": ("int", "bigint", "numeric", "text"),
    "int": ("bigint", "numeric", "numeric(14,2)", "double precision", "text"),
    "bigint": ("numeric", "text"),
    "numeric(8,2)": ("numeric(12,2)", "numeric(12,4)", "numeric", "text"),
    "numeric": ("text", "numeric(20,4)"),
    "real": ("double precision", "text"),
    "double precision": ("text",),
    "varchar(20)": ("varchar(40)", "text"),
    "varchar(40)": ("text",),
    "char(3)": ("text",),
    "date": ("timestamp", "text"),
    "timestamp": ("timestamptz", "text"),
    "timestamptz": ("timestamp", "text"),
    "time": ("text",),
    "uuid": ("text",),
    "boolean": ("text",),
}
"""The types that `ALTER COLUMN … TYPE … USING …::type` reaches without losing a value, most of the time."""
_VALUES: Mapping[str, Callable[[random.Random], str]] = {
    "smallint": lambda r: str(r.randint(1, 9)),
    "int": lambda r: str(r.randint(1, 14)),
    "bigint": lambda r: str(r.choice((r.randint(1, 14), 5_000_000_000 + r.randint(0, 9)))),
    "numeric(8,2)": lambda r: f"{r.randint(0, 40)}.{r.randint(0, 3) * 25:02}",
    "numeric": lambda r: r.choice((str(r.randint(0, 20)), f"{r.randint(0, 9)}.125")),
    "real": lambda r: f"{r.randint(-4, 9)}.5",
    "double precision": lambda r: f"{r.randint(-4, 9)}.25",
    "varchar(20)": lambda r: f"'{r.choice(WORDS[:6])}'",
    "varchar(40)": lambda r: f"'{r.choice(WORDS)}'",
    "text": lambda r: f"'{r.choice(WORDS)}'",
    "char(3)": lambda r: f"'{r.choice(('eur', 'usd', 'chf'))}'",
    "boolean": lambda r: r.choice(("true", "false")),
    "date": lambda r: f"'2026-0{r.randint(1, 3)}-1{r.randint(0, 9)}'",
    "timestamp": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00.123456'",
    "timestamptz": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00+02'",
    "time": lambda r: f"'0{r.randint(0, 9)}:15:00'",
    "uuid": lambda r: f"'00000000-0000-4000-8000-00000000000{r.randint(0, 9)}'",
    "bytea": lambda r: f"'\\x0{r.randint(0, 9)}ff'",
    "jsonb": lambda r: f"'{{\"n\": {r.randint(0, 9)}}}'",
    "int[]": lambda r: f"'{{{r.randint(0, 9)},2}}'",
}
"""A literal of each type, from a small domain, so that rows meet under one key."""


Change = Callable[[random.Random, Mapping[str, Any], Sequence[Mapping[str, Any]]], tuple[str, ...]]
"""What makes the statements of a change: for a table, beside all tables."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """Statements of one transaction, and whether they write rows."""

    statements: tuple[str, ...]
    is_dml: bool


def make_transaction(chance: random.Random, tables: Sequence[Mapping[str, Any]]) -> Transaction:
    """Make the next transaction for tables as the catalogue describes them."""
    return choose_transaction(chance, tables, _create, _write, _CHANGES)


def choose_transaction(
    chance: random.Random,
    tables: Sequence[Mapping[str, Any]],
    create: Callable[[random.Random, Sequence[Mapping[str, Any]]], str],
    write: Callable[[random.Random, Mapping[str, Any]], str],
    changes: Sequence[tuple[int, Change]],
) -> Transaction:
    """Choose rows, a change or a new table; no statement sees the column with the number of a row."""
    tables = [{**t, "columns": [c for c in t["columns"] if c["name"] != ROW]} for t in tables]
    tables = [table for table in tables if table["columns"]]
    if len(tables) < 4:
        return Transaction((create(chance, tables),), is_dml=False)
    if chance.random() < 0.76:
        table = chance.choice(tables)
        count = chance.choice((1, 1, 1, 2, 3))
        return Transaction(tuple(write(chance, table) for _ in range(count)), is_dml=True)
    change = chance.choices([change for _, change in changes], [weight for weight, _ in changes])[0]
    return Transaction(change(chance, chance.choice(tables), tables), is_dml=False)


def make_tables(chance: random.Random, count: int) -> list[str]:
    """Make statements that create the first tables."""
    return [_create(chance, [{"name": name} for name in TABLES[count:]], name) for name in TABLES[:count]]


def make_insert(chance: random.Random, table: Mapping[str, Any]) -> str:
    """Make an insert of one row or some, which leaves out columns now and then."""
    table = {**table, "columns": [c for c in table["columns"] if c["name"] != ROW]}
    columns = [c for c in table["columns"] if c["not_null"] or chance.random() < 0.8] or table["columns"][:1]
    rows = (
        ", ".join(_value(chance, c) for c in columns)
        for _ in range(chance.choice((1, 1, 1, 2, 4)))
    )  # fmt: skip
    values = ", ".join(f"({row})" for row in rows)
    names = ", ".join(c["name"] for c in columns)
    return f"INSERT INTO {_place(table)} ({names}) VALUES {values} ON CONFLICT DO NOTHING"


def _place(table: Mapping[str, Any]) -> str:
    return f"{SCHEMA}.{table['name']}"


def _value(chance: random.Random, column: Mapping[str, Any]) -> str:
    if not column["not_null"] and chance.random() < 0.15:
        return "NULL"
    make = _VALUES.get(_short(column["type"]))
    return make(chance) if make else "DEFAULT"


def _short(type: str) -> str:
    """A type as statements spell it, for what the catalogue prints."""
    names = {
        "integer": "int", "character varying": "varchar", "character": "char",
        "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
        "time without time zone": "time", "integer[]": "int[]",
    }  # fmt: skip
    word, bracket, rest = type.partition("(")
    return names.get(word, word) + bracket + rest


def _create(chance: random.Random, tables: Sequence[Mapping[str, Any]], name: str = "") -> str:
    free = [t for t in TABLES if t not in {table["name"] for table in tables}]
    names = chance.sample(COLUMNS, chance.randint(2, 6))
    columns = [f"{column} {chance.choice([*_VALUES])}" for column in names]
    columns.append(f"{ROW} bigint NOT NULL DEFAULT nextval('{SCHEMA}.rows')")
    key = chance.choices(
        (
            "id int PRIMARY KEY",
            "id int UNIQUE NOT NULL",
            "id int",
            "id int, line int, PRIMARY KEY (id, line)",
        ),
        (6, 1, 1, 2),
    )[0]
    return f"CREATE TABLE {SCHEMA}.{name or chance.choice(free)} ({', '.join([key, *columns])})"


def _write(chance: random.Random, table: Mapping[str, Any]) -> str:
    kind, count, changed = choose_write(chance, table, table["columns"])
    if kind == "insert":
        return make_insert(chance, table)
    if kind == "truncate":
        return f"TRUNCATE {_place(table)}"
    where = f"ctid IN (SELECT ctid FROM {_place(table)} ORDER BY random() LIMIT {count})"
    if kind == "delete":
        return f"DELETE FROM {_place(table)} WHERE {where}"
    sets = ", ".join(f"{c['name']} = {_value(chance, c)}" for c in changed)
    return f"UPDATE {_place(table)} SET {sets} WHERE {where}"


def choose_write(
    chance: random.Random, table: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]
) -> tuple[str, int, Sequence[Mapping[str, Any]]]:
    """Choose the kind of a write, the number of its rows, and which of the `columns` an update changes."""
    kind = chance.choices(("insert", "update", "key", "delete", "truncate"), (50, 28, 5, 15, 1))[0]
    if kind == "insert" or not columns:
        return "insert", 1, ()
    if kind == "truncate":
        return kind, 0, ()
    count = chance.choice((1, 1, 2))
    if kind == "delete":
        return kind, count, ()
    key = list_key(table)
    mine = [c for c in columns if (c["name"] in key) == (kind == "key")] or columns
    return "update", count, chance.sample(mine, min(len(mine), chance.choice((1, 1, 2))))


def list_key(table: Mapping[str, Any]) -> Sequence[str]:
    """List the columns of the primary key."""
    return (table["primary_key"] or {}).get("columns") or ()


def _alter(table: Mapping[str, Any], *actions: str) -> tuple[str, ...]:
    return tuple(f"ALTER TABLE {_place(table)} {action}" for action in actions)


def pick_column(chance: random.Random, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Pick a column; one of the key in a fifth of the cases."""
    others = [c for c in table["columns"] if c["name"] not in list_key(table)]
    return chance.choice(others if others and chance.random() < 0.8 else table["columns"])


def pick_free_name(chance: random.Random, table: Mapping[str, Any], names: Sequence[str] = COLUMNS) -> str:
    """Pick a name that no column of the table has."""
    taken = {c["name"] for c in table["columns"]}
    return chance.choice([c for c in names if c not in taken] or ["spare"])


def _add_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    type = chance.choice([*_VALUES])
    rest = f" NOT NULL DEFAULT {_VALUES[type](chance)}" if chance.random() < 0.3 else ""
    return _alter(table, f"ADD COLUMN {pick_free_name(chance, table)} {type}{rest}")


def _drop_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    return _alter(table, f"DROP COLUMN {pick_column(chance, table)['name']}")


def _replace_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    """A column goes, and its name comes back: as a new column, or as that of its neighbour."""
    old = pick_column(chance, table)["name"]
    others = [c["name"] for c in table["columns"] if c["name"] != old]
    if others and chance.random() < 0.5:
        return _alter(table, f"DROP COLUMN {old}", f"RENAME COLUMN {chance.choice(others)} TO {old}")
    return _alter(table, f"DROP COLUMN {old}", f"ADD COLUMN {old} {chance.choice([*_VALUES])}")


def _rename_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    return _alter(
        table, f"RENAME COLUMN {pick_column(chance, table)['name']} TO {pick_free_name(chance, table)}"
    )


def _exchange_columns(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    if len(table["columns"]) < 2:
        return _add_column(chance, table, _)
    a, b = (c["name"] for c in chance.sample(list(table["columns"]), 2))
    pairs = ((a, "between"), (b, a), ("between", b))
    return _alter(table, *(f"RENAME COLUMN {old} TO {new}" for old, new in pairs))


def _retype(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    column = pick_column(chance, table)
    wider = _LOSSLESS.get(_short(column["type"]))
    if wider and chance.random() < 0.8:
        type = chance.choice(wider)
        return _alter(table, f"ALTER {column['name']} TYPE {type} USING {column['name']}::{type}")
    type = chance.choice([*_VALUES])
    return _alter(table, f"ALTER {column['name']} TYPE {type} USING {column['name']}::text::{type}")


def _nullability(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    return _alter(
        table, f"ALTER {pick_column(chance, table)['name']} {chance.choice(('SET', 'DROP'))} NOT NULL"
    )


def _rekey(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    """Another primary key, or none; at times with a new column that holds it."""
    primary, names = table["primary_key"], [c["name"] for c in table["columns"]]
    dropped = (f"DROP CONSTRAINT {primary['name']}",) if primary else ()
    chosen = chance.randint(1, 4)
    if primary and chosen == 1:
        return _alter(table, *dropped)
    if chosen == 2:
        name = pick_free_name(chance, table)
        added = f"ADD COLUMN {name} bigint GENERATED BY DEFAULT AS IDENTITY"
        return _alter(table, *dropped, f"{added}, ADD PRIMARY KEY ({name})")
    if chosen == 3 and primary and names:
        more = chance.choice(names)
        key = [*primary["columns"], more] if more not in primary["columns"] else primary["columns"][::-1]
        return _alter(table, ", ".join((*dropped, f"ADD PRIMARY KEY ({', '.join(key)})")))
    key = chance.sample(names, min(len(names), chance.choice((1, 1, 2))))
    return _alter(table, ", ".join((*dropped, f"ADD PRIMARY KEY ({', '.join(key)})")))


def _index(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    indexes = [i for i in table["unique_indexes"] if i["name"].startswith("u_")]
    if indexes and chance.random() < 0.5:
        return (f"DROP INDEX {SCHEMA}.{chance.choice(indexes)['name']}",)
    column = chance.choice(table["columns"])["name"]
    return (f"CREATE UNIQUE INDEX u_{table['oid']}_{column} ON {_place(table)} ({column})",)


def _identity(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    usable = [i["name"] for i in table["unique_indexes"]]
    forms = ["FULL", "DEFAULT", *(f"USING INDEX {name}" for name in usable[:1])]
    return _alter(table, f"REPLICA IDENTITY {chance.choice(forms)}")


def _rename_table(chance: random.Random, table: Mapping[str, Any], tables: Sequence[Any]) -> tuple[str, ...]:
    free = [t for t in TABLES if t not in {each["name"] for each in tables}]
    if free and chance.random() < 0.6:
        return _alter(table, f"RENAME TO {chance.choice(free)}")
    other = chance.choice([t for t in tables if t is not table])
    return (
        f"ALTER TABLE {_place(table)} RENAME TO between",
        f"ALTER TABLE {_place(other)} RENAME TO {table['name']}",
        f"ALTER TABLE {SCHEMA}.between RENAME TO {other['name']}",
    )


def _drop_table(chance: random.Random, table: Mapping[str, Any], tables: Sequence[Any]) -> tuple[str, ...]:
    dropped = f"DROP TABLE {_place(table)}"
    return (dropped, _create(chance, tables, table["name"])) if chance.random() < 0.6 else (dropped,)


def _create_table(chance: random.Random, _: object, tables: Sequence[Any]) -> tuple[str, ...]:
    return (_create(chance, tables),) if len(tables) < len(TABLES) else ()


_CHANGES: tuple[tuple[int, Change], ...] = (
    (16, _add_column),
    (9, _drop_column),
    (6, _replace_column),
    (12, _rename_column),
    (4, _exchange_columns),
    (17, _retype),
    (5, _nullability),
    (16, _rekey),
    (5, _index),
    (5, _identity),
    (2, _rename_table),
    (1, _drop_table),
    (1, _create_table),
)
"""How often each change is made, and what makes its statements."""
