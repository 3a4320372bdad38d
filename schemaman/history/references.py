"""REFs: references to table structures, as text and as values.

Law: `parse(str(ref)) == ref` for every reference. Text only; `resolution` looks them up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import get_args

from schemaman.debezium.records import PositionKind
from schemaman.errors import BadReference
from schemaman.model.schema import SCHEMES, TableId, quote_part, quote_stream

FORMS = (
    "ORDERS · ORDERS@3 · ORDERS@latest · ORDERS@-1 · ORDERS@2026-11-01T12:00Z · ORDERS@id:9f2c… · "
    "ORDERS@lsn:0/16B6A50 · file:PATH · git:REV:PATH · lake:TABLE · registry:SUBJECT@VERSION"
)
_KINDS: tuple[PositionKind, ...] = tuple(k for k in get_args(PositionKind) if k != "none")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_PART = re.compile(r'[^."@: ](?:[^."@:]*[^."@: ])?')
"""A part without quotes; a shell takes the quotes of a part with blanks away."""
_VERSION = re.compile(r"latest|v?[0-9]{1,9}(\.[0-9]{1,9})?|-[0-9]{1,9}|id:[0-9A-Fa-f]{4,12}")
"""What names a version without its table."""
_RANGE = re.compile(r"(?<![./:])\.\.(?![./])")
_ARROWS = ("→", "->", "..")
_PAIRS = "write ORDERS@1 ORDERS@3, ORDERS@1..3, or ORDERS 1..3"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:([Zz])|([+-]\d\d:\d\d))?)?")


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as a person writes it: the last parts of its name, and the stream if it was given."""

    parts: tuple[str, ...]
    stream: str | None = None

    def __str__(self) -> str:
        name = ".".join(quote_part(p) for p in self.parts)
        return name if self.stream is None else f"{quote_stream(self.stream)}:{name}"


@dataclass(frozen=True, slots=True)
class VersionNumber:
    """The version of that number, with the attributes of `revision` or of its last one."""

    number: int
    revision: int | None = None

    def __str__(self) -> str:
        return str(self.number) if self.revision is None else f"{self.number}.{self.revision}"


@dataclass(frozen=True, slots=True)
class VersionsBack:
    """So many versions before the newest; 0 is `latest`."""

    steps: int

    def __str__(self) -> str:
        return f"-{self.steps}" if self.steps else "latest"


@dataclass(frozen=True, slots=True)
class AsOf:
    """The version at a commit time of the source (epoch ms)."""

    ts_ms: int

    def __str__(self) -> str:
        time = _EPOCH + timedelta(milliseconds=self.ts_ms)
        return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@dataclass(frozen=True, slots=True)
class ShapeId:
    """The newest version of a shape: its id, or the first digits of it."""

    id: str

    def __str__(self) -> str:
        return f"id:{self.id}"


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """The version at a position of the source's own log; `value` as the connector prints it."""

    kind: PositionKind
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"


Selector = VersionNumber | VersionsBack | AsOf | ShapeId | SourcePosition


