"""Reads the SQL files, dbt manifests and programs of the consumers, and builds their graph."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from schemaman.api.readership import RelationFinder
from schemaman.api.workspace import Workspace
from schemaman.compat.consumers import Consumer
from schemaman.compat.impact.analysis import build_graph, parse_texts
from schemaman.compat.impact.graph import ImpactGraph, Place
from schemaman.compat.impact.relations import Relations
from schemaman.compat.impact.texts import FoundText, UnreadText, find_texts
from schemaman.errors import BadConfiguration

_LARGEST = 256 * 2**20
"""The most bytes of a file that is read; a manifest of dbt has tens of megabytes."""


def read_consumer_sql(workspace: Workspace, find_relations: RelationFinder) -> ImpactGraph:
    """Read the SQL of all consumers. Raises `BadConfiguration` if a pattern matches no file."""
    setting = workspace.settings.consumers
    origin = Path(setting.origin)
    folder = origin.parent if origin.suffix == ".toml" else Path()
    texts = [text for consumer in setting.value for text in _read_files(consumer, folder, setting.origin)]
    logger = logging.getLogger("sqlglot")
    logger.addFilter(_is_error)  # what the parser does not know is counted, and needs no warning
    try:
        parsed = parse_texts(texts)
        return build_graph(parsed, Relations.of(find_relations(parsed.list_words())))
    finally:
        logger.removeFilter(_is_error)


def _is_error(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR


def _read_files(consumer: Consumer, folder: Path, origin: str) -> Iterator[FoundText]:
    for pattern in consumer.sql:
        for path in _find_files(consumer.name, pattern, folder, origin):
            name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
            place = Place(consumer.name, name, owner=consumer.owner, contact=consumer.contact)
            try:
                if path.stat().st_size > _LARGEST:
                    yield UnreadText(place, "a file of more than 256 MiB")
                    continue
                data = path.read_bytes()
            except OSError as error:
                yield UnreadText(place, f"cannot be read: {error.strerror}")
                continue
            try:
                yield from find_texts(place, data.decode("utf-8-sig"), consumer.language)
            except UnicodeDecodeError as error:
                reason = f"not UTF-8 text ({error.reason} at byte {error.start})"
                yield UnreadText(place, reason, data.decode("utf-8", "replace"))


def _find_files(consumer: str, pattern: str, folder: Path, origin: str) -> list[Path]:
    """Find the files of a pattern, relative to the settings file."""
    where = f"{origin}: [consumers.{consumer}]"
    try:
        single = folder / pattern
        found = [single] if single.is_file() else sorted(p for p in folder.glob(pattern) if p.is_file())
    except (NotImplementedError, ValueError, OSError) as error:
        raise BadConfiguration(
            f"{where}: {pattern!r} is no pattern of files: {error}", hint="write views/*.sql or jobs/**/*.py"
        ) from error
    if not found:
        raise BadConfiguration(
            f"{where}: no file matches {pattern!r} in {folder.absolute()}",
            hint="correct the pattern, or write the file first: a manifest of dbt comes from `dbt compile`",
        )
    return found
