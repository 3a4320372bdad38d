"""The migration of one lake table between two stages: what is known, what was run, and what ends it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemaman.history.versions import TableHistory, find_perhaps_made_anew
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column
from schemaman.sink.dropped_columns import DroppedColumns, find_dropped_columns
from schemaman.sink.key_sequence import KeySequence
from schemaman.sink.row_places import RowPlace
from schemaman.spark.streaming.migration_context import TableContext
from schemaman.spark.streaming.sink_table import Blocked, Ready


@dataclass(frozen=True, slots=True)
class RowsToWrite:
    """The rows for which a table is migrated.

    `versions` are theirs. `unfit` are ids of columns with values that only a column of texts beside them
    holds. `holds_key`: other rows with the table's present key may wait, or be among these. `is_quiet`: no
    record of their source came with the batch, so that they have waited.
    """

    versions: frozenset[int] = frozenset()
    unfit: frozenset[int] = frozenset()
    holds_key: bool = False
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class MigrationState:
    """A lake table between two stages of its migration.

    `context` is that of the table that takes the rows, `source` that of the first lake table of the source.
    `recorded` is the history without decisions, `whole` the one with them, and `history` the versions that
    this table takes. `tables` are the lake tables of the source, oldest first. `ready` is the table as the
    newest version made it. `steps` and `notes` are those of all stages. `undropped` is why the table did not
    get columns that the source has dropped. `outcome` ends the migration.
    """

    context: TableContext
    source: TableContext
    rows: RowsToWrite
    recorded: TableHistory
    whole: TableHistory
    history: TableHistory
    tables: tuple[LakeTableAt, ...] = ()
    place: RowPlace | None = None
    lake: LakeTable | None = None
    ready: Ready | None = None
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    undropped: str = ""
    outcome: Ready | Blocked | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether no further stage is run."""
        return self.outcome is not None

    @property
    def keys(self) -> KeySequence:
        """The keys that the table takes while the rows are written."""
        is_automatic = self.context.find_level("change-key") in ("auto", "approve")
        return KeySequence(self.history, self.rows.versions, is_automatic, self.rows.holds_key)

    @property
    def drops(self) -> bool:
        """Whether values of columns that the source has dropped are left out."""
        return self.context.find_level("drop-column") in ("auto", "approve")

    @property
    def ignores_additions(self) -> bool:
        """Whether values of columns that the policy does not add are left out."""
        return self.context.ignores_additions

    @property
    def known(self) -> TableHistory:
        """The versions whose rows the table takes; it follows them up to a key that is not certain."""
        if self.place is None or self.place.until is None or self.place.followed is None:
            return self.history
        return self.place.cut_history(self.whole)

    @property
    def dropped(self) -> DroppedColumns:
        """The columns that the rows have and the newest version lacks.

        A table that ends has those of rows under a later key, which nothing confirms, under other names: the
        source surely has none of them once a table of its name goes on.
        """
        reused = self.context.find_level("reuse-name") == "auto"
        found = find_dropped_columns(self.history, self.rows.versions, reused=reused)
        later = self._list_later_columns()
        if self.place is None or self.place.until is None:
            return replace(found, named=(*found.named, *later))
        return replace(found, displaced=(*found.displaced, *later))

    def _list_later_columns(self) -> tuple[Column, ...]:
        """The columns of rows under a later key that nothing confirms, which this table takes after all.

        None of versions that may be those of another table.
        """
        if self.place is None:
            return ()
        others = find_perhaps_made_anew(self.whole)
        last = self.history.latest
        names = {c.name.lower() for v in self.history.versions for c in v.schema.columns}
        later = [
            v for v in self.whole.versions if v.number > last.number and self.place.has_version(v.number)
        ]
        if any(v.number in others for v in later):
            return ()
        own = (v for v in later if v.number in self.rows.versions)
        columns = {c.id: replace(c, nullable=True) for v in own for c in v.schema.columns}
        present = {c.id for v in self.history.versions for c in v.schema.columns}
        return tuple(c for id, c in columns.items() if id not in present and c.name.lower() not in names)

    def add(self, done: Ready) -> MigrationState:
        """The state after a stage that changed the table; it goes on with this table."""
        steps, notes = (*self.steps, *done.steps), (*self.notes, *done.notes)
        return replace(self, ready=done, lake=done.lake, steps=steps, notes=notes)

    def add_notes(self, notes: tuple[str, ...]) -> MigrationState:
        """The state with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def stop(self, outcome: Ready | Blocked) -> MigrationState:
        """The state that ends the migration; a table that is ready has all steps and notes so far."""
        if isinstance(outcome, Ready):
            steps = (*self.steps, *outcome.steps)
            notes = tuple(dict.fromkeys((*self.notes, *outcome.notes)))
            outcome = replace(outcome, steps=steps, notes=notes)
        return replace(self, outcome=outcome)
