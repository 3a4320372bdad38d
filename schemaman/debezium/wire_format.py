"""The form of a key or a value: JSON, or Avro whose schema is named in front of it or in a header.

Law: a form is configured, or proven by bytes and headers. If several forms fit, none is guessed.
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
"""The id of a schema in a registry: Confluent's number, or a text: `guid:…`, `globalId:7`, `contentId:7`,
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
"""Confluent's deserialisers read `confluent`: a header, else a number of four bytes or a GUID in front.
The others are Apicurio's: headers, else a global or a content id of eight or four bytes in front."""

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
    """The configured forms of keys and values.

    `added` is the prefix of the fields that flattening adds. Source: Debezium ExtractNewRecordState,
    `add.fields.prefix`. `flattened` are patterns of topics whose values are flattened rows, whatever they
    show of themselves; `*` stands for any characters.
    """

    key: Form = "auto"
    value: Form = "auto"
    added: str = "__"
    flattened: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Require a prefix of added fields; without one, columns of a table would be read as added fields.

        Raises:
            BadConfiguration: the prefix is empty.
        """
        if not self.added:
            raise BadConfiguration(
                "the prefix of added fields is empty: columns of a table, such as `name`, would be read as "
                "added fields",
                hint="set add.fields.prefix of ExtractNewRecordState, and set the same prefix here",
            )

    def get_form(self, side: Side) -> Form:
        """Return the form of keys or of values."""
        return self.key if side == "key" else self.value


AUTO = Forms()


@dataclass(frozen=True, slots=True)
class Framing:
    """The framing of an Avro body: the id of its schema, and its offset. `json`: in Avro's JSON encoding.

    `likely`: no form is configured, and the bytes alone do not prove it; the body has to fit its schema.
    """

    schema: SchemaId
    start: int
    json: bool = False
    likely: bool = False

    def build_proof(self, data: bytes) -> bytes:
        """Return bytes that are equal for all bodies that name the same schema in the same way."""
        return data[: self.start] if self.start else f"header {self.schema} {self.json}".encode()


def read_framing(data: bytes, headers: Headers, side: Side, form: Form = "auto") -> Framing | None:
    """Read the framing of Avro bytes; None for bytes that can only be JSON.

    Source: Confluent wire format: a zero byte and a number of four bytes, or a byte 1 and a GUID, in front or
    in a header; Apicurio DefaultHeadersHandler, DefaultIdHandler (eight bytes), Default4ByteIdHandler.

    Raises:
        UnreadableInput: several forms fit the bytes (the message begins with `AMBIGUOUS_FORM`), or the
            configured form does not.
    """
    if headers:
        framing = _read_headers(headers, side, form)
        if framing is not None:
            return framing
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
            f"{AMBIGUOUS_FORM} of the {side}: no id of four bytes, perhaps one of eight as Apicurio "
            f"writes it; use --format-{side} apicurio-global-8 or apicurio-content-8"
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
    """Read the headers of the configured form, or of any form if none is configured."""
    values = dict(headers)
    guid = values.get(_GUID_HEADERS[side]) if form in ("auto", "confluent") else None
    apicurio = {}
    if form == "auto" or form.startswith("apicurio"):
        apicurio = {n: values[h] for h, n in _APICURIO[side].items() if values.get(h) is not None}
    by_apicurio = _read_apicurio_headers(apicurio, side)
    if guid is not None and by_apicurio is not None:
        raise UnreadableInput(
            f"{AMBIGUOUS_FORM} of the {side}: headers of two registries; use --format-{side} confluent or "
            "one of Apicurio's"
        )
    return by_apicurio if guid is None else _read_guid_header(guid, side)


def _read_guid_header(data: bytes, side: Side) -> Framing:
    """Source: Confluent SchemaId.fromBytes: a magic byte, then a number or a GUID."""
    if data[:1] == b"\1" and len(data) == 1 + _GUID:
        return Framing(_format_guid(data[1:]), 0)
    if data[:1] == b"\0" and len(data) == 5:
        return Framing(int.from_bytes(data[1:], "big"), 0)
    raise UnreadableInput(f"the header {_GUID_HEADERS[side]} has no schema id: {_format_start(data)}")


def _read_apicurio_headers(headers: Mapping[str, bytes | None], side: Side) -> Framing | None:
    """Read the schema id from Apicurio's headers: the first id that they have."""
    numbers = {name: value for name in _IDS if (value := headers.get(name)) is not None}
    texts = {
        name: value.decode(errors="replace") for name in _TEXTS if (value := headers.get(name)) is not None
    }
    json = texts.get("encoding") == "JSON"
    for name, value in numbers.items():
        if len(value) != 8:
            raise UnreadableInput(f"the header apicurio.{side}.{name} is not a number of eight bytes")
        return Framing(f"{name}:{int.from_bytes(value, 'big')}", 0, json)
    if "contentHash" in texts:
        return Framing(f"contentHash:{texts['contentHash']}", 0, json)
    if "artifactId" in texts:
        artifact = (texts.get("groupId", "default"), texts["artifactId"], texts.get("version", "latest"))
        return Framing("artifact:" + "/".join(artifact), 0, json)
    return None


def _format_guid(data: bytes) -> str:
    return f"guid:{UUID(bytes=data)}"


def _format_start(data: bytes) -> str:
    return data[:4].hex(" ") or "nothing"
