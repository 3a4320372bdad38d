"""Outlines are patterns learned from one parsed tail; they recognize similar tails without parsing.

Law: a tail that an outline matches can be parsed, and has the same facts except positions and times, whose
texts the outline captures. The parser reads every other tail.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import methodcaller
from typing import Protocol

from schemaman.debezium.raw_record import SOURCE, SPACED_SOURCE
from schemaman.debezium.records import Order
from schemaman.ingest.value_columns import ValueColumn

Texts = bytes | tuple[bytes, ...]
"""One captured text, or several; compared with those of the same layout alone."""

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)":|"(?:[^"\\]|\\.)*"|-?[0-9]+|null|true|false|[{},]|[ \t\n\r]+')
_PLAIN = rb'[^"\\\x00-\x1f\x80-\xff]'
NUMBER = rb"-?(?:0|[1-9][0-9]{0,400}+)"  # of very many digits the parser refuses a number
_POSITIVE = rb"[1-9][0-9]{0,400}+"
_LITERAL = frozenset(
    {b"version", b"connector", b"name", b"db", b"schema", b"table", b"collection", b"keyspace"}
    | {b"snapshot", b"op", b"shard"}
)
"""The part of a record that identifies the table and the proof of a run; it is compared byte by byte."""

_OPERATIONS = (b'"c"', b'"u"', b'"d"')
"""Operations of streamed changes, which one pattern matches."""

_NAMES = frozenset({b"db", b"schema", b"table", b"collection", b"keyspace"})
"""What differs from table to table. Patterns capture it, so that the tables of a connector share them."""

_NAME = re.compile(rb'"[^"\\\x00-\x1f\x80-\xff]*"')
_DIGIT = re.compile(rb"[0-9]")
_QUOTED_BYTE = re.compile(rb'["\\]')
_KEPT_PATTERNS = 1024
_KEPT_KINDS = 16
_REQUESTS_BEFORE_PATTERN = 4
"""Requests for a pattern before it is compiled, which costs as much as a hundred of them."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How bytes of JSON are written: as they are, or as the content of a JSON string.

    `quote` writes some bytes of JSON, and `unquote` reads them. `string` and `simple` are patterns of a text,
    with and without escapes.
    """

    quote: Callable[[bytes], bytes]
    unquote: Callable[[bytes], bytes]
    string: bytes
    simple: bytes

    def match_literally(self, data: bytes) -> bytes:
        """Returns the pattern of exactly these bytes."""
        return re.escape(self.quote(data))


def quote_json(data: bytes) -> bytes:
    """Quotes JSON without control characters as the content of a JSON string, with the fewest escapes."""
    return data.replace(b"\\", rb"\\").replace(b'"', rb"\"")


def _unquote_json(data: bytes) -> bytes:
    return b"\\".join(piece.replace(rb"\"", b'"') for piece in data.split(rb"\\"))


BARE = Spelling(
    bytes, bytes, rb'"' + _PLAIN + rb'*+(?:\\["\\/bfnrt]' + _PLAIN + rb'*+)*+"', rb'"' + _PLAIN + rb'*+"'
)
QUOTED = Spelling(
    quote_json,
    _unquote_json,
    rb'\\"' + _PLAIN + rb'*+(?:\\\\(?:\\"|\\\\|[/bfnrt])' + _PLAIN + rb'*+)*+\\"',
    rb'\\"' + _PLAIN + rb'*+\\"',
)
"""The spelling of a value that is the payload in a line of JSON. Both have the same captured texts."""


class TailMatcher(Protocol):
    """Matches the tails of many values at once."""

    @property
    def text(self) -> bytes:
        """A tail of the size that is matched."""

    def match(self, values: ValueColumn, start: int) -> list[Texts] | None:
        """Matches the ends of values behind `start` bytes; None unless all match."""


@dataclass(slots=True)
class LearnedTails:
    """What was learned from columns of tails: it saves time, and changes no result.

    `template` matches tails like the most recent ones. In the next `waiting` columns none is learned; `pause`
    is their number when the template fails again.
    """

    template: TailMatcher | None = None
    waiting: int = 0
    pause: int = 0


@dataclass(frozen=True, slots=True)
class TailColumns:
    """How many tails are matched at once: each begins with the `opening`, which is found and not matched.

    `match` matches a tail that begins with the opening at an index of some bytes; a second index ends it.
    `take_names` takes the names of the table from a match, which must be `names`; None if the match has none.
    `groups` are the groups of the texts of a position; None if the texts are more than what the groups
    capture. The tails are written in the `spelling`. All that match columns of this table share `learned`.
    """

    opening: bytes
    match: Callable[..., re.Match[bytes] | None]
    take_names: Callable[[re.Match[bytes]], object] | None
    names: object
    order: Order
    groups: tuple[int, ...] | None
    spelling: Spelling
    learned: LearnedTails = field(default_factory=LearnedTails)

    def match_whole(self, data: bytes, start: int, end: int) -> re.Match[bytes] | None:
        """Matches a tail with its opening and the names of its table."""
        found = self.match(data, start, end) if data.startswith(self.opening, start) else None
        if found is None or self.take_names is None or self.take_names(found) == self.names:
            return found
        return None


@dataclass(slots=True)
class DigitPlaces:
    """Where the digits of a tail may be others, so that the tail still matches its pattern.

    `free` are places of any digit, `positive` those of one that is not zero. The bytes of a pair of
    `repeats` are equal. `operation` is the place of a `c`, `u` or `d`; -1 for none.
    """

    free: set[int] = field(default_factory=set)
    positive: set[int] = field(default_factory=set)
    repeats: list[tuple[int, int]] = field(default_factory=list)
    operation: int = -1


@dataclass(eq=False, slots=True)
class Outline:
    """The form of a tail: one table, one version, one kind of operation.

    `match` matches a tail that begins at an index of some bytes; a second index ends it. `texts` takes the
    texts of the position from a match, most significant first. `layout` is equal for outlines with comparable
    texts; None if positions have to be parsed. `shapes` maps the proof of a key to the shape of the run.
    `match_quoted` matches a tail in a JSON string, from an index of some bytes to another one.
    `source` is how its source block begins.
    `learn_columns` learns how columns of tails in a spelling are matched; it compiles a pattern at most once.
    """

    match: Callable[..., re.Match[bytes] | None]
    match_quoted: Callable[[bytes, int, int], re.Match[bytes] | None]
    learn_columns: Callable[[Spelling], TailColumns]
    table: tuple[str, ...]
    texts: Callable[[re.Match[bytes]], Texts]
    layout: bytes | None
    source: bytes = SOURCE
    shapes: dict[bytes, str] = field(default_factory=dict)


@dataclass(slots=True)
class TailPatterns:
    """The compiled patterns of tails; to compile one costs as much as to parse some dozen records."""

    _compiled: dict[bytes, re.Pattern[bytes]] = field(default_factory=dict)
    _asked: Counter[bytes] = field(default_factory=Counter)
    _kinds: list[_TailKind] = field(default_factory=list)

    def find_outline(self, tail: bytes, table: tuple[str, ...], order: Order) -> Outline | None:
        """Finds the outline of a parsed tail of which another table has the kind, too; None without one."""
        for place, kind in enumerate(self._kinds):
            outline = kind.find_outline(tail, table, order)
            if outline is not None:
                if place:
                    self.keep_kind(self._kinds.pop(place))
                return outline
        return None

    def keep_kind(self, kind: _TailKind) -> None:
        """Keeps a kind of tails, the most recent one first."""
        self._kinds.insert(0, kind)
        del self._kinds[_KEPT_KINDS:]

    def find(self, pattern: bytes) -> re.Pattern[bytes] | None:
        """Finds a pattern that is compiled, or is asked for often enough to be; None for another one.

        The tables of a connector ask for one pattern, so that many tables with few records compile it soon.
        """
        found = self._compiled.get(pattern)
        if found is not None:
            return found
        if len(self._asked) >= _KEPT_PATTERNS:
            self._asked.clear()
        self._asked[pattern] += 1
        return self.compile(pattern) if self._asked[pattern] >= _REQUESTS_BEFORE_PATTERN else None

    def compile(self, pattern: bytes) -> re.Pattern[bytes]:
        """Compiles a pattern once."""
        found = self._compiled.get(pattern)
        if found is None:
            if len(self._compiled) >= _KEPT_PATTERNS:
                self._compiled.clear()
            found = self._compiled[pattern] = re.compile(pattern)
        return found


def learn_outline(
    tail: bytes,
    table: tuple[str, ...],
    order: Order,
    patterns: TailPatterns | None = None,
) -> Outline | None:
    """Learns the outline of a parsed tail; None if no pattern can recognize its form.

    Tables share `patterns`; the result is also None if these have not compiled the pattern yet.
    """
    known = TailPatterns() if patterns is None else patterns
    bare = _build_tail_pattern(tail, order, BARE)
    if patterns is not None and patterns.find(bare.text) is None:
        return None
    kind = _TailKind(tail, order, known, bare, known.compile(bare.text))
    outline = kind.find_outline(tail, table, order)
    if outline is not None:
        known.keep_kind(kind)
    return outline


@dataclass(eq=False, slots=True)
class _TailKind:
    """The tails that one pattern matches: those of the tables that have a connector and a form in common.

    The pattern was built from `tail`, and `pattern` is compiled. `quoted` is that of tails in JSON strings,
    which is built when lines of JSON need it.
    """

    tail: bytes
    order: Order
    patterns: TailPatterns
    bare: _TailPattern
    pattern: re.Pattern[bytes]
    quoted: _TailPattern | None = None

    def find_outline(self, tail: bytes, table: tuple[str, ...], order: Order) -> Outline | None:
        """Finds the outline of the tails of a table, one of which is given; None for one of another kind."""
        found = self.pattern.match(tail) if order == self.order else None
        if found is None:
            return None
        names = tuple(found[group] for group, _ in self.bare.names)
        bare = self.bare.name_table(names)

        def match_quoted(data: bytes, start: int, end: int) -> re.Match[bytes] | None:
            # only lines of JSON need this pattern, and to compile it costs as much as to parse ten records
            return learn_columns(QUOTED).match_whole(data, start, end)

        @cache
        def learn_columns(spelling: Spelling) -> TailColumns:
            # bytes are found ten times faster than a pattern matches them
            built = self.bare if spelling is BARE else self._build_quoted()
            built = built.name_table(tuple(map(spelling.quote, names)))
            skipped = b"(?s:.{%d})" % len(built.opening)
            pattern = self.patterns.compile(skipped + built.text[len(re.escape(built.opening)) :])
            groups = tuple(built.groups) if built.first < 2 else None
            return TailColumns(built.opening, pattern.match, *_take_names(built), order, groups, spelling)

        match, texts = _match_named(self.pattern, bare), _build_extractor(bare.groups, bare.first)
        source = SPACED_SOURCE if tail.startswith(SPACED_SOURCE) else SOURCE
        return Outline(match, match_quoted, learn_columns, table, texts, bare.layout, source)

    def _build_quoted(self) -> _TailPattern:
        if self.quoted is None:
            self.quoted = _build_tail_pattern(self.tail, self.order, QUOTED)
        return self.quoted


@dataclass(frozen=True, slots=True)
class _TailPattern:
    """The pattern of a tail: the groups of its position, how many are one number, and the layout.

    `names` are the captured names with the numbers of their groups. The text begins with the `opening`,
    which is matched byte by byte.
    """

    text: bytes
    groups: list[int]
    first: int
    layout: bytes | None
    names: tuple[tuple[int, bytes], ...]
    opening: bytes

    def name_table(self, names: Sequence[bytes]) -> _TailPattern:
        """Replaces the names that are captured by those of another table."""
        groups = (group for group, _ in self.names)
        return replace(self, names=tuple(zip(groups, names, strict=True)))


def _match_named(pattern: re.Pattern[bytes], tail: _TailPattern) -> Callable[..., re.Match[bytes] | None]:
    """Makes a function that matches a pattern, and requires the names that it captures."""
    match = pattern.match
    take, wanted = _take_names(tail)
    if take is None:
        return match

    def match_names(data: bytes, start: int, end: int = sys.maxsize) -> re.Match[bytes] | None:
        found = match(data, start, end)
        return found if found is not None and take(found) == wanted else None

    return match_names


def _take_names(tail: _TailPattern) -> tuple[Callable[[re.Match[bytes]], object] | None, object]:
    """Makes the function that takes the captured names from a match; returns what it must take, too."""
    if not tail.names:
        return None, None
    names = tuple(name for _, name in tail.names)
    take = methodcaller("group", *(group for group, _ in tail.names))
    return take, names if len(names) > 1 else names[0]


def _build_tail_pattern(tail: bytes, order: Order, spelling: Spelling) -> _TailPattern:
    names = dict.fromkeys(name for part in order for name in ((part,) if isinstance(part, str) else part))
    wanted = {name.encode(): place for place, name in enumerate(names)}
    parts: list[bytes] = []
    texts: list[bytes] = []
    found: dict[int, tuple[bytes, range]] = {}
    captured_names: list[tuple[int, bytes]] = []
    path: list[bytes] = []
    opening: list[bytes] = []
    key = b""
    for token in _TOKEN.finditer(tail):
        text = token.group()
        if token.group(1) is not None:
            key = token.group(1)
            parts.append(spelling.match_literally(text))
        elif text.isspace():
            parts.append(spelling.match_literally(text))
        elif text in b"{},":
            parts.append(re.escape(text))
            path = [*path, key] if text == b"{" else path[:-1] if text == b"}" else path
        elif path == [b"source"] and key in wanted:
            before = len(texts)
            parts.append(_build_ordered_pattern(text, texts, spelling))
            found[wanted[key]] = (parts[-1], range(before, len(texts)))
        elif key in _NAMES and _NAME.fullmatch(text):
            texts.append(b"")  # a position repeats no empty text, so no part of it refers to this group
            parts.append(b"(" + spelling.simple + b")")
            captured_names.append((len(texts), spelling.quote(text)))
        else:
            parts.append(_build_value_pattern(key, text, spelling))
        literal = spelling.quote(text)
        if len(opening) == len(parts) - 1 and parts[-1] == re.escape(literal):
            opening.append(literal)
    groups = [i + 1 for place in sorted(found) for i in found[place][1]]
    first = 0 if not order or isinstance(order[0], str) else len(order[0])
    numbers = [len(captured) for place, (_, captured) in found.items() if place < first]
    comparable = order and max(numbers, default=0) < 2  # a number in several pieces cannot be compared
    layout = (
        b"\n".join(b"%d %s" % (place, found[place][0]) for place in sorted(found)) if comparable else None
    )
    text = b"".join(parts) + rb"\Z"
    return _TailPattern(text, groups, sum(numbers), layout, tuple(captured_names), b"".join(opening))


def _build_extractor(groups: list[int], first: int) -> Callable[[re.Match[bytes]], Texts]:
    """Make a function that takes the texts of groups from a match; the greatest `first` one comes first."""
    if not groups:
        return _no_texts
    group: Callable[[re.Match[bytes]], Texts] = methodcaller("group", *groups)
    return group if first < 2 else lambda match: _keep_greatest(group(match), first)


def _no_texts(match: re.Match[bytes]) -> Texts:
    return ()


def _keep_greatest(texts: Texts, first: int) -> Texts:
    numbers = texts[:first]
    return (max(numbers, key=lambda text: (len(text), text)), *texts[1:])


def find_digits(written: bytes, order: Order, spelling: Spelling = BARE) -> DigitPlaces:
    """Finds where the digits of a tail may be others; the tail matches the pattern of a tail of its form.

    Law: a tail of other digits at these places matches the same pattern, with its texts at the same places.
    """
    tail = spelling.unquote(written)
    places = _find_bare_digits(tail, order)
    if tail == written:
        return places
    quoted = [found.start() for found in _QUOTED_BYTE.finditer(tail)]

    def find_written(place: int) -> int:
        return place + bisect_left(quoted, place)

    return DigitPlaces(
        set(map(find_written, places.free)),
        set(map(find_written, places.positive)),
        [(find_written(place), find_written(earlier)) for place, earlier in places.repeats],
        find_written(places.operation) if places.operation >= 0 else -1,
    )


def _find_bare_digits(tail: bytes, order: Order) -> DigitPlaces:
    wanted = {name.encode() for part in order for name in ((part,) if isinstance(part, str) else part)}
    places, captured = DigitPlaces(), dict[bytes, int]()
    path: list[bytes] = []
    key = b""
    for token in _TOKEN.finditer(tail):
        text, begin = token.group(), token.start()
        if token.group(1) is not None:
            key = token.group(1)
        elif text in b"{},":
            path = [*path, key] if text == b"{" else path[:-1] if text == b"}" else path
        elif path == [b"source"] and key in wanted:
            _find_ordered_digits(text, begin, captured, places)
        elif key == b"op" and text in _OPERATIONS:
            places.operation = begin + 1
        elif key not in _LITERAL and key not in _NAMES:
            _find_value_digits(text, begin, places)
    return places


def _find_ordered_digits(text: bytes, begin: int, captured: dict[bytes, int], places: DigitPlaces) -> None:
    if text[:1] in b"123456789":
        places.positive.add(begin)
    elif text[:1] != b'"':
        return
    pieces = re.finditer(rb"[0-9]+" if b"\\" in text else rb'[^"]+', text)
    for start, piece in ((begin + found.start(), found.group()) for found in pieces):
        earlier = captured.setdefault(piece, start)
        if earlier < start:
            places.repeats += [(start + i, earlier + i) for i in range(len(piece))]
        places.free |= {start + i for i in range(len(piece)) if piece[i : i + 1].isdigit()}
    places.free -= places.positive


def _find_value_digits(text: bytes, begin: int, places: DigitPlaces) -> None:
    digits = [begin + found.start() for found in _DIGIT.finditer(text)]
    if digits and text[:1] != b'"' and text != b"0":
        places.positive.add(digits.pop(0))
    places.free.update(digits)


def learn_payload_pattern(payload: bytes, spelling: Spelling = BARE) -> re.Pattern[bytes] | None:
    """Learns the pattern of the bytes after a key's `"payload":` from a parsed key."""
    parts = [
        spelling.match_literally(t.group())
        if t.group(1) is not None or t.group() in b"{}," or t.group().isspace()
        else _build_value_pattern(b"", t.group(), spelling)
        for t in _TOKEN.finditer(payload)
    ]
    pattern = re.compile(b"".join(parts) + rb"\Z")
    return pattern if pattern.match(spelling.quote(payload)) else None


