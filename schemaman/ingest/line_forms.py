"""Forms of lines of `kcat -J`, learned from parsed lines; bytes then prove what similar lines hold.

Law: a line that a form matches can be parsed. It has the topic and partition of the form, the matched offset,
and a value that begins with the bytes of the form. The parser reads every other line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from schemaman.debezium.raw_record import SOURCE, SPACED_SOURCE
from schemaman.debezium.records import Record
from schemaman.ingest.probe import KnownForms, ProbeForm, Prober
from schemaman.ingest.probe_patterns import BARE, NUMBER, Outline, Texts, quote_json

OFFSET = b'"offset":'
QUOTED_SOURCE = quote_json(SOURCE)
_QUOTED_SPACED_SOURCE = quote_json(SPACED_SOURCE)
_QUOTED_PAYLOAD = quote_json(b'"payload":')
_TOKEN = re.compile(
    rb'[ \t\r\n]*("[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9][0-9.eE+-]*|null|true|false|NaN|-?Infinity|[{}\[\],:])'
)
_PLACE_NUMBER = rb"(0|[1-9][0-9]{0,17})"
_TEXT = rb'[^"\\\x00-\x1f\x80-\xff]*+(?:\\["\\/bfnrt][^"\\\x00-\x1f\x80-\xff]*+)*+'
"""The content of a JSON string in ASCII without escapes by code; a line with others is parsed."""

_KEPT_HEADS = 20_000
_KEPT_FORMS = 8
_LINES_BEFORE_FORM = 8
"""Parsed lines of one beginning between two attempts to learn a form; an attempt costs as much as a parse."""


@dataclass(frozen=True, slots=True)
class LineForm:
    """The form of lines with one topic and partition.

    `head` is the line up to its offset. `match_opening` matches from there to the payload's text, and has
    the offset. If the key has a form, it matches to the key's text, which begins with `key_start`; then
    `match_key` matches from there to the payload's text. That text begins with `start` and ends before
    `ending`. `proof` is that of the key. `value` is the form of the payload; None if the form proves only
    that lines can be parsed.
    """

    head: bytes
    topic: str
    partition: int
    match_opening: Callable[[bytes, int], re.Match[bytes] | None]
    key_start: bytes
    match_key: Callable[[bytes, int], re.Match[bytes] | None] | None
    start: bytes
    ending: bytes
    proof: bytes
    value: ProbeForm | None

    def find_offset(self, line: bytes) -> tuple[int, int] | None:
        """Finds the offset of a line, and where the known part of its payload ends; None if it differs."""
        opening = self.match_opening(line, len(self.head))
        if opening is None:
            return None
        at = self.find_text(line, opening.end())
        if at < 0 or not line.startswith(self.start, at) or not line.endswith(self.ending):
            return None
        return int(opening[1]), at + len(self.start)

    def find_text(self, data: bytes, at: int) -> int:
        """Finds the payload's text behind the end of the opening; -1 if the key is of another form."""
        if self.match_key is None:
            return at
        known = data.startswith(self.key_start, at)
        behind = self.match_key(data, at + len(self.key_start)) if known else None
        return -1 if behind is None else behind.end()

    def match_outline(self, line: bytes, start: int) -> tuple[Outline, str, Texts] | None:
        """Matches the payload behind its known beginning: outline, shape, texts of the position; or None."""
        if self.value is None:
            return None
        at = line.rfind(QUOTED_SOURCE, start)
        is_content = find_content_check(SOURCE if at >= 0 else SPACED_SOURCE)
        if at < 0:
            at = line.rfind(_QUOTED_SPACED_SOURCE, start)  # as `find_source` does
        if at < 0:
            return None
        end = len(line) - len(self.ending)
        for known in self.value.outlines:
            match = known.match_quoted(line, at, end)
            if match is not None:
                shape = known.shapes.get(self.proof)
                if shape is None or not is_content(line[start:at]):
                    return None
                return known, shape, known.texts(match)
        return None

    def is_parsable(self, line: bytes, start: int) -> bool:
        """Returns whether the rest of the line proves that it can be parsed."""
        return is_json_text(line[start : len(line) - len(self.ending)])


