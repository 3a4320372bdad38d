"""A whole registry as one value: all versions with their ids, deleted ones too, and all settings.

Law: a registry that was empty and takes a copy gives an equal copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace

from schemaman.errors import CouldNotDo, UnreadableInput
from schemaman.store.subject_names import parse_subject
from schemaman.store.subjects import (
    RegisteredSchema,
    SchemaContent,
    SubjectFilter,
    SubjectName,
    SubjectRows,
    SubjectSettings,
    SubjectVersion,
)
from schemaman.subjects.contents import compute_fingerprint, compute_guid, restore_content
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import SchemaRequest

_VERSIONS_A_STEP = 1_000

VersionKey = tuple[SubjectName, int]
"""A subject and the number of one of its versions."""


@dataclass(frozen=True, slots=True)
class CopiedVersion:
    """A version as a registry answers it; its request has the guid and the time, if they are known."""

    subject: SubjectName
    number: int
    id: int
    request: SchemaRequest
    is_deleted: bool = False
    actor: str = ""

    @property
    def key(self) -> VersionKey:
        """The subject and the number."""
        return self.subject, self.number


@dataclass(frozen=True, slots=True)
class RegistryCopy:
    """Versions by subject and number, the settings of each scope, and the largest id of each context."""

    versions: tuple[CopiedVersion, ...]
    settings: Mapping[str, SubjectSettings] = field(default_factory=dict)
    largest_ids: Mapping[str, int] = field(default_factory=dict)


def read_registry(rows: SubjectRows) -> tuple[tuple[VersionedSchema, ...], RegistryCopy]:
    """Read all versions with their schemas, and a copy that has the rest and no versions."""
    found = rows.list_schemas(SubjectFilter(deleted=True), False)
    largest = {context: rows.find_largest_id(context) for context in rows.list_contexts()}
    return tuple(VersionedSchema(*one) for one in found), RegistryCopy((), rows.list_all_settings(), largest)


def order_versions(versions: Iterable[CopiedVersion]) -> tuple[CopiedVersion, ...]:
    """Order versions by id, each behind those that it refers to.

    Raises:
        UnreadableInput: a reference to a version that is not there, or from a schema to itself.
    """
    by_key = {version.key: version for version in versions}
    ordered: dict[VersionKey, CopiedVersion] = {}
    for first in sorted(by_key.values(), key=lambda version: (version.id, version.key)):
        waiting = [(first, list_referenced(first))]
        while waiting:
            version, keys = waiting[-1]
            following = next((key for key in keys if key not in ordered), None)
            if version.key in ordered or following is None:
                ordered[version.key] = version
                waiting.pop()
                continue
            target = by_key.get(following)
            shown = f"{version.subject}@{version.number}"
            if target is None:
                raise UnreadableInput(
                    f"{shown} refers to {following[0]}@{following[1]}, which the copy does not have",
                    hint="copy the whole registry, with deleted versions",
                )
            if any(target.key == above.key for above, _ in waiting):
                raise UnreadableInput(f"{shown} refers to itself through {following[0]}@{following[1]}")
            waiting.append((target, list_referenced(target)))
    return tuple(ordered.values())


def list_referenced(version: CopiedVersion) -> tuple[VersionKey, ...]:
    """List the versions that a version refers to itself."""
    context = version.subject.context
    return tuple((parse_subject(r.subject, context), r.version) for r in version.request.references)


def restore_registry(rows: SubjectRows, copy: RegistryCopy) -> None:
    """Write a copy into a registry without subjects; the settings of its scopes are replaced.

    Raises:
        CouldNotDo: the registry has subjects.
        UnreadableInput: a number or an id is there twice, or a reference has no target.
    """
    if rows.list_subjects(SubjectFilter(deleted=True, limit=1)):
        raise CouldNotDo(
            "the registry has subjects, and a copy goes into an empty one",
            hint="name a new store with --store",
        )
    now = rows.now_ms()
    largest = dict(copy.largest_ids)
    schemas: dict[tuple[str, int], CopiedVersion] = {}
    for part in _split(_restore_versions(order_versions(copy.versions), schemas, now)):
        rows.add_copied([schema for schema, _ in part if schema], [version for _, version in part])
    for context, id in schemas:
        largest[context] = max(largest.get(context, 0), id)
    for context, id in largest.items():
        rows.set_largest_id(context, max(id, rows.find_largest_id(context)))
    for scope, settings in copy.settings.items():
        rows.write_settings(scope, settings)


Restored = tuple[tuple[RegisteredSchema, str] | None, SubjectVersion]


def _restore_versions(
    ordered: Iterable[CopiedVersion], schemas: dict[tuple[str, int], CopiedVersion], now: int
) -> Iterator[Restored]:
    """Make the rows of versions; the schema is None if an earlier version has it."""
    contents: dict[VersionKey, SchemaContent] = {}
    live: set[tuple[SubjectName, int]] = set()
    for version in ordered:
        key = version.subject.context, version.id
        at_ms = version.request.at_ms or now
        row = SubjectVersion(*version.key, version.id, at_ms, version.is_deleted, version.actor)
        if not version.is_deleted and (version.subject, version.id) in live:
            raise UnreadableInput(f"two versions of {version.subject} have the schema {version.id}")
        if not version.is_deleted:
            live.add((version.subject, version.id))
        first = schemas.setdefault(key, version)
        if first is version:
            texts = tuple(contents[key].text for key in _list_all_referenced(version, contents))
            content = restore_content(version.request, texts)
            schema = RegisteredSchema(*key, version.request.guid or compute_guid(content), content)
            yield (schema, compute_fingerprint(content)), row
        else:
            content = contents[first.key]
            if _without_place(first.request) != _without_place(version.request):
                raise UnreadableInput(
                    f"the id {version.id} has one schema in {first.subject}@{first.number} and another "
                    f"one in {version.subject}@{version.number}"
                )
            yield None, row
        contents[version.key] = content


def _without_place(request: SchemaRequest) -> SchemaRequest:
    return replace(request, id=0, version=0, guid="", at_ms=0)


def _list_all_referenced(
    version: CopiedVersion, contents: Mapping[VersionKey, SchemaContent]
) -> tuple[VersionKey, ...]:
    """List the versions behind references, each once and behind those that it refers to itself."""
    found: dict[VersionKey, None] = {}

    def collect(keys: Iterable[VersionKey]) -> None:
        for key in keys:
            if key not in found:
                references = contents[key].references
                collect((parse_subject(r.subject, key[0].context), r.version) for r in references)
                found[key] = None

    collect(list_referenced(version))
    return tuple(found)


def _split(restored: Iterable[Restored]) -> Iterator[list[Restored]]:
    part: list[Restored] = []
    for one in restored:
        part.append(one)
        if len(part) == _VERSIONS_A_STEP:
            yield part
            part = []
    if part:
        yield part


def list_differences(one: RegistryCopy, other: RegistryCopy) -> tuple[str, ...]:
    """List where the second copy differs; times, actors and unknown guids are not compared."""
    found: list[str] = []
    theirs = {version.key: version for version in other.versions}
    for version in one.versions:
        shown = f"{version.subject}@{version.number}"
        match = theirs.pop(version.key, None)
        if match is None:
            found.append(f"{shown} is missing")
            continue
        if match.id != version.id:
            found.append(f"{shown} has the id {match.id}, not {version.id}")
        if match.is_deleted != version.is_deleted:
            found.append(f"{shown} is {'deleted' if match.is_deleted else 'not deleted'}")
        if not _is_same_content(version, match):
            found.append(f"{shown} has another schema")
    found += [f"{version.subject}@{version.number} is not in the copy" for version in theirs.values()]
    for scope in sorted({*one.settings, *other.settings}):
        if _without_times(one.settings.get(scope)) != _without_times(other.settings.get(scope)):
            found.append(f"the settings of {scope} differ")
    return tuple(found)


def _without_times(settings: SubjectSettings | None) -> SubjectSettings | None:
    """Settings whose associations lack guids and times, which each registry gives itself."""
    if settings is None:
        return None
    plain = (replace(one, guid="", created_ms=0, updated_ms=0) for one in settings.associations)
    return replace(settings, associations=tuple(sorted(plain, key=astuple)))


def _is_same_content(one: CopiedVersion, other: CopiedVersion) -> bool:
    """Whether two requests have one content; an order of members, or blanks, make no difference."""
    texts = one.request.text, other.request.text
    plain = (replace(_without_place(version.request), text="") for version in (one, other))
    return next(plain) == next(plain) and (texts[0] == texts[1] or _is_same_json(*texts))


def _is_same_json(one: str | None, other: str | None) -> bool:
    try:
        return bool(json.loads(one or "") == json.loads(other or ""))
    except (ValueError, RecursionError):
        return False
