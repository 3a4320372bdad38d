"""Records as a product's documentation prints them: what each of them declares, in order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from schemaman.history.versions import TableHistory
from tests.truth.compare import name_of
from tests.truth.facts import Judged


def documented(histories: Sequence[TableHistory], lines: Iterable[str]) -> Iterator[Judged]:
    """Columns and key of each version beside the printed structure, and each end beside the printed DROP.

    An event that is printed without most of its source block is a table by its topic's name alone.
    """
    told = [json.loads(line) for line in lines]
    (history,) = (h for h in histories if h.identity == "source")
    name = name_of(history.table)
    images = [t for t in told if t["columns"] is not None]
    for version, image in zip(history.versions, images, strict=True):
        columns, key = ", ".join(version.schema.names), ", ".join(version.schema.key)
        yield Judged(name, version.number, "columns", "both", columns, ", ".join(image["columns"]))
        yield Judged(name, version.number, "key", "both", key, ", ".join(image["primary_key"]))
        yield Judged(name, version.number, "began", "begin", str(version.at.offset), str(image["offset"]))
    ends = [t["offset"] for t in told if t["type"] == "DROP"]
    for event, offset in zip(history.events, ends, strict=True):
        (last,) = [v for v in history.versions if v.incarnation == event.incarnation][-1:]
        yield Judged(
            name, last.number, "ended", "end", f"{event.kind} {event.at.offset}", f"dropped {offset}"
        )
