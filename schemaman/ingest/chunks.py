"""Reads the new records of a part of a source as schema runs.

Law: the merged parts of a chunk equal the chunk read in one piece. Both engines use only these functions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice, pairwise, repeat

from schemaman.debezium.connector import find_connector
from schemaman.debezium.converters.registered import decode_body
from schemaman.debezium.observation import SchemaRun, is_awaiting_schema
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.raw_record import DecodeContext
from schemaman.debezium.records import (
    Order,
    Position,
    Record,
    hash_record,
)
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import SchemamanError, UnreadableInput, UsageError
from schemaman.ingest.block_lines import BlockLines
from schemaman.ingest.block_prover import BlockProver
from schemaman.ingest.column_rows import ColumnRows
from schemaman.ingest.console_lines import SEPARATOR, has_framing_headers, split_console_line
from schemaman.ingest.line_batches import Item, LineBatch, Row, RowBatch
from schemaman.ingest.line_batches import UnreadableItem as UnreadableItem
from schemaman.ingest.line_forms import LineForms
from schemaman.ingest.partition_rows import PartitionRows
from schemaman.ingest.probe import Prober
from schemaman.ingest.scan import LastRecord, Scanner, merge, parse_last
from schemaman.store.edge_hashes import EdgeHashes, EdgeSource, Extents, is_same_hash
from schemaman.store.ranges import GAPS, Partition, Ranges

CHUNK = 50_000
"""The number of items, of a source or of a section of a file of lines, that one transaction records."""

SEGMENTS = 256
"""The largest number of returns to an earlier offset in one task; records with more are sorted first."""

RECORDS_BETWEEN_RETURNS = 20
"""The number of records from which a return costs less than sorting: each return parses two records more."""

SegmentItem = Record | UnreadableItem | RowBatch
"""What `read_segments` reads: lines tell their offsets too late."""

END = 2**63
"""An offset behind all offsets."""


@dataclass(frozen=True, slots=True)
class KnownOffsets:
    """The offset ranges of a stream that were read before, and the hashes of records at edges of runs."""

    ranges: Mapping[Partition, Ranges] = field(default_factory=dict)
    edges: EdgeSource = field(default_factory=EdgeHashes)

    def load_hashes(self) -> KnownOffsets:
        """Loads all hashes, for a process that cannot read the store."""
        return KnownOffsets(self.ranges, self.edges.load_all())

    def restrict_to(self, extents: Extents) -> KnownOffsets:
        """Restricts the ranges and hashes to the given extents, for such a process.

        If no offset of the extents was read before (the usual case), the store is not asked for hashes.
        """
        ranges = {place: self.ranges[place] for place in extents if place in self.ranges}
        met = {
            place: (first, last)
            for place, (first, last) in extents.items()
            if any(low <= last and first <= high for low, high in ranges.get(place, ()))
        }
        return KnownOffsets(ranges, self.edges.select_extents(met))

    def count_behind(self, part: ChunkPart) -> ChunkPart:
        """Counts the ranges before each stretch of a part, which was read when fewer were known.

        None of the others may have an offset that is between the first and the last one of the part.
        """
        stretches = []
        for stretch in part.stretches:
            ranges = self.ranges.get((stretch.topic, stretch.partition), ())
            stretches.append(replace(stretch, behind=bisect_right(ranges, (stretch.first, END))))
        return replace(part, stretches=tuple(stretches))


@dataclass(frozen=True, slots=True)
class Stretch:
    """New records of a partition, from `first` to `last`: one at each offset that is not in the `gaps`.

    Runs end at gaps, so that records which are read into a gap later fit between them. A stretch with more
    than `GAPS` gaps has runs that pass over gaps. Records that are read into such a gap later make their own
    stretch: the intervals in which versions began may then be wider than after one reading of the whole.
    `behind` counts the known ranges before the stretch; no run spans them.
    """

    topic: str
    partition: int
    first: int
    last: int
    first_hash: str
    last_hash: str
    runs: tuple[SchemaRun, ...]
    gaps: Ranges = ()
    behind: int = 0

    def merge_over_gaps(self, reading: DecodeContext) -> Stretch:
        """Merges the runs so that they pass over all gaps."""
        return replace(self, runs=merge(self.runs, reading))


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """The result of reading one part of a source.

    `waiting` are records, one run each, whose schema the registry does not have yet. They are in no stretch,
    so that another reading finds them. `extents` are the first and last offset of each partition, including
    known records. `refusal` is the error that stopped the reading; then the other fields are empty.
    """

    stretches: tuple[Stretch, ...] = ()
    waiting: tuple[SchemaRun, ...] = ()
    extents: tuple[tuple[str, int, int, int], ...] = ()
    unreadable: tuple[UnreadableItem, ...] = ()
    read: int = 0
    refusal: SchemamanError | None = None


def build_reading(schemas: SchemaLookup, forms: Forms = AUTO) -> DecodeContext:
    """Builds the functions by which the scanner uses connectors, registry and settings."""
    return DecodeContext(read_position, schemas, decode_body, _find_order, forms)


def read_position(connector: str, source: Mapping[str, object]) -> Position:
    """Reads the position in a source block of a connector; `NO_POSITION` for an unknown connector."""
    return find_connector(connector).position(dict(source))


def read_chunks(
    items: Iterable[Item],
    known: KnownOffsets,
    reading: DecodeContext,
    *,
    start: int = 0,
    size: int = CHUNK,
    learned: LineForms | None = None,
) -> Iterator[tuple[int, ChunkPart]]:
    """Reads a source, or its part from item `start` on, as pairs of chunk number and chunk part.

    A chunk is `size` items of the source; each row of a batch and each line that is not empty is an item. In
    a file of lines, a chunk ends behind each `size` items of a section, and behind a section if it has `size`
    items by then. So a section can be read without those before. A part with a refusal is the last one. What
    a reading with the same context has `learned` is used.
    """
    taker = _PartReader(known, reading, learned)
    number, skipped = divmod(start, size)
    rest, room = _ItemReader(items), size - skipped
    while True:
        taken = taker.take(rest, room)
        filled = taken.read + len(taken.unreadable)
        if filled or taken.refusal is not None:
            yield number, taken
        if filled < room or taken.refusal is not None:
            return
        number, room = number + 1, size


def read_segments(
    items: Iterable[SegmentItem],
    known: KnownOffsets,
    reading: DecodeContext,
    *,
    size: int = CHUNK,
    most: int = SEGMENTS,
) -> Iterator[ChunkPart | None]:
    """Reads records in any order as chunk parts, each with increasing offsets in every partition.

    A part ends after `size` items, and before an offset that does not increase. After `most` ends of the
    second kind the reading stops with None if they are frequent: the records must be sorted first. Many
    small files of a task are no reason for that. `merge_segments` merges the parts. A part with a refusal is
    the last one.
    """
    rising = _RisingItems(items)
    taker = _PartReader(known, reading, None)
    while True:
        # One more than there are, so that the piece is read to its end.
        part = taker.take(_ItemReader(rising.take(size)), size + 1)
        if part.read or part.unreadable or part.refusal is not None:
            yield part
        if rising.is_at_end or part.refusal is not None:
            return
        if rising.returns > max(most, rising.read // RECORDS_BETWEEN_RETURNS):
            yield None
            return


def merge_segments(parts: Iterable[ChunkPart], reading: DecodeContext) -> ChunkPart | None:
    """Merges the parts of a source, in any order, into one part; None if offsets of a partition overlap.

    The result has the refusal of the first part that has one.
    """
    by_partition: dict[Partition, list[ChunkPart]] = {}
    unreadable: list[UnreadableItem] = []
    read = 0
    for part in parts:
        if part.refusal is not None:
            return part
        unreadable += part.unreadable
        read += part.read
        for partition, piece in _split_by_partition(part):
            by_partition.setdefault(partition, []).append(piece)
    merged = []
    for _, pieces in sorted(by_partition.items()):
        pieces.sort(key=lambda piece: piece.extents[0][2])
        if any(one.extents[0][3] >= other.extents[0][2] for one, other in pairwise(pieces)):
            return None
        merged.append(_merge_halves(pieces, reading))
    return ChunkPart(
        stretches=tuple(stretch for piece in merged for stretch in piece.stretches),
        waiting=tuple(run for piece in merged for run in piece.waiting),
        extents=tuple(extent for piece in merged for extent in piece.extents),
        unreadable=tuple(unreadable),
        read=read,
    )


def merge_parts(parts: Iterable[ChunkPart], reading: DecodeContext) -> ChunkPart:
    """Merges the parts of one chunk, which come in the order of the source."""
    whole = ChunkPart()
    for part in parts:
        whole = _merge_two(whole, part, reading)
        if whole.refusal is not None:
            break
    return whole


def build_order_error(topic: str, partition: int, before: int, offset: int) -> UnreadableInput:
    """Builds the error for a source whose offsets go back: gaps between known offsets would be uncertain."""
    return UnreadableInput(
        f"{topic}[{partition}]: offset {offset} comes after {before}",
        hint="the records of a partition must be in the order of their offsets, each once: "
        "name several dumps as separate sources, or sort them",
    )


class _ItemReader:
    """Reads items one by one, and lines of a batch as many at once as there is room for."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self._batch: LineBatch | RowBatch | None = None
        self._at = 0

    def take(self, room: int) -> Item | None:
        """Takes the next item, or lines or rows of which at most `room` are items; None at the end."""
        if self._batch is None:
            item = next(self._items, None)
            if not isinstance(item, (LineBatch, RowBatch)):
                return item
            self._batch, self._at = item, 0
        batch, at, end = self._batch, self._at, self._at + room
        contents = batch.lines if isinstance(batch, LineBatch) else batch.rows
        self._at = end
        if end >= len(contents):
            self._batch = None
        if at == 0 and end >= len(contents):
            return batch
        if isinstance(batch, LineBatch):
            return replace(batch, lines=batch.lines[at:end], number=batch.number + at)
        return replace(batch, rows=batch.rows[at:end], number=batch.number + at)


