"""In which form a key or a value came: JSON, or Avro whose schema is named before it or in a header.

Law: a form is configured, or proven by bytes and headers; what several forms could have written is not
guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from schemaman.debezium.observation import AMBIGUOUS_FORM
from schemaman.errors import BadConfiguration, UnreadableInput

Side = Literal["key", "value"]
Headers = tuple[tuple[str, bytes | None], ...]
SchemaId = int | str
"""How a registry knows a schema: by Confluent's number, or in words: `guid:…`, `globalId:7`, `contentId:7`,
`contentHash:…`, `artifact:group/artifact/version`."""

Form = Literal[
    "auto",
    "json",
    "confluent",
    "apicurio-global-8",
    "apicurio-global-4",
    "apicurio-content-8",
    "apicurio-content-4",
]
FORMS: tuple[Form, ...] = ("auto", "json", "confluent", "apicurio-global-8", "apicurio-global-4",
                           "apicurio-content-8", "apicurio-content-4")  # fmt: skip
"""`confluent` is what Confluent's deserialisers take: a header, else a number of four bytes or a GUID in
front. The others are Apicurio's: headers, else a global or a content id of eight or four bytes in front."""

_GUID_HEADERS = {"key": "__key_schema_id", "value": "__value_schema_id"}
_IDS = ("globalId", "contentId")
_TEXTS = ("contentHash", "groupId", "artifactId", "version", "encoding")
_APICURIO = {
    side: {f"apicurio.{side}.{name}": name for name in (*_IDS, *_TEXTS)} for side in ("key", "value")
}
FRAMING_HEADERS = frozenset(_GUID_HEADERS.values()) | {
    header for side in _APICURIO.values() for header, name in side.items() if name != "encoding"
}
"""Headers that name the schema of a body. Source: Confluent SchemaId.KEY_SCHEMA_ID_HEADER and
VALUE_SCHEMA_ID_HEADER; Apicurio SerdeHeaders."""

_GUID = 16


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms that are configured for keys and values.

    `added` is what the names of fields begin with that flattening adds. Source: Debezium
    ExtractNewRecordState, `add.fields.prefix`.
    """

    key: Form = "auto"
    value: Form = "auto"
    added: str = "__"

    def __post_init__(self) -> None:
        """Raises `BadConfiguration`: without a prefix columns of a table would pass for added fields."""
        if not self.added:
            raise BadConfiguration(
                "added fields have to begin with something: columns of a table, such as `name`, would be "
                "taken for some",
                hint="set add.fields.prefix of ExtractNewRecordState, and say the same here",
            )

    def get_form(self, side: Side) -> Form:
        """The form of that side."""
        return self.key if side == "key" else self.value


AUTO = Forms()


@dataclass(frozen=True, slots=True)
class Framing:
    """An Avro body: what names its schema, and where it begins. `json`: written in Avro's JSON encoding.

    `likely`: nobody told the form, and bytes alone do not prove it; the body has to fit.
    """

    schema: SchemaId
    start: int
    json: bool = False
    likely: bool = False

    def build_proof(self, data: bytes) -> bytes:
        """What is equal where the same schema is named in the same way."""
        return data[: self.start] if self.start else f"header {self.schema} {self.json}".encode()


def read_framing(data: bytes, headers: Headers, side: Side, form: Form = "auto") -> Framing | None:
    """How Avro bytes are framed; None for bytes that can only be JSON.

    Source: Confluent wire format: a zero byte and a number of four bytes, or a byte 1 and a GUID, in front or
    in a header; Apicurio DefaultHeadersHandler, DefaultIdHandler (eight bytes), Default4ByteIdHandler.

    Raises:
        UnreadableInput: several forms could have written it (the message begins with `AMBIGUOUS_FORM`), or it
            has not the form that is configured.
    """
    if headers:
        told = _read_headers(headers, side, form)
        if told is not None:
            return told
    first = data[:1]
    match form:
        case "auto":
            return _read_auto(data, side) if first in (b"\0", b"\1") else None
        case "json":
            if first in (b"\0", b"\1"):
                raise UnreadableInput(
                    f"the {side} is framed as Avro, but configured as JSON: --format-{side}"
                )
            return None
        case "confluent":
            return _read_confluent(data, side)
        case _:
            _, kind, width = form.split("-")
            return _read_apicurio(data, f"{kind}Id", int(width), side)


def _read_auto(data: bytes, side: Side) -> Framing:
    """Source: Confluent's ids begin at 1: four zero bytes behind the first one are none of its ids."""
    if data[0] == 0 and len(data) > 8 and data[1:5] == bytes(4):
        raise UnreadableInput(
            f"{AMBIGUOUS_FORM} of the {side}: no id of four bytes, perhaps one of eight as Apicurio writes it; "
            f"say --format-{side} apicurio-global-8 or apicurio-content-8"
        )
    return replace(_read_confluent(data, side), likely=data[0] == 0)


