"""Proves lines and rows by their bytes, without cutting them out of the block in which they stand.

Law: a line or row is proven here only if it would be proven alone. Then the open run of its table goes on, or
the record was read before.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import add
from typing import Protocol

from schemaman.debezium.raw_record import SOURCE, SPACED_SOURCE
from schemaman.debezium.records import Record
from schemaman.ingest.block_lines import BlockLines, Matched, MatchLine
from schemaman.ingest.column_matching import MatchColumns, match_columns_of
from schemaman.ingest.column_rows import ColumnRows
from schemaman.ingest.console_lines import split_console_line
from schemaman.ingest.keyed_lines import (
    UNPRINTED,
    find_lane_head,
    find_parts,
    match_keyed_line,
    match_known_line,
)
from schemaman.ingest.line_batches import LineBatch
from schemaman.ingest.line_columns import (
    MatchLines,
    match_form_lines,
    match_key_lines,
    match_value_lines,
)
from schemaman.ingest.line_forms import (
    OFFSET,
    QUOTED_SOURCE,
    LineForm,
    LineForms,
    find_content_check,
    is_json_text,
)
from schemaman.ingest.partition_rows import PartitionRows
from schemaman.ingest.probe import NO_KEY, UNKNOWN_KEY, ProbeForm
from schemaman.ingest.probe_patterns import QUOTED, Outline, Texts, quote_json
from schemaman.ingest.scan import LastRecord, OpenRun, Scanner
from schemaman.ingest.value_columns import BlockValues, WholeValues
from schemaman.store.edge_hashes import EdgeSource
from schemaman.store.ranges import Partition


class PartitionPlace(Protocol):
    """How far a partition was read; `firsts` and `lasts` are the ranges that were read before.

    `next_known` is the first offset of the next such range.
    """

    highest: int
    firsts: list[int]
    lasts: list[int]
    next_known: int
    last: LastRecord | None
    last_offset: int


_KEPT_BYTES = 16 * 2**20
"""The size of the blocks that are kept in memory because the last line of a run may be in them."""

_FEW_LANES = 16
"""The number of lanes up to which a block is not kept: the next one then takes its place in the caches."""

_STREAK = 32
"""The number of rows proven one by one before columns are matched, for which a pattern is compiled."""

_LONG_STREAK = 64
"""The number of lines in turn from which columns of a lane are matched at once when it comes again."""

_AT_ONCE = 1
"""The number of lines proven one by one before all lines of a block are matched as one column."""

_LONGEST_STREAK = 2048
"""The largest number of lines proven one by one before columns are matched again, after one was in vain."""


@dataclass(eq=False, slots=True)
class _Lane:
    """Lines of one beginning that continue one open run, or that were read before (then `run` is None).

    `first` to `next` - 1 are the offsets that are proven and not noted yet, `limit` the first offset to which
    the lane does not lead. `cut` cuts out the last proven line, which has the index `at` in its block. Keys
    of rows match `match_key`. `make_columns` makes `match_columns`, which is made when a `streak` of rows was
    proven, and `make_lines` makes `match_lines` when a streak of `wanted` lines was. The last line that came
    behind this lane and was of another one was of `following`. A lane that has ended takes no line.
    """

    head: bytes | Partition
    place: Partition
    match: MatchLine
    progress: PartitionPlace
    run: OpenRun | None
    first: int
    next: int
    limit: int
    texts: Texts | None
    match_key: Callable[[bytes | None], bool] | None = None
    make_columns: Callable[[], MatchColumns] | None = None
    match_columns: MatchColumns | None = None
    make_lines: Callable[[], MatchLines] | None = None
    match_lines: MatchLines | None = None
    streak: int = 0
    wanted: int = sys.maxsize
    following: _Lane | None = None
    has_ended: bool = False
    cut: Callable[[int], LastRecord] | None = None
    at: int = 0
    last: LastRecord | None = None

    def cut_last(self) -> None:
        """Cuts the last proven line out of its block, which then need not be kept."""
        if self.cut is not None:
            self.last, self.cut = self.cut(self.at), None

    def note(self) -> None:
        """Notes the proven lines in the run and in the partition."""
        proven = self.next - self.first
        if not proven:
            return
        self.progress.highest = self.next - 1
        if self.run is not None:
            self.cut_last()
            if self.last is None or self.texts is None:
                raise AssertionError("lines were proven, but no last one is known")
            self.run.extend(proven, self.last, self.texts)
            self.progress.last_offset, self.progress.last = self.next - 1, self.last
        self.first = self.next


_ProveLines = Callable[[LineBatch, BlockLines, int, Callable[[int], LastRecord], list[_Lane]], int]


class BlockProver:
    """Proves lines of blocks; what it has proven is noted before anything else is added to a partition."""

    def __init__(self, forms: LineForms, scanner: Scanner, edges: EdgeSource) -> None:
        self._forms = forms
        self._scanner = scanner
        self._edges = edges
        self._places: Mapping[Partition, PartitionPlace] = {}
        self._lanes: dict[bytes | Partition, _Lane] = {}
        self._by_place: dict[Partition, _Lane] = {}
        self._lane: _Lane | None = None
        self._touched: deque[tuple[int, Callable[[int], LastRecord], list[_Lane]]] = deque()
        self._kept = 0

    def begin(self, places: Mapping[Partition, PartitionPlace]) -> None:
        """Begins a part; what is not noted is forgotten."""
        self._places, self._lane = places, None
        for lane in self._lanes.values():
            lane.following = None  # lanes that lead to each other would keep their blocks
        self._lanes.clear()
        self._by_place.clear()
        self._touched.clear()
        self._kept = 0

    def note_all(self) -> None:
        """Notes all that was proven."""
        if self._lanes:
            for lane in self._lanes.values():
                lane.note()
            self.begin(self._places)

    def note(self, place: Partition) -> None:
        """Notes what was proven of a partition, to which something else is added."""
        lane = self._by_place.get(place)
        if lane is not None:
            self._end(lane)

    def prove(self, batch: LineBatch, lines: BlockLines, begin: int) -> int:
        """Proves lines from the one with the number `begin` on; returns that of the first unproven one."""
        lane = self._lane
        if lane is not None and batch.topic and lane.next != batch.first + batch.number - 1 + begin:
            self._end(lane)  # the bytes between are no record
        return self._prove_in_turn(self._prove_lines, batch, lines, begin)

    def prove_keyed(self, batch: LineBatch, lines: BlockLines, begin: int) -> int:
        """Proves lines as `prove` does; they may have a key and more before their values."""
        if b"" in self._lanes:
            self._end(self._lanes[b""])  # lines between may be of other partitions
        return self._prove_in_turn(self._prove_keyed_lines, batch, lines, begin)

    def _prove_in_turn(self, prove: _ProveLines, batch: LineBatch, lines: BlockLines, begin: int) -> int:
        """Proves lines one by one, and those of one lane in columns as soon as many follow each other."""
        cut, touched = partial(_cut_line, batch, lines), list[_Lane]()
        size, first = len(lines), batch.first + batch.number - 1
        at, is_over = begin, False
        while not is_over and at < size:
            lane = self._lane
            if lane is not None and lane.streak >= lane.wanted and size - at > 1:
                at = _extend_by_lines(lane, lines, at, first if batch.topic else None, cut, touched)
            if at < size:
                at = prove(batch, lines, at, cut, touched)
                is_over = self._lane is None
        self._keep(lines.end - lines.begin, cut, touched)
        return at

    def prove_rows(self, rows: ColumnRows | PartitionRows, limit: int, begin: int) -> int:
        """Proves rows from the one with the number `begin` on; returns that of the first unproven one.

        A value of more than `limit` bytes is not proven.
        """
        if isinstance(rows, PartitionRows):
            return self._prove_partition(rows, limit, begin)
        cut, touched = partial(_cut_row, rows), list[_Lane]()
        at = self._prove_rows(rows, limit, begin, cut, touched)
        self._keep(len(rows.block), cut, touched)
        return at

    def _keep(self, size: int, cut: Callable[[int], LastRecord], touched: list[_Lane]) -> None:
        """Keeps a block for its lanes, and frees the oldest ones if they are too large together."""
        if len(touched) <= _FEW_LANES:
            _cut_last(cut, touched)
            return
        self._touched.append((size, cut, touched))
        self._kept += size
        while self._kept > _KEPT_BYTES:
            size, cut, touched = self._touched.popleft()
            self._kept -= size
            _cut_last(cut, touched)

    def _prove_lines(
        self,
        batch: LineBatch,
        lines: BlockLines,
        begin: int,
        cut: Callable[[int], LastRecord],
        touched: list[_Lane],
    ) -> int:
        """Proves lines one by one up to a long streak; without a lane then, the next line is not proven."""
        block, ends = lines.block, lines.ends
        starts_with = block.startswith
        start, lane = lines.find_begin(begin), self._lane
        since, wanted = (begin, 0) if lane is None else (begin - lane.streak, lane.wanted)
        self._lane = None
        for at in range(begin, len(ends)):
            end = ends[at]
            # lanes of lines have bytes as their head; a check of each would serve the type checker alone
            if lane is None or not starts_with(lane.head, start):  # type: ignore[arg-type]
                following = None if lane is None else lane.following
                if (
                    following is None or following.has_ended or not starts_with(following.head, start)  # type: ignore[arg-type]
                ):
                    following = self._find_following(lane, batch, block, start, end, at)
                    if following is None:
                        return at
                lane = following
                since, wanted = at, lane.wanted
            found = lane.match(block, start, end)
            before = lane.texts
            if (
                found is None
                or (found[0] != lane.next and found[0] != UNPRINTED)
                or lane.next >= lane.limit
                # `_goes_back`, written out, since a call costs as much; texts of a lane have one type
                or (before is not None and found[1] < before)  # type: ignore[operator]
            ):
                head = lane.head
                self._end(lane)
                lane = self._open(batch, head, block[start:end], at) if isinstance(head, bytes) else None
                found = None if lane is None else lane.match(block, start, end)
                if lane is None or found is None:
                    return at
                since, wanted = at, lane.wanted
            lane.next += 1
            lane.texts = found[1]
            lane.at = at
            if lane.cut is not cut:
                lane.cut = cut
                touched.append(lane)
            start = end + 1
            if at - since >= wanted:
                break
        if lane is not None:
            self._lane, lane.streak = lane, at + 1 - since
        return at + 1

    def _prove_keyed_lines(
        self,
        batch: LineBatch,
        lines: BlockLines,
        begin: int,
        cut: Callable[[int], LastRecord],
        touched: list[_Lane],
    ) -> int:
        """Proves lines as `_prove_lines` does."""
        block, ends = lines.block, lines.ends
        start, lane, first = lines.find_begin(begin), self._lane, batch.first + batch.number - 1
        since, wanted = (begin, 0) if lane is None else (begin - lane.streak, lane.wanted)
        self._lane = None
        for at in range(begin, len(ends)):
            end = ends[at]
            found = None if lane is None else _match_next(lane, block, start, end, first + at)
            if lane is None or found is None:
                opened = self._find_keyed_lane(batch, block, start, end, first + at)
                if opened is None:
                    return at
                lane, found = opened
                since, wanted = at, lane.wanted
            lane.next, lane.texts, lane.at = lane.next + 1, found[1], at
            if lane.cut is not cut:
                lane.cut = cut
                touched.append(lane)
            start = end + 1
            if at - since >= wanted:
                break
        if lane is not None:
            self._lane, lane.streak = lane, at + 1 - since
        return at + 1

    def _find_keyed_lane(
        self, batch: LineBatch, block: bytes, start: int, end: int, number: int
    ) -> tuple[_Lane, Matched] | None:
        """Finds or opens the lane of a line, and matches the line.

        `number` is the offset of a line that prints none.
        """
        head = find_lane_head(block, start, end)
        lane = self._lanes.get(head)
        found = None if lane is None else _match_next(lane, block, start, end, number)
        if lane is not None and found is None:
            self._end(lane)
        if lane is None or found is None:
            lane = self._open_keyed(batch, head, block[start:end], number)
            found = None if lane is None else _match_next(lane, block, start, end, number)
        return None if lane is None or found is None else (lane, found)

    def _prove_rows(
        self,
        rows: ColumnRows,
        limit: int,
        begin: int,
        cut: Callable[[int], LastRecord],
        touched: list[_Lane],
    ) -> int:
        block, bounds, keys, offsets = rows.block, rows.bounds, rows.keys, rows.offsets
        lane, at, span_end = self._lane, begin, begin
        while at < len(offsets):
            place = (rows.topics[at], rows.partitions[at])
            span_end = span_end if at < span_end else rows.find_span_end(at)
            if lane is not None and at + 1 < span_end and lane.head == place:
                at = _extend_lane(lane, rows, limit, at, span_end, cut, touched)
                if at == span_end:
                    continue
            start, end = bounds[at], bounds[at + 1]
            if end - start > limit:
                return at
            if lane is None or lane.head != place:
                lane = self._lanes.get(place) or self._open_row(rows, place, at)
                if lane is None:
                    return at
            found = _match_row(lane, block, start, end, keys[at], offsets[at])
            if found is None or _goes_back(lane, found[1]) or (lane.run is not None and rows.is_null(at)):
                self._end(lane)
                lane = self._open_row(rows, place, at)
                if lane is None:
                    return at
                found = _match_row(lane, block, start, end, keys[at], offsets[at])
                if found is None:
                    return at
            lane.next, lane.texts = lane.next + 1, found[1]
            _note_last(lane, at, cut, touched)
            at += 1
        self._lane = lane
        return len(offsets)

    def _prove_partition(self, rows: PartitionRows, limit: int, begin: int) -> int:
        """Proves rows one by one at first, then in spans that become longer: a long span may be in vain."""
        place, at, size = (rows.topic, rows.partition), begin, len(rows)
        if limit < sys.maxsize and any(value and len(value) > limit for value in rows.values):
            return begin
        while at < size:
            lane = self._lanes.get(place)
            count = 0 if lane is None else _count_proven(lane, rows, at)
            if lane is None or not count:
                if lane is not None:
                    self._end(lane)
                lane = self._open_row(rows, place, at)
                count = 0 if lane is None else _count_proven(lane, rows, at)
                if lane is None or not count:
                    return at
            at += count
            lane.next += count
            lane.streak += count
            if lane.run is not None:
                lane.last, lane.cut = (Record, *rows[at - 1]), None
        return size

    def _open_row(self, rows: ColumnRows | PartitionRows, place: Partition, at: int) -> _Lane | None:
        """Opens the lane of a row; None if the row has to be read otherwise."""
        offset, key = rows.offsets[at], rows.keys[at]
        progress = self._find_progress(place, offset)
        if progress is None:
            return None
        if offset >= progress.next_known:
            opened = self._open_known(place, place, offset, progress, _match_known_row)
        else:
            value = rows.read_value(at)
            proven = self._scanner.prober.match_form(place[0], key, value, True)
            if proven is None:
                return None
            form, key_form, outlined = proven
            proof = _find_proof(key_form, True)
            match = _match_value(form, outlined[0], outlined[1], proof)
            opened = self._open_new(place, place, offset, progress, outlined, match)
            if opened is not None:
                opened.match_key = _match_key(key_form)
                opened.make_columns = partial(match_columns_of, form, outlined[0], key_form)
        if opened is not None:
            self._keep_lane(opened)
        return opened

    def _find_following(
        self, before: _Lane | None, batch: LineBatch, block: bytes, start: int, end: int, at: int
    ) -> _Lane | None:
        """Finds the lane of a line behind one of another lane, which it may follow again next time."""
        lane = self._find_lane(batch, block, start, end, at)
        if before is not None and not before.has_ended:
            before.following = lane
        return lane

    def _find_lane(self, batch: LineBatch, block: bytes, start: int, end: int, at: int) -> _Lane | None:
        if batch.topic:
            head = b""
            known = self._lanes.get(head)
            if known is not None and known.next != batch.first + batch.number - 1 + at:
                self._end(known)
        else:
            offset = block.find(OFFSET, start, end)
            if offset < 0:
                return None
            head = block[start : offset + len(OFFSET)]
        return self._lanes.get(head) or self._open(batch, head, block[start:end], at)

    def _end(self, lane: _Lane) -> None:
        lane.note()
        lane.has_ended, lane.following = True, None
        self._lanes.pop(lane.head, None)
        self._by_place.pop(lane.place, None)
        if self._lane is lane:
            self._lane = None

    def _keep_lane(self, opened: _Lane) -> None:
        """Keeps a lane; that of its partition before, perhaps with another beginning, has ended."""
        self._lanes[opened.head] = self._by_place[opened.place] = opened

    def _open(self, batch: LineBatch, head: bytes, line: bytes, at: int) -> _Lane | None:
        """Opens the lane of a line; None if the line has to be read otherwise."""
        opened = self._open_values(batch, line, at) if batch.topic else self._open_lines(head, line)
        if opened is not None:
            self._keep_lane(opened)
        return opened

    def _open_lines(self, head: bytes, line: bytes) -> _Lane | None:
        for form in self._forms.find_by_head(head):
            found = form.find_offset(line)
            if found is None:
                continue
            offset, start = found
            place = (form.topic, form.partition)
            progress = self._find_progress(place, offset)
            if progress is None:
                return None
            if offset >= progress.next_known:
                return self._open_known(head, place, offset, progress, _match_known_line(form))
            outlined = form.match_outline(line, start)
            if outlined is None or form.value is None:
                continue
            match = _match_line(form, outlined[0], outlined[1])
            opened = self._open_new(head, place, offset, progress, outlined, match)
            is_learned = outlined[0].learn_columns(QUOTED).learned.template is not None
            make_lines = partial(match_form_lines, form, outlined[0])
            return _with_lines(opened, make_lines, _AT_ONCE if is_learned else _STREAK)
        return None

    def _open_values(self, batch: LineBatch, line: bytes, at: int) -> _Lane | None:
        place = (batch.topic, batch.partition)
        offset = batch.first + batch.number - 1 + at
        progress = self._find_progress(place, offset)
        if progress is None:
            return None
        if offset >= progress.next_known:
            return self._open_known(b"", place, offset, progress, _match_known_value)
        proven = self._scanner.prober.match_form(batch.topic, None, line, False)
        if proven is None:
            return None
        form, _, outlined = proven
        match = _match_value(form, outlined[0], outlined[1])
        opened = self._open_new(b"", place, offset, progress, outlined, match)
        return _with_lines(opened, partial(match_value_lines, form, outlined[0]))

    def _open_keyed(self, batch: LineBatch, head: bytes, line: bytes, number: int) -> _Lane | None:
        try:
            split = split_console_line(line)
        except ValueError:
            return None
        parts = find_parts(line, split)
        place = (batch.topic, batch.partition if split.partition is None else split.partition)
        offset = number if split.offset is None else split.offset
        progress = self._find_progress(place, offset)
        if progress is None or parts is None:
            return None
        if offset >= progress.next_known:
            opened = self._open_known(head, place, offset, progress, match_known_line(parts))
        else:
            proven = self._scanner.prober.match_form(batch.topic, split.key, split.value, split.is_key_known)
            if proven is None:
                return None
            form, key_form, outlined = proven
            proof = _find_proof(key_form, split.is_key_known)
            match = _match_value(form, outlined[0], outlined[1], proof)
            match = match_keyed_line(parts, key_form, match)
            opened = self._open_new(head, place, offset, progress, outlined, match)
            if parts.has_key and not (parts.has_fields or parts.has_headers):
                opened = _with_lines(opened, partial(match_key_lines, form, outlined[0], key_form))
        if opened is not None:
            self._keep_lane(opened)
        return opened

    def _find_progress(self, place: Partition, offset: int) -> PartitionPlace | None:
        """Finds the progress of a partition that goes on with an offset, with all that was proven noted."""
        self.note(place)
        progress = self._places.get(place)
        return progress if progress is not None and offset == progress.highest + 1 else None

    def _open_new(
        self,
        head: bytes | Partition,
        place: Partition,
        offset: int,
        progress: PartitionPlace,
        outlined: tuple[Outline, str, Texts],
        match: MatchLine,
    ) -> _Lane | None:
        outline, shape, texts = outlined
        run = self._scanner.find_open_run(*place, outline.table)
        if run is None or progress.last is None or not run.goes_on(shape, outline.layout, texts):
            return None
        return _Lane(head, place, match, progress, run, offset, offset, progress.next_known, run.texts)

    def _open_known(
        self,
        head: bytes | Partition,
        place: Partition,
        offset: int,
        progress: PartitionPlace,
        match: MatchLine,
    ) -> _Lane | None:
        behind = bisect_right(progress.firsts, offset)
        if not behind or progress.lasts[behind - 1] < offset:
            return None
        edge = self._edges.find_edge(*place, offset)
        limit = progress.lasts[behind - 1] + 1 if edge is None else min(progress.lasts[behind - 1] + 1, edge)
        if offset >= limit:
            return None
        return _Lane(head, place, match, progress, None, offset, offset, limit, None)


def _find_proof(key: ProbeForm | None, is_key_known: bool) -> bytes:
    if key is not None:
        return key.proof
    return NO_KEY if is_key_known else UNKNOWN_KEY


def _with_lines(
    lane: _Lane | None, make_lines: Callable[[], MatchLines], wanted: int = _STREAK
) -> _Lane | None:
    """Adds to a lane how its lines are matched in columns, and how many it wants before."""
    if lane is not None:
        lane.make_lines, lane.wanted = make_lines, wanted
    return lane


def _extend_by_lines(
    lane: _Lane,
    lines: BlockLines,
    begin: int,
    first: int | None,
    cut: Callable[[int], LastRecord],
    touched: list[_Lane],
) -> int:
    """Extends a lane by lines in columns; returns the number of the first unproven line.

    `first` is the offset of line 0 of lines that print none. A column that is in vain in part costs time, so
    the next one needs a longer streak.
    """
    if lane.match_lines is None:
        if lane.make_lines is None:
            raise AssertionError("a lane of known lines has no columns")
        lane.match_lines = lane.make_lines()
    at, ends, is_next = begin, lines.ends, first is None or lane.next == first + begin
    end = min(len(ends), at + lane.limit - lane.next) if is_next else at
    while at < end:
        wanted = end if lane.wanted == _AT_ONCE else min(end, at + lane.streak)
        begins = [lines.find_begin(at), *map(add, ends[at : wanted - 1], repeat(1))]
        count, texts = lane.match_lines(
            BlockValues(lines.block, begins, ends[at:wanted]), lane.next, lane.texts
        )
        at += count
        lane.next += count
        if count:
            lane.texts = texts
        if at < wanted:
            is_long = lane.streak + count >= _LONG_STREAK
            lane.wanted = _AT_ONCE if is_long else min(2 * lane.wanted, _LONGEST_STREAK)
            break
        lane.streak += count
        lane.wanted = _STREAK
    if at < len(ends):
        lane.streak = 0
    if at > begin:
        _note_last(lane, at - 1, cut, touched)
    return at


def _match_next(lane: _Lane, block: bytes, start: int, end: int, number: int) -> Matched | None:
    """Matches a line with parts as the next one of a lane; `number` is its offset if it prints none."""
    found = lane.match(block, start, end)
    if found is None or (number if found[0] == UNPRINTED else found[0]) != lane.next:
        return None
    return None if lane.next >= lane.limit or _goes_back(lane, found[1]) else found


def _goes_back(lane: _Lane, texts: Texts | None) -> bool:
    # texts of one layout have one type, which the type of `Texts` cannot express
    return lane.texts is not None and texts < lane.texts  # type: ignore[operator]


def _match_line(form: LineForm, outline: Outline, shape: str) -> MatchLine:
    """Makes the function that matches lines of a form with payloads of one table and shape."""
    head_size, start_size, ending_size = len(form.head), len(form.start), len(form.ending)
    match_opening, beginning, ending = form.match_opening, form.start, form.ending
    match_key, key_start, key_size = form.match_key, form.key_start, len(form.key_start)
    columns, take_texts = outline.learn_columns(QUOTED), outline.texts
    tail_opening, match_tail, take_names, names = (
        columns.opening,
        columns.match,
        columns.take_names,
        columns.names,
    )
    outlines = [] if form.value is None else form.value.outlines
    source, is_spaced = quote_json(outline.source), outline.source == SPACED_SOURCE
    match_end = _match_end(source, outlines, outline, shape, form.proof, is_quoted=True)
    is_content = find_content_check(outline.source)
    size = 0

    # what other functions do, too, is written out here: calls are most of what a line costs
    def match(block: bytes, start: int, end: int) -> Matched | None:
        nonlocal size
        opening = match_opening(block, start + head_size)
        if opening is None:
            return None
        row = opening.end()
        if match_key is not None:
            behind = match_key(block, row + key_size) if block.startswith(key_start, row) else None
            if behind is None:
                return None
            row = behind.end()
        if not block.startswith(beginning, row):
            return None
        row += start_size
        end -= ending_size
        if is_spaced and block.find(QUOTED_SOURCE, row, end) >= 0:  # see `find_source`
            return None
        if not block.startswith(ending, end):
            return None
        at = end - size  # most tails have the size of the one before
        if at < row or not block.startswith(tail_opening, at):
            at = block.find(tail_opening, row, end)
        found = None if at < 0 else match_tail(block, at, end)
        if found is not None and (take_names is None or take_names(found) == names):
            texts, size = take_texts(found), end - at
        else:
            other = match_end(block, row, end)
            if other is None:
                return None
            at, texts = other
        return (int(opening[1]), texts) if is_content(block[row:at]) else None

    return match


_MatchEnd = Callable[[bytes, int, int], tuple[int, Texts] | None]


def _match_end(
    source: bytes,
    outlines: Sequence[Outline],
    first: Outline,
    shape: str,
    proof: bytes,
    *,
    is_quoted: bool = False,
) -> _MatchEnd:
    """Makes the function that matches the end of a payload, from its last source block on.

    It returns where the block begins, and the texts of the position. Its outline has the table, layout and
    shape of the `first` one. No pattern matches a second source block inside of an end, so that the first
    block that one matches is the last one.
    """
    table, layout = first.table, first.layout

    def match(block: bytes, row: int, end: int) -> tuple[int, Texts] | None:
        at = block.find(source, row, end)
        last = block.rfind(source, row, end)
        for begin in (at, last) if at < last else (at,) if at >= 0 else ():
            for known in outlines:
                found = known.match_quoted(block, begin, end) if is_quoted else known.match(block, begin, end)
                if found is not None:
                    is_same = known.layout is layout and known.table == table
                    return (
                        (begin, known.texts(found)) if is_same and known.shapes.get(proof) == shape else None
                    )
        return None

    return match


def _match_value(form: ProbeForm, outline: Outline, shape: str, proof: bytes = UNKNOWN_KEY) -> MatchLine:
    """Makes the function that matches values of a form; `proof` is that of their keys."""
    prefix, size = form.prefix, form.size
    match_first, take_texts = outline.match, outline.texts
    source = outline.source
    match_end = _match_end(source, form.outlines, outline, shape, proof)
    is_spaced = source == SPACED_SOURCE

    def match(block: bytes, start: int, end: int) -> Matched | None:
        if not block.startswith(prefix, start):
            return None
        if is_spaced and block.find(SOURCE, start + size, end) >= 0:  # see `find_source`
            return None
        at = block.find(source, start + size, end)
        found = None if at < 0 else match_first(block, at, end)
        if found is not None:
            return UNPRINTED, take_texts(found)
        other = match_end(block, start + size, end)
        return None if other is None else (UNPRINTED, other[1])

    return match


def _match_known_line(form: LineForm) -> MatchLine:
    """Makes the function that matches lines of a form, whatever their payloads are."""
    head_size, start_size, ending_size = len(form.head), len(form.start), len(form.ending)
    match_opening, find_text, beginning, ending = form.match_opening, form.find_text, form.start, form.ending

    def match(block: bytes, start: int, end: int) -> Matched | None:
        opening = match_opening(block, start + head_size)
        text = -1 if opening is None else find_text(block, opening.end())
        if opening is None or text < 0 or not block.startswith(beginning, text):
            return None
        rest = text + start_size
        end -= ending_size
        if end < rest or not block.startswith(ending, end) or not is_json_text(block[rest:end]):
            return None
        return int(opening[1]), None

    return match


def _match_known_value(block: bytes, start: int, end: int) -> Matched | None:
    """Matches values that are not blank."""
    return None if block[start:end].isspace() or start == end else (UNPRINTED, None)


def _match_known_row(block: bytes, start: int, end: int) -> Matched | None:
    """Matches rows, whatever their values are."""
    return UNPRINTED, None


def _match_key(form: ProbeForm | None) -> Callable[[bytes | None], bool]:
    """Makes the function that matches keys of a form; None is for null keys."""
    if form is None or form.behind is None:
        return lambda key: key is None
    prefix, size, match_behind = form.prefix, form.size, form.behind.match

    def match(key: bytes | None) -> bool:
        return key is not None and key.startswith(prefix) and match_behind(key, size) is not None

    return match


def _match_row(
    lane: _Lane, block: bytes, start: int, end: int, key: bytes | None, offset: int
) -> Matched | None:
    if not lane.next == offset < lane.limit:
        return None
    if lane.match_key is not None and not lane.match_key(key):
        return None
    return lane.match(block, start, end)


def _extend_lane(
    lane: _Lane,
    rows: ColumnRows,
    limit: int,
    begin: int,
    end: int,
    cut: Callable[[int], LastRecord],
    touched: list[_Lane],
) -> int:
    """Extends a lane by rows of a span that ends before `end`; returns the number of the first unproven row.

    Rows are proven one by one at first, then in columns that become longer: a long column may be in vain.
    """
    if lane.next != rows.offsets[begin]:
        return begin
    at, last = begin, min(end, begin + lane.limit - lane.next)
    while at < last:
        wanted = min(last, at + max(lane.streak, _STREAK))
        is_column = lane.make_columns is not None and lane.streak >= _STREAK
        prove = _prove_column if is_column else _prove_each
        proven, lane.texts = prove(lane, rows, limit, at, wanted)
        lane.streak = lane.streak + proven - at if proven == wanted else proven - at
        at = proven
        if proven < wanted:
            break
    if at > begin:
        lane.next += at - begin
        _note_last(lane, at - 1, cut, touched)
    return at


def _cut_last(cut: Callable[[int], LastRecord], lanes: Iterable[_Lane]) -> None:
    """Cuts the last line of each lane that has it in the block."""
    for lane in lanes:
        if lane.cut is cut:
            lane.cut_last()


def _note_last(lane: _Lane, at: int, cut: Callable[[int], LastRecord], touched: list[_Lane]) -> None:
    """Notes the last proven row of a lane, which stays in its block."""
    lane.at = at
    if lane.cut is not cut:
        lane.cut = cut
        touched.append(lane)


def _prove_each(lane: _Lane, rows: ColumnRows, limit: int, begin: int, end: int) -> tuple[int, Texts | None]:
    """Proves rows one by one; returns the number of the first unproven one, and the texts of the last."""
    block, bounds, keys, match, match_key = rows.block, rows.bounds, rows.keys, lane.match, lane.match_key
    has_value = None if lane.run is None else rows.has_value
    texts, start, at = lane.texts, bounds[begin], begin
    while at < end:
        stop = bounds[at + 1]
        if stop - start > limit or (has_value is not None and not has_value[at]):
            break
        if match_key is not None and not match_key(keys[at]):
            break
        found = match(block, start, stop)
        if found is None:
            break
        # texts of one layout have one type, which the type of `Texts` cannot express
        if texts is not None and found[1] < texts:  # type: ignore[operator]
            break
        texts, start, at = found[1], stop, at + 1
    return at, texts


def _prove_column(
    lane: _Lane, rows: ColumnRows, limit: int, begin: int, end: int
) -> tuple[int, Texts | None]:
    """Proves rows as `_prove_each` does, each test over all of them."""
    if rows.has_value is not None and not all(rows.has_value[begin:end]):
        end = rows.has_value.index(False, begin)
    values = BlockValues(rows.block, rows.bounds[begin:end], rows.bounds[begin + 1 : end + 1])
    if limit < len(rows.block):
        end = begin + _count_within(values.measure(), limit)
        values = values.select_first(end - begin)
    if begin == end:
        return begin, lane.texts
    count, texts = _find_columns(lane)(rows.keys[begin:end], values, lane.texts)
    return begin + count, texts if count else lane.texts


def _count_within(sizes: Sequence[int], limit: int) -> int:
    """Counts the sizes before the first one over the limit."""
    return next((number for number, size in enumerate(sizes) if size > limit), len(sizes))


def _find_columns(lane: _Lane) -> MatchColumns:
    """Finds the function that matches columns of a lane; it is made once."""
    if lane.match_columns is None:
        if lane.make_columns is None:
            raise AssertionError("a lane of known rows has no columns")
        lane.match_columns = lane.make_columns()
    return lane.match_columns


def _count_proven(lane: _Lane, rows: PartitionRows, at: int) -> int:
    """Counts the rows from one on that continue a lane, and keeps the texts of the last one."""
    end = min(len(rows), at + max(lane.streak, 1), at + lane.limit - lane.next)
    if rows.offsets[at] != lane.next or at == end:
        return 0
    is_span = end - at > 1 and rows.is_without_holes(at, end)
    if is_span and lane.run is None:
        return end - at
    if is_span and lane.make_columns is not None and lane.streak >= _STREAK:
        # a null among the values has no bytes, so that no method of bytes takes it
        values = WholeValues(rows.values[at:end])  # type: ignore[arg-type]
        try:
            count, texts = _find_columns(lane)(rows.keys[at:end], values, lane.texts)
        except TypeError:
            return 0
        lane.texts = texts if count else lane.texts
        return count
    value = rows.values[at]
    if value is None:
        return int(lane.run is None)
    found = _match_row(lane, value, 0, len(value), rows.keys[at], lane.next)
    if found is None or _goes_back(lane, found[1]):
        return 0
    lane.texts = found[1]
    return 1


def _cut_line(batch: LineBatch, lines: BlockLines, at: int) -> LastRecord:
    return (batch.parse, batch.number + at, lines[at])


def _cut_row(rows: ColumnRows, at: int) -> LastRecord:
    return (Record, *rows[at])
