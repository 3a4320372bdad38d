"""Reads sources on this machine, with one process or with several.

Law: the log of several processes is that of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

from schemaman.api.unchanged_files import GrownFile
from schemaman.debezium.wire_format import Forms
from schemaman.ingest.chunks import ChunkPart, build_reading, read_chunks
from schemaman.ingest.ingest import Intake, Summary
from schemaman.ingest.line_batches import Item
from schemaman.ingest.line_forms import LineForms
from schemaman.ingest.probe import Prober
from schemaman.ingest.read_extents import ReadExtents
from schemaman.io.file_work import choose_part_bytes, is_shareable, is_worth_sharing
from schemaman.io.files import File
from schemaman.io.kafka_topics import Topics
from schemaman.io.line_ranges import LineRange, count_lines
from schemaman.io.schema_registry import FileSchemas
from schemaman.plugins import defer
from schemaman.registry import Registry

if TYPE_CHECKING:  # one process reads most files
    from schemaman.io.file_parts import PartReading
    from schemaman.io.reading_processes import read_files_in_processes
else:
    PartReading = defer("schemaman.io.file_parts:PartReading")
    read_files_in_processes = defer("schemaman.io.reading_processes:read_files_in_processes")

Source = File | Topics
Numbered = tuple[int, ChunkPart]


@dataclass(frozen=True, slots=True)
class LocalReading:
    """How sources that share a schema registry are read.

    `open_items` opens a source or some of its lines; it counts the bytes, and watches the items.
    `count_part` counts bytes and records that another process has read. Of `jobs` above 1, that many
    processes read files whose work is that of `shared_from` bytes of plain lines. Of a `grown` file, the new
    lines are read.
    """

    registry: Registry
    stream: str
    schemas: FileSchemas
    forms: Forms
    topic: str | None
    limit: int
    keep_payload: bool
    jobs: int
    shared_from: int
    open_items: Callable[[Source, LineRange | None], Iterator[Item]]
    count_part: Callable[[int, int], None]
    end_chunk: Callable[[Summary], None]
    grown: Mapping[File, GrownFile]

    def read_each(self, found: Sequence[Source]) -> Iterator[tuple[Source, Summary]]:
        """Reads the sources in order; gives each with its summary.

        Raises:
            SchemamanError: as `Intake.enter_all` and `read_files_in_processes`.
        """
        learned = LineForms(Prober(build_reading(self.schemas, self.forms)))
        for _, group in groupby(found, key=self._is_shareable):
            sources = list(group)
            files = [source for source in sources if isinstance(source, File)]
            done = 0
            if self.jobs > 1 and is_worth_sharing(files, self.shared_from):
                for pair in self._read_apart(files, learned):
                    yield pair
                    done += 1
            for source in sources[done:]:
                grown = self._read_grown(source, learned)
                if grown is None:
                    intake = self._build_intake()
                    grown = self._enter(intake, self._read_here(source, intake, learned))
                yield source, grown

    def _is_shareable(self, source: Source) -> bool:
        return isinstance(source, File) and is_shareable(source) and not self._has_few_new_lines(source)

    def _has_few_new_lines(self, file: File) -> bool:
        """Returns whether a file has grown, and one process reads its new lines as fast as several."""
        grown = self.grown.get(file)
        return grown is not None and (self.jobs < 2 or file.bytes - grown.bytes < self.shared_from)

    def _read_grown(self, source: Source, learned: LineForms) -> Summary | None:
        """Reads the new lines of a file; None if it has to be read from its beginning.

        That is so if a new line has an offset that is not behind all known ones: it may be an offset of the
        lines before, which a reading from the beginning refuses.
        """
        if not isinstance(source, File) or not self._has_few_new_lines(source):
            return None
        grown, intake = self.grown[source], self._build_intake()
        lines = LineRange(grown.bytes, None, count_lines(source.path, grown.bytes) + 1, 0)
        taken: list[Numbered] = []
        behind = ReadExtents()
        extents = [(*place, 0, ranges[-1][1]) for place, ranges in intake.known.ranges.items() if ranges]
        behind.add([ChunkPart(extents=tuple(extents))])
        self._enter(intake, _take_apart(self._read_here(source, intake, learned, lines), behind, taken))
        if taken and not _is_apart(taken[-1], behind):
            return None
        return intake.summary + Summary(grown.records, grown.records)

    def _read_apart(self, found: Sequence[File], learned: LineForms) -> Iterator[tuple[File, Summary]]:
        """Reads files in processes up to the first one with offsets beside those of an earlier one.

        The processes know what was read before the first file. That last file is read here from the chunk in
        question on. The caller reads the files behind it: each has to know the ones before.
        """
        met = ReadExtents()
        known = self._build_intake().known.load_hashes()
        part_bytes = choose_part_bytes(found, self.jobs)
        reading = PartReading(self.topic, self.limit, known, self.schemas, self.forms, part_bytes=part_bytes)
        streams = read_files_in_processes(found, reading, self.jobs, self.count_part)
        with closing(streams):
            for source, chunks in zip(found, streams, strict=True):
                intake, taken = self._build_intake(), list[Numbered]()
                # In one piece: which chunks are recorded together does not depend on who has read them.
                rest = self._read_rest(source, intake, learned, met, taken)
                self._enter(intake, chain(_take_apart(chunks, met, taken), rest))
                is_apart = not taken or _is_apart(taken[-1], met)
                met.add(part for _, part in taken)
                yield source, intake.summary
                if not is_apart:
                    return

    def _read_rest(
        self,
        source: File,
        intake: Intake,
        learned: LineForms,
        met: ReadExtents,
        taken: Sequence[Numbered],
    ) -> Iterator[Numbered]:
        """Reads the chunks from the last one that was taken on, if that is not apart."""
        if taken and not _is_apart(taken[-1], met):
            first = taken[-1][0]
            yield from (pair for pair in self._read_here(source, intake, learned) if pair[0] >= first)

    def _read_here(
        self, source: Source, intake: Intake, learned: LineForms, lines: LineRange | None = None
    ) -> Iterator[Numbered]:
        context = build_reading(self.schemas, self.forms)
        return read_chunks(self.open_items(source, lines), intake.known, context, learned=learned)

    def _enter(self, intake: Intake, chunks: Iterable[Numbered]) -> Summary:
        return intake.enter_all(chunks, progress=self.end_chunk)

    def _build_intake(self) -> Intake:
        return Intake(
            self.registry, self.stream, self.schemas, keep_payload=self.keep_payload, forms=self.forms
        )


def _take_apart(chunks: Iterable[Numbered], met: ReadExtents, taken: list[Numbered]) -> Iterator[Numbered]:
    """Passes chunks on and notes them; the first one that is not apart is noted only."""
    for pair in chunks:
        taken.append((pair[0], ChunkPart(extents=pair[1].extents, refusal=pair[1].refusal)))
        if not _is_apart(pair, met):
            return
        yield pair


def _is_apart(pair: Numbered, met: ReadExtents) -> bool:
    """Returns whether a chunk is what a reading gives that knows the earlier files.

    Such a reading may refuse another record than one that does not.
    """
    _, part = pair
    return not met or not (part.refusal is not None or met.has_met(part))
