"""What schemaman remembers of the topics of a live connector, beside what the database's catalogue said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schemaman.history.versions import TableHistory
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import main
from tests.live.streaming import Streaming
from tests.support import chain
from tests.truth.compare import structures
from tests.truth.facts import Judged
from tests.truth.recording import Fact, Place
from tests.truth.truth import PostgresTruth
from tests.truth.wire import on_the_wire


@dataclass(frozen=True, slots=True)
class Told:
    """The truth, the records, and the histories by table, at one moment of the run `name`."""

    name: str
    truth: PostgresTruth
    facts: dict[Place, Fact]
    histories: dict[str, TableHistory]

    @classmethod
    def now(cls, stream: Streaming, folder: Path) -> Told:
        """All that has been told until now; a store in `folder` remembers from one moment to the next."""
        return cls(stream.name, stream.narrator.truth, stream.topics.facts(), _histories(stream, folder))

    def differences(self) -> list[Judged]:
        """Where the history says something else than the catalogue did."""
        found = structures(self.histories.values(), self.truth, self.facts, on_the_wire)
        return [fact for fact in found if not fact.agrees]


def _histories(stream: Streaming, folder: Path) -> dict[str, TableHistory]:
    return histories_of(stream.topics.source, folder, *stream.form.options(folder))


def histories_of(source: str, folder: Path, *options: str) -> dict[str, TableHistory]:
    """Histories by table after `schemaman ingest SOURCE` into a store in `folder`; nothing is rejected."""
    url = f"sqlite:///{folder / 'store.db'}"
    assert main(["ingest", source, "--store", url, "--max-rejects", "0", "--quiet", *options]) == 0
    store = SqlStore.open(url)
    found = Registry(store, chain.now_ms).tables()
    store.close()
    return {history.table.table: history for history in found}
