"""Whether the records of a PostgreSQL run prove a fact that is read late: key and nullability.

A record shows them as they were when it was read. Read under the same structure before another one was
committed, a fact holds for that one; a snapshot reads structure and facts at one moment. Of a column that
JDBC no longer knows, since a record without it was committed before the reading, it is told that it may be
null: that proves nothing, nor does it beside a key that is missing and not proven.
Source: Debezium, PgOutputMessageDecoder.handleRelationMessage asks JDBC for both while it decodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from schemaman.history.versions import SchemaVersion, TableHistory
from tests.truth.recording import Fact
from tests.truth.truth import OffsetTruth, Truth

Told = tuple[int, int, bool]
"""Of one record: when it was committed, when it was read, and whether a snapshot read it."""


def provable(history: TableHistory, facts: Iterable[Fact], truth: Truth) -> set[tuple[int, str]]:
    """(version, fact) of everything that the records of a table prove, whatever the history says of it."""
    if isinstance(truth, OffsetTruth):
        # declared facts are of their own place in the log
        return set()
    mine = [f for f in facts if _of(history, f)]
    ahead = max((_committed(f) - f.read_ms for f in mine if not f.snapshot), default=0)
    records = _by_version(history.versions, mine)
    # of a run of records that was read before and behind such a moment only its edges are kept
    marks = {
        (m.topic, m.partition, m.offset) for v in history.versions for e in v.evidence for m in e.coordinates
    }
    edges = _by_version(history.versions, [f for f in mine if f.place in marks])
    unordered = any(str(f.source.get("version", "")).startswith("1.4") for f in mine)
    releases = (str(f.source.get("version", "")).split(".")[:2] for f in mine)
    old_names = any(r < [3, 5] for r in ([int(n) for n in release if n.isdecimal()] for release in releases))
    found = set()
    for index, version in enumerate(history.versions):
        for fact, value in _late(version):
            if fact == "key" and len(version.schema.key) > 1 and unordered:
                # 1.4 told the columns of a key in the order of the table
                continue
            gone = _gone(history.versions[index:], records, value) - max(ahead, 0)
            earlier = _back(history.versions, index, (fact, value))
            first = min((read for v in earlier for _, read, _ in records[v.number]), default=0)
            kept = edges if any(read >= gone for _, read, _ in records[version.number]) else records
            mine_here = [(c, s) for c, read, s in kept[version.number] if s or read < gone]
            misread = old_names and _is_misread(version, fact, value)
            if any(s or (not misread and c - max(ahead, 0) > first) for c, s in mine_here):
                found.add((version.number, fact))
        if not version.schema.key and (version.number, "key") not in found:
            found -= {(version.number, f"nullable:{c.name}") for c in version.schema.columns if c.nullable}
    return found


def _is_misread(version: SchemaVersion, fact: str, value: object) -> bool:
    """Whether the catalogue may have been asked for a column under a misread name: before release 3.5.

    Then it is told that it may be null, and it is missing in the key.
    """
    if fact == "key":
        return any(not name.isascii() for name in set(version.schema.names) - set(version.schema.key))
    optional = isinstance(value, tuple) and value[1] is True
    return optional and not fact.removeprefix("nullable:").isascii()


def _gone(versions: Sequence[SchemaVersion], records: dict[int, list[Told]], value: object) -> float:
    """When a record was committed without a column of the first version that is told to be nullable."""
    if not (isinstance(value, tuple) and len(value) == 2 and value[1] is True):
        return math.inf
    life = [v for v in versions[1:] if v.incarnation == versions[0].incarnation]
    without = (v for v in life if value[0] not in {c.id for c in v.schema.columns})
    return min((c for v in without for c, _, _ in records[v.number]), default=math.inf)


def _of(history: TableHistory, fact: Fact) -> bool:
    source, table = fact.source, history.table
    named = source.get("table") == table.table and source.get("schema", table.schema) == table.schema
    return named and (source.get("lsn") is not None or fact.snapshot)


def _committed(fact: Fact) -> int:
    return fact.source.get("ts_ms") or 0


def _by_version(versions: Sequence[SchemaVersion], facts: Sequence[Fact]) -> dict[int, list[Told]]:
    """The records of each version, by the place of the log where it began."""
    found: dict[int, list[Told]] = {v.number: [] for v in versions}
    marks = {
        (m.topic, m.partition, m.offset): v.number
        for v in versions
        for e in v.evidence
        for m in (e.first, e.last)
    }
    starts = [(_place(v.at.position.commit, v.at.position.value), v.number) for v in versions]
    for fact in facts:
        told = (_committed(fact), fact.read_ms, fact.snapshot)
        number = marks.get(fact.place)
        if number is None and not fact.snapshot:
            here = _place(_sequence(fact), str(fact.source["lsn"]))
            number = max((n for start, n in starts if start <= here), default=None)
        if number is not None:
            found[number].append(told)
    return found


def _place(commit: str | None, value: str) -> tuple[int, int]:
    number = int(value) if value.isdecimal() else 0
    return (int(commit) if commit else number, number)


def _sequence(fact: Fact) -> str | None:
    told = str(fact.source.get("sequence") or "").strip("[]").split(",")[0].strip('" ')
    return told if told.isdecimal() else None


def _late(version: SchemaVersion) -> list[tuple[str, object]]:
    """Facts of these very columns: another one of the same name has facts of its own."""
    schema = version.schema
    ids = {c.name: c.id for c in schema.columns}
    key = tuple((name, ids.get(name)) for name in schema.key)
    return [("key", key), *((f"nullable:{c.name}", (c.id, c.nullable)) for c in schema.columns)]


def _back(versions: Sequence[SchemaVersion], index: int, fact: tuple[str, object]) -> list[SchemaVersion]:
    """The version and those just before it that have the fact as well."""
    found = []
    for version in reversed(versions[: index + 1]):
        if version.incarnation != versions[index].incarnation or fact not in _late(version):
            break
        found.append(version)
    return found