def _build_value_pattern(key: bytes, text: bytes, spelling: Spelling) -> bytes:
    if key in _LITERAL:
        if key != b"op" or text not in _OPERATIONS:
            return spelling.match_literally(text)
        return spelling.match_literally(b'"') + b"[cud]" + spelling.match_literally(b'"')
    if text[:1] == b'"':
        return spelling.string if b"\\" in text else spelling.simple
    if not text[-1:].isdigit():
        return text
    return _POSITIVE if text[:1] in b"123456789" else NUMBER


def _build_ordered_pattern(text: bytes, texts: list[bytes], spelling: Spelling) -> bytes:
    """Builds the pattern of a part of the position: of the same length; a repeated part must repeat."""
    if text[:1] != b'"':
        digits = rb"[1-9][0-9]{%d}" % (len(text) - 1)
        return _capture(text, digits, texts) if text[:1] in b"123456789" else text
    if b"\\" not in text:
        mark = spelling.match_literally(b'"')
        return mark + _capture(text[1:-1], _PLAIN + b"{%d}" % (len(text) - 2), texts) + mark
    pieces = re.split(rb"([0-9]+)", text)
    return b"".join(
        _capture(p, b"[0-9]{%d}" % len(p), texts) if p.isdigit() else spelling.match_literally(p)
        for p in pieces
        if p
    )


def _capture(text: bytes, pattern: bytes, texts: list[bytes]) -> bytes:
    if text and text in texts:
        return rb"(?:\%d)" % (texts.index(text) + 1)
    texts.append(text)
    return b"(" + pattern + b")"
