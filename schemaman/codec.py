"""Log entries as JSON, written by hand and versioned, so that a store outlives the code.

Law: `from_json(to_json(e)) == e` for every entry.
What equals its default is left out; types are written in the words of `ddl`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, assert_never

from schemaman.ddl import format_type, parse_type
from schemaman.errors import SchemamanError, StoreUnavailable
from schemaman.evidence import NOWHERE, Mark, Observation, Position, Reject
from schemaman.log import Covered, Entry, Migrated, Observed, Rejected
from schemaman.schema import Column, Scalar, TableId, TableSchema

VERSION = 1
"""The layout that is written; a reader refuses every other one."""

Json = dict[str, object]
Parsed = Mapping[str, Any]
V = TypeVar("V")
_UPGRADE = "this store was written by another schemaman: upgrade schemaman, or use the one that wrote it"
_DAMAGED = "the store is damaged: run `schemaman store check`, and restore a copy or read the records again"


def canonical(value: object) -> bytes:
    """A JSON value as bytes that are the same for equal values: sorted keys, no spaces, ASCII.

    ASCII, because names out of broken JSON may hold lone surrogates, which UTF-8 cannot carry.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def to_bytes(entry: Entry) -> bytes:
    """A log entry as canonical bytes."""
    return canonical(to_json(entry))


def from_bytes(body: bytes | str, where: str = "log entry") -> Entry:
    """The log entry that `to_bytes` wrote.

    Raises:
        StoreUnavailable: the bytes are no such entry, or of another layout; `where` is named.
    """
    return from_json(loads(body, where), where)


def to_json(entry: Entry) -> Json:
    """A log entry as JSON with its layout version `v` and its `kind`."""
    match entry:
        case Observed(observation):
            return {"v": VERSION, "kind": "observed", **observation_to_json(observation)}
        case Rejected(reject):
            return {"v": VERSION, "kind": "rejected", **reject_to_json(reject)}
        case Covered():
            return {"v": VERSION, "kind": "covered", **_covered_to_json(entry)}
        case Migrated():
            return {"v": VERSION, "kind": "migrated", **_migrated_to_json(entry)}
        case _:
            assert_never(entry)


def from_json(value: object, where: str = "log entry") -> Entry:
    """The entry that `to_json` wrote.

    Raises:
        StoreUnavailable: an unknown layout version or kind, or a member that is missing or wrong.
    """
    body = versioned(value, where)
    kind = body.get("kind")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise StoreUnavailable(f"{where}: unknown kind of entry {kind!r}", hint=_UPGRADE)
    return reading(read, body, f"{where} ({kind})")


def kind_of(kind: type[Entry]) -> str:
    """The word that stands for a class of entries in `kind`."""
    return kind.__name__.lower()


def position_to_json(position: Position) -> Json:
    """A source position: `kind`, `value` as the connector prints it, `commit` where there is one."""
    return {"kind": position.kind, "value": position.value, **given(commit=position.commit)}


def position_from_json(value: Parsed) -> Position:
    """The position that `position_to_json` wrote."""
    return Position(value["kind"], value["value"], value.get("commit"))


def mark_to_json(mark: Mark) -> Json:
    """Where and when a record stands; times in epoch milliseconds."""
    position = None if mark.position == NOWHERE else position_to_json(mark.position)
    return {
        "topic": mark.topic,
        "partition": mark.partition,
        "offset": mark.offset,
        **given(position=position, ts_ms=mark.ts_ms, read_ms=mark.read_ms, timestamp_ms=mark.timestamp_ms),
    }


def mark_from_json(value: Parsed) -> Mark:
    """The mark that `mark_to_json` wrote."""
    return Mark(
        value["topic"],
        value["partition"],
        value["offset"],
        maybe(position_from_json, value.get("position")) or NOWHERE,
        value.get("ts_ms"),
        value.get("read_ms"),
        value.get("timestamp_ms"),
    )


def table_to_json(table: TableId) -> Json:
    """The identity of a table, part by part; `schema` is empty where the database has none."""
    return {
        "stream": table.stream,
        "server": table.server,
        "database": table.database,
        "schema": table.schema,
        "table": table.table,
    }