class _RisingItems:
    """Items in pieces that end where an offset of a partition does not increase, or leaves a gap.

    A task may have files from before and behind those of another task, so that a piece with a gap may overlap
    theirs. Only the first gaps end a piece: others come from compaction or transactions. `returns` counts the
    ends at an offset that does not increase, `read` the items; `is_at_end`: there are no more items.
    """

    def __init__(self, items: Iterable[SegmentItem]) -> None:
        self._items = iter(items)
        self._held: SegmentItem | None = None
        self._gaps = 0
        self._next: dict[Partition, int] = {}
        self.returns = 0
        self.read = 0
        self.is_at_end = False

    def take(self, room: int) -> Iterator[SegmentItem]:
        """Returns the items of the next piece, at most `room`."""
        self._next = {}
        while room > 0:
            item, self._held = self._held or next(self._items, None), None
            if item is None:
                self.is_at_end = True
                return
            if isinstance(item, RowBatch):
                end = self._find_end(item.rows, room)
                if end < len(item.rows):
                    self._held = replace(item, rows=item.rows[end:], number=item.number + end)
                    item = replace(item, rows=item.rows[:end])
            else:
                end = int(not isinstance(item, Record) or not self._is_end(*_read_place(item)))
                self._held = None if end else item
            room -= end
            self.read += end
            if end:
                yield item
            if self._held is not None:
                return

    def _find_end(self, rows: Sequence[Row], room: int) -> int:
        """Returns the number of rows of this piece, at most `room`; rows without an offset are no records."""
        if isinstance(rows, ColumnRows):
            return self._find_end_by_span(rows, min(room, len(rows)))
        return self._find_end_by_row(rows, room)

    def _find_end_by_span(self, rows: ColumnRows, room: int) -> int:
        at = 0
        while at < room:
            place, offset = (rows.topics[at], rows.partitions[at]), rows.offsets[at]
            end = min(room, rows.find_span_end(at))
            if type(offset) is int:
                if self._is_end(*place, offset):
                    return at
                self._next[place] = offset + end - at
            at = end
        return room

    def _find_end_by_row(self, rows: Sequence[Row], room: int) -> int:
        place: Partition | None = None
        expected = -1
        places: Iterable[tuple[str, int, int]] = (
            zip(repeat(rows.topic), repeat(rows.partition), rows.offsets)
            if isinstance(rows, PartitionRows)
            else (row[:3] for row in rows)
        )
        for number, (topic, partition, offset) in enumerate(islice(places, room)):
            if offset == expected and place == (topic, partition):
                expected += 1
                continue
            if place is not None:
                self._next[place] = expected
            place = None
            if type(offset) is not int:
                continue
            if self._is_end(topic, partition, offset):
                return number
            place, expected = (topic, partition), offset + 1
        if place is not None:
            self._next[place] = expected
        return min(room, len(rows))

    def _is_end(self, topic: str, partition: int, offset: int) -> bool:
        """Returns whether the piece ends before this record; if not, notes the record."""
        expected = self._next.get((topic, partition), offset)
        if offset < expected:
            self.returns += 1
            return True
        if offset > expected:
            self._gaps += 1
            if self._gaps <= SEGMENTS:
                return True
        self._next[topic, partition] = offset + 1
        return False


