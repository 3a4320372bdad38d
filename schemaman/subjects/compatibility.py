"""Whether a content may follow the versions of a subject: Avro Java's verdict, in the form that clients know.

JSON Schema and Protobuf have no verdict here: every level but NONE is refused, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemaman.compat.avro.levels import list_pairs
from schemaman.compat.avro.resolution import (
    AmbiguousField,
    Incompatibility,
    check_resolution,
    list_leaf_causes,
)
from schemaman.compat.avro.schema import AvroSchema
from schemaman.store.subjects import JsonObject, SchemaContent, SubjectRows, SubjectVersion
from schemaman.subjects.contents import find_served_text, read_avro
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema, list_referenced_texts, load_version

_LARGEST_TEXT = 10 * 1024
"""How many characters of an old schema a message repeats, as Confluent Schema Registry does."""

_DESCRIPTIONS = {
    "NAME_MISMATCH": "the {reader} schema has another name than the {writer} schema at '{at}'",
    "FIXED_SIZE_MISMATCH": "the {reader} schema has another size than the {writer} schema at '{at}'",
    "MISSING_ENUM_SYMBOLS": "the {reader} schema lacks symbols of the {writer} schema at '{at}'",
    "READER_FIELD_MISSING_DEFAULT_VALUE": "the field '{at}' of the {reader} schema has no default, and the "
    "{writer} schema does not have the field",
    "TYPE_MISMATCH": "the {reader} schema has another type than the {writer} schema at '{at}'",
    "MISSING_UNION_BRANCH": "the {reader} schema lacks a branch of the {writer} schema at '{at}'",
}


@dataclass(frozen=True, slots=True)
class SubjectVerdict:
    """Whether a content passes a level; `messages` are for clients, `causes` name the leaves in Java's words.

    `failed` is the number of the version that fails; 0 if none does.
    """

    is_compatible: bool
    messages: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    failed: int = 0


def check_content(
    rows: SubjectRows,
    content: SchemaContent,
    referenced: tuple[str, ...],
    earlier: Sequence[SubjectVersion],
    config: JsonObject,
) -> SubjectVerdict:
    """Check a content against versions, oldest first, at the level of the settings.

    Raises:
        RefusedRequest: 42203 if there is no verdict for this type at this level.
    """
    level = str(config.get("compatibilityLevel"))
    if level == "NONE":
        return SubjectVerdict(True)
    group = config.get("compatibilityGroup")
    for version in reversed(earlier):
        compared = load_version(rows, version)
        if isinstance(group, str) and group and not _is_in_group(compared.schema.content, content, group):
            continue
        verdict = _compare(rows, content, referenced, compared, level)
        if not verdict.is_compatible or not level.endswith("_TRANSITIVE"):
            return verdict
    return SubjectVerdict(True)


def _is_in_group(one: SchemaContent, other: SchemaContent, group: str) -> bool:
    """Whether two contents have the same property of that name; both may lack it."""
    return _find_property(one, group) == _find_property(other, group)


def _find_property(content: SchemaContent, name: str) -> object:
    properties = (content.metadata or {}).get("properties")
    return properties.get(name) if isinstance(properties, dict) else None


def _compare(
    rows: SubjectRows,
    content: SchemaContent,
    referenced: tuple[str, ...],
    version: VersionedSchema,
    level: str,
) -> SubjectVerdict:
    old = version.schema.content
    if old.type != content.type:
        words = f"A {content.type} schema follows a schema of another type, {old.type}"
        return _fail([words], (), version, level)
    if content.type != "AVRO":
        raise RefusedRequest(
            42203,
            f"Invalid compatibility level: there is no verdict for {content.type} schemas at {level}; "
            "set the compatibility of this subject to NONE",
        )
    new = read_avro(content.text, referenced)
    try:
        before = read_avro(old.text, list_referenced_texts(rows, old.references, version.schema.context))
    except RefusedRequest as error:
        return _fail([error.message], (), version, level)
    messages: list[str] = []
    causes: list[str] = []
    for reader, writer in list_pairs(before, new, level):
        names = ("new", "old") if reader is new else ("old", "new")
        found = _list_messages(reader, writer, names)
        messages += found
        if found:
            causes += _list_causes(reader, writer)
    return _fail(messages, causes, version, level) if messages else SubjectVerdict(True)


def _fail(
    messages: Iterable[str], causes: Iterable[str], version: VersionedSchema, level: str
) -> SubjectVerdict:
    text = find_served_text(version.schema.content)
    number = version.version.number
    about = (
        f"{{oldSchemaVersion: {number}}}",
        f"{{oldSchema: '{text[:_LARGEST_TEXT]}'}}",
        f"{{compatibility: '{level}'}}",
    )
    return SubjectVerdict(False, (*messages, *about), tuple(dict.fromkeys(causes)), number)


def _list_messages(reader: AvroSchema, writer: AvroSchema, names: tuple[str, str]) -> list[str]:
    try:
        found = check_resolution(reader, writer)
    except AmbiguousField as error:
        return [f"The schemas cannot be compared: {error.message}"]
    return [_format(each, names) for each in found]


def _format(found: Incompatibility, names: tuple[str, str]) -> str:
    words = _DESCRIPTIONS[found.kind].format(at=found.location, reader=names[0], writer=names[1])
    return f"{{errorType:'{found.kind}', description:\"{words}\", additionalInfo:'{found.message}'}}"


def _list_causes(reader: AvroSchema, writer: AvroSchema) -> list[str]:
    try:
        return [str(cause) for cause in list_leaf_causes(reader, writer)]
    except AmbiguousField as error:
        return [error.message]