def table_from_json(value: Parsed) -> TableId:
    """The identity that `table_to_json` wrote."""
    return TableId(value["server"], value["database"], value["schema"], value["table"], value["stream"])


def column_to_json(column: Column) -> Json:
    """A column; its type in the words of `ddl.format_type`."""
    return {
        "name": column.name,
        "type": _type_text(column.type),
        "nullable": column.nullable,
        **given(
            default=_scalar_to_json(column.default),
            comment=column.comment,
            source_type=column.source_type,
            emitted_name=column.emitted_name,
            id=column.id,
        ),
    }


def column_from_json(value: Parsed) -> Column:
    """The column that `column_to_json` wrote. Raises `BadReference` for a type that is none."""
    return _column(
        value["name"],
        value["type"],
        value["nullable"],
        _scalar(value.get("default")),
        value.get("comment"),
        value.get("source_type"),
        value.get("emitted_name"),
        value.get("id"),
    )


def schema_to_json(schema: TableSchema) -> Json:
    """The structure of a table: `columns` in order, `key` in key order, `comment`."""
    columns = [column_to_json(c) for c in schema.columns]
    return {"columns": columns, **given(key=list(schema.key) or None, comment=schema.comment)}


def schema_from_json(value: Parsed) -> TableSchema:
    """The structure that `schema_to_json` wrote."""
    columns = tuple(column_from_json(c) for c in value["columns"])
    return TableSchema(columns, tuple(value.get("key", ())), value.get("comment"))


def observation_to_json(observation: Observation) -> Json:
    """What was said about a table."""
    o = observation
    return {
        "table": table_to_json(o.table),
        "witness": o.witness,
        "action": o.action,
        "connector": o.connector,
        "connector_version": o.connector_version,
        "first": mark_to_json(o.first),
        "last": mark_to_json(o.last),
        "count": o.count,
        "snapshot": o.snapshot,
        **given(
            schema=maybe(schema_to_json, o.schema),
            previous=maybe(table_to_json, o.previous),
            ddl=o.ddl,
            renames=[list(pair) for pair in o.renames] or None,
            schema_name=o.schema_name,
            interrupted=o.interrupted or None,
        ),
    }


def observation_from_json(value: Parsed) -> Observation:
    """The observation that `observation_to_json` wrote."""
    return Observation(
        table_from_json(value["table"]),
        value["witness"],
        value["action"],
        value["connector"],
        value["connector_version"],
        mark_from_json(value["first"]),
        mark_from_json(value["last"]),
        value["count"],
        value["snapshot"],
        maybe(schema_from_json, value.get("schema")),
        maybe(table_from_json, value.get("previous")),
        value.get("ddl"),
        tuple((old, new) for old, new in value.get("renames", ())),
        value.get("schema_name"),
        value.get("interrupted", False),
    )


def reject_to_json(reject: Reject) -> Json:
    """Records that were not understood; `payload` in hexadecimal digits where it was kept."""
    return {
        "stream": reject.stream,
        "topic": reject.topic,
        "partition": reject.partition,
        "offset": reject.offset,
        "count": reject.count,
        "reason": reject.reason,
        "sha256": reject.sha256,
        **given(payload=maybe(bytes.hex, reject.payload)),
    }


def reject_from_json(value: Parsed) -> Reject:
    """The reject that `reject_to_json` wrote."""
    return Reject(
        value["stream"],
        value["topic"],
        value["partition"],
        value["offset"],
        value["count"],
        value["reason"],
        value["sha256"],
        maybe(bytes.fromhex, value.get("payload")),
    )


def _covered_to_json(covered: Covered) -> Json:
    return {
        "stream": covered.stream,
        "topic": covered.topic,
        "partition": covered.partition,
        "first": covered.first,
        "last": covered.last,
        "first_hash": covered.first_hash,
        "last_hash": covered.last_hash,
        **given(
            asides=[list(pair) for pair in covered.asides] or None,
            gaps=_steps(covered) or None,
        ),
    }