def _read_place(record: Record) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


class _PartReader:
    """Reads parts one after the other, and keeps what bytes have proven from part to part."""

    def __init__(self, known: KnownOffsets, reading: DecodeContext, learned: LineForms | None) -> None:
        self._known = known
        self._reading = reading
        self._lines = learned or LineForms(Prober(reading))
        self._scanner = Scanner(reading, prober=self._lines.prober)
        self._blocks = BlockProver(self._lines, self._scanner, known.edges)
        self._places: dict[Partition, _PartitionProgress] = {}
        self._read = 0
        self._unread: list[UnreadableItem] = []

    def take(self, items: _ItemReader, room: int) -> ChunkPart:
        """Reads the next `room` items, and those before them in earlier sections."""
        limit = room
        self._places, self._read, self._unread = {}, 0, []
        self._blocks.begin(self._places)
        try:
            while (left := limit - self._read - len(self._unread)) > 0:
                item = items.take(left)
                if item is None:
                    break
                if isinstance(item, LineBatch) and item.ends_section:
                    taken = limit - left
                    if taken >= room:
                        break
                    limit = taken + room
                    continue
                if isinstance(item, LineBatch) and isinstance(item.lines, BlockLines):
                    self._add_block(item, item.lines)
                    continue
                if isinstance(item, RowBatch) and isinstance(item.rows, ColumnRows | PartitionRows):
                    self._add_columns(item, item.rows)
                    continue
                self._blocks.note_all()
                if isinstance(item, LineBatch):
                    self._add_lines(item)
                elif isinstance(item, RowBatch):
                    self._add_rows(item)
                else:
                    self._add_item(item)
        except SchemamanError as refusal:
            self._scanner.runs()
            return ChunkPart(refusal=refusal)
        self._blocks.note_all()
        for progress in self._places.values():
            self._end(progress)
        progresses = sorted(self._places.items())
        return ChunkPart(
            stretches=tuple(stretch for _, progress in progresses for stretch in progress.stretches),
            waiting=tuple(run for _, progress in progresses for run in progress.waiting),
            extents=tuple((*place, progress.lowest, progress.highest) for place, progress in progresses),
            unreadable=tuple(self._unread),
            read=self._read,
        )

    def _add_item(self, item: Record | UnreadableItem) -> None:
        if isinstance(item, UnreadableItem):
            self._unread.append(item)
            return
        self._read += 1
        self._add(item)

    def _add_block(self, batch: LineBatch, lines: BlockLines) -> None:
        prove = self._blocks.prove_keyed if batch.topic and lines.has_tabs else self._blocks.prove
        at, size = 0, len(lines)
        while at < size:
            proven = prove(batch, lines, at)
            self._read += proven - at
            at = proven + 1
            if proven == size:
                return
            number, line = batch.number + proven, lines[proven]
            if not line or line.isspace():
                continue
            item = batch.parse(number, line)
            if isinstance(item, Record):
                self._blocks.note((item.topic, item.partition))
            self._add_item(item)
            if not batch.topic and isinstance(item, Record):
                self._lines.learn(line, item, is_known=self._is_known(item))

    def _add_lines(self, batch: LineBatch) -> None:
        prove = self._prove_value if batch.topic else self._prove_line
        learn = None if batch.topic else self._lines.learn
        for number, line in enumerate(batch.lines, batch.number):
            if prove(batch, number, line):
                self._read += 1
                continue
            if not line or line.isspace():
                continue
            item = batch.parse(number, line)
            self._add_item(item)
            if learn is not None and isinstance(item, Record):
                learn(line, item, is_known=self._is_known(item))

    def _add_columns(self, batch: RowBatch, rows: ColumnRows | PartitionRows) -> None:
        at = 0
        while at < len(rows):
            proven = self._blocks.prove_rows(rows, batch.limit, at)
            self._read += proven - at
            at = proven + 1
            if proven == len(rows):
                return
            item = batch.check(batch.number + proven, rows[proven])
            if isinstance(item, Record):
                self._blocks.note((item.topic, item.partition))
            self._add_item(item)

    def _add_rows(self, batch: RowBatch) -> None:
        match, advance, places = self._scanner.prober.match_parts, self._scanner.advance, self._places
        for number, row in enumerate(batch.rows, batch.number):
            topic, partition, offset, _, key, value = row
            progress = places.get((topic, partition))
            if (
                progress is not None
                and progress.last is not None
                and offset == progress.highest + 1
                and offset < progress.next_known
                and value is not None
                and len(value) <= batch.limit
            ):
                outlined = match(topic, key, value, True)
                last = (Record, *row)
                if outlined is not None and advance(topic, partition, outlined, last):
                    progress.highest = progress.last_offset = offset
                    progress.last = last
                    self._read += 1
                    continue
            self._add_item(batch.check(number, row))

    def _prove_line(self, batch: LineBatch, number: int, line: bytes) -> bool:
        """Adds a line by its bytes; returns False if it has to be parsed."""
        for form in self._lines.find(line):
            found = form.find_offset(line)
            if found is None:
                continue
            offset, start = found
            progress = self._places.get((form.topic, form.partition))
            if progress is None or offset != progress.highest + 1:
                return False
            if offset >= progress.next_known:
                return form.is_parsable(line, start) and self._pass_known(
                    form.topic, form.partition, offset, progress
                )
            if progress.last is None:
                return False
            outlined = form.match_outline(line, start)
            if outlined is None:
                continue
            last = (batch.parse, number, line)
            if not self._scanner.advance(form.topic, form.partition, outlined, last):
                return False
            progress.highest = progress.last_offset = offset
            progress.last = last
            return True
        return False

    def _prove_value(self, batch: LineBatch, number: int, line: bytes) -> bool:
        """Adds a line that is a bare value by its bytes; returns False if it has to be parsed."""
        if SEPARATOR in line:
            return self._prove_console_line(batch, number, line)
        progress = self._places.get((batch.topic, batch.partition))
        offset = batch.first + number - 1
        if progress is None or offset != progress.highest + 1:
            return False
        if offset >= progress.next_known:
            is_value = bool(line) and not line.isspace()
            return is_value and self._pass_known(batch.topic, batch.partition, offset, progress)
        if progress.last is None:
            return False
        outlined = self._scanner.prober.match_value(batch.topic, line)
        if outlined is None:
            return False
        last = (batch.parse, number, line)
        if not self._scanner.advance(batch.topic, batch.partition, outlined, last):
            return False
        progress.highest = progress.last_offset = offset
        progress.last = last
        return True

    def _prove_console_line(self, batch: LineBatch, number: int, line: bytes) -> bool:
        """Adds a line with a key before its value by its bytes; returns False if it has to be parsed."""
        try:
            parts = split_console_line(line)
        except ValueError:
            return False
        partition = batch.partition if parts.partition is None else parts.partition
        offset = batch.first + number - 1 if parts.offset is None else parts.offset
        progress = self._places.get((batch.topic, partition))
        if progress is None or progress.last is None or offset != progress.highest + 1:
            return False
        if offset >= progress.next_known or has_framing_headers(parts):
            return False
        outlined = self._scanner.prober.match_parts(batch.topic, parts.key, parts.value, parts.is_key_known)
        last = (batch.parse, number, line)
        if outlined is None or not self._scanner.advance(batch.topic, partition, outlined, last):
            return False
        progress.highest = progress.last_offset = offset
        progress.last = last
        return True

    def _pass_known(self, topic: str, partition: int, offset: int, progress: _PartitionProgress) -> bool:
        """Passes a record that was read before and is not at an edge of a run; returns False for others."""
        behind = bisect_right(progress.firsts, offset)
        if not behind or progress.lasts[behind - 1] < offset:
            return False
        if self._known.edges.hash(topic, partition, offset) is not None:
            return False
        progress.highest = offset
        return True

    def _is_known(self, record: Record) -> bool:
        """Returns whether a record that was added just now was read before."""
        progress = self._places[record.topic, record.partition]
        behind = bisect_right(progress.firsts, record.offset) if progress.firsts else 0
        return behind > 0 and progress.lasts[behind - 1] >= record.offset

    def _add(self, record: Record) -> None:
        offset = record.offset
        progress = self._places.get((record.topic, record.partition))
        if progress is None:
            progress = self._new_place(record)
        elif offset <= progress.highest:
            raise build_order_error(record.topic, record.partition, progress.highest, offset)
        progress.highest = offset
        behind = bisect_right(progress.firsts, offset) if progress.firsts else 0
        if behind and progress.lasts[behind - 1] >= offset:
            self._check(record)
            return
        if behind != progress.behind:
            self._end(progress)
            progress.behind = behind
            progress.next_known = progress.firsts[behind] if behind < len(progress.firsts) else END
        last, last_offset = progress.last, progress.last_offset
        gap = last is not None and last_offset + 1 != offset
        if gap and len(progress.gaps) < GAPS:
            progress.runs += self._scanner.cut(record.topic, record.partition)
        if is_awaiting_schema(self._scanner.add(record)):
            self._end(progress, record)
            return
        if last is None:
            progress.first = record
        elif gap:
            progress.gaps.append((last_offset + 1, offset - 1))
        progress.last, progress.last_offset = record, offset

    def _new_place(self, record: Record) -> _PartitionProgress:
        partition = (record.topic, record.partition)
        ranges = self._known.ranges.get(partition, ())
        progress = _PartitionProgress(
            record.offset,
            record.offset,
            [r[0] for r in ranges],
            [r[1] for r in ranges],
            next_known=ranges[0][0] if ranges else END,
        )
        self._places[partition] = progress
        return progress

    def _check(self, record: Record) -> None:
        expected = self._known.edges.hash(record.topic, record.partition, record.offset)
        if expected is not None and not is_same_hash(expected, hash_record(record)):
            raise UsageError(
                f"{record.topic}[{record.partition}]@{record.offset}: differs from the known record",
                hint="use another stream for a recreated topic or another cluster: --stream NAME",
            )

    def _end(self, progress: _PartitionProgress, waiting: Record | None = None) -> None:
        """Ends the stretch; a record that waits for its schema is the last run after it."""
        first, last = progress.first, None if progress.last is None else parse_last(progress.last)
        any_record = first or waiting
        if any_record is None:
            return
        runs = self._scanner.cut(any_record.topic, any_record.partition)
        if waiting is not None:
            *before, alone = runs
            runs = tuple(before)
            progress.waiting.append(alone)
        if first is not None and last is not None:
            edges = (first.offset, last.offset, hash_record(first), hash_record(last))
            gaps, runs = tuple(progress.gaps), (*progress.runs, *runs)
            stretch = Stretch(first.topic, first.partition, *edges, runs, gaps, progress.behind)
            progress.stretches.append(stretch.merge_over_gaps(self._reading) if len(gaps) > GAPS else stretch)
        progress.first = progress.last = None
        progress.gaps.clear()
        progress.runs.clear()


