"""Random statements of a MariaDB shop, as `bench.random_statements` makes those of PostgreSQL.

The statements differ: ALTER has several clauses, columns have places, REPLACE deletes a row and inserts
another one, ON DUPLICATE KEY UPDATE changes the row that is there, and an index serves as the key.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.random_statements import (
    Change,
    Transaction,
    choose_transaction,
    choose_write,
    list_key,
    pick_column,
    pick_free_name,
)
from tests.lake_state.row_numbers import ROW

SCHEMA = "shop"
NUMBERS = "numbers"
"""The database of the sequence, which the connector does not read."""
CREATE_ROW_NUMBERS = (
    f"CREATE DATABASE IF NOT EXISTS {NUMBERS}",
    f"CREATE SEQUENCE IF NOT EXISTS {NUMBERS}.row_numbers",
    f"DROP DATABASE IF EXISTS {SCHEMA}",
    f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4",
)
"""The statements before all others: the sequence of the numbers of rows, and an empty shop."""
TABLES = (
    "orders",
    "customers",
    "stock",
    "order-lines",
    "visits",
    "notes",
    "Prices",
    "carts",
    "tags 2",
    "audit",
)
COLUMNS = (
    "code",
    "note",
    "price",
    "qty",
    "state",
    "label",
    "Place",
    "since",
    "line no",
    "rank",
    "kind",
    "größe",
)
WORDS = ("red", "blue", "new", "sent", "o''clock", "", "straße", "12")
_LOSSLESS = {
    "tinyint": ("smallint", "int", "decimal(8,2)", "varchar(20)"),
    "tinyint(1)": ("int", "varchar(20)"),
    "tinyint unsigned": ("smallint unsigned", "int", "varchar(20)"),
    "smallint": ("int", "bigint", "text"),
    "smallint unsigned": ("int", "int unsigned", "bigint"),
    "mediumint": ("int", "bigint"),
    "int": ("bigint", "decimal(20,4)", "double", "varchar(20)", "text"),
    "int unsigned": ("bigint", "bigint unsigned", "varchar(20)"),
    "bigint": ("decimal(20,0)", "varchar(40)", "text"),
    "bigint unsigned": ("decimal(20,0)", "text"),
    "decimal(8,2)": ("decimal(12,2)", "decimal(12,4)", "double", "varchar(20)"),
    "decimal(20,4)": ("text",),
    "float": ("double", "text"),
    "double": ("text",),
    "varchar(20)": ("varchar(40)", "text", "varchar(300)"),
    "varchar(40)": ("text", "mediumtext", "varbinary(100)"),
    "char(3)": ("char(5)", "varchar(20)", "text"),
    "text": ("mediumtext", "longtext", "blob"),
    "enum('eur','usd','chf')": ("enum('eur','usd','chf','gbp')", "varchar(20)", "char(3)"),
    "set('x','y')": ("set('x','y','z')", "varchar(20)"),
    "date": ("datetime", "datetime(6)", "varchar(20)"),
    "datetime": ("datetime(3)", "datetime(6)", "timestamp NULL", "varchar(40)"),
    "datetime(3)": ("datetime(6)", "varchar(40)"),
    "timestamp": ("timestamp(6) NULL", "datetime"),
    "time": ("time(6)", "varchar(20)"),
    "year": ("smallint", "int"),
    "bit(1)": ("bit(10)", "tinyint"),
    "bit(10)": ("int",),
    "blob": ("longblob",),
    "varbinary(8)": ("varbinary(80)", "blob"),
    "binary(4)": ("varbinary(8)",),
}
"""The types that MODIFY reaches without losing a value, most of the time."""
_VALUES: Mapping[str, Callable[[random.Random], str]] = {
    "tinyint": lambda r: str(r.randint(-9, 9)),
    "tinyint(1)": lambda r: str(r.randint(0, 1)),
    "tinyint unsigned": lambda r: str(r.choice((r.randint(0, 9), 255))),
    "smallint": lambda r: str(r.randint(1, 14)),
    "smallint unsigned": lambda r: str(r.choice((r.randint(0, 9), 65535))),
    "mediumint": lambda r: str(r.randint(-4, 14)),
    "int": lambda r: str(r.randint(1, 14)),
    "int unsigned": lambda r: str(r.choice((r.randint(0, 9), 4294967295))),
    "bigint": lambda r: str(r.choice((r.randint(1, 14), 5_000_000_000 + r.randint(0, 9)))),
    "bigint unsigned": lambda r: str(r.choice((r.randint(0, 9), 2**64 - 1 - r.randint(0, 1)))),
    "decimal(8,2)": lambda r: f"{r.randint(-2, 40)}.{r.randint(0, 3) * 25:02}",
    "decimal(20,4)": lambda r: f"{r.randint(0, 9)}.125",
    "float": lambda r: f"{r.randint(-4, 9)}.5",
    "double": lambda r: f"{r.randint(-4, 9)}.25",
    "varchar(20)": lambda r: f"'{r.choice(WORDS)}'",
    "varchar(40)": lambda r: f"'{r.choice(WORDS)}'",
    "char(3)": lambda r: f"'{r.choice(('eur', 'usd', 'chf'))}'",
    "text": lambda r: f"'{r.choice(WORDS)}'",
    "enum('eur','usd','chf')": lambda r: f"'{r.choice(('eur', 'usd', 'chf'))}'",
    "set('x','y')": lambda r: f"'{r.choice(('x', 'y', 'x,y', ''))}'",
    "json": lambda r: f"'{{\"n\": {r.randint(0, 9)}}}'",
    "date": lambda r: f"'2026-0{r.randint(1, 3)}-1{r.randint(0, 9)}'",
    "datetime": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00'",
    "datetime(3)": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00.125'",
    "datetime(6)": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00.123456'",
    "timestamp NULL": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00'",
    "timestamp(6) NULL": lambda r: f"'2026-01-1{r.randint(0, 9)} 0{r.randint(0, 9)}:30:00.123456'",
    "time": lambda r: f"'{r.choice(('0', '-0', '12'))}{r.randint(0, 9)}:15:00'",
    "year": lambda r: f"202{r.randint(0, 9)}",
    "bit(1)": lambda r: f"b'{r.randint(0, 1)}'",
    "bit(10)": lambda r: f"b'{r.randint(0, 1)}1000000{r.randint(0, 1)}'",
    "blob": lambda r: f"x'0{r.randint(0, 9)}ff'",
    "varbinary(8)": lambda r: f"x'0{r.randint(0, 9)}0a'",
    "binary(4)": lambda r: f"x'0{r.randint(0, 9)}'",
}
"""A literal of each type, from a small domain, so that rows meet under one key."""
_LIKE = {
    "char": "char(3)", "varchar": "varchar(20)", "mediumtext": "text", "longtext": "json", "longblob": "blob",
    "varbinary": "varbinary(8)", "decimal": "decimal(8,2)", "timestamp": "timestamp NULL", "time": "time",
    "datetime": "datetime", "enum": "enum('eur','usd','chf')", "set": "set('x','y')", "year": "year",
}  # fmt: skip
"""The type whose literals another one takes, by its word."""
# A unique index of these has a hidden column, with which Debezium 3.5 fails.
_NOT_INDEXED = ("text", "json", "blob", "mediumtext", "longtext", "longblob")


def make_transaction(chance: random.Random, tables: Sequence[Mapping[str, Any]]) -> Transaction:
    """Make the next transaction for tables as the catalogue describes them."""
    return choose_transaction(chance, tables, _create, _write, _CHANGES)


def make_tables(chance: random.Random, count: int) -> list[str]:
    """Make statements that create the first tables."""
    return [_create(chance, (), name) for name in TABLES[:count]]


def make_insert(chance: random.Random, table: Mapping[str, Any]) -> str:
    """Make an insert of one row or some: one that ignores, replaces or changes the row that has the key."""
    columns = [c for c in table["columns"] if c["name"] != ROW and not c["generated"]]
    columns = [c for c in columns if chance.random() < _share(c)] or columns[:1]
    count = chance.choice((1, 1, 1, 2, 4))
    rows = (", ".join(_value(chance, c) for c in columns) for _ in range(count))
    values = ", ".join(f"({row})" for row in rows)
    names = ", ".join(quote(c["name"]) for c in columns)
    into = f"INTO {_place(table)} ({names}) VALUES {values}"
    kind = chance.choices(("ignore", "replace", "duplicate"), (6, 2, 2))[0]
    if kind == "replace":
        return f"REPLACE {into}"
    if kind == "duplicate" and columns:
        changed = chance.choice(columns)
        return f"INSERT {into} ON DUPLICATE KEY UPDATE {quote(changed['name'])} = {_value(chance, changed)}"
    return f"INSERT IGNORE {into}"


def quote(name: str) -> str:
    """Quote a name that a statement may not have bare."""
    return name if re.fullmatch(r"[a-z_]+", name) and name != "rank" else f"`{name}`"


def _share(column: Mapping[str, Any]) -> float:
    if column["auto_increment"]:
        return 0.4
    return 1 if column["not_null"] else 0.8


def _place(table: Mapping[str, Any]) -> str:
    return f"{SCHEMA}.{quote(table['name'])}"


def _value(chance: random.Random, column: Mapping[str, Any]) -> str:
    if not column["not_null"] and chance.random() < 0.15:
        return "NULL"
    return _literal(chance, column["type"])


def _literal(chance: random.Random, type: str) -> str:
    short = _short(type)
    make = _VALUES.get(short) or _VALUES.get(_LIKE.get(re.split(r"[ (]", short)[0], ""))
    return make(chance) if make else "DEFAULT"


def _short(type: str) -> str:
    """A type as statements spell it, for what the catalogue prints: without the width of an integer."""
    if type.startswith("tinyint(1)"):
        return type
    return re.sub(r"^(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)", r"\1", type)


def _create(chance: random.Random, tables: Sequence[Mapping[str, Any]], name: str = "") -> str:
    free = [t for t in TABLES if t not in {table["name"] for table in tables}]
    names = chance.sample(COLUMNS, chance.randint(2, 6))
    columns = [f"{quote(column)} {_define(chance)}" for column in names]
    columns.append(f"`{ROW}` bigint NOT NULL DEFAULT nextval({NUMBERS}.row_numbers)")
    key = chance.choices(
        (
            "id int PRIMARY KEY",
            "id int NOT NULL AUTO_INCREMENT PRIMARY KEY",
            "id int UNIQUE NOT NULL",
            "id int UNIQUE",
            "id int",
            "id int, line int, PRIMARY KEY (line, id)",
        ),
        (4, 2, 1, 1, 1, 2),
    )[0]
    made = chance.choices(("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"), (4, 1))[0]
    return f"{made} {SCHEMA}.{quote(name or chance.choice(free))} ({', '.join([key, *columns])})"


def _define(chance: random.Random, type: str = "") -> str:
    """A type with the attributes of a column: it may be required, and have a default."""
    type = type or chance.choice([*_VALUES])
    if chance.random() < 0.7 or _short(type).startswith(_NOT_INDEXED):
        return type
    bare = type.removesuffix(" NULL")
    return f"{bare} NOT NULL DEFAULT {_literal(chance, type)}"


def _write(chance: random.Random, table: Mapping[str, Any]) -> str:
    columns = [c for c in table["columns"] if not c["generated"]]
    kind, count, changed = choose_write(chance, table, columns)
    if kind == "insert":
        return make_insert(chance, table)
    if kind == "truncate":
        return f"TRUNCATE TABLE {_place(table)}"
    some = f"ORDER BY rand() LIMIT {count}"
    if kind == "delete":
        return f"DELETE FROM {_place(table)} {some}"
    sets = ", ".join(f"{quote(c['name'])} = {_value(chance, c)}" for c in changed)
    return f"UPDATE {_place(table)} SET {sets} {some}"


def _alter(table: Mapping[str, Any], *clauses: str) -> tuple[str, ...]:
    """One statement for each clause."""
    return tuple(f"ALTER TABLE {_place(table)} {clause}" for clause in clauses)


def _where(chance: random.Random, table: Mapping[str, Any]) -> str:
    """The place of a column: the end, most of the time."""
    if chance.random() < 0.6:
        return ""
    after = quote(chance.choice(table["columns"])["name"])
    return chance.choice((" FIRST", f" AFTER {after}"))


def _add_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    return _alter(table, _add(chance, table))


def _add(chance: random.Random, table: Mapping[str, Any]) -> str:
    name = quote(pick_free_name(chance, table, COLUMNS))
    if chance.random() < 0.1:
        kind = chance.choice(("STORED", "VIRTUAL"))
        return f"ADD COLUMN {name} varchar(30) GENERATED ALWAYS AS (concat(`{ROW}`, '!')) {kind}"
    return f"ADD COLUMN {name} {_define(chance)}{_where(chance, table)}"


def _drop_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    return _alter(table, f"DROP COLUMN {quote(pick_column(chance, table)['name'])}")


def _replace_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    """A column goes, and its name comes back: as a new column, or as that of its neighbour."""
    column = pick_column(chance, table)
    old = column["name"]
    others = [c["name"] for c in table["columns"] if c["name"] != old]
    if others and chance.random() < 0.5:
        # In one statement Debezium 3.5 fails, or keeps the structure from before it.
        other = quote(chance.choice(others))
        return _alter(table, f"DROP COLUMN {quote(old)}", f"RENAME COLUMN {other} TO {quote(old)}")
    clauses = (f"DROP COLUMN {quote(old)}", f"ADD COLUMN {quote(old)} {_define(chance)}")
    # MariaDB keeps such a column in its index, and Debezium 3.5 takes it out of the key of each record.
    is_one = not column["indexed"] and chance.random() < 0.5
    return _alter(table, *((", ".join(clauses),) if is_one else clauses))


def _rename_column(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    return _alter(table, _rename(chance, table, pick_column(chance, table)))


def _rename(chance: random.Random, table: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    old, new = quote(column["name"]), quote(pick_free_name(chance, table, COLUMNS))
    if chance.random() < 0.5 or column["generated"] or column["auto_increment"]:
        return f"RENAME COLUMN {old} TO {new}"
    return f"CHANGE COLUMN {old} {new} {_change_type(chance, column)}{_where(chance, table)}"


def _change_type(chance: random.Random, column: Mapping[str, Any]) -> str:
    """The type of the column, or another one; at times another nullability."""
    type = _short(column["type"])
    wider = _LOSSLESS.get(type)
    kind = chance.choices(("same", "wider", "other"), (3, 5, 1))[0]
    chosen = chance.choice(wider) if kind == "wider" and wider else type
    if kind == "other":
        chosen = chance.choice([*_VALUES])
    if column["indexed"] and chosen.startswith(_NOT_INDEXED):
        chosen = type
    required = column["not_null"] != (chance.random() < 0.15)
    return f"{chosen.removesuffix(' NULL')} {'NOT NULL' if required else 'NULL'}"


def _exchange_columns(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    if len(table["columns"]) < 2:
        return _add_column(chance, table, _)
    a, b = (quote(c["name"]) for c in chance.sample(list(table["columns"]), 2))
    # In one statement Debezium 3.5 loses a column, and its task fails at the next row.
    pairs = ((a, "between_them"), (b, a), ("between_them", b))
    return _alter(table, *(f"RENAME COLUMN {old} TO {new}" for old, new in pairs))


def _modify(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    column = pick_column(chance, table)
    if column["generated"] or column["auto_increment"]:
        return _add_column(chance, table, _)
    made = _change_type(chance, column)
    return _alter(table, f"MODIFY COLUMN {quote(column['name'])} {made}{_where(chance, table)}")


def _set_default(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    column = pick_column(chance, table)
    value = _literal(chance, column["type"])
    return _alter(table, f"ALTER COLUMN {quote(column['name'])} SET DEFAULT {value}")


def _alter_much(chance: random.Random, table: Mapping[str, Any], tables: Sequence[Any]) -> tuple[str, ...]:
    """One statement with several clauses, each about another column; at times about the table's name."""
    columns = chance.sample(list(table["columns"]), min(len(table["columns"]), 2))
    clauses = [_add(chance, table)]
    for column in columns:
        name, is_plain = quote(column["name"]), not column["generated"] and not column["auto_increment"]
        kind = chance.choice(("drop", "rename", "modify"))
        if kind == "modify" and is_plain:
            clauses.append(f"MODIFY {name} {_change_type(chance, column)}{chance.choice(('', ' FIRST'))}")
        elif kind == "rename":
            clauses.append(f"RENAME COLUMN {name} TO {chance.choice(('former', 'later', 'spare'))}")
        else:
            clauses.append(f"DROP COLUMN {name}")
    # MariaDB 10.11 leaves the former table as well if a name has characters that files spell otherwise.
    free = [t for t in TABLES if t.isalpha() and t not in {each["name"] for each in tables}]
    chance.shuffle(clauses)
    if free and table["name"].isalpha() and chance.random() < 0.1:
        clauses.append(f"RENAME TO {SCHEMA}.{quote(chance.choice(free))}")
    return _alter(table, ", ".join(clauses))


