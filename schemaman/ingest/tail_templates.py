"""Templates of tails of one size match the tails of many values at once, faster than a pattern does.

Law: the pattern from which a template was learned matches what the template matches, with the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from struct import Struct

from schemaman.debezium.raw_record import find_source
from schemaman.ingest.probe_patterns import TailColumns, Texts, find_digits
from schemaman.ingest.value_columns import ValueColumn

_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


@dataclass(frozen=True, slots=True)
class TailTemplate:
    """A tail whose digits are zeros in `text`. A column has the bytes at one place of all tails.

    `literals` are the columns of one digit, `positive` those without a zero. The columns of a pair of
    `repeats` are equal. That of the `operation` has other letters, too; -1 for none. `read_texts` reads the
    texts of each tail from the tails behind each other.
    """

    text: bytes
    literals: tuple[tuple[int, bytes], ...]
    positive: tuple[int, ...]
    repeats: tuple[tuple[int, int], ...]
    operation: int
    read_texts: Callable[[bytes], list[Texts]]

    def match(self, values: ValueColumn, start: int) -> list[Texts] | None:
        """Matches the ends of values, at least one, behind `start` bytes; None unless all match."""
        size, sizes = len(self.text), values.measure()
        if min(sizes) < start + size:
            return None
        tails = values.join_ends(size)
        if not self._has_text(tails, len(sizes)):
            return None
        for place, digit in self.literals:
            if tails[place::size] != digit * len(sizes):
                return None
        for place in self.positive:
            if b"0" in tails[place::size]:
                return None
        for place, earlier in self.repeats:
            if tails[place::size] != tails[earlier::size]:
                return None
        return self.read_texts(tails)

    def _has_text(self, tails: bytes, count: int) -> bool:
        zeros, wanted = tails.translate(_ZEROS), self.text * count
        if zeros == wanted:
            return True
        operations = tails[self.operation :: len(self.text)] if self.operation >= 0 else b"-"
        if operations.strip(b"cud"):
            return False
        changed = bytearray(wanted)
        changed[self.operation :: len(self.text)] = operations
        return zeros == changed


def learn_template(columns: TailColumns, found: re.Match[bytes]) -> TailTemplate | None:
    """Learns the template of a tail from its match.

    None if texts are more than what groups capture, or if another source block begins in the tail: an end of
    a value with the text of a template begins with the last source block, so that none has to be found.
    """
    begin, tail = found.start(), found.group()
    if columns.groups is None or find_source(columns.spelling.unquote(tail), 1) >= 0:
        return None
    places = find_digits(tail, columns.order, columns.spelling)
    changing = places.free | places.positive
    digits = ((i, tail[i : i + 1]) for i in range(len(tail)) if i not in changing)
    spans = [(found.start(group) - begin, found.end(group) - begin) for group in columns.groups]
    return TailTemplate(
        tail.translate(_ZEROS),
        tuple((i, digit) for i, digit in digits if digit.isdigit()),
        tuple(places.positive),
        tuple(places.repeats),
        places.operation,
        _make_reader(len(tail), spans),
    )


def _make_reader(size: int, spans: Sequence[tuple[int, int]]) -> Callable[[bytes], list[Texts]]:
    """Makes the function that reads the texts at these places of tails of a size."""
    if not spans:
        return lambda tails: [()] * (len(tails) // size)
    layout, at = "", 0
    for start, end in sorted(spans):
        layout, at = f"{layout}{start - at}x{end - start}s", end
    unpack = Struct(f"{layout}{size - at}x").iter_unpack
    take = itemgetter(*(sorted(spans).index(span) for span in spans))
    return lambda tails: list(map(take, unpack(tails)))
