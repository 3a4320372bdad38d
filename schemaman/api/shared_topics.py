"""Lists the tables whose records come in one topic since their names make the same one."""

from __future__ import annotations

from schemaman.history.versions import Disagreement
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.report.views.names import find_topic_collisions
from schemaman.report.views.shared_topics import find_shared_topics


def list_shared_topics(registry: Registry) -> tuple[tuple[TableId, Disagreement], ...]:
    """List a remark for each topic that several tables share now; the remark is of the first of the tables.

    A topic that does not follow from the names was chosen, by a transform: it is left out.
    """
    shared = find_shared_topics(stored.summary for stored in registry.summaries())
    tables = dict.fromkeys(table for group in shared.tables.values() for table in group)
    histories = registry.read_histories(tables) if tables else ()
    found: list[tuple[TableId, Disagreement]] = []
    for stream in sorted({history.table.stream for history in histories}):
        own = {str(h.table): h for h in histories if h.table.stream == stream}
        for collision in find_topic_collisions(tuple(own.values())):
            if collision.now and collision.mode == "topic":
                first, names = own[collision.names[0]], ", ".join(collision.names)
                message = f"{names} share the topic {collision.emitted}: their names become the same one"
                remark = Disagreement("names-collide", (first.latest.number,), message, ())
                found.append((first.table, remark))
    return tuple(found)
