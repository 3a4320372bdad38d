"""Keys that came and went between two readings of one key: read from the catalogue of another moment.

Source: Debezium, "Data change events" of PostgreSQL: a key is read through JDBC when the event is made, so
that keys of no moment come while a key is changed; after a long lag they are many.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.versions import Disagreement, SchemaVersion

KIND = "key-in-passing"


def keys_in_passing(versions: Sequence[SchemaVersion]) -> tuple[Disagreement, ...]:
    """What to think of each unconfirmed key between two versions of another, or that is part of the next."""
    return tuple(
        Disagreement(KIND, (version.number,), _told(before, version, following), (version.at, following.at))
        for before, version, following in zip(versions, versions[1:], versions[2:], strict=False)
        if "key" in version.unconfirmed and _passing(before, version, following)
    )


def _passing(before: SchemaVersion, version: SchemaVersion, following: SchemaVersion) -> bool:
    if not before.incarnation == version.incarnation == following.incarnation:
        return False
    old, key, new = (v.schema.key for v in (before, version, following))
    known = set(version.schema.names)
    part = tuple(name for name in new if name in known)
    return key != old and key != new and (old == new or key == part)


def _told(before: SchemaVersion, version: SchemaVersion, following: SchemaVersion) -> str:
    old, key, new = (f"({', '.join(v.schema.key)})" for v in (before, version, following))
    if old == new:
        return (
            f"the key was {old} before and after, and nothing confirms {key} between: the table had it so "
            "long, the connector was told to use it (message.key.columns), or it was read at another moment"
        )
    return (
        f"nothing confirms the key {key}: it is what {new}, the key that followed, leaves in rows that lack "
        "some of its columns, and was perhaps never the key of the table"
    )
