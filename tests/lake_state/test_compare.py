"""The judge of a lake finds whatever is wrong with a table: each kind of fault is made, and must be told."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache

import pytest

from tests.lake_state.cells import PLACEHOLDER, UNTOLD, Beyond
from tests.lake_state.compare import Shape, compare, is_same
from tests.lake_state.fold import State, Table, fold
from tests.support.checkout import CAPTURES

SEVERAL = ("postgres/shop-json", "postgres/shop-downtime-newest", "mariadb/bookshop-mariadb-3.5.0-json")

Lake = list[dict[str, object]]


@cache
def state_of(name: str) -> State:
    return fold(CAPTURES / name)


def tables() -> list[tuple[str, Table]]:
    return [(name, table) for name in SEVERAL for table in state_of(name).tables.values() if table.key]


def lake_type(source: str) -> str:
    """A type that holds a source type; written by hand, as somebody else would project it."""
    if source.endswith("[]"):
        return f"ARRAY<{lake_type(source[:-2])}>"
    if source.startswith("bigint") and "unsigned" in source:
        return "DECIMAL(20,0)"
    if found := re.match(r"(?:numeric|decimal)\((\d+),(-?\d+)\)", source):
        precision, scale = int(found[1]), int(found[2])
        return f"DECIMAL({precision - min(scale, 0)},{max(scale, 0)})"
    word = re.split(r"[ (]", source)[0]
    if word == "timestamp":
        return "TIMESTAMP_NTZ" if source.endswith("without time zone") else "TIMESTAMP"
    if word in ("tinyint", "smallint", "mediumint", "int", "integer"):
        return "BIGINT" if "unsigned" in source else "INT"
    if source == "bit(1)":
        return "BOOLEAN"
    words = {
        "bigint": "BIGINT", "oid": "BIGINT", "year": "INT", "real": "FLOAT", "double": "DOUBLE",
        "float": "FLOAT", "date": "DATE", "boolean": "BOOLEAN", "bytea": "BINARY", "bit": "BINARY",
        "blob": "BINARY", "binary": "BINARY", "varbinary": "BINARY", "datetime": "TIMESTAMP_NTZ",
        "money": "DECIMAL(19,2)", "point": "STRUCT<x: DOUBLE, y: DOUBLE, wkb: BINARY, srid: INT>",
    }  # fmt: skip
    return words.get(word, "STRING")


def type_of(value: object) -> str:
    """The type of a column that the source no longer has, from what it held."""
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT"
        case Decimal():
            return "DECIMAL(38,10)"
        case datetime():
            return "TIMESTAMP" if value.tzinfo else "TIMESTAMP_NTZ"
        case date():
            return "DATE"
        case _:
            return "STRING"


def written(value: object, type: str) -> object:
    match value:
        case tuple():
            return [written(part, type[6:-1]) for part in value]
        case int() if type.startswith("DECIMAL"):
            return Decimal(value)
        case timedelta():
            return clock(value)
        case int() | Decimal() if type == "STRING":
            return str(value)
        case Beyond():
            return str(value.raw)
        case dict() if type == "STRING":
            return json.dumps(value)
        case _:
            return value


def clock(span: timedelta) -> str:
    micros = round(span / timedelta(microseconds=1))
    seconds, micros = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"


def lake_of(table: Table) -> tuple[Shape, Lake]:
    """The table as a sink without fault would leave it."""
    types = {column.name: lake_type(column.type) for column in table.columns}
    free = {n: [s for s in (n, *told) if s not in types] for n, told in table.left_spellings.items()}
    kept = {name: spellings[0] for name, spellings in free.items() if spellings}
    left = [(kept.get(name), value) for row in table.rows for name, value in row.left.items()]
    types |= {name: type_of(value) for name, value in left if name and value is not None}
    rows: Lake = []
    for row in table.rows:
        there: dict[str, object] = dict.fromkeys(types)
        gone = {kept[name]: value for name, value in row.left.items() if name in kept}
        there |= {name: written(value, types[name]) for name, value in gone.items() if name in types}
        there |= {name: written(value, types[name]) for name, value in row.cells.items()}
        rows.append(there)
    return Shape(types, table.key), rows


def sound_tables() -> list[tuple[str, Table]]:
    """Those without a value that no lake type holds: infinity, or of a column that changed its type."""
    return [(n, t) for n, t in tables() if not compare(t, lake_of(t)[1], lake_of(t)[0])]


def test_a_lake_that_is_right_is_left_in_peace() -> None:
    all_of_them, sound = tables(), sound_tables()
    unsound = {(n.split("/")[1], t.name[1]) for n, t in all_of_them} - {
        (n.split("/")[1], t.name[1]) for n, t in sound
    }
    # Infinity, and columns whose older values are of a type that this projection does not hold.
    assert unsound <= {("shop-json", "all_types"), ("shop-downtime-newest", "counts")}, unsound
    assert len(sound) > 25
    assert sum(len(table.rows) for _, table in sound) > 300


Fault = Callable[[Table, Shape, Lake, random.Random], tuple[Shape, Lake] | None]


def cells_of(rows: Lake, kind: type | tuple[type, ...]) -> list[tuple[int, str]]:
    return [(n, c) for n, row in enumerate(rows) for c, v in row.items() if isinstance(v, kind)]


def drop_a_row(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    del rows[chance.randrange(len(rows))]
    return shape, rows


def write_a_row_twice(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    return shape, [*rows, dict(chance.choice(rows))]


def bring_a_deleted_row_back(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    ghost = dict(chance.choice(rows))
    for name in table.key:
        ghost[name] = "ghost" if isinstance(ghost[name], str) else None
    return shape, [*rows, ghost]


def round_a_decimal(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    odd = [(n, c) for n, c in cells_of(rows, Decimal) if rows[n][c] % 1]  # type: ignore[operator]
    if not odd:
        return None
    n, column = chance.choice(odd)
    rows[n][column] = round(rows[n][column])  # type: ignore[call-overload]
    return shape, rows


def cut_microseconds(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    fine = [(n, c) for n, c in cells_of(rows, datetime) if rows[n][c].microsecond % 1000]  # type: ignore[attr-defined]
    if not fine:
        return None
    n, column = chance.choice(fine)
    rows[n][column] = rows[n][column].replace(microsecond=0)  # type: ignore[attr-defined]
    return shape, rows


def shift_by_a_zone(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    found = cells_of(rows, datetime)
    if not found:
        return None
    n, column = chance.choice(found)
    rows[n][column] += timedelta(hours=2)  # type: ignore[operator]
    return shape, rows


def null_a_value(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    found = [(n, c) for n, c in cells_of(rows, object) if rows[n][c] is not None and c in table.rows[n].cells]
    n, column = chance.choice(found)
    rows[n][column] = None
    return shape, rows


def default_for_null(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    found = [(n, c) for n, row in enumerate(rows) for c, v in row.items() if v is None]
    if not found:
        return None
    n, column = chance.choice(found)
    rows[n][column] = {"STRING": "", "BOOLEAN": False}.get(shape.columns[column], 0)
    return shape, rows


def store_the_placeholder(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    found = [(n, c) for n, c in cells_of(rows, str) if c not in table.key]
    if not found:
        return None
    n, column = chance.choice(found)
    rows[n][column] = PLACEHOLDER
    return shape, rows


def swap_two_columns(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    names = list(shape.columns)
    pairs = [
        (a, b)
        for a in names
        for b in names
        if a < b and shape.columns[a] == shape.columns[b] and any(row[a] != row[b] for row in rows)
    ]
    if not pairs:
        return None
    a, b = chance.choice(pairs)
    for row in rows:
        row[a], row[b] = row[b], row[a]
    return shape, rows


def turn_a_number_into_text(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    whole = {c.name for c in table.columns if re.match("int|bigint|small|decimal|numeric.*2\\)", c.type)}
    found = [(n, c) for n, c in cells_of(rows, (int, Decimal)) if c in whole]
    if not found:
        return None
    _, column = chance.choice(found)
    types = {**shape.columns, column: "STRING"}
    for row in rows:
        row[column] = None if row[column] is None else str(row[column])
    return Shape(types, shape.key), rows


def wrap_an_unsigned(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    found = [(n, c) for n, c in cells_of(rows, Decimal) if rows[n][c] > 2**63]  # type: ignore[operator]
    if not found:
        return None
    n, column = chance.choice(found)
    rows[n][column] -= 2**64  # type: ignore[operator]
    return shape, rows


def narrow_a_type(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    wide = [name for name, type in shape.columns.items() if type in ("BIGINT", "DOUBLE", "TIMESTAMP")]
    wide = [c.name for c in table.columns if c.name in wide and re.match("bigint|double|timestamp", c.type)]
    if not wide:
        return None
    name = chance.choice(wide)
    narrow = {"BIGINT": "SMALLINT", "DOUBLE": "FLOAT", "TIMESTAMP": "TIMESTAMP_NTZ"}[shape.columns[name]]
    return Shape({**shape.columns, name: narrow}, shape.key), rows


def lose_a_column(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    told = {name for row in table.rows for name in row.cells}
    name = chance.choice(sorted(told & shape.columns.keys()))
    left = {n: t for n, t in shape.columns.items() if n != name}
    return Shape(left, shape.key), [{n: v for n, v in row.items() if n != name} for row in rows]


def give_another_key(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    others = [name for name in shape.columns if name not in shape.key and (name,) != table.told_key]
    return Shape(shape.columns, (chance.choice(others),)) if others else None, rows


def lose_old_values_of_a_dropped_column(table: Table, shape: Shape, rows: Lake, chance: random.Random):
    kept = [
        (n, c)
        for n, row in enumerate(table.rows)
        for c, v in row.left.items()
        if c not in row.touched and v is not None and c in shape.columns and c not in row.cells
        if c not in {column.name for column in table.columns}
    ]
    if not kept:
        return None
    n, column = chance.choice(kept)
    rows[n][column] = None
    return shape, rows


FAULTS: dict[str, Callable[..., object]] = {
    fault.__name__: fault
    for fault in (
        drop_a_row, write_a_row_twice, bring_a_deleted_row_back, round_a_decimal, cut_microseconds,
        shift_by_a_zone, null_a_value, default_for_null, store_the_placeholder, swap_two_columns,
        turn_a_number_into_text, wrap_an_unsigned, narrow_a_type, lose_a_column, give_another_key,
        lose_old_values_of_a_dropped_column,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_wherever_it_is_made(name: str) -> None:
    made = 0
    for number, (_, table) in enumerate(sound_tables()):
        chance = random.Random(number)
        shape, rows = lake_of(table)
        faulty = FAULTS[name](table, shape, rows, chance)
        if not isinstance(faulty, tuple) or faulty[0] is None:
            continue
        made += 1
        assert compare(table, faulty[1], faulty[0]), (table.name, name)
    assert made > 0


def test_what_nobody_told_is_no_null() -> None:
    """A value that did not change and was never sent is unknown: a NULL in its place would be a lie."""
    table = next(t for _, t in sound_tables() if any(isinstance(v, str) for v in t.rows[0].cells.values()))
    shape, rows = lake_of(table)
    column = next(n for n, v in table.rows[0].cells.items() if isinstance(v, str) and n not in table.key)
    told = Table(table.name, 1, table.columns, table.key, list(table.rows))
    row = table.rows[0]
    told.rows[0] = type(row)({**row.cells, column: UNTOLD}, row.place, row.left, row.touched, row.left_as)
    rows[0][column] = None
    assert [d.what for d in compare(told, rows, shape)] == ["cell"]


@pytest.mark.parametrize(
    ("told", "there", "type", "same"),
    [
        (Decimal("1.10"), Decimal("1.1"), "DECIMAL(4,2)", True),
        (1, True, "INT", False),
        (True, True, "BOOLEAN", True),
        (5, "5", "STRING", True),
        ("5", 5, "INT", False),
        (timedelta(hours=25), "25:00:00", "STRING", True),
        (timedelta(hours=1), "01:00:00.000001", "STRING", False),
        (date(2024, 1, 1), datetime(2024, 1, 1), "TIMESTAMP_NTZ", True),  # noqa: DTZ001
        (date(2024, 1, 1), datetime(2024, 1, 1), "DATE", False),  # noqa: DTZ001
        (date(2024, 1, 1), "2024-01-01", "STRING", True),
        (date(2024, 1, 1), "2024-01-01T00:00:00", "STRING", False),
        (datetime(2024, 1, 1, 7), "2024-01-01T07:00:00", "STRING", True),  # noqa: DTZ001
        (datetime(2024, 1, 1, 7), "2024-01-01T07:00:00Z", "STRING", False),  # noqa: DTZ001
        (True, 1, "TINYINT", True),
        (True, 0, "TINYINT", False),
        (float("nan"), float("nan"), "DOUBLE", True),
        (0.1, Decimal("0.1"), "DECIMAL(2,1)", False),
        (2**53 + 1, float(2**53), "DOUBLE", False),
        ((1, None), [1, None], "ARRAY<INT>", True),
        ((1, None), [1, 0], "ARRAY<INT>", False),
        (Beyond("date", -622191234), "infinity", "STRING", True),
        (Beyond("date", -622191234), None, "DATE", False),
        ((date(2002, 8, 7),), '["2002-08-07"]', "STRING", True),
        ((date(2002, 8, 7),), "{2002-08-08}", "STRING", False),
        (0.5, "a word", "STRING", False),
        (float("nan"), "nan", "STRING", True),
        (float("nan"), "inf", "STRING", False),
        (Beyond("timestamp", -9223372036832400), "-infinity", "STRING", True),
        ((Beyond("date", 6585322), date(2002, 8, 7)), '["+20000-01-01","2002-08-07"]', "STRING", True),
        ((Beyond("date", 6585322),), '["+20000-01-02"]', "STRING", False),
        ((Beyond("date", -622191234), None), '["infinity",null]', "STRING", True),
    ],
)
def test_the_type_of_the_lake_says_what_a_cell_must_be(
    told: object, there: object, type: str, same: bool
) -> None:
    assert is_same(told, there, type) is same
