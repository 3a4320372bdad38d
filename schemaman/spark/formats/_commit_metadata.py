"""The batch that the metadata of a commit records, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from schemaman.migration.properties.names import BATCH_PROPERTY
from schemaman.spark.spark_format import RecordedBatch


def parse_batches(texts: Iterable[object], app: str) -> Iterator[RecordedBatch]:
    """Parse the metadata of commits; those of other writers and queries are left out."""
    for text in texts:
        words = _parse_object(text)
        if BATCH_PROPERTY in words and words.get("app") == app:
            number = int(str(words[BATCH_PROPERTY]))
            highest = int(str(words.get("highest", -1)))
            yield RecordedBatch(number, str(words.get("offsets")), max(number, highest))


def format_metadata(words: Mapping[str, object]) -> str:
    """Format the metadata of a commit; equal words give equal text."""
    return json.dumps(words, sort_keys=True)


def _parse_object(text: object) -> Mapping[str, object]:
    try:
        words = json.loads(str(text))
    except ValueError:
        return {}
    return words if isinstance(words, dict) else {}