def _covered(value: Parsed) -> Covered:
    return Covered(
        value["stream"],
        value["topic"],
        value["partition"],
        value["first"],
        value["last"],
        value["first_hash"],
        value["last_hash"],
        tuple((kind, count) for kind, count in value.get("asides", ())),
        _gaps(value["first"], value.get("gaps", ())),
    )


def _steps(covered: Covered) -> list[int]:
    """The gaps as numbers of offsets, read and not read in turns: a compacted topic has thousands of them."""
    steps, at = list[int](), covered.first
    for start, end in covered.gaps:
        steps += [start - at, end - start + 1]
        at = end + 1
    return steps


def _gaps(at: int, steps: Sequence[int]) -> tuple[tuple[int, int], ...]:
    gaps = []
    for read, lacking in zip(steps[::2], steps[1::2], strict=True):
        gaps.append((at + read, at + read + lacking - 1))
        at += read + lacking
    return tuple(gaps)


def _migrated_to_json(migrated: Migrated) -> Json:
    return {
        "run": migrated.run,
        "plan": migrated.plan,
        "target": migrated.target,
        "state": migrated.state,
        **given(
            step=migrated.step,
            statement=migrated.statement or None,
            version=migrated.version or None,
            error=migrated.error or None,
        ),
    }


def _migrated(value: Parsed) -> Migrated:
    return Migrated(
        value["run"],
        value["plan"],
        value["target"],
        value.get("step"),
        value["state"],
        value.get("statement", ""),
        value.get("version", ""),
        value.get("error", ""),
    )


_READERS: dict[str, Callable[[Parsed], Entry]] = {
    "observed": lambda value: Observed(observation_from_json(value)),
    "rejected": lambda value: Rejected(reject_from_json(value)),
    "covered": _covered,
    "migrated": _migrated,
}


def given(**members: object) -> Json:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def maybe(convert: Callable[[Any], V], value: Any) -> V | None:
    """The value converted, or None for None."""
    return None if value is None else convert(value)


@lru_cache(maxsize=1 << 16, typed=True)
def _column(name: str, type: str, nullable: bool, default: Scalar, *rest: Any) -> Column:
    # Versions of a table share nearly all of their columns: reading a type once is ten times as fast.
    # `typed`, because the defaults 1, 1.0 and true are equal and not the same.
    return Column(name, _type(type), nullable, default, *rest)


_type = lru_cache(maxsize=1 << 14)(parse_type)
_type_text = lru_cache(maxsize=1 << 14)(format_type)


def _scalar_to_json(value: Scalar) -> object:
    # JSON has no infinity and no NaN, and Python's spelling of them is read by nobody else.
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _scalar(value: Any) -> Scalar:
    found: Scalar = float(value["float"]) if isinstance(value, dict) else value
    return found


def loads(body: bytes | str, where: str) -> object:
    """The JSON value of stored bytes. Raises `StoreUnavailable` if they are none."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise StoreUnavailable(f"{where}: not JSON: {error}", hint=_DAMAGED) from error


def versioned(value: object, where: str) -> Parsed:
    """The JSON object, if it is of the layout that this code knows. Raises `StoreUnavailable`."""
    if not isinstance(value, dict):
        raise StoreUnavailable(f"{where}: not a JSON object", hint=_DAMAGED)
    if value.get("v") != VERSION:
        raise StoreUnavailable(f"{where}: layout version {value.get('v')!r}, not {VERSION}", hint=_UPGRADE)
    return value


def reading(read: Callable[[Parsed], V], value: Parsed, where: str) -> V:
    """What `read` makes of a JSON object. Raises `StoreUnavailable` where a member is missing or wrong."""
    try:
        return read(value)
    except KeyError as error:
        raise StoreUnavailable(f"{where}: no member {error}", hint=_DAMAGED) from error
    except (TypeError, ValueError, AttributeError, SchemamanError) as error:
        raise StoreUnavailable(f"{where}: {error}", hint=_DAMAGED) from error