def _read_confluent(data: bytes, side: Side) -> Framing:
    if data[:1] == b"\0":
        if len(data) < 5:
            raise UnreadableInput(f"framed as Avro, but only {len(data)} bytes long")
        return Framing(int.from_bytes(data[1:5], "big"), 5)
    if data[:1] == b"\1":
        if len(data) <= _GUID:
            raise UnreadableInput(f"framed as Avro with a GUID, but only {len(data)} bytes long")
        return Framing(_format_guid(data[1 : 1 + _GUID]), 1 + _GUID)
    raise UnreadableInput(
        f"the {side} is configured as framed by Confluent, but begins with {_format_start(data)}"
    )


def _read_apicurio(data: bytes, kind: str, width: int, side: Side) -> Framing:
    if data[:1] != b"\0":
        raise UnreadableInput(
            f"the {side} is configured as framed by Apicurio, but begins with {_format_start(data)}"
        )
    if len(data) < 1 + width:
        raise UnreadableInput(f"framed as Avro, but only {len(data)} bytes long")
    return Framing(f"{kind}:{int.from_bytes(data[1 : 1 + width], 'big')}", 1 + width)


def _read_headers(headers: Headers, side: Side, form: Form) -> Framing | None:
    """What headers of the configured form say; of any form where none is configured."""
    told = dict(headers)
    guid = told.get(_GUID_HEADERS[side]) if form in ("auto", "confluent") else None
    apicurio = {}
    if form == "auto" or form.startswith("apicurio"):
        apicurio = {n: told[h] for h, n in _APICURIO[side].items() if told.get(h) is not None}
    by_apicurio = _read_apicurio_headers(apicurio, side)
    if guid is not None and by_apicurio is not None:
        raise UnreadableInput(
            f"{AMBIGUOUS_FORM} of the {side}: headers of two registries; say --format-{side} confluent or "
            "one of Apicurio's"
        )
    return by_apicurio if guid is None else _read_guid_header(guid, side)


def _read_guid_header(data: bytes, side: Side) -> Framing:
    """Source: Confluent SchemaId.fromBytes: a magic byte, then a number or a GUID."""
    if data[:1] == b"\1" and len(data) == 1 + _GUID:
        return Framing(_format_guid(data[1:]), 0)
    if data[:1] == b"\0" and len(data) == 5:
        return Framing(int.from_bytes(data[1:], "big"), 0)
    raise UnreadableInput(f"the header {_GUID_HEADERS[side]} holds no schema id: {_format_start(data)}")


def _read_apicurio_headers(told: Mapping[str, bytes | None], side: Side) -> Framing | None:
    """The schema that Apicurio's headers name, by the first of its names that is told."""
    numbers = {name: value for name in _IDS if (value := told.get(name)) is not None}
    texts = {name: value.decode(errors="replace") for name in _TEXTS if (value := told.get(name)) is not None}
    json = texts.get("encoding") == "JSON"
    for name, value in numbers.items():
        if len(value) != 8:
            raise UnreadableInput(f"the header apicurio.{side}.{name} holds no number of eight bytes")
        return Framing(f"{name}:{int.from_bytes(value, 'big')}", 0, json)
    if "contentHash" in texts:
        return Framing(f"contentHash:{texts['contentHash']}", 0, json)
    if "artifactId" in texts:
        place = (texts.get("groupId", "default"), texts["artifactId"], texts.get("version", "latest"))
        return Framing("artifact:" + "/".join(place), 0, json)
    return None


def _format_guid(data: bytes) -> str:
    return f"guid:{UUID(bytes=data)}"


def _format_start(data: bytes) -> str:
    return data[:4].hex(" ") or "nothing"
