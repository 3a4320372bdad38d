"""Matches lines of the console consumer in their block: what is printed before a value, and the value.

Law: a line is matched only if it splits into these parts. Such a line is no JSON as a whole if it has tabs:
its parts are complete, and no JSON has two of them side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemaman.ingest.block_lines import Matched, MatchLine
from schemaman.ingest.console_lines import (
    NO_HEADERS,
    NULL,
    SEPARATOR,
    ConsoleLine,
    are_plain_headers,
    find_fields,
    has_framing_headers,
)
from schemaman.ingest.probe import ProbeForm

UNPRINTED = -1
"""The offset of a line that does not print it: the number of the line tells it."""


@dataclass(frozen=True, slots=True)
class LineParts:
    """The parts that a line prints before its value. `partition` is its text, None if it is not printed."""

    has_fields: bool
    partition: bytes | None
    has_headers: bool
    has_key: bool


def find_parts(line: bytes, parts: ConsoleLine) -> LineParts | None:
    """Finds the parts of a line that was split; None if its headers determine the form of key or value."""
    if has_framing_headers(parts):
        return None
    start, partition, _ = find_fields(line, 0, len(line))
    has_headers = line.count(SEPARATOR, start) > parts.is_key_known
    return LineParts(start > 0, partition, has_headers, parts.is_key_known)


def find_lane_head(block: bytes, start: int, end: int) -> bytes:
    """Finds what lines of one partition have in common; no line without tabs begins with it."""
    return b"%b\tPartition:" % (find_fields(block, start, end)[1] or b"")


def match_keyed_line(parts: LineParts, key: ProbeForm | None, match_value: MatchLine) -> MatchLine:
    """Makes the function that matches lines with the same parts, the key by its form and the value.

    Without a form, the key is null.
    """
    match_opening = _match_opening(parts)
    has_opening, has_key = parts.has_fields or parts.has_headers, parts.has_key
    match_key = _match_null if key is None or key.behind is None else _match_key_form(key)

    def match(block: bytes, start: int, end: int) -> Matched | None:
        offset = UNPRINTED
        if has_opening:
            opening = match_opening(block, start, end)
            if opening is None:
                return None
            offset, start = opening
        if has_key:
            at = block.find(SEPARATOR, start, end)
            if at < 0 or not match_key(block, start, at):
                return None
            start = at + 1
        if block.find(SEPARATOR, start, end) >= 0:
            return None
        found = match_value(block, start, end)
        return None if found is None else (offset, found[1])

    return match


def match_known_line(parts: LineParts) -> MatchLine:
    """Makes the function that matches lines of records with the same parts, whatever they have in them."""
    match_opening = _match_opening(parts)
    most = int(parts.has_key)

    def match(block: bytes, start: int, end: int) -> Matched | None:
        opening = match_opening(block, start, end)
        if opening is None or block.count(SEPARATOR, opening[1], end) > most:
            return None
        is_blank = start == end or block[start:end].isspace()
        return None if is_blank else (opening[0], None)

    return match


def _match_opening(parts: LineParts) -> Callable[[bytes, int, int], tuple[int, int] | None]:
    """Makes the function that matches the part before the key; it returns the offset and the part's end."""
    has_headers, has_key, partition = parts.has_headers, parts.has_key, parts.partition

    def match(block: bytes, start: int, end: int) -> tuple[int, int] | None:
        start, printed, offset = find_fields(block, start, end)
        if printed != partition or (printed is None) != (offset is None):
            return None
        if has_headers:
            at = block.find(SEPARATOR, start, end)
            if at < 0:
                return None
            headers = block[start:at]
            # without a key, a part of another kind is the key
            if headers != NO_HEADERS and not (has_key and are_plain_headers(headers)):
                return None
            start = at + 1
        return UNPRINTED if offset is None else int(offset), start

    return match


def _match_null(block: bytes, start: int, end: int) -> bool:
    return block[start:end] == NULL


def _match_key_form(form: ProbeForm) -> Callable[[bytes, int, int], bool]:
    """Makes the function that matches the key between two indexes of a block."""
    prefix, size = form.prefix, form.size
    if form.behind is None:
        raise AssertionError("the key was proven without a pattern")
    match_behind = form.behind.match

    def match(block: bytes, start: int, end: int) -> bool:
        return block.startswith(prefix, start) and match_behind(block, start + size, end) is not None

    return match
