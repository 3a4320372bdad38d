"""Reads sources on this machine, with one process or with several.

Law: the log of several processes is that of one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from schemaman.api.unchanged_files import GrownFile
from schemaman.debezium.wire_format import Forms
from schemaman.ingest.chunks import ChunkPart, build_reading, read_chunks
from schemaman.ingest.ingest import Intake, Summary
from schemaman.ingest.line_batches import Item
from schemaman.ingest.line_forms import LineForms
from schemaman.ingest.probe import Prober
from schemaman.ingest.read_extents import ReadExtents
from schemaman.ingest.recorded_sources import Numbered, RecordedSources, SourceReading, is_apart
from schemaman.io.file_work import choose_part_bytes, is_shareable, is_small, is_worth_sharing
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

    def read_each(self, found: Sequence[Source]) -> Iterator[RecordedSources[Source]]:
        """Reads the sources in order, and records small files together.

        Raises:
            SchemamanError: as `SourceReading.record` and `read_files_in_processes`.
        """
        learned = LineForms(Prober(build_reading(self.schemas, self.forms)))
        reading: SourceReading[Source] = SourceReading(
            self._build_intake, partial(self._read_here, learned=learned), self._is_small, self.end_chunk
        )
        for is_shared, group in groupby(found, key=self._is_shareable):
            sources = list(group)
            files = [source for source in sources if isinstance(source, File)]
            if is_shared and self.jobs > 1 and is_worth_sharing(files, self.shared_from):
                with closing(self._read_ahead(files)) as ahead:
                    yield from reading.record(sources, ahead)
                continue
            for has_few, of_kind in groupby(sources, key=self._has_few_new_lines):
                if not has_few:
                    yield from reading.record(of_kind)
                    continue
                for file in (source for source in of_kind if isinstance(source, File)):
                    done = self._read_new_lines(file, learned)
                    yield from reading.record([file]) if done is None else [done]

    def _is_shareable(self, source: Source) -> bool:
        return isinstance(source, File) and is_shareable(source) and not self._has_few_new_lines(source)

    def _is_small(self, source: Source) -> bool:
        return isinstance(source, File) and is_small(source)

    def _has_few_new_lines(self, source: Source) -> bool:
        """Returns whether a file has grown, and one process reads its new lines as fast as several."""
        if not isinstance(source, File) or source not in self.grown:
            return False
        return self.jobs < 2 or source.bytes - self.grown[source].bytes < self.shared_from

    def _read_new_lines(self, file: File, learned: LineForms) -> RecordedSources[Source] | None:
        """Reads the new lines of a file; None if it has to be read from its beginning.

        That is so if a new line has an offset that is not behind all known ones: it may be an offset of the
        lines before, which a reading from the beginning refuses.
        """
        grown, intake = self.grown[file], self._build_intake()
        lines = LineRange(grown.bytes, None, count_lines(file.path, grown.bytes) + 1)
        known = ReadExtents()
        extents = [(*place, 0, ranges[-1][1]) for place, ranges in intake.known.ranges.items() if ranges]
        known.add([ChunkPart(extents=tuple(extents))])
        met: list[ChunkPart] = []
        chunks = _take_apart(self._read_here(file, intake, learned, lines), known, met)
        intake.enter_all(chunks, progress=self.end_chunk)
        if met:
            return None
        done = intake.summary + Summary(grown.records, grown.records)
        return RecordedSources(((file, done),), done)

    def _read_ahead(self, files: Sequence[File]) -> Generator[Iterator[Numbered]]:
        """Reads files in processes, which know what was read before the first file."""
        known = self._build_intake().known.load_hashes()
        part_bytes = choose_part_bytes(files, self.jobs)
        reading = PartReading(self.topic, self.limit, known, self.schemas, self.forms, part_bytes=part_bytes)
        return read_files_in_processes(files, reading, self.jobs, self.count_part)

    def _read_here(
        self, source: Source, intake: Intake, learned: LineForms, lines: LineRange | None = None
    ) -> Iterator[Numbered]:
        context = build_reading(self.schemas, self.forms)
        return read_chunks(self.open_items(source, lines), intake.known, context, learned=learned)

    def _build_intake(self) -> Intake:
        return Intake(
            self.registry, self.stream, self.schemas, keep_payload=self.keep_payload, forms=self.forms
        )


def _take_apart(chunks: Iterable[Numbered], known: ReadExtents, met: list[ChunkPart]) -> Iterator[Numbered]:
    """Passes chunks on; the first one that is not apart from known offsets is put into `met` instead."""
    for number, part in chunks:
        if not is_apart(part, known):
            met.append(part)
            return
        yield number, part
