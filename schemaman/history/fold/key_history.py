"""The keys of a table one after the other: which columns in which order, since when, and by what.

Source: Debezium Key.CustomKeyMapper (`message.key.columns`); JdbcConnection.readPrimaryKeyOrUniqueIndexNames:
the primary key, else the first unique index by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from schemaman.debezium.connector import find_connector
from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.version_builder import OpenVersion, set_key
from schemaman.history.versions import Disagreement, KeyOrigin, KeySpan, SchemaVersion
from schemaman.model.schema import TableSchema

_QUOTED = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PRIMARY = re.compile(r"(?<!DROP )\bPRIMARY\s+KEY\b", re.IGNORECASE)
_UNIQUE = re.compile(r"\bUNIQUE\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EmittedKey:
    """The key of an event of a declared version, in the table's own names."""

    coordinates: Coordinates
    columns: tuple[str, ...]


def build_key_spans(
    versions: Sequence[SchemaVersion],
    opened: Sequence[OpenVersion],
    event_keys: Iterable[tuple[OpenVersion, EmittedKey]],
) -> tuple[KeySpan, ...]:
    """The keys of closed versions and, where events of declared ones have other keys, those beside them."""
    spans: list[KeySpan] = []
    pairs = list(zip(versions, opened, strict=True))
    for _, same in groupby(
        pairs, key=lambda p: (p[0].incarnation, _list_key_columns(p[0].schema), p[1].is_declared)
    ):
        run = list(same)
        first, last = run[0][0], run[-1][0]
        sure = next((v for v, _ in run if "key" not in v.unconfirmed), None)
        spans.append(
            KeySpan(
                columns=first.schema.key,
                evidence="declared" if run[0][1].is_declared else "emitted",
                origins=_find_origins(first.schema, [o for _, o in run]),
                after=first.after,
                at=first.at,
                until=last.until,
                is_confirmed=sure is not None,
                proven_from=None if sure is None else _find_key_proof(sure, first),
            )
        )
    return (*spans, *_list_event_keys(event_keys))


def _list_key_columns(schema: TableSchema) -> tuple[tuple[str, int | None], ...]:
    """The very columns of the key: another one of the same name makes another key."""
    ids = {c.name: c.id for c in schema.columns}
    return tuple((name, ids.get(name)) for name in schema.key)


def _find_key_proof(version: SchemaVersion, first: SchemaVersion) -> Coordinates | None:
    """The coordinates at which a version proves its key, if that is after the first version with the key."""
    at = next((p.at for p in version.proofs if p.fact == "key"), version.at)
    return None if at == first.at else at


def _list_event_keys(event_keys: Iterable[tuple[OpenVersion, EmittedKey]]) -> Iterator[KeySpan]:
    """The keys of events, as far as they are not the declared ones."""
    after: Coordinates | None = None
    open_span: KeySpan | None = None
    for version, key in event_keys:
        declared = version.schema.key
        if open_span is not None and (key.columns == declared or key.columns != open_span.columns):
            yield replace(open_span, until=key.coordinates)
            open_span = None
        if open_span is None and key.columns != declared:
            origins: tuple[KeyOrigin, ...] = ("configured",) if key.columns else ("none",)
            open_span = KeySpan(
                key.columns, "events", origins, after, key.coordinates, None, is_confirmed=True
            )
        after = key.coordinates
    if open_span is not None:
        yield open_span


def _find_origins(schema: TableSchema, versions: Sequence[OpenVersion]) -> tuple[KeyOrigin, ...]:
    """List the possible origins of the key that statements and nullability allow."""
    if not schema.key:
        unknown = all(p.observation.is_key_unknown for v in versions for p in v.points)
        return ("unknown",) if unknown else ("none",)
    nullable = any((c := schema.column(name)) is not None and c.nullable for name in schema.key)
    if not versions[0].is_declared:
        return ("unique-index", "configured") if nullable else ("primary-key", "unique-index", "configured")
    statements = [
        p.observation for v in versions for p in v.points if p.observation.evidence in STATEMENT_KINDS
    ]
    narrow = (o for o in statements if find_connector(o.connector).streams_only_primary_keys)
    if (streamed := [o for o in narrow if not o.snapshot]) and streamed[0].schema:
        # a snapshot asked for an index, too: a key that the stream does not name was either
        unstated = "key" in streamed[0].unstated_attributes
        return ("primary-key", "unique-index") if unstated else ("primary-key",)
    for text in (_QUOTED.sub("''", o.ddl) for o in statements if o.ddl):
        if _PRIMARY.search(text):
            return ("primary-key",)
        if _UNIQUE.search(text):
            return ("unique-index",)
    return ("unique-index",) if nullable else ("primary-key", "unique-index")


def assume_key(schema: TableSchema, known: TableSchema, observation: Observation) -> TableSchema:
    """Return the schema of an event that does not show its key, with the key of the schema before.

    Columns that only the key has are not in such an event; they are still there.
    """
    names = set(schema.names)
    key_only = tuple(
        c for c in known.columns if c.emitted_name is None and c.name in known.key and c.name not in names
    )
    if not set(known.key) <= names | {c.name for c in key_only}:
        return schema
    return set_key(replace(schema, columns=(*key_only, *schema.columns)), known.key, observation.evidence)


PASSING_KEY = "key-in-passing"


def find_passing_keys(versions: Sequence[SchemaVersion]) -> tuple[Disagreement, ...]:
    """What to think of each unconfirmed key between two versions of another, or that is part of the next."""
    return tuple(
        Disagreement(
            PASSING_KEY,
            (version.number,),
            _describe_passing(before, version, following),
            (version.at, following.at),
        )
        for before, version, following in zip(versions, versions[1:], versions[2:], strict=False)
        if "key" in version.unconfirmed and _is_passing(before, version, following)
    )


def _is_passing(before: SchemaVersion, version: SchemaVersion, following: SchemaVersion) -> bool:
    if not before.incarnation == version.incarnation == following.incarnation:
        return False
    old, key, new = (v.schema.key for v in (before, version, following))
    known = set(version.schema.names)
    part = tuple(name for name in new if name in known)
    return key != old and key != new and (old == new or key == part)


def _describe_passing(before: SchemaVersion, version: SchemaVersion, following: SchemaVersion) -> str:
    old, key, new = (f"({', '.join(v.schema.key)})" for v in (before, version, following))
    if old == new:
        return (
            f"the key was {old} before and after, and no record confirms {key} between: the table had "
            "it for a while, the connector was set to use it (message.key.columns), or it was read "
            "at another moment"
        )
    return (
        f"no record confirms the key {key}: rows that lack columns of the later key {new} show it, "
        "and perhaps it was never the key of the table"
    )