@dataclass(slots=True)
class _PartitionProgress:
    """The progress of a part in a partition; `firsts` and `lasts` are the known ranges.

    `next_known` is the first offset of the next known range, or of the one that is being passed.
    """

    lowest: int
    highest: int
    firsts: list[int]
    lasts: list[int]
    behind: int = 0
    next_known: int = END
    first: Record | None = None
    last: LastRecord | None = None
    last_offset: int = -1
    gaps: list[tuple[int, int]] = field(default_factory=list)
    runs: list[SchemaRun] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    waiting: list[SchemaRun] = field(default_factory=list)


def _split_by_partition(part: ChunkPart) -> Iterator[tuple[Partition, ChunkPart]]:
    """Splits a part by topic and partition; unreadable items and the number of items stay behind."""
    stretches: dict[Partition, list[Stretch]] = {}
    for stretch in part.stretches:
        stretches.setdefault((stretch.topic, stretch.partition), []).append(stretch)
    waiting: dict[Partition, list[SchemaRun]] = {}
    for run in part.waiting:
        waiting.setdefault((run.first.topic, run.first.partition), []).append(run)
    for extent in part.extents:
        partition = extent[:2]
        runs = tuple(waiting.get(partition, ()))
        yield partition, ChunkPart(tuple(stretches.get(partition, ())), runs, (extent,))


