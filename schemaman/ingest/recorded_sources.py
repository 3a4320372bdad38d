"""Records sources in their order, and small ones of them together.

Law: which sources are recorded together depends on their chunks alone. So the log does not depend on the
engine, or on how many processes read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from schemaman.ingest.chunk_group import ChunkGroup, has_few_runs
from schemaman.ingest.chunks import ChunkPart
from schemaman.ingest.ingest import Intake
from schemaman.ingest.read_extents import ReadExtents
from schemaman.ingest.summary import Summary

TOGETHER = 100
"""The largest number of small sources in one transaction: an interrupted reading repeats no more of them."""

Numbered = tuple[int, ChunkPart]
Source = TypeVar("Source")


@dataclass(frozen=True, slots=True)
class RecordedSources(Generic[Source]):
    """Neighbouring sources, each with its part in the `summary` that is known of it alone.

    Such a part counts the records that were read. If records of the source were rejected, or if that is not
    known, it counts at least one reject.
    """

    sources: tuple[tuple[Source, Summary], ...]
    summary: Summary


@dataclass(frozen=True, slots=True)
class SourceReading(Generic[Source]):
    """How sources are read and recorded.

    `read` gives the chunks of a source, as a reading does that knows what an intake knows. `end_chunk` is
    called after each chunk, with the sum of what is recorded of the source.
    """

    open_intake: Callable[[], Intake]
    read: Callable[[Source, Intake], Iterable[Numbered]]
    is_small: Callable[[Source], bool]
    end_chunk: Callable[[Summary], None] | None = None

    def record(
        self, sources: Iterable[Source], ahead: Iterator[Iterable[Numbered]] | None = None
    ) -> Iterator[RecordedSources[Source]]:
        """Records the sources in order.

        `ahead` has the chunks of each, as a reading gives them that knows what was recorded before the first
        source. If the offsets of a chunk overlap those of earlier sources, the source is read again from
        there. An error is raised after all that was read before it is recorded.

        Raises as `Intake.enter_all`, and what the readings raise.
        """
        small = _SmallSources(self)
        met = ReadExtents()
        try:
            for source in sources:
                chunks = None if ahead is None else next(ahead)
                if self.is_small(source):
                    chunks = list(self.read(source, small.intake) if ahead is None else chunks or ())
                    if small.has_sources and not small.has_room(chunks, met):
                        yield small.record()
                        if ahead is None:  # what they have brought is known now
                            chunks = list(self.read(source, small.intake))
                    if small.has_room(chunks, met):
                        small.add(source, chunks)
                        met.add(part for _, part in chunks)
                        if self.end_chunk is not None:
                            self.end_chunk(small.intake.summary)
                        if small.is_full:
                            yield small.record()
                        continue
                elif small.has_sources:
                    yield small.record()
                intake = small.take_intake()
                if chunks is None:
                    chunks = self.read(source, intake)
                elif ahead is not None:
                    chunks = self._read_behind(source, intake, chunks, met)
                entered: list[ChunkPart] = []
                intake.enter_all(_note_extents(chunks, entered), progress=self.end_chunk)
                met.add(entered)
                yield RecordedSources(((source, intake.summary),), intake.summary)
            if small.has_sources:
                yield small.record()
        except BaseException:
            if small.has_sources:
                yield small.record()
            raise

    def _read_behind(
        self, source: Source, intake: Intake, chunks: Iterable[Numbered], met: ReadExtents
    ) -> Iterator[Numbered]:
        """Passes chunks on up to the first one that has met others; reads the source from there on."""
        for number, part in chunks:
            if not is_apart(part, met):
                yield from (pair for pair in self.read(source, intake) if pair[0] >= number)
                return
            yield number, intake.known.count_behind(part)


class _SmallSources(Generic[Source]):
    """Small sources, in order, that are recorded in one transaction."""

    def __init__(self, reading: SourceReading[Source]) -> None:
        self._reading = reading
        self._intake: Intake | None = None
        self._group: ChunkGroup | None = None
        self._parts: list[tuple[Source, ChunkPart]] = []

    @property
    def intake(self) -> Intake:
        """The intake that records them; it knows what was recorded before the first one."""
        if self._intake is None:
            self._intake = self._reading.open_intake()
        return self._intake

    @property
    def has_sources(self) -> bool:
        """Whether some are not recorded yet."""
        return bool(self._parts)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for a further source."""
        return self._open_group().is_full

    def has_room(self, chunks: Sequence[Numbered], met: ReadExtents) -> bool:
        """Whether a source with these chunks can be added: it has one at most, with few runs, and apart."""
        if not chunks:
            return True
        (_, part), *others = chunks
        group = self._open_group()
        return not others and has_few_runs(part) and group.has_room(part) and is_apart(part, met)

    def add(self, source: Source, chunks: Sequence[Numbered]) -> None:
        """Adds a source."""
        part = chunks[0][1] if chunks else ChunkPart()
        self._open_group().add(self.intake.known.count_behind(part))
        self._parts.append((source, ChunkPart(extents=part.extents, read=part.read)))

    def take_intake(self) -> Intake:
        """Takes the intake for a source that is recorded alone, while there are no others."""
        intake, self._intake, self._group = self.intake, None, None
        return intake

    def record(self) -> RecordedSources[Source]:
        """Records the sources; what is added later is recorded by another intake."""
        intake, whole, parts = self.intake, self._open_group().take(), self._parts
        self._intake, self._group, self._parts = None, None, []
        if whole is not None:
            intake.enter(whole)
        done = intake.summary
        return RecordedSources(tuple((source, _summarize(part, done)) for source, part in parts), done)

    def _open_group(self) -> ChunkGroup:
        if self._group is None:
            self._group = ChunkGroup(self.intake.reading, TOGETHER)
        return self._group


def _summarize(part: ChunkPart, done: Summary) -> Summary:
    """Summarizes one of the sources: its records, and its rejects if all rejects are known."""
    if len(done.first_rejects) < done.rejects:
        return Summary(part.read, rejects=done.rejects)
    inside = [
        reject
        for reject in done.first_rejects
        if any(
            (reject.topic, reject.partition) == (topic, partition) and low <= reject.offset <= high
            for topic, partition, low, high in part.extents
        )
    ]
    return Summary(part.read, rejects=len(inside))


def is_apart(part: ChunkPart, met: ReadExtents) -> bool:
    """Returns whether a chunk has the records that a reading gives which knows what was met.

    Such a reading may refuse another record than one that does not.
    """
    return not met or not (part.refusal is not None or met.has_met(part))


def _note_extents(chunks: Iterable[Numbered], entered: list[ChunkPart]) -> Iterator[Numbered]:
    for number, part in chunks:
        entered.append(ChunkPart(extents=part.extents))
        yield number, part
