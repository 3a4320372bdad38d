"""The rows that MariaDB 10.11 itself ends with after the statements of the bookshop.

`bookshop-rows.json` was written by a MariaDB 10.11.19 that ran the statements of `truth.jsonl` in order:
a row is what `CAST(… AS CHAR)` gives of each column, `HEX(…)` for bytes and bits.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from tests.lake_state.cells import Cell
from tests.lake_state.truth import Truth

ROWS = Path(__file__).parent / "bookshop-rows.json"


def bookshop_rows(truth: Truth) -> dict[tuple[str, str], list[dict[str, Cell]]]:
    """The rows of every table, by database and name, as canonical cells."""
    told = json.loads(ROWS.read_text("utf-8"))
    return {
        (table.space, table.name): [
            {c.name: stored(c.type, row[c.name]) for c in table.columns}
            for row in told[f"{table.space}.{table.name}"]
        ]
        for table in truth.last.values()
        if not table.name.startswith("secret")  # outside of what the connectors were told to read
    }


def stored(type: str, told: str | None) -> Cell:
    """The canonical cell of the text of a value of a MariaDB type."""
    if told is None:
        return None
    match re.split(r"[ (]", type)[0]:
        case "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year":
            return int(told)
        case "float" | "double":
            return float(told)
        case "decimal":
            return Decimal(told)
        case "bit" | "binary" | "varbinary" | "blob":
            return bytes.fromhex(told.rjust(len(told) + len(told) % 2, "0"))
        case "date":
            return date.fromisoformat(told)
        case "datetime":
            return datetime.fromisoformat(told)
        case "timestamp":
            return datetime.fromisoformat(told).replace(tzinfo=UTC)
        case "time":
            hours, minutes, seconds = told.split(":")
            micros = int(Decimal(seconds) * 1_000_000)
            return timedelta(hours=int(hours), minutes=int(minutes), microseconds=micros)
        case _:
            return told
