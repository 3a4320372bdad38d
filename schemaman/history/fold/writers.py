"""Tells the structures of several writers of one table from versions: shards, and rows that alternate.

Law: a writer that still has the structure of an earlier version supports that version. Without a named
writer, two structures that alternate without a statement are two versions and a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemaman.debezium.observation import Observation
from schemaman.history.fold.open_versions import OpenVersions
from schemaman.history.fold.version_builder import OpenVersion, fingerprint_names, is_untyped
from schemaman.model.schema import TableSchema, fingerprint
from schemaman.model.types import without_labels

WRITERS_DIFFER = "writers-differ"
PERHAPS_TWO_WRITERS = "perhaps-two-writers"


def fingerprint_shape(schema: TableSchema, observation: Observation) -> str:
    """Return the id of a schema: rows without types have one of names alone."""
    return fingerprint_names(schema) if is_untyped(observation) else fingerprint(schema)


@dataclass(slots=True)
class Writers:
    """The versions that the writers of one table showed last, and the versions that alternate."""

    latest: dict[str, OpenVersion] = field(default_factory=dict)
    alternating: dict[str, OpenVersion] = field(default_factory=dict)

    def begin_table(self) -> None:
        """Forget all, because another table begins under the name."""
        self.latest, self.alternating = {}, {}

    def find_version(
        self, observation: Observation, schema: TableSchema, versions: OpenVersions
    ) -> OpenVersion | None:
        """Find the version that a record supports though a newer one may have begun; None for a new schema.

        A writer never goes back to a version before its own.
        """
        if not (observation.writer or self.alternating):
            return None
        id = fingerprint_shape(schema, observation)
        if not observation.writer:
            return self.alternating.get(id)
        own = self.latest.get(observation.writer)
        candidates = (
            versions.list_newest_first()
            if own is None or not versions.has_version(own)
            else versions.list_since(own)
        )
        return next((version for version in candidates if version.id == id), None)

    def find_alternation(
        self, observation: Observation, schema: TableSchema, versions: OpenVersions
    ) -> tuple[OpenVersion, OpenVersion] | None:
        """Find the version that a record supports, and the one that it alternates with, or None.

        The schema before returned once, and now this one does: A, B, A, B. An interval of records that
        alternate too often shows the same with less.
        """
        living = versions.list_newest_living(3)
        if observation.writer or len(living) < 2 or _has_statement(living):
            return None
        has_returned = len(living) == 3 and living[-3].id == living[-1].id
        if not (observation.interrupted or has_returned):
            return None
        id = fingerprint_shape(schema, observation)
        if observation.interrupted and id == living[-2].id and _has_interrupted(living[-2:]):
            return (living[-2], living[-1])
        if not has_returned or id != living[-2].id:
            return None
        return (living[-2], living[-3]) if _has_other_columns(living[-2], living[-3]) else None


def _has_statement(versions: Sequence[OpenVersion]) -> bool:
    return any(version.is_declared or version.caveats.has_statement for version in versions)


def _has_interrupted(versions: Sequence[OpenVersion]) -> bool:
    return all(any(p.observation.interrupted for p in version.points) for version in versions)


def _has_other_columns(one: OpenVersion, other: OpenVersion) -> bool:
    """Whether columns or types differ: a key or nullability may be read late, and come and go."""
    columns = [{(c.name, without_labels(c.type)) for c in v.schema.columns} for v in (one, other)]
    return columns[0] != columns[1]


def describe_lag(writer: str, number: int) -> str:
    """What it means that a shard still has an earlier version."""
    return f"shard {writer} still had the structure of version {number}"


ALTERNATION = (
    "this structure and another one alternate, and no statement of a change was seen: two tables may "
    "write under this name, or two writers of one table; which columns the table has now is in doubt"
)
