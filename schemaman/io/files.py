"""Files as sources of records: `kcat -J` lines (plain, gzip, zstd), Parquet, standard input.

Laws: each unreadable piece is reported with its line and does not hide readable records. Memory does not grow
with the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from glob import glob, has_magic
from itertools import accumulate, islice
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, TextIO

from schemaman.debezium.raw_record import parse_json
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Headers
from schemaman.errors import BadReference, EngineUnavailable, UnreadableInput
from schemaman.ingest.block_lines import BlockLines
from schemaman.ingest.column_rows import build_column_rows, list_integers
from schemaman.ingest.console_lines import is_console_line, split_console_line
from schemaman.ingest.line_batches import Item, LineBatch, Row, RowBatch, UnreadableItem, parse_items
from schemaman.io.folders import (
    REGISTRY,
    Kind,
    find_in_folder,
    find_kind,
    is_data_file,
    is_data_name,
    list_data_files,
    list_endings,
    order_file,
    sort_files,
)
from schemaman.io.line_ranges import SECTION_BYTES, LineRange, cut_into_sections
from schemaman.io.remote_files import is_remote, list_addresses, measure_bytes, open_binary
from schemaman.io.sink_files import (
    NoteSchema,
    SinkPlace,
    find_place,
    name_keys,
    name_schema,
    parse_place,
    read_avro_bodies,
    read_raw_records,
)
from schemaman.plugins import defer, install_hint

if TYPE_CHECKING:  # most files are not of Avro
    from schemaman.debezium.converters.avro_container import encode_body
else:
    encode_body = defer("schemaman.debezium.converters.avro_container:encode_body")

STANDARD_INPUT = "-"
SPARK_FROM_BYTES = 64 * 2**30
"""The size from which Spark reads files: one machine reads smaller ones in a minute or so.

Spark on the same machine is slower: 10 GB of lines took 21 seconds, and 5 to 8 without it.
"""

RECORD_LIMIT = 64 * 2**20
"""The size in bytes of the largest record that is read: some compressed kilobytes may hold gigabytes."""

_BLOCK = 1 << 20
_ALL_LINES = LineRange(0, None, 1)
_PIECES: Mapping[str, int] = {".gz": 1 << 14, ".zst": 1 << 10}
"""Compressed bytes that are decompressed at once; damage can lose at most this many.