def _merge_halves(parts: Sequence[ChunkPart], reading: DecodeContext) -> ChunkPart:
    """Merges the parts of a partition, in order; each is merged a logarithmic number of times."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return _merge_two(_merge_halves(parts[:half], reading), _merge_halves(parts[half:], reading), reading)


def _merge_two(one: ChunkPart, other: ChunkPart, reading: DecodeContext) -> ChunkPart:
    if other.refusal is not None:
        return other
    extents = {(topic, partition): (low, high) for topic, partition, low, high in one.extents}
    for topic, partition, low, high in other.extents:
        before = extents.get((topic, partition))
        if before is not None and low <= before[1]:
            return ChunkPart(refusal=build_order_error(topic, partition, before[1], low))
        extents[topic, partition] = (before[0] if before else low, high)
    waiting = tuple(sorted((*one.waiting, *other.waiting), key=_run_order))
    return ChunkPart(
        stretches=_join_stretches((*one.stretches, *other.stretches), waiting, reading),
        waiting=waiting,
        extents=tuple((*place, *edges) for place, edges in sorted(extents.items())),
        unreadable=(*one.unreadable, *other.unreadable),
        read=one.read + other.read,
    )


def _join_stretches(
    stretches: Iterable[Stretch], waiting: Sequence[SchemaRun], reading: DecodeContext
) -> tuple[Stretch, ...]:
    """Joins the stretches of the parts, as one reader of the whole would do."""
    joined: list[Stretch] = []
    for new in sorted(stretches, key=lambda stretch: (stretch.topic, stretch.partition, stretch.first)):
        old = joined[-1] if joined else None
        if old is not None and _is_continued(old, new, waiting):
            gap = ((old.last + 1, new.first - 1),) if old.last + 1 < new.first else ()
            gaps = (*old.gaps, *gap, *new.gaps)
            runs = _merge_between_gaps(gaps, (*old.runs, *new.runs), reading)
            joined[-1] = replace(old, last=new.last, last_hash=new.last_hash, runs=runs, gaps=gaps)
        else:
            joined.append(new)
    return tuple(joined)


def _merge_between_gaps(
    gaps: Ranges, runs: Iterable[SchemaRun], reading: DecodeContext
) -> tuple[SchemaRun, ...]:
    """Merges the runs between two gaps, or all runs if there are too many gaps."""
    if len(gaps) > GAPS:
        return merge(runs, reading)
    ordered = sorted(runs, key=_run_order)
    pieces = groupby(ordered, key=lambda run: bisect_right(gaps, (run.first.offset,)))
    return tuple(run for _, piece in pieces for run in merge(piece, reading))


def _is_continued(old: Stretch, new: Stretch, waiting: Sequence[SchemaRun]) -> bool:
    if (old.topic, old.partition, old.behind) != (new.topic, new.partition, new.behind):
        return False
    following = bisect_right(waiting, (old.topic, old.partition, old.last), key=_run_order)
    return following == len(waiting) or _run_order(waiting[following]) > (new.topic, new.partition, new.first)


def _run_order(run: SchemaRun) -> tuple[str, int, int]:
    return (run.first.topic, run.first.partition, run.first.offset)


def _find_order(connector: str) -> Order:
    return find_connector(connector).order
