"""Values turned by the engine itself: what `exact` lets through is the same number, whatever its type."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from decimal import Decimal

import pytest

from schemaman.migration import casts as conversion
from schemaman.model.ddl import parse_type
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark
MAX = "9223372036854775807L"
KNOWN = (
    (MAX, "BIGINT", "DOUBLE", False),
    (MAX, "BIGINT", "FLOAT", False),
    ("CAST('-9223372036854775808' AS BIGINT)", "BIGINT", "DOUBLE", True),
    ("1152921504606846976L", "BIGINT", "DOUBLE", True),
    ("9007199254740993L", "BIGINT", "DOUBLE", False),
    ("16777217", "INT", "FLOAT", False),
    ("2147483647", "INT", "FLOAT", False),
    ("2147483647", "INT", "DOUBLE", True),
    ("9.223372036854775807E18D", "DOUBLE", "BIGINT", False),
    ("-9.223372036854775808E18D", "DOUBLE", "BIGINT", True),
    ("2147483648D", "DOUBLE", "INT", False),
    ("1.5D", "DOUBLE", "INT", False),
    ("DOUBLE('NaN')", "DOUBLE", "INT", False),
    ("'16777217'", "STRING", "FLOAT", False),
    ("'16777216'", "STRING", "FLOAT", True),
    ("'0.12345678901234567890123'", "STRING", "DOUBLE", False),
    ("'1.23456789012345678e-30'", "STRING", "DOUBLE", False),
    ("'1e400'", "STRING", "DOUBLE", False),
    ("'1e-400'", "STRING", "DOUBLE", False),
    ("'1e39'", "STRING", "FLOAT", False),
    ("'0.1'", "STRING", "DOUBLE", True),
    ("'-007.250e+2'", "STRING", "DOUBLE", True),
    ("' 1E300 '", "STRING", "DOUBLE", True),
    ("'0.000'", "STRING", "DOUBLE", True),
    ("'NaN'", "STRING", "DOUBLE", True),
    ("'1.5f'", "STRING", "DOUBLE", False),
    ("'1.4'", "STRING", "DECIMAL(38,0)", False),
    ("'1.40'", "STRING", "DECIMAL(38,1)", True),
    ("'4.505'", "STRING", "DECIMAL(6,2)", False),
    ("concat('0.', repeat('0', 60), '1')", "STRING", "DECIMAL(6,2)", False),
    ("'1.9'", "STRING", "INT", False),
    ("'+42'", "STRING", "INT", True),
    ("12345678901234567890.12BD", "DECIMAL(38,2)", "DOUBLE", False),
    ("0.1BD", "DECIMAL(12,10)", "FLOAT", True),
    ("0.1BD", "DECIMAL(12,10)", "DOUBLE", True),
    ("DOUBLE('Infinity')", "DOUBLE", "FLOAT", True),
    ("1e300D", "DOUBLE", "FLOAT", False),
    ("map('1', 'a', '01', 'b')", "MAP<STRING, STRING>", "MAP<INT, STRING>", False),
    ("map('1', 'a', '2', 'b')", "MAP<STRING, STRING>", "MAP<INT, STRING>", True),
    ("CAST(NULL AS MAP<STRING, STRING>)", "MAP<STRING, STRING>", "MAP<INT, STRING>", True),
)  # fmt: skip


def test_what_is_known_to_lose_something_is_told(spark) -> None:
    told = ", ".join(
        f"{conversion.write_exactness(f'CAST({value} AS {old})', parse_type(old), parse_type(new))} AS c{n}"
        for n, (value, old, new, _) in enumerate(KNOWN)
    )
    found = tuple(spark.sql(f"SELECT {told}").collect()[0])
    assert [case for case, ok in zip(KNOWN, found, strict=True) if case[3] is not ok] == []


COUNT = 20_000 if PROOF else 400
PAIRS = (
    ("BIGINT", "DOUBLE"), ("BIGINT", "FLOAT"), ("DOUBLE", "BIGINT"), ("DOUBLE", "FLOAT"),
    ("DOUBLE", "DECIMAL(38,10)"), ("DECIMAL(38,10)", "DOUBLE"), ("DECIMAL(38,10)", "FLOAT"),
    ("STRING", "DOUBLE"), ("STRING", "FLOAT"), ("STRING", "DECIMAL(20,5)"), ("STRING", "BIGINT"),
)  # fmt: skip


def test_a_number_that_comes_through_is_the_same_number(spark, figure) -> None:
    rows = [{"BIGINT": b, "DOUBLE": d, "DECIMAL(38,10)": m, "STRING": s} for b, d, m, s in _numbers(COUNT)]
    columns = "`BIGINT` BIGINT, `DOUBLE` DOUBLE, `DECIMAL(38,10)` DECIMAL(38,10), `STRING` STRING"
    given = spark.createDataFrame(rows, columns)
    parts = []
    for old, new in PAIRS:
        value, was, will = f"`{old}`", parse_type(old), parse_type(new)
        turned = conversion.write_conversion(value, was, will)
        parts.append(
            f"struct(CAST({value} AS STRING) AS v, CAST({turned} AS STRING) AS t, "
            f"{conversion.write_exactness(value, was, will)} AS ok)"
        )
    through = 0
    for row in given.selectExpr(*parts).collect():
        for (old, new), (value, turned, ok) in zip(PAIRS, row, strict=True):
            if ok:
                through += 1
                shown = {old, new} - {"BIGINT", "DOUBLE", "FLOAT"} != set()
                one, other = _number(turned, new, printed=shown), _number(value, old, printed=shown)
                assert one == other, (old, new, value, turned)
    assert through > COUNT
    figure("numbers converted into other types", f"{COUNT * len(PAIRS)} values, {through} without loss")


def _number(text: str, type: str, *, printed: bool) -> Decimal:
    """A number as it is printed, or as it is: a binary one prints shorter than it is."""
    if printed or type not in ("DOUBLE", "FLOAT"):
        return Decimal(text)
    number = float(text)
    return Decimal(struct.unpack("<f", struct.pack("<f", number))[0] if type == "FLOAT" else number)


def _numbers(count: int) -> Iterator[tuple[int, float, Decimal, str]]:
    rng = random.Random(count)
    for _ in range(count):
        bits = rng.randrange(1, 64)
        whole = rng.choice((1, -1)) * (rng.getrandbits(bits) >> 1) << rng.randrange(64 - bits)
        floating = rng.choice((
            float(whole), rng.randrange(10**6) / 10 ** rng.randrange(7), rng.uniform(-(2.0**64), 2.0**64),
            struct.unpack("<f", struct.pack("<f", rng.uniform(-(10.0**6), 10.0**6)))[0],
        ))  # fmt: skip
        decimal = Decimal(rng.getrandbits(rng.randrange(1, 90))).scaleb(-rng.randrange(11))
        text = rng.choice((str(decimal), repr(floating), f"{decimal:E}", f"{whole}", f"00{whole}.50"))
        yield whole, floating, decimal, text