Deflate makes at most 1,032 bytes of one, and Zstandard a block of 128 KiB of four (RFC 8878, RLE blocks).
"""

_ROWS = 1024
_BATCH_BYTES = 640 * 2**10
"""The size of the rows that are read at once: they stay in a cache of the core until they are compared."""
_MAGIC = ((b"\x1f\x8b", "gzip", ".jsonl.gz"), (b"\x28\xb5\x2f\xfd", "zstd", ".jsonl.zst"),
          (b"PAR1", "Parquet", ".parquet"))  # fmt: skip
"""First bytes of files that are not text. Source: RFC 1952, RFC 8878, Parquet file format."""

_ISIZE = 4
_FRAME_HEADER = 18
"""Bytes of the size at the end of a gzip member, and of the longest header of a zstd frame."""

_LAST_PARTITION = 2**31 - 1
_LAST_OFFSET = 2**63 - 1
_COLUMNS = ("topic", "partition", "offset", "key", "value")
_PLACE = ("topic", "partition", "offset")


@dataclass(frozen=True, slots=True)
class File:
    """A found source: its path, its kind, and the registry export in the same folder.

    `place` is the place of its records if the name of a sink's file has it.
    """

    path: str
    kind: Kind
    packing: Literal["", ".gz", ".zst"] = ""
    registry: str | None = None
    place: SinkPlace | None = None

    @property
    def bytes(self) -> int:
        """The size on disk; 0 for standard input."""
        return 0 if self.path == STANDARD_INPUT else measure_bytes(self.path)


def find_file(source: str) -> File:
    """Finds the file of a SOURCE: a file, `-`, or the one `records.*` of a folder.

    Raises:
        BadReference: a folder without such a file or with several, an unknown kind of file or address.
        UnreadableInput: there is no file.
    """
    if source == STANDARD_INPUT:
        return File(source, "lines")
    if is_remote(source):
        found = _find_remote_files(source)
        if len(found) > 1:
            raise BadReference(f"{source}: there are several files of records", hint="name one of them")
        return found[0]
    if not source:
        raise BadReference(
            "the name of a SOURCE is empty", hint="use a file, a folder, or - for standard input"
        )
    path = Path(source)
    try:
        if path.is_dir():
            path = find_in_folder(path)
        else:
            path.stat()
    except FileNotFoundError:
        hint = "use a file of kcat -J lines, a Parquet file, or a folder"
        raise UnreadableInput(f"{source}: no such file", hint=hint) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UnreadableInput(
            f"{source}: {why}", hint="give this user permission to read the file"
        ) from error
    kind = find_kind(path.name)
    if kind is None:
        raise BadReference(f"{path}: unknown kind of file", hint=f"known endings: {list_endings()}")
    beside = path.with_name(REGISTRY)
    registry = str(beside) if beside.is_file() else None
    return File(str(path), *kind, registry=registry, place=find_place(path))


def find_files(source: str) -> tuple[File, ...]:
    """Finds the files of a SOURCE: as `find_file`, or the data files of a folder, or those of a pattern.

    A pattern has `*`, `?` or `[`; `**` stands for any folders. A folder with one `records.*` is that file.
    Otherwise its files are those of `list_data_files`. Raises like `find_file`.
    """
    if is_remote(source):
        return _find_remote_files(source)
    if source == STANDARD_INPUT or not source:
        return (find_file(source),)
    path = Path(source)
    if has_magic(source) and not path.exists():
        names = [Path(name) for name in glob(source, recursive=True)]  # noqa: PTH207 - the pattern may be absolute
        fixed = next(n for n, part in enumerate(path.parts) if has_magic(part))
        found = [p for p in names if is_data_name(p.parts[fixed:]) and find_kind(p.name) and p.is_file()]
        if not found:
            raise UnreadableInput(
                f"{source}: no file of records matches", hint=f"known endings: {list_endings()}"
            )
        return tuple(find_file(str(p)) for p in sort_files(p for p in found if p.name != REGISTRY))
    try:
        return (find_file(source),)
    except BadReference:
        below = list_data_files(path) if path.is_dir() and not any(path.glob("records.*")) else []
        if not below:
            raise
        return tuple(find_file(str(p)) for p in below)


def _find_remote_files(address: str) -> tuple[File, ...]:
    """Find the files at an address as `find_files` does, without an export of a registry."""
    names = list_addresses(address)
    if address in names:
        found = [address]
    elif has_magic(address):
        found = [name for name, below in names.items() if is_data_name(below.split("/"))]
    else:
        found = [name for name, below in names.items() if below.startswith("records.") and find_kind(below)]
        if len(found) != 1:
            found = [name for name, below in names.items() if is_data_file(below.split("/"))]
    files = []
    for name in sorted(found, key=lambda name: order_file(*name.rsplit("/", 1))):
        folder, _, file_name = name.rpartition("/")
        kind, place = find_kind(file_name), parse_place(file_name)
        keys = f"{folder}/{name_keys(file_name)}"
        if kind is not None and file_name != REGISTRY:
            place = place if place is None or keys not in names else replace(place, keys=keys)
            files.append(File(name, *kind, place=place))
    if not files:
        raise BadReference(
            f"{address}: there are no files of records", hint=f"known endings: {list_endings()}"
        )
    return tuple(files)


def read_records(
    file: File,
    *,
    topic: str | None = None,
    limit: int = RECORD_LIMIT,
    count_bytes: Callable[[int], None] = lambda _: None,
    note_schema: NoteSchema = lambda id, text: None,
) -> Iterator[Record | UnreadableItem]:
    """Reads the records of a file in order, and the unreadable pieces between them.

    With `topic`, the lines are bare values of that topic: partition 0, offsets from 0, no keys. A record of
    more than `limit` bytes is unreadable, and is never in memory as a whole. `count_bytes` is called with the
    number of bytes of the file that were read since its last call. `note_schema` is called with each schema
    that stands in the file, before the first record that names it.

    Raises:
        UnreadableInput: the file cannot be opened, or its content does not match its ending.
        EngineUnavailable: a package for this kind of file is not installed.
    """
    items = read_batches(file, topic=topic, limit=limit, count_bytes=count_bytes, note_schema=note_schema)
    return parse_items(items)


def read_batches(
    file: File,
    *,
    topic: str | None = None,
    limit: int = RECORD_LIMIT,
    count_bytes: Callable[[int], None] = lambda _: None,
    note_schema: NoteSchema = lambda id, text: None,
    lines: LineRange | None = None,
    section_bytes: int = SECTION_BYTES,
) -> Iterator[Item]:
    """Reads a file as `read_records` does, but leaves whole lines unparsed. Raises like `read_records`.

    `lines` is the range of a file of lines that is read; None for the whole. A batch without lines
    follows each section of `section_bytes`.
    """
    if file.kind == "parquet":
        avro_schema = None if file.place is None else _find_row_schema(file.path)
        if file.place is None or avro_schema is None:
            return _read_parquet(file.path, limit=limit, count_bytes=count_bytes)
        return _read_parquet_rows(file.path, file.place, avro_schema, note_schema)
    if file.kind == "avro" and file.place is None:
        records = read_raw_records(file.path)
        if records is None:
            raise UnreadableInput(
                f"{file.path}: has no fields topic, partition, offset, value",
                hint="a sink's file has its place in its name: TOPIC+PARTITION+OFFSET.avro",
            )
        return (_check_row(file.path, n, record, limit) for n, record in enumerate(records, 1))
    if file.place is not None and (file.kind == "avro" or file.place.keys):
        return _read_sink_records(file, file.place, limit, note_schema)
    return _read_line_batches(file, topic, limit, count_bytes, lines or _ALL_LINES, section_bytes)


def measure_unpacked(file: File) -> int:
    """Measures the bytes of the last gzip member or the first zstd frame of a file; 0 if nothing tells them.

    Source: RFC 1952, ISIZE; RFC 8878, Frame_Content_Size, which is absent after compressing a stream.
    """
    try:
        with open_binary(file.path) as data:
            if file.packing == ".gz" and file.bytes >= _ISIZE:
                data.seek(-_ISIZE, SEEK_END)
                return int.from_bytes(data.read(_ISIZE), "little")
            if file.packing == ".zst":
                size: int = _load_zstandard().frame_content_size(data.read(_FRAME_HEADER))
                return max(size, 0)
    except (OSError, EngineUnavailable):  # the reading says why
        return 0
    except Exception as error:  # zstandard's own, for another kind of data
        if type(error).__module__ not in ("zstd", "zstandard", "zstandard.backend_c"):
            raise
    return 0


def measure_row_groups(file: File) -> tuple[tuple[int, int], ...]:
    """Measures the rows and the bytes of each row group of a Parquet file. Raises like `read_records`."""
    metadata = _open_parquet(file.path)[0].metadata
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    return tuple((group.num_rows, group.total_byte_size) for group in groups)


def read_row_groups(
    file: File,
    groups: Sequence[int],
    limit: int = RECORD_LIMIT,
    count_bytes: Callable[[int], None] = lambda _: None,
) -> Iterator[Record | UnreadableItem | RowBatch]:
    """Reads some row groups of a Parquet file as `read_batches` does. Raises like `read_records`."""
    return _read_parquet(file.path, groups, limit, count_bytes)


def has_record_columns(file: File) -> bool:
    """Returns whether the rows of a Parquet file are records, not the values of a sink's file.

    Raises like `read_records`.
    """
    return file.place is None or _find_row_schema(file.path) is None


class _Unpacker(Protocol):
    """The common interface of zlib and zstandard: one stream or frame, decompressed piece by piece."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class _TruncatedFile(Exception):
    """A compressed file is incomplete or damaged."""


