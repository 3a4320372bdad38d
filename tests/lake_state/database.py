"""The statements of a recording run once more in a real PostgreSQL: the rows that its tables really end with.

Values come as canonical cells (see `cells`). What has no canonical cell is told in PostgreSQL's own words: a
span of time in ISO 8601, a number that is none. hstore is a `dict`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.lake_state.cells import Beyond, Cell, float32
from tests.lake_state.truth import PostgresTruth, Structure

Rows = list[dict[str, Cell]]


def final_rows(server: str, folder: Path) -> dict[tuple[str, str], Rows]:
    """The rows of every table that a scenario leaves, by schema and name.

    `server`: `postgresql://` URL without a database.
    """
    truth = PostgresTruth(folder)
    with _database_of_its_own(server) as url, ExitStack() as stack:
        sessions: dict[str, psycopg.Connection[Any]] = {}
        for step in truth.steps:
            name = step.get("session") or "a"
            if name not in sessions:
                sessions[name] = stack.enter_context(psycopg.connect(url, autocommit=True))
                sessions[name].execute("SET timezone TO 'UTC'; SET intervalstyle TO 'iso_8601'")
            if step["sql"]:
                _run(sessions[name], step)
        tables = [t for t in truth.last.values() if not _is_partitioned(truth, t)]
        return {(t.space, t.name): _rows(sessions["a"], t) for t in tables}


_STAND_INS = {
    "CREATE EXTENSION IF NOT EXISTS hstore;": (
        "CREATE DOMAIN hstore AS text",
        """CREATE FUNCTION hstore(k text, v text) RETURNS hstore LANGUAGE sql
        AS $$ SELECT format('"%s"=>"%s"', k, v)::hstore $$""",
    ),
    "CREATE EXTENSION IF NOT EXISTS citext;": ("CREATE DOMAIN citext AS text",),
}
"""What stands in for an extension that a server may not have: as far as these scenarios use it."""


def _run(session: psycopg.Connection[Any], step: Mapping[str, Any]) -> None:
    try:
        for statement in _STAND_INS.get(step["sql"], (step["sql"],)):
            # Nor is every server built with libxml; the recordings were made by a user of this name.
            session.execute(re.sub(r"\bxml\b", "text", statement).replace("current_user", "'cdc'"))
    except psycopg.Error:
        if not step.get("error"):
            raise


def _is_partitioned(truth: PostgresTruth, table: Structure) -> bool:
    told = [*truth.steps[-1].get("tables", ()), *(t for s in truth.steps for t in s.get("affected") or ())]
    return any(t["oid"] == table.id and t["relkind"] == "p" for t in told)


@contextmanager
def _database_of_its_own(server: str) -> Iterator[str]:
    name = f"replay_{secrets.token_hex(6)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as session:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'")
        session.execute(create.format(sql.Identifier(name)))
        try:
            yield f"{server}/{name}"
        finally:
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _rows(session: psycopg.Connection[Any], table: Structure) -> Rows:
    as_text = [c for c in table.columns if c.type in ("json", "jsonb")]
    texts = [sql.SQL("whole_row.{}::text").format(sql.Identifier(c.name)) for c in as_text]
    wanted = sql.SQL(", ").join([sql.SQL("to_json(whole_row)::text"), *texts])
    named = sql.Identifier(table.space, table.name)
    query = sql.SQL("SELECT {} FROM {} whole_row").format(wanted, named)
    found = []
    for whole, *parts in session.execute(query).fetchall():
        told = json.loads(whole, parse_float=Decimal)
        row = {c.name: stored(c.type, told[c.name]) for c in table.columns}
        row |= {c.name: text for c, text in zip(as_text, parts, strict=True)}
        found.append(row)
    return found


def stored(type: str, told: Any) -> Cell:
    """The canonical cell of what `to_json` tells of a value of a PostgreSQL type."""
    if told is None:
        return None
    if type.endswith("[]"):
        return tuple(stored(type[:-2], item) for item in told)
    word = re.split(r"[ (]", type)[0]
    match word:
        case "boolean":
            return bool(told)
        case "smallint" | "integer" | "bigint" | "oid":
            return int(told)
        case "real":
            return float32(float(told))
        case "double":
            return float(told)
        case "numeric":
            return Decimal(told) if isinstance(told, int | Decimal) else str(told)
        case "money":
            return Decimal(re.sub(r"[$,]", "", told))
        case "bytea":
            return bytes.fromhex(told[2:])
        case "bit":
            return told == "1" if type == "bit(1)" else int(told, 2).to_bytes((len(told) + 7) // 8, "little")
        case "hstore":
            pairs = re.findall(r'"?([^"=,\s]+)"?\s*=>\s*(?:"([^"]*)"|NULL|([^",\s]+))', told)
            return {key: quoted or bare or None for key, quoted, bare in pairs}
        case "point":
            x, y = told.strip("()").split(",")
            return {"x": float(x), "y": float(y)}
        case "date" | "timestamp" | "time" | "interval":
            return _moment(type, told)
        case _:
            return str(told)


def _moment(type: str, told: str) -> Cell:
    if "infinity" in told:
        return Beyond(type, told)
    if type == "date":
        return date.fromisoformat(told)
    if type.startswith("timestamp"):
        moment = datetime.fromisoformat(told)
        return moment.astimezone(UTC) if moment.tzinfo else moment
    if type == "time with time zone":
        there = datetime.fromisoformat(f"2000-01-01T{told}").astimezone(UTC).time()
        return re.sub(r"(\.\d*?)0+$", r"\1", there.isoformat()) + "Z"
    if type.startswith("interval"):
        return str(told)
    hours, minutes, seconds = told.split(":")
    whole, _, parts = seconds.partition(".")
    return timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(whole), microseconds=int(parts.ljust(6, "0") or 0)
    )