def _rekey(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    """Another primary key, or none; at times with a new column that holds it."""
    primary = list_key(table)
    names = [c["name"] for c in table["columns"] if not _short(c["type"]).startswith(_NOT_INDEXED)]
    dropped = ("DROP PRIMARY KEY",) if primary else ()
    chosen = chance.randint(1, 4)
    if not names or (primary and chosen == 1):
        return _alter(table, *dropped)
    if chosen == 2:
        name = quote(pick_free_name(chance, table, COLUMNS))
        added = f"ADD COLUMN {name} bigint NOT NULL AUTO_INCREMENT PRIMARY KEY{_where(chance, table)}"
        return _alter(table, ", ".join((*dropped, added)))
    more = chance.choice(names)
    if chosen == 3 and primary:
        key = [*primary, more] if more not in primary else [*primary[::-1]]
    else:
        key = chance.sample(names, min(len(names), chance.choice((1, 1, 2))))
    clauses = (*dropped, f"ADD PRIMARY KEY ({', '.join(map(quote, key))})")
    return _alter(table, *((", ".join(clauses),) if chance.random() < 0.7 else clauses))


def _index(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    indexes = [i["name"] for i in table["unique_indexes"] if i["name"].startswith("u_")]
    if indexes and chance.random() < 0.5:
        name = chance.choice(indexes)
        return chance.choice(
            ((f"DROP INDEX {name} ON {_place(table)}",), _alter(table, f"DROP INDEX {name}"))
        )
    columns = [c for c in table["columns"] if not _short(c["type"]).startswith(_NOT_INDEXED)]
    column = quote(chance.choice(columns or table["columns"])["name"])
    name = f"u_{chance.randint(1, 99)}"
    made = (f"CREATE UNIQUE INDEX {name} ON {_place(table)} ({column})",)
    return chance.choice((made, _alter(table, f"ADD UNIQUE KEY {name} ({column})")))


def _rename_table(chance: random.Random, table: Mapping[str, Any], tables: Sequence[Any]) -> tuple[str, ...]:
    free = [t for t in TABLES if t not in {each["name"] for each in tables}]
    old, between = _place(table), f"{SCHEMA}.between_them"
    if free and chance.random() < 0.5:
        new = f"{SCHEMA}.{quote(chance.choice(free))}"
        return chance.choice(((f"RENAME TABLE {old} TO {new}",), _alter(table, f"RENAME TO {new}")))
    other = _place(chance.choice([t for t in tables if t is not table]))
    pairs = ((old, between), (other, old), (between, other))
    if chance.random() < 0.5:
        return (f"RENAME TABLE {', '.join(f'{a} TO {b}' for a, b in pairs)}",)
    return tuple(f"RENAME TABLE {a} TO {b}" for a, b in pairs)


def _drop_table(chance: random.Random, table: Mapping[str, Any], tables: Sequence[Any]) -> tuple[str, ...]:
    dropped = f"DROP TABLE {chance.choice(('', 'IF EXISTS '))}{_place(table)}"
    return (dropped, _create(chance, tables, table["name"])) if chance.random() < 0.6 else (dropped,)


def _create_table(chance: random.Random, table: Mapping[str, Any], tables: Sequence[Any]) -> tuple[str, ...]:
    free = [t for t in TABLES if t not in {each["name"] for each in tables}]
    if not free:
        return (f"DROP TABLE IF EXISTS {SCHEMA}.never_was",)
    if chance.random() < 0.4:
        return (f"CREATE TABLE {SCHEMA}.{quote(chance.choice(free))} LIKE {_place(table)}",)
    return (_create(chance, tables),)


def _convert(chance: random.Random, table: Mapping[str, Any], _: object) -> tuple[str, ...]:
    """What changes no row: a comment, the text encoding, the engine."""
    return _alter(
        table, chance.choice(("COMMENT='seen'", "CONVERT TO CHARACTER SET utf8mb4", "ENGINE=InnoDB", "FORCE"))
    )


_CHANGES: tuple[tuple[int, Change], ...] = (
    (14, _add_column),
    (8, _drop_column),
    (6, _replace_column),
    (11, _rename_column),
    (4, _exchange_columns),
    (16, _modify),
    (3, _set_default),
    (7, _alter_much),
    (14, _rekey),
    (5, _index),
    (4, _rename_table),
    (2, _drop_table),
    (2, _create_table),
    (2, _convert),
)
"""How often each change is made, and what makes its statements."""
