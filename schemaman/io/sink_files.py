"""Files that sinks of Kafka Connect write: topic, partition and first offset stand in their names.

A file holds the values of consecutive offsets. Its bodies in Avro name the schema of the file by a GUID in a
header, as Confluent's serializers do, so that everything that reads records reads them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal
from uuid import UUID

from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Headers, SchemaId
from schemaman.errors import UnreadableInput
from schemaman.io.remote_files import open_binary
from schemaman.plugins import defer

if TYPE_CHECKING:  # most files are not of Avro
    from schemaman.debezium.converters.avro_container import read_container
else:
    read_container = defer("schemaman.debezium.converters.avro_container:read_container")

NoteSchema = Callable[[SchemaId, str], None]
"""Is called with the id and the text of each schema that stands in a file."""

_NAME = re.compile(
    r"(?P<topic>[A-Za-z0-9._-]{1,249})\+(?P<partition>\d{1,10})"
    r"\+(?P<first>\d{1,18})(?:\+(?P<last>\d{1,18}))?"
    r"(?:\.(?:json|avro)|(?:\.[a-z]+)?\.parquet)(?:\.gz|\.zst)?"
)
_KEYS = re.compile(r"(?=\.(?:json|avro)(?:\.gz|\.zst)?\Z)")
_RAW = ("topic", "partition", "offset", "value")
_NAMES: dict[Literal["key", "value"], str] = {"key": "__key_schema_id", "value": "__value_schema_id"}


@dataclass(frozen=True, slots=True)
class SinkPlace:
    """The place of the records of a file: topic, partition, and the offset of the first one.

    `keys` is the file of their keys, None if there is none. `last` is the last offset if the name has it.
    `has_console_lines`: lines may have the key and more before the value, as the console consumer prints it.
    """

    topic: str
    partition: int
    first: int
    last: int | None = None
    keys: str | None = None
    has_console_lines: bool = False


def find_place(path: Path) -> SinkPlace | None:
    """Finds the place in the name of a file, and its file of keys; None for another name."""
    place, keys = parse_place(path.name), name_keys(path.name)
    if place is None or keys is None or not path.with_name(keys).is_file():
        return place
    return replace(place, keys=str(path.with_name(keys)))


def name_keys(name: str) -> str | None:
    """Returns the name of the file with the keys of a file of values; None if its format has no such file."""
    keys = _KEYS.sub(".keys", name, count=1)
    return None if keys == name else keys


def parse_place(name: str) -> SinkPlace | None:
    """Parses the place in the name of a file; None for another name.

    Source: Confluent S3 sink `TOPIC+PARTITION+OFFSET.EXTENSION`, keys in `….keys.EXTENSION`
    (`store.kafka.keys`); HDFS sink `TOPIC+PARTITION+FIRST+LAST.EXTENSION`.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    last = found["last"]
    return SinkPlace(
        found["topic"], int(found["partition"]), int(found["first"]), None if last is None else int(last)
    )


def is_beside_values(name: str) -> bool:
    """Returns whether a file holds keys or headers of the records of another file."""
    return re.search(r"\+\d+\.(?:keys|headers)\.[a-z]+(?:\.gz|\.zst)?\Z", name) is not None


def read_avro_bodies(
    path: str, side: Literal["key", "value"], note_schema: NoteSchema
) -> Iterator[tuple[bytes, Headers]]:
    """Reads the bodies of a container file, each with the header that names its schema.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    with _open(path) as stream:
        text, data = read_container(stream, path)
        headers = name_schema(text, side, note_schema)
        yield from ((body, headers) for _, body in data)


def read_raw_records(path: str) -> Iterator[Record] | None:
    """Reads the records of a container file with the columns of Spark's Kafka source; None for another."""
    with _open(path) as stream:
        _, data = read_container(stream, path)
        first = next(data, None)
        if first is None or not isinstance(first[0], dict) or any(name not in first[0] for name in _RAW):
            return None
    return _read_rows(path)


def _read_rows(path: str) -> Iterator[Record]:
    with _open(path) as stream:
        _, data = read_container(stream, path)
        for row, _ in data:
            time = row.get("timestamp")
            yield Record(
                row["topic"],
                row["partition"],
                row["offset"],
                time if type(time) is int else None,
                row.get("key"),
                row["value"],
                is_key_known="key" in row,
            )


def name_schema(text: str, side: Literal["key", "value"], note_schema: NoteSchema) -> Headers:
    """Notes a schema under a GUID of its text; returns the header that names it for a key or a value."""
    guid = hashlib.sha256(text.encode()).digest()[:16]
    note_schema(f"guid:{UUID(bytes=guid)}", text)
    return ((_NAMES[side], b"\1" + guid),)


def _open(path: str) -> BinaryIO:
    try:
        return open_binary(path)
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}") from error