def _read_sink_records(
    file: File, place: SinkPlace, limit: int, note_schema: NoteSchema
) -> Iterator[Record | UnreadableItem]:
    """Reads values, and their keys from the file beside it if there is one."""
    values = _read_bodies(file, "value", limit, note_schema)
    keys = None if place.keys is None else _read_bodies(find_file(place.keys), "key", limit, note_schema)
    for number, value in enumerate(values):
        key = None if keys is None else next(keys, None)
        if keys is not None and key is None:
            raise UnreadableInput(f"{place.keys}: has fewer keys than {file.path} has values")
        unread = [item for item in (key, value) if isinstance(item, UnreadableItem)]
        if unread:
            yield unread[0]
        elif not isinstance(value, UnreadableItem) and not isinstance(key, UnreadableItem):
            key_body, key_headers = (None, ()) if key is None else key
            headers = (*value[1], *key_headers)
            record = Record(
                place.topic,
                place.partition,
                place.first + number,
                None,
                key_body,
                value[0],
                headers,
                is_key_known=key is not None,
            )
            yield _check_row(file.path, number + 1, record, limit)
    if keys is not None and next(keys, None) is not None:
        raise UnreadableInput(f"{place.keys}: has more keys than {file.path} has values")


def _read_bodies(
    file: File, side: Literal["key", "value"], limit: int, note_schema: NoteSchema
) -> Iterator[tuple[bytes | None, Headers] | UnreadableItem]:
    if file.kind == "avro":
        yield from read_avro_bodies(file.path, side, note_schema)
        return
    for item in _read_line_batches(replace(file, place=None), "-", limit, lambda _: None):
        records = (
            [item.parse(number, line) for number, line in enumerate(item.lines, item.number)]
            if isinstance(item, LineBatch)
            else [item]
        )
        for record in records:
            if isinstance(record, Record):
                yield (None if record.value == b"null" else record.value), ()
            elif isinstance(record, UnreadableItem):
                yield record