@dataclass(frozen=True, slots=True)
class TableRef:
    """A version of a table in the history."""

    name: TableName
    selector: Selector = VersionsBack(0)

    def __str__(self) -> str:
        return f"{self.name}@{self.selector}"


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a known kind."""

    path: str

    def __str__(self) -> str:
        return f"file:{self.path}"


@dataclass(frozen=True, slots=True)
class GitRef:
    """A file in a revision of the repository."""

    revision: str
    path: str

    def __str__(self) -> str:
        return f"git:{self.revision}:{self.path}"


@dataclass(frozen=True, slots=True)
class LakeRef:
    """A lake table: its catalogue name or, with a slash, its path."""

    table: str

    def __str__(self) -> str:
        return f"lake:{self.table}"


@dataclass(frozen=True, slots=True)
class RegistryRef:
    """A schema in a schema registry; no version means the latest."""

    subject: str
    version: int | None = None

    def __str__(self) -> str:
        return f"registry:{self.subject}@{'latest' if self.version is None else self.version}"


Reference = TableRef | FileRef | GitRef | LakeRef | RegistryRef


def parse(text: str) -> Reference:
    """Parse a reference. A stream with the name of a scheme must be quoted: `"file":orders`.

    Raises:
        BadReference: the text is not a reference; the message names the mistake.
    """
    scheme, colon, rest = text.partition(":")
    if not colon or scheme not in SCHEMES:
        return _parse_table_ref(text)
    if not rest:
        raise BadReference(f"{text!r}: nothing after {scheme}:", hint=_hint_form(scheme))
    match scheme:
        case "file":
            return FileRef(rest)
        case "lake":
            return LakeRef(rest)
        case "git":
            return _parse_git(text, rest)
        case _:
            return _parse_registry(text, rest)


def parse_pair(texts: Sequence[str]) -> tuple[Reference, ...]:
    """Parse one or two references: `A B`, `A..B`, `TABLE A..B`.

    The second reference may be only a version of the first one's table: `orders@1..3`, `orders@1 latest`.
    With nothing after the dots it is the newest version: `orders@1..`. An arrow between two references, as
    reports print it, is ignored. One reference without dots is returned alone.

    Raises:
        BadReference: as `parse`; or there are more than two references.
    """
    words = [text for text in texts if text not in _ARROWS]
    *bases, last = words
    pair = _split_range(last)
    if len(bases) > 1 or (len(bases) == 1 and pair is not None and "@" in _strip_quoted(bases[0])):
        raise BadReference(f"{' '.join(texts)}: these are more than two references", hint=_PAIRS)
    if pair is None:
        first = parse(words[0])
        return (first, *(_parse_second(first, text) for text in words[1:]))
    base = parse(bases[0]) if bases else None
    old = parse(pair[0]) if base is None else _parse_second(base, pair[0])
    return old, _parse_second(old, pair[1])


def parse_name(text: str) -> TableName:
    """The name of a table: `[stream:]part.part…`, parts with dots, colons, blanks or `@` double-quoted.

    Raises:
        BadReference: a part is empty or badly quoted.
    """
    reader = _NameReader(text)
    name = reader.read_name()
    if reader.at < len(text):
        raise BadReference(
            f"{text!r}: a name ends before character {reader.at + 1}", hint='quote a part: "a@b".orders'
        )
    return name


def name_table(table: TableId) -> TableName:
    """The whole name of a table, its stream included."""
    return TableName(table.parts, table.stream)


def name_distinctly(tables: Iterable[TableId]) -> dict[TableId, TableName]:
    """Give each table a whole name; where two tables have equal parts, empty levels are written as `""`.

    So it is where one record calls the same word a database and another one a schema.
    """
    known = tuple(tables)
    often = Counter((t.parts, t.stream) for t in known)
    return {
        t: TableName(t.levels, t.stream) if often[t.parts, t.stream] > 1 else name_table(t) for t in known
    }


def _split_range(text: str) -> tuple[str, str] | None:
    """Split `A..B` at its dots: those outside of quotes and of a path such as `file:../orders.avsc`."""
    found = [m.start() for m in _RANGE.finditer(_strip_quoted(text))]
    return (text[: found[0]], text[found[0] + 2 :]) if len(found) == 1 else None


def _strip_quoted(text: str) -> str:
    """Replace quoted parts by characters without a meaning, so that positions stay."""
    return re.sub(r'"(?:[^"]|"")*"', lambda quoted: "x" * len(quoted[0]), text)


def _parse_second(first: Reference, text: str) -> Reference:
    """Parse a reference that may be only a version of the first one's table."""
    if isinstance(first, TableRef):
        if not text:
            return TableRef(first.name)
        if text.startswith("@") or _VERSION.fullmatch(text) or _TIME.fullmatch(text):
            return TableRef(first.name, _parse_selector(f"{first.name}@{text.lstrip('@')}", text.lstrip("@")))
    return parse(text)


def _parse_table_ref(text: str) -> TableRef:
    reader = _NameReader(text)
    name = reader.read_name()
    if reader.at == len(text):
        return TableRef(name)
    return TableRef(name, _parse_selector(text, text[reader.at + 1 :]))


def _parse_selector(text: str, selector: str) -> Selector:
    if selector == "latest":
        return VersionsBack(0)
    if found := re.fullmatch(r"v?([0-9]{1,9})(?:\.([0-9]{1,9}))?", selector):
        return VersionNumber(int(found[1]), None if found[2] is None else int(found[2]))
    if found := re.fullmatch(r"-([0-9]{1,9})", selector):
        return VersionsBack(int(found[1]))
    if found := _TIME.fullmatch(selector):
        return _parse_time(text, selector, found)
    kind, colon, value = selector.partition(":")
    if kind == "id" and re.fullmatch(r"[0-9A-Fa-f]{4,12}", value):
        return ShapeId(value.lower())
    if kind == "id":
        raise BadReference(
            f"{text!r}: {value!r} is not an id",
            hint="an id has 12 hexadecimal digits; the first 4 are enough",
        )
    for known in _KINDS:
        if kind == known and colon:
            return SourcePosition(known, _parse_position(text, known, value))
    raise BadReference(f"{text!r}: {selector!r} does not name a version", hint=f"forms: {FORMS}")