def is_string_content(data: bytes) -> bool:
    """Returns whether bytes are surely the content of a JSON string in UTF-8 without escapes by code."""
    if b"\\u" in data:
        return False
    try:
        _SKIP(b'"%b"' % data) if data.isascii() else _DECODE(b'"%b"' % data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def is_json_text(data: bytes) -> bool:
    """Returns whether bytes are the content of a JSON string in UTF-8, as Python's parser reads it.

    Source: msgspec refuses control characters, unknown escapes and halves of surrogate pairs. It checks UTF-8
    only in a value that it decodes.
    """
    quoted = b'"%b"' % data
    try:
        _SKIP(quoted) if data.isascii() else _DECODE(quoted)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def find_content_check(source: bytes) -> Callable[[bytes], bool]:
    """Finds the check of the bytes before the last source block, which begins with `source`.

    An escape by code may hide a block, which counts only before one with a space: see `find_source`. To
    look for such escapes takes longer than the rest of the check.
    """
    return is_json_text if source == SOURCE else is_string_content


_SKIP = msgspec.json.Decoder(msgspec.Raw).decode
_DECODE = msgspec.json.Decoder(str).decode


@dataclass(slots=True)
class LineForms:
    """The forms of the lines of a source, by their beginnings; the most recent one of each comes first."""

    prober: Prober
    _forms: dict[bytes, list[LineForm]] = field(default_factory=dict)
    _topics: dict[str, LineForm] = field(default_factory=dict)
    _parsed: dict[bytes, int] = field(default_factory=dict)
    _last: list[LineForm] = field(default_factory=list)

    def find(self, line: bytes) -> list[LineForm]:
        """Finds the forms whose head the line has."""
        if self._last and line.startswith(self._last[0].head):
            return self._last
        forms = self._forms.get(_cut_head(line))
        if forms is None:
            return []
        self._last = forms
        return forms

    def find_by_head(self, head: bytes) -> list[LineForm]:
        """Finds the forms of lines with a head: what a line has up to its offset."""
        return self._forms.get(head, [])

    def learn(self, line: bytes, record: Record, *, is_known: bool = False) -> None:
        """Learns from a parsed line; its record was probed, or `is_known` from an earlier reading."""
        head = _cut_head(line)
        if len(self._parsed) > _KEPT_HEADS:
            self._parsed.clear()
            self._forms.clear()
            self._topics.clear()
            self._last = []
        parsed = self._parsed[head] = self._parsed.get(head, 0) + 1
        known = self.prober.find_forms(record)
        forms = self._forms.get(head, [])
        is_new = known is not None and all((form.value, form.proof) != (known[0], known[2]) for form in forms)
        if (
            not is_new
            and parsed % _LINES_BEFORE_FORM
            and not (is_known and self._is_first(line, forms, parsed))
        ):
            return
        other = None if forms else _move_form(self._topics.get(record.topic), head, record.partition)
        like = forms if other is None else [other]
        form = derive_form(like, line, record, known) or learn_form(line, record, known)
        if form is not None and form.head == head:
            self._forms[head] = [form, *forms][:_KEPT_FORMS]
            self._topics[record.topic] = form
            self._last = []

    def _is_first(self, line: bytes, forms: list[LineForm], parsed: int) -> bool:
        """Returns whether a line of known records is the first one of its form: no probe shows its schema."""
        return parsed <= _KEPT_FORMS and not any(form.find_offset(line) for form in forms)


def _cut_head(line: bytes) -> bytes:
    return line[: line.find(OFFSET) + len(OFFSET)]


def _move_form(form: LineForm | None, head: bytes, partition: int) -> LineForm | None:
    """Moves a form to another partition of its topic; None if the head differs in more than its number."""
    if form is None:
        return None
    before, after = (b'"partition":%d' % number for number in (form.partition, partition))
    is_moved = form.head.count(before) == 1 and form.head.replace(before, after) == head
    return replace(form, head=head, partition=partition) if is_moved else None


def derive_form(
    forms: Sequence[LineForm], line: bytes, record: Record, known: KnownForms | None
) -> LineForm | None:
    """Derives the form of a line from one of the same topic that has another schema of values, or None.

    Such a form proves all but the value. To learn a form costs as much as to parse some lines.
    """
    if known is None:
        return None
    value, _, proof = known
    start = value.quote_prefix()
    for form in forms:
        if form.value is not None and form.proof == proof:
            derived = replace(form, start=start, value=value)
            found = derived.find_offset(line)
            is_plain = form.value is value or is_string_content(start)
            if found is not None and found[0] == record.offset and is_plain:
                return derived
    return None


def learn_form(line: bytes, record: Record, known: KnownForms | None) -> LineForm | None:
    """Learns the form of a parsed line; None if lines like it have to be parsed.

    `known` are the forms of its record; without them the form proves only that such lines can be parsed.
    """
    fields = _read_fields(line)
    if fields is None:
        return None
    names = list(fields)
    if record.value is None or "payload" not in fields or names[-1] != "payload":
        return None
    if not {"topic", "partition", "offset"} <= fields.keys():
        return None
    place = names.index("offset")
    if not {"topic", "partition"} <= set(names[:place]):
        return None
    begin, end = fields["payload"].span
    if known is None:
        value, key, proof = None, None, b""
        cut = line.find(_QUOTED_PAYLOAD, begin, end)
        start = line[begin + 1 : begin + 1 if cut < 0 else cut + len(_QUOTED_PAYLOAD)]
    else:
        value, key, proof = known
        start = value.quote_prefix()
    text = line[begin + 1 : end - 1]
    if line[begin : begin + 1] != b'"' or not text.startswith(start) or not is_string_content(start):
        return None
    ending = line[end - 1 :]
    if ending[1:].strip() != b"}":
        return None
    offset_begin = fields["offset"].span[0]
    before, key_start, behind = _build_patterns(line, fields, names[place:], key)
    head_end = line.find(OFFSET) + len(OFFSET)
    gap = line[head_end:offset_begin]
    # topics share these patterns: `re` keeps them compiled
    match_opening = re.compile(re.escape(gap) + before).match
    match_key = re.compile(behind).match if behind else None
    form = LineForm(
        line[:head_end],
        record.topic,
        record.partition,
        match_opening,
        key_start,
        match_key,
        start,
        ending,
        proof,
        value,
    )
    found = form.find_offset(line)
    return form if found is not None and found[0] == record.offset else None


@dataclass(frozen=True, slots=True)
class _LineField:
    """The value of a entry of a line: where it stands, and its tokens as spans."""

    span: tuple[int, int]
    tokens: tuple[tuple[int, int], ...]


def _read_fields(line: bytes) -> Mapping[str, _LineField] | None:
    """Reads the fields of a line that is a JSON object; None if names repeat or have escapes."""
    fields: dict[str, _LineField] = {}
    name = ""
    depth = 0
    tokens: list[tuple[int, int]] = []
    is_value = False
    for token in _TOKEN.finditer(line):
        text, span = token[1], token.span(1)
        if depth == 1 and text in (b",", b"}"):
            if is_value:
                fields[name] = _LineField((tokens[0][0], tokens[-1][1]), tuple(tokens))
            tokens, is_value = [], False
        elif depth == 1 and text == b":" and not is_value:
            is_value = True
            continue
        elif depth == 1 and not is_value:
            name = text[1:-1].decode(errors="replace")
            if name in fields or "\\" in name:
                return None
        else:
            tokens.append(span) if depth else None
        depth += (text in (b"{", b"[")) - (text in (b"}", b"]"))
    return fields


def _build_patterns(
    line: bytes, fields: Mapping[str, _LineField], names: list[str], key: ProbeForm | None
) -> tuple[bytes, bytes, bytes]:
    """Builds the pattern of the fields from the offset up to the text of the payload.

    If the key has a form, the pattern ends with the quotation mark of its text. Then the known beginning of
    that text and the pattern behind it follow; both are empty for others.
    """
    parts: list[bytes] = []
    before, key_start = b"", b""
    at = fields["offset"].span[0]
    for name in names:
        entry = fields[name]
        parts.append(re.escape(line[at : entry.span[0]]))
        at = entry.span[1]
        if name == "payload":
            break
        text = line[slice(*entry.span)]
        if name == "offset":
            parts.append(_PLACE_NUMBER)
        elif name == "key" and text[:1] == b'"':
            if key is None or key.behind_quoted is None:
                parts.append(b'"' + _TEXT + b'"')
                continue
            before, key_start = b"".join((*parts, b'"')), key.quote_prefix()
            parts = [key.behind_quoted.pattern.removesuffix(rb"\Z"), b'"']
        elif name == "headers":
            parts.append(_build_headers_pattern(line, entry))
        elif name != "key" and text[:1] in b"-0123456789" and not set(text) & set(b".eE"):
            parts.append(NUMBER)
        else:
            parts.append(re.escape(text))
    behind = b"".join((*parts, b'"'))
    return (before, key_start, behind) if key_start else (behind, b"", b"")


def _build_headers_pattern(line: bytes, entry: _LineField) -> bytes:
    """Builds the pattern of a flat list of names and values; names have to be the same."""
    parts: list[bytes] = []
    at, place = entry.span[0], 0
    for begin, end in entry.tokens:
        text = line[begin:end]
        parts.append(re.escape(line[at:begin]))
        parts.append(BARE.string if place % 2 and text[:1] == b'"' else re.escape(text))
        place += text not in (b"[", b"]", b",")
        at = end
    return b"".join(parts)