def _read_line_batches(
    file: File,
    topic: str | None,
    limit: int,
    count_bytes: Callable[[int], None],
    line_range: LineRange = _ALL_LINES,
    section_bytes: int = SECTION_BYTES,
) -> Iterator[Item]:
    number = line_range.number or 1
    place = file.place or (None if topic is None else SinkPlace(topic, 0, 0, has_console_lines=True))
    parse = partial(_read_record, file.path, place=place, is_whole=True)
    blocks = (
        _read_later_range(file.path, line_range, count_bytes)
        if line_range.begin
        else _cut_blocks(_read_blocks(file, count_bytes), line_range.end)
    )
    sections = cut_into_sections(blocks, line_range.begin, section_bytes)
    if not line_range.begin:
        sections = _strip_mark(file.path, sections)
    try:
        for lines, is_whole in _split_lines(sections, limit):
            if lines is None:
                yield LineBatch((), number, parse, ends_section=True)
                continue
            if is_whole and not isinstance(lines, _LongLine):
                names = () if place is None else (place.topic, place.partition, place.first)
                yield LineBatch(lines, number, parse, *names)
                number += len(lines)
                continue
            if isinstance(lines, _LongLine):
                yield UnreadableItem(file.path, number, lines.describe(limit), lines.sha256)
            elif lines[0].strip():
                yield _read_record(file.path, number, lines[0], place, is_whole=False)
            number += 1
    except _TruncatedFile as cut:
        reason = f"{cut}; the rest is lost"
        yield UnreadableItem(file.path, number, reason, _hash_bytes(b""), is_end=True)
    except OSError as error:
        raise UnreadableInput(f"{file.path}: {error.strerror or error}") from error


def _read_later_range(
    path: str, line_range: LineRange, count_bytes: Callable[[int], None]
) -> Iterator[bytes]:
    with open_binary(path) as data:
        at = data.seek(line_range.begin)
        while block := data.read(_BLOCK if line_range.end is None else min(_BLOCK, line_range.end - at)):
            at += len(block)
            count_bytes(len(block))
            yield block


def _cut_blocks(blocks: Iterable[bytes], size: int | None) -> Iterator[bytes]:
    """Cuts blocks behind a number of bytes; the blocks of a range end with a line."""
    for block in blocks:
        if size is not None and len(block) >= size:
            yield block[:size]
            return
        size = None if size is None else size - len(block)
        yield block


