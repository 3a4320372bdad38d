"""What schemaman remembers of the topics of a live connector, beside what the database's catalogue said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from schemaman.ingest import ingest
from schemaman.registry import Registry
from schemaman.stores.sql import SqlStore
from schemaman.versions import TableHistory
from tests import chain
from tests.live.streaming import Streaming
from tests.live.topics import Topics
from tests.truth.compare import Difference, differences
from tests.truth.recording import Fact, Place
from tests.truth.truth import PostgresTruth
from tests.truth.wire import on_the_wire


@dataclass(frozen=True, slots=True)
class Told:
    """The truth, the records, and the histories by table, at one moment of a run."""

    truth: PostgresTruth
    facts: dict[Place, Fact]
    histories: dict[str, TableHistory]

    @classmethod
    def now(cls, stream: Streaming, folder: Path) -> Told:
        """All that has been told until now; the store of the histories lies in `folder`."""
        return cls(stream.narrator.truth, stream.topics.facts(), _histories(stream.topics, folder))

    def differences(self) -> list[Difference]:
        """Where the history says something else than the catalogue did."""
        return list(differences(self.histories.values(), self.truth, self.facts, on_the_wire))


def _histories(topics: Topics, folder: Path) -> dict[str, TableHistory]:
    store = SqlStore.open(f"sqlite:///{Path(mkdtemp(dir=folder)) / 'store.db'}", create=True)
    registry = Registry(store, chain.now_ms)
    summary = ingest(topics.records, registry, "main", lambda id: None)
    assert summary.shown == ()
    found = registry.tables()
    store.close()
    return {history.table.table: history for history in found}