def _parse_time(text: str, selector: str, found: re.Match[str]) -> AsOf:
    day, clock, zulu, offset = found.groups()
    if clock is None:
        raise BadReference(f"{text!r}: a date is not a time", hint=f"write {day}T00:00Z")
    if zulu is None and offset is None:
        raise BadReference(
            f"{text!r}: a time needs a zone", hint=f"write {selector}Z for UTC, or {selector}+02:00"
        )
    seconds, _, fraction = clock.partition(".")
    try:
        time = datetime.fromisoformat(f"{day}T{seconds}{offset or '+00:00'}")
        whole = (time.astimezone(UTC) - _EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError) as error:
        raise BadReference(f"{text!r}: no such time: {error}", hint="write 2026-11-01T12:00Z") from error
    return AsOf(whole * 1000 + int(f"{fraction}000"[:3]))


def _parse_position(text: str, kind: PositionKind, value: str) -> str:
    """The value as the connector prints it; PostgreSQL's own `X/Y` is two halves of 32 bits.

    Source: postgresql.org/docs, "pg_lsn Type".
    """
    wrong = BadReference(f"{text!r}: {value!r} is not a position of kind {kind}", hint=_POSITIONS[kind])
    match kind:
        case "lsn":
            if halves := re.fullmatch(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})", value):
                return str((int(halves[1], 16) << 32) + int(halves[2], 16))
            if re.fullmatch(r"[0-9]{1,20}", value) and int(value) < 1 << 64:
                return str(int(value))
        case "binlog":
            if found := re.fullmatch(r"(.+?):([0-9]{1,20})(?::([0-9]{1,20}))?", value):
                return f"{found[1]}:{int(found[2])}:{int(found[3] or 0)}"
        case "scn":
            if re.fullmatch(r"[0-9]{1,39}", value):
                return str(int(value))
        case _:
            if value:
                return value
    raise wrong


_POSITIONS: dict[PositionKind, str] = {
    "lsn": "write lsn:0/16B6A50, or the integer that the connector prints",
    "commit_lsn": "write the commit_lsn that the connector prints",
    "binlog": "write binlog:FILE:POSITION",
    "gtid": "write the gtid that the connector prints",
    "scn": "write scn:NUMBER",
    "mongo": "write the position that the connector prints",
}


def _parse_git(text: str, rest: str) -> GitRef:
    revision, _, path = rest.partition(":")
    if not revision or not path:
        raise BadReference(f"{text!r}: it needs a revision and a path", hint=_hint_form("git"))
    return GitRef(revision, path)


def _parse_registry(text: str, rest: str) -> RegistryRef:
    subject, found, version = rest.rpartition("@")
    if not found:
        return RegistryRef(rest)
    if not subject or not (version == "latest" or re.fullmatch(r"[0-9]{1,9}", version)):
        raise BadReference(
            f"{text!r}: {version!r} is not a version of a subject", hint=_hint_form("registry")
        )
    return RegistryRef(subject, None if version == "latest" else int(version))


def _hint_form(scheme: str) -> str:
    forms = (form for form in FORMS.split(" · ") if form.startswith(f"{scheme}:"))
    return f"write {next(forms)}"


class _NameReader:
    """Reads a table name; afterwards `at` is at the end of the text or at the `@` after the name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read_name(self) -> TableName:
        stream: str | None = None
        parts = [self.read_part()]
        if self.skip_text(":"):
            stream, parts = parts[0], [self.read_part()]
        while self.skip_text("."):
            parts.append(self.read_part())
        if self.at < len(self.text) and self.text[self.at] != "@":
            raise self.make_error(f"unexpected {self.text[self.at]!r}")
        return TableName(tuple(parts), stream)

    def skip_text(self, text: str) -> bool:
        found = self.text.startswith(text, self.at)
        self.at += found
        return found

    def read_part(self) -> str:
        quoted = re.compile(r'"((?:[^"]|"")*)"').match(self.text, self.at)
        if quoted is not None:
            self.at = quoted.end()
            return quoted[1].replace('""', '"')
        plain = _PLAIN_PART.match(self.text, self.at)
        if plain is None:
            raise self.make_error("a part of the name is missing or its quotes do not end")
        self.at = plain.end()
        return plain[0]

    def make_error(self, why: str) -> BadReference:
        return BadReference(
            f"{self.text!r}, character {self.at + 1}: {why}",
            hint="a table is [stream:]server.database.schema.table, or its last parts; "
            "put parts with dots, blanks, colons or @ in double quotes",
        )