def _strip_mark(path: str, blocks: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """Removes the byte order mark of a text. Raises `UnreadableInput` for UTF-16."""
    for number, block in enumerate(blocks):
        if block is not None and not number and block.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise UnreadableInput(
                f"{path}: the text is UTF-16, but must be UTF-8",
                hint="some shells convert redirected output; convert it back: iconv -f UTF-16 -t UTF-8",
            )
        yield block if number or block is None else block.removeprefix(BOM_UTF8)


def _read_record(
    source: str, number: int, line: bytes, place: SinkPlace | None, *, is_whole: bool
) -> Record | UnreadableItem:
    """Read the record in a line; a line without a line end (not `is_whole`) may be the rest of a cut file."""
    try:
        if place is None:
            return _parse_kcat(parse_json(line))
        if place.has_console_lines and is_console_line(line):
            return _read_console_line(place, number, line.rstrip(b"\r"), is_whole=is_whole)
        if not is_whole and line.lstrip().startswith(b"{"):
            parse_json(line)
        offset = place.first + number - 1
        return Record(place.topic, place.partition, offset, None, None, line.strip(), is_key_known=False)
    except ValueError as error:
        is_cut = not is_whole and not _is_json(line)
        reason = f"the file ends inside this line: {error}" if is_cut else str(error)
        return UnreadableItem(source, number, reason, _hash_bytes(line), is_end=is_cut)


def _read_console_line(place: SinkPlace, number: int, line: bytes, *, is_whole: bool) -> Record:
    """Read a line of the console consumer; without a printed offset, the number of the line is the offset."""
    parts = split_console_line(line)
    if not is_whole and parts.value is not None and parts.value.startswith(b"{"):
        parse_json(parts.value)
    partition, offset = place.partition, place.first + number - 1
    if parts.partition is not None and parts.offset is not None:
        partition, offset = _require_offset(parts.partition, parts.offset)
    return Record(
        place.topic,
        partition,
        offset,
        parts.timestamp_ms,
        parts.key,
        parts.value,
        parts.headers,
        is_key_known=parts.is_key_known,
    )


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _parse_kcat(line: object) -> Record:
    """Parse the record in a line; a key or payload that kcat has decoded becomes JSON text again.

    Source: kcat(1), `-J`: headers are a flat list of names and values; with `-s avro` keys and payloads are
    JSON values in Avro's JSON encoding.
    """
    if not isinstance(line, dict) or not isinstance(line.get("topic"), str) or "payload" not in line:
        raise ValueError("JSON, but no record as kcat -J writes it: topic, partition, offset, key, payload")
    partition, offset, time = line.get("partition"), line.get("offset"), line.get("ts")
    partition, offset = _require_offset(partition, offset)
    headers = line.get("headers") or []
    if not isinstance(headers, list) or len(headers) % 2:
        raise ValueError("headers must be a list of names and values in turn")
    return Record(
        line["topic"],
        partition,
        offset,
        time if type(time) is int else None,
        _encode_body(line.get("key"), "key"),
        _encode_body(line["payload"], "payload"),
        tuple((str(n), _encode_text(v, "header")) for n, v in zip(headers[::2], headers[1::2], strict=True)),
        is_key_known="key" in line,
    )


def _require_offset(partition: object, offset: object) -> tuple[int, int]:
    """Source: Kafka protocol, partitions are int32 and offsets int64; negative ones do not exist."""
    if type(partition) is not int or type(offset) is not int:
        raise ValueError("partition and offset must be whole numbers")
    if not 0 <= partition <= _LAST_PARTITION:
        raise ValueError("a partition must be between 0 and 2^31-1")
    if not 0 <= offset <= _LAST_OFFSET:
        raise ValueError("an offset must be between 0 and 2^63-1")
    return partition, offset


def _encode_body(body: object, what: str) -> bytes | None:
    return _encode_text(body if body is None or isinstance(body, str) else json.dumps(body), what)


def _encode_text(text: object, what: str) -> bytes | None:
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{what} must be a text or null, as kcat -J writes it")
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds half a character (a lone surrogate)") from None


@dataclass(frozen=True, slots=True)
class _LongLine:
    """A line over the limit: its first bytes, its size, and the hash of all its bytes."""

    head: bytes
    size: int
    sha256: str

    def describe(self, limit: int) -> str:
        """Why the line is not read, with topic, partition and offset where its beginning has them."""
        found = (
            (name, re.search(rf'"{name}": ?("[^"]{{1,249}}"|\d{{1,19}})', self._text())) for name in _PLACE
        )
        where = " ".join(f"{name} {match[1].strip(chr(34))}" for name, match in found if match)
        return f"a record of {self.size} bytes is over the limit of {limit}{where and ': '}{where}"

    def _text(self) -> str:
        return self.head.decode(errors="replace")


class _Line:
    """A line that is being read: its pieces as long as it keeps to the limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.pieces: list[bytes] = []
        self.head: bytes | None = None
        self.digest = hashlib.sha256()

    def add(self, piece: bytes) -> None:
        """Add the next bytes of the line."""
        self.size += len(piece)
        self.pieces.append(piece)
        if self.size > self.limit:
            self.head = b"".join(self.pieces)[:_BLOCK] if self.head is None else self.head
            for each in self.pieces:
                self.digest.update(each)
            self.pieces = []

    def finish(self) -> bytes | _LongLine:
        """The whole line; another one may follow."""
        if self.head is None:
            return b"".join(self.pieces)
        return _LongLine(self.head, self.size, self.digest.hexdigest())


def _split_lines(
    blocks: Iterable[bytes | None], limit: int
) -> Iterator[tuple[Sequence[bytes] | _LongLine | None, bool]]:
    """Splits blocks into their lines, with whether the lines have an end; the last one may have none.

    None follows each section, as it does among the blocks.
    """
    line = _Line(limit)
    for block in blocks:
        if block is None:
            yield None, True
            continue
        first = block.find(b"\n")
        if first < 0:
            line.add(block)
            continue
        line.add(block[:first])
        whole = line.finish()
        yield whole if isinstance(whole, _LongLine) else BlockLines(whole, 0, len(whole), [len(whole)]), True
        last = block.rfind(b"\n")
        if first < last <= limit:
            yield BlockLines(block, first + 1, last), True
        elif first < last:
            yield from _keep_to_limit(block[first + 1 : last].split(b"\n"), limit)
        line = _Line(limit)
        line.add(block[last + 1 :])
    if line.size:
        whole = line.finish()
        yield whole if isinstance(whole, _LongLine) else [whole], False


def _keep_to_limit(lines: list[bytes], limit: int) -> Iterator[tuple[list[bytes] | _LongLine, bool]]:
    """Separates lines over the limit from others; only a small limit lets one stand inside of a block."""
    if max(map(len, lines)) <= limit:
        yield lines, True
        return
    for line in lines:
        if len(line) <= limit:
            yield [line], True
        else:
            yield _LongLine(line[:_BLOCK], len(line), _hash_bytes(line)), True


def _read_blocks(file: File, count_bytes: Callable[[int], None]) -> Iterator[bytes]:
    if file.path == STANDARD_INPUT:
        stream: TextIO | None = sys.stdin  # None if the descriptor was closed at the start
        if stream is None:
            raise UnreadableInput("-: standard input is closed", hint="pipe records into it, or name a file")
        yield from _require_text(file.path, stream.buffer)
        return
    with open_binary(file.path) as data:
        if file.packing:
            blocks = _read_stream(data, count_bytes)
            yield from _unpack_blocks(blocks, _choose_unpacker(file.packing), file.packing)
        else:
            yield from _require_text(file.path, data, count_bytes)


def _require_text(
    path: str, stream: BinaryIO, count_bytes: Callable[[int], None] = lambda _: None
) -> Iterator[bytes]:
    """Reads the bytes of a text. Raises `UnreadableInput` for another kind of data."""
    for number, block in enumerate(_read_stream(stream, count_bytes)):
        kind = next((kind for kind in _MAGIC if not number and block.startswith(kind[0])), None)
        if kind is not None:
            _, name, ending = kind
            hint = f"rename the file to …{ending}"
            if path == STANDARD_INPUT:
                hint = f"decompress it first, or use a file named …{ending}"
            raise UnreadableInput(f"{path}: contains {name} data, not lines of JSON", hint=hint)
        yield block


def _read_stream(stream: BinaryIO, count_bytes: Callable[[int], None]) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        count_bytes(len(block))
        yield block


def _unpack_blocks(blocks: Iterable[bytes], fresh: Callable[[], _Unpacker], packing: str) -> Iterator[bytes]:
    """Decompresses all consecutive streams. Raises `_TruncatedFile` after the last good byte."""
    unpacker: _Unpacker | None = None
    for data in _split_blocks(blocks, _PIECES[packing]):
        while data:
            unpacker = unpacker or fresh()
            before = _copy_unpacker(unpacker)
            try:
                yield unpacker.decompress(data)
            except Exception as error:  # zlib and zstandard each raise their own
                yield from _rescue_bytes(before, data)
                raise _TruncatedFile(f"the {packing} data is damaged ({error})") from error
            data = unpacker.unused_data if unpacker.eof else b""
            unpacker = None if unpacker.eof else unpacker
    if unpacker is not None:
        raise _TruncatedFile(f"the {packing} data ends too early")


def _split_blocks(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    for block in blocks:
        for start in range(0, len(block), size):
            yield block[start : start + size]


def _copy_unpacker(unpacker: _Unpacker) -> _Unpacker | None:
    """Copies the unpacker with its state; only those of zlib can be copied."""
    copy: Callable[[], _Unpacker] | None = getattr(unpacker, "copy", None)
    return None if copy is None else copy()


def _rescue_bytes(unpacker: _Unpacker | None, damaged: bytes) -> Iterator[bytes]:
    """Decompresses a damaged piece up to the damage: a failed call of zlib returns no bytes."""
    if unpacker is None:
        return
    for at in range(len(damaged)):
        try:
            yield unpacker.decompress(damaged[at : at + 1])
        except zlib.error:
            return


def _choose_unpacker(packing: Literal["", ".gz", ".zst"]) -> Callable[[], _Unpacker]:
    if packing == ".gz":
        return lambda: zlib.decompressobj(wbits=31)
    zstandard = _load_zstandard()
    return lambda: zstandard.ZstdDecompressor().decompressobj()


def _load_zstandard() -> Any:
    try:
        import zstandard  # loaded only for .zst files
    except ImportError as error:
        raise EngineUnavailable(".zst files need zstandard", hint=install_hint("zstd")) from error
    return zstandard


def _load_parquet(path: str) -> Any:
    try:
        import pyarrow.parquet as parquet  # loaded only for Parquet files
    except ImportError as error:
        raise EngineUnavailable("Parquet files need pyarrow", hint=install_hint("parquet")) from error
    try:
        return parquet.ParquetFile(open_binary(path) if is_remote(path) else path)
    except (OSError, ValueError) as error:
        raise UnreadableInput(
            f"{path}: not a complete Parquet file ({error})",
            hint="write the file again, or copy it when its writer has finished",
        ) from error


def _open_parquet(path: str) -> tuple[Any, list[str]]:
    """Open a file of records, and list its columns that are read."""
    file = _load_parquet(path)
    names = file.schema_arrow.names
    missing = [c for c in _COLUMNS if c not in names]
    if missing:
        raise UnreadableInput(
            f"{path}: has no column {', '.join(missing)}",
            hint=f"it needs the columns of Spark's Kafka source: {', '.join(_COLUMNS)}, timestamp",
        )
    chosen = [c for c in (*_COLUMNS, "timestamp", "headers") if c in names]
    repeated = [c for c in chosen if names.count(c) > 1]
    if repeated:
        raise UnreadableInput(
            f"{path}: has the column {', '.join(repeated)} more than once",
            hint="write the file again with each of these columns once",
        )
    return file, chosen


def _read_parquet(
    path: str,
    groups: Sequence[int] | None = None,
    limit: int = RECORD_LIMIT,
    count_bytes: Callable[[int], None] = lambda _: None,
) -> Iterator[Record | UnreadableItem | RowBatch]:
    """Reads rows in batches; rows with headers are read one by one."""
    file, chosen = _open_parquet(path)
    row_bytes = measure_bytes(path) / max(file.metadata.num_rows, 1)
    numbers = _number_rows(file.metadata, groups)
    check = partial(_check_plain_row, path, limit=limit)
    try:
        for batch in file.iter_batches(
            batch_size=_choose_rows(file.metadata, groups),
            row_groups=groups,
            columns=chosen,
            use_threads=False,
        ):
            count_bytes(round(batch.num_rows * row_bytes))
            of_batch = list(islice(numbers, batch.num_rows))
            if not of_batch:
                continue
            if "headers" in chosen or of_batch[-1] - of_batch[0] != len(of_batch) - 1:
                for number, row in zip(of_batch, _convert_rows(path, batch), strict=True):
                    yield _check_row(path, number, row, limit)
            else:
                yield RowBatch(_list_rows(path, batch), of_batch[0], check, limit)
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path}: damaged ({error})") from error


def _find_row_schema(path: str) -> str | None:
    """Finds the Avro schema of rows of a sink; None if the columns are those of Spark's Kafka source.

    Source: parquet-avro writes `parquet.avro.schema` into the metadata of a file.
    """
    file = _load_parquet(path)
    if set(_COLUMNS) <= set(file.schema_arrow.names):
        return None
    text = (file.metadata.metadata or {}).get(b"parquet.avro.schema")
    return None if text is None else text.decode()


def _read_parquet_rows(
    path: str, place: SinkPlace, avro_schema: str, note_schema: NoteSchema
) -> Iterator[Record | UnreadableItem]:
    """Reads rows of a sink as values in Avro."""
    headers = name_schema(avro_schema, "value", note_schema)
    number = 0
    for batch in _load_parquet(path).iter_batches(batch_size=_ROWS, use_threads=False):
        for row in batch.to_pylist():
            try:
                body = encode_body(avro_schema, row)
                yield Record(
                    place.topic,
                    place.partition,
                    place.first + number,
                    None,
                    None,
                    body,
                    headers,
                    is_key_known=False,
                )
            except ValueError as error:
                yield UnreadableItem(path, number + 1, str(error), _hash_bytes(repr(row).encode()))
            number += 1


def _choose_rows(metadata: Any, groups: Sequence[int] | None) -> int:
    """Choose the number of rows of a batch: fewer of large rows."""
    numbers = range(metadata.num_row_groups) if groups is None else groups
    found = [metadata.row_group(number) for number in numbers]
    largest = max((group.total_byte_size // group.num_rows for group in found if group.num_rows), default=1)
    return max(1, min(_ROWS, _BATCH_BYTES // max(largest, 1)))


def _number_rows(metadata: Any, groups: Sequence[int] | None) -> Iterator[int]:
    """Number the rows of some row groups, counted from 1 in the file."""
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    starts = [0, *accumulate(sizes)]
    for group in range(len(sizes)) if groups is None else groups:
        yield from range(starts[group] + 1, starts[group + 1] + 1)


def _check_row(path: str, number: int, row: Record, limit: int) -> Record | UnreadableItem:
    try:
        if not isinstance(row.topic, str):
            raise ValueError("topic must be a text")
        _require_offset(row.partition, row.offset)
        if row.value is not None and len(row.value) > limit:
            where = f"topic {row.topic} partition {row.partition} offset {row.offset}"
            raise ValueError(f"a record of {len(row.value)} bytes is over the limit of {limit}: {where}")
    except ValueError as error:
        return UnreadableItem(path, number, str(error), _hash_bytes(row.value or b""))
    return row


def _check_plain_row(path: str, number: int, row: Row, *, limit: int) -> Record | UnreadableItem:
    return _check_row(path, number, Record(*row), limit)


def _list_rows(path: str, batch: Any) -> Sequence[Row]:
    """Lists rows without headers; values of up to 2 GB together stay in their buffer."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    read_times = cache(partial(_convert_times, path, columns.get("timestamp"), batch.num_rows))
    topic, partition, offset, key = (columns[name].to_pylist() for name in _COLUMNS[:-1])
    values = columns["value"]
    if str(values.type) not in ("binary", "string") or len(values) == 0:
        return list(zip(topic, partition, offset, read_times(), key, values.to_pylist(), strict=True))
    return build_column_rows(topic, partition, offset, key, values, read_times)


def _convert_rows(path: str, batch: Any) -> Iterator[Record]:
    """Convert rows to records. Source: Spark's Kafka source; `headers`: array of structs of key and value."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    millis = _convert_times(path, columns.get("timestamp"), batch.num_rows)
    headers = columns["headers"].to_pylist() if "headers" in columns else [None] * batch.num_rows
    plain = (columns[name].to_pylist() for name in _COLUMNS)
    for topic, partition, offset, key, value, time, row_headers in zip(*plain, millis, headers, strict=True):
        pairs = tuple((h["key"], h["value"]) for h in row_headers) if row_headers else ()
        yield Record(topic, partition, offset, time, key, value, pairs)


def _convert_times(path: str, times: Any, size: int) -> list[int | None]:
    """Convert an Arrow timestamp column to epoch milliseconds; integers are already epoch milliseconds.

    Without a column, none of the `size` times is known. Raises `UnreadableInput` for a column without times.
    """
    if times is None:
        return [None] * size
    per_milli = {"us": 1_000, "ns": 1_000_000}
    unit = getattr(times.type, "unit", "ms")
    try:
        numbers = list_integers(times)
    except (ValueError, NotImplementedError) as error:
        raise UnreadableInput(
            f"{path}: the column timestamp has no times ({error})",
            hint="write it as timestamps, or as epoch milliseconds",
        ) from error
    if unit == "s":
        return [None if n is None else n * 1000 for n in numbers]
    return [None if n is None else n // per_milli.get(unit, 1) for n in numbers]


def _hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
