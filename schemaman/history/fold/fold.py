"""The fold: observations of one table → its versions, incarnations, aliases, disagreements.

Law: the history is a function of the set of observations; their order, their repetition and
the way in which runs were cut by several ingests do not matter.

Where a schema-change record declares the structure, it makes the versions and events support
or contradict them; where nothing is declared (PostgreSQL), the schemas of events make them. What is
only inferred makes versions where nobody else speaks; beside a better witness its records count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import NO_FOOTPRINT, UNDECIDED, FormChange, Verdicts
from schemaman.history.fold.aliases import aliases_of
from schemaman.history.fold.ambiguity import LOOKED_BACK, UNSEEN, UNSEEN_TOLD, another_mode, doubts
from schemaman.history.fold.column_ids import Identifying
from schemaman.history.fold.connector_settings import footprint
from schemaman.history.fold.ddl_statements import (
    Statements,
    completed,
    exchanged,
    inserted,
    of_another,
)
from schemaman.history.fold.disagreements import CHANGED_WHILE_READ, changed_while_read, rivals
from schemaman.history.fold.encoding import NAMINGS, Encoding
from schemaman.history.fold.event_encoding import Carriage, Carried, carried_by, carried_through
from schemaman.history.fold.event_match import Match, differences, fitting, match
from schemaman.history.fold.inferred_versions import (
    Grown,
    by_weight,
    count,
    grown,
    hides_types,
    learn,
    row_id,
)
from schemaman.history.fold.key_history import CarriedKey, keys_in_passing, keys_of
from schemaman.history.fold.moved_columns import renumber
from schemaman.history.fold.schema_history_check import shows, weighed
from schemaman.history.fold.timeline import Point, by_precedence, of_life, time_of, timeline
from schemaman.history.fold.version_builder import Open, on_the_wire, spread_over, undivided
from schemaman.history.fold.version_closing import closed
from schemaman.history.versions import Disagreement, Ending, Revision, TableEvent, TableHistory
from schemaman.model.schema import TableId, TableSchema, fingerprint

DialectOf = Callable[[str], Connector]


def fold(
    observations: Iterable[Observation],
    table: TableId,
    dialect_of: DialectOf,
    verdicts: Verdicts = UNDECIDED,
) -> TableHistory | None:
    """The history of a table out of all observations that name it; None if none gives it a structure.

    `dialect_of` gives the dialect of a connector by its name. `verdicts` are what the other tables of
    its server decide about the changes in its footprint (`epochs.decide`); without them each stays open.
    """
    mine = [o for o in observations if table in (o.table, o.previous)]
    said, second = by_precedence(mine)
    told, documents, others = by_weight(said)
    line = timeline(told)
    names = {n for o in mine if o.schema is not None for n in o.schema.names}
    # what leaves a name at some place leaves it before something else takes it there
    points = sorted(line.points, key=lambda p: (p.order, p.observation.table == table))
    declared = any(o.evidence in STATEMENT_KINDS and o.schema is not None for o in said)
    shown = NO_FOOTPRINT if declared else footprint(points)
    doubted = [c for c in shown.changes if verdicts.get(c.place, "open") == "open" and c.was not in NAMINGS]
    building = _Building(table, dialect_of, Encoding(names, verdicts), doubted)
    for point in points:
        building.take(point)
    building.settle()
    for observation in line.repeated:
        building.repeat(observation)
    for observation in second:
        building.weigh(observation)
    building.flag_windows()
    if documents:
        building.grow(grown(documents))
    if not building.versions:
        return None
    count(building.versions, others)
    connector = max(said, key=lambda o: (time_of(o.last), o.connector)).connector
    spread = spread_over(building.versions)
    versions = closed(building.versions, spread, dialect_of)
    runs = (*dict.fromkeys(p.observation for p in points), *line.repeated)
    return TableHistory(
        table=table,
        connector=connector,
        versions=versions,
        aliases=aliases_of(mine, table),
        disagreements=building.all_disagreements((*keys_in_passing(versions), *rivals(runs, versions))),
        events=tuple(building.events),
        epochs=tuple(building.carriage.epochs),
        footprint=shown,
        keys=keys_of(versions, building.versions, building.keys),
        identity="weak" if all(o.weak for o in mine) else "source",
        shared=sum(map(undivided, spread)),
    )


class _Building:
    """The walk along the timeline; its versions are open until they are `closed`."""

    def __init__(
        self, table: TableId, dialect_of: DialectOf, encoding: Encoding, doubted: Iterable[FormChange]
    ) -> None:
        self.table = table
        self.dialect_of = dialect_of
        self.encoding = encoding
        self.identify, self.carriage = Identifying(), Carriage()
        self.keys: list[tuple[Open, CarriedKey]] = []
        self.doubted = tuple(doubted)
        self.versions: list[Open] = []
        self.events: list[TableEvent] = []
        self.contradictions: dict[tuple[str, int, str], list[Coordinates]] = {}
        self.incarnation = 0
        self.ended, self.unshown = True, False
        self.next_id = 1
        self.last_mark: Coordinates | None = None
        self.statements = Statements()
        self.unseen: Point | None = None
        self.key_read = False
        self.early: list[tuple[Point, TableSchema, Open, str]] = []

    def take(self, point: Point) -> None:
        """Go on by one point."""
        observation = point.observation
        if of_life(observation):
            self.stands_again(point)
            return
        if observation.action == "drop":
            self.end("dropped", point.mark, None)
        elif observation.action == "truncate":
            if not self.ended and point.mark == observation.first:
                self.events.append(TableEvent("truncated", point.mark, self.incarnation))
        elif observation.previous == self.table and observation.table != self.table:
            self.end("renamed", point.mark, observation.table)
        elif observation.action == "statement":
            self.statements.take(observation)
            self.unseen = point
        else:
            if observation.action == "rename" or (observation.action == "create" and self.is_older(point)):
                self.end("dropped", point.mark, None)
            if observation.schema is not None:
                self.image(point, observation.schema)
            elif observation.evidence == "internal":
                self.stands_again(point)
        # what shows no structure, or that of a later version, may stand behind the end of the old one
        early = bool(self.early) and self.early[-1][0] is point
        if observation.action not in ("statement", "truncate") and not early:
            self.last_mark = point.mark

    def is_older(self, point: Point) -> bool:
        """Whether the newest incarnation began before a point, and not with the very statement there."""
        began = next((v.at for v in self.versions if v.incarnation == self.incarnation), point.mark)
        return began.position != point.mark.position and point.mark.position.kind != "none"

    def stands_again(self, point: Point) -> None:
        """A table stands under the name of one that has ended, and no record has shown its structure yet."""
        if self.ended and not self.unshown and self.versions:
            self.incarnation += 1
            self.unshown = True
            self.events.append(TableEvent("created", point.mark, self.incarnation))

    def end(self, kind: Ending, at: Coordinates, other: TableId | None) -> None:
        """The newest incarnation is over; a table that never was cannot end."""
        if self.ended and not self.unshown:
            return
        self.events.append(TableEvent(kind, at, self.incarnation, other))
        if not self.unshown:
            self.versions[-1].until = at
        self.ended, self.unshown = True, False
        self.statements.forget()

    def image(self, point: Point, schema: TableSchema) -> None:
        """A structure was seen: it supports a version, contradicts one, or begins one."""
        self.unseen = None
        declared = point.observation.evidence in STATEMENT_KINDS
        if declared:
            schema = self.completed(point, schema)
        if self.ended:
            self.begin_incarnation(point, schema, declared)
        elif declared:
            self.declare(point, schema)
        elif self.versions[-1].declared:
            self.compare(point, schema)
        else:
            said = point.observation
            understood = self.encoding.read(point.mark, said, schema, self.versions[-1].schema)
            for kind, message in understood.told:
                self.contradict(kind, self.versions[-1], message, point)
            self.follow(point, understood.schema, declared=False)
            if not self.carriage.goes_on(point):
                self.carry(point, self.versions[-1], carried_by(schema, understood.schema))

    def completed(self, point: Point, schema: TableSchema) -> TableSchema:
        """A declared structure with what it cannot tell."""
        said = point.observation
        current = None if self.ended or not self.versions[-1].declared else self.versions[-1]
        schema = completed(schema, said, None if current is None else current.schema)
        if schema.key:
            self.key_read = said.snapshot
        elif (
            "key" in said.unstated_attributes and current is not None and current.schema.key and self.key_read
        ):
            told = (
                f"the change names no primary key; ({', '.join(current.schema.key)}) was read in a snapshot"
            )
            self.contradict("key-not-told", current, told, point)
            return replace(schema, key=current.schema.key)
        return schema

    def begin_incarnation(self, point: Point, schema: TableSchema, declared: bool) -> None:
        """The first structure of a table, or of a new one under an old name."""
        self.incarnation += not self.unshown
        self.ended = self.unshown = False
        self.encoding.begin(point.observation)
        self.statements.begun(point.observation)
        after = self.last_mark if self.versions else None
        self.open(point, self.identify(None, schema, (), False, self.next_id), declared, after)
        if not declared:
            self.carry(point, self.versions[-1], carried_by(schema, schema))

    def declare(self, point: Point, schema: TableSchema) -> None:
        """A declared image refines what events had shown already, or is followed."""
        current = self.versions[-1]
        if not current.declared:
            fit = match(schema, current.schema)
            said = point.observation
            if fit.exact and not exchanged(said.renames) and not self.statements.makes(said):
                current.refine(fit, schema, point)
                return
        self.follow(point, schema, declared=True)

    def follow(self, point: Point, schema: TableSchema, declared: bool) -> None:
        """Same shape: support, or a revision of attributes. Another shape: another version."""
        current, observation = self.versions[-1], point.observation
        if hides_types(observation) and learn(current, schema):
            current.points.append(point)
            return
        # the order of members in JSON proves nothing, and runs of rows do not end where it changes
        append_only = self.dialect_of(observation.connector).append_only and not hides_types(observation)
        renames, anew = self.statements.renames(observation, schema), self.statements.anew(observation)
        foreign = inserted(current.schema, schema) if declared and append_only else ()
        ordered = append_only and not foreign
        known = self.identify(current.schema, schema, renames, ordered, self.next_id, anew)
        same = {(c.id, c.name) for c in known.columns} == {(c.id, c.name) for c in current.schema.columns}
        if not same or (known is not current.schema and fingerprint(known) != current.id):
            former = [p.observation for p in current.points]
            self.open(point, known, declared, self.last_mark)
            if not declared:
                recent = self.versions[-2 - LOOKED_BACK : -2]
                older = [v.schema for v in recent if v.incarnation == self.incarnation]
                for kind, message in doubts(current.schema, known, former, observation, older):
                    self.contradict(kind, self.versions[-1], message, point)
                self.doubt(point)
            self.versions[-1].statement = self.statements.read
            self.statements.shown()
            if foreign:
                self.versions[-1].phantom = True
                self.contradict("foreign-columns", self.versions[-1], of_another(foreign, self.table), point)
            return
        current.points.append(point)
        if known != current.schema:
            current.revise(known, point.mark, self.last_mark)

    def doubt(self, point: Point) -> None:
        """Columns of a new version whose form a setting may have changed are not certain."""
        version = self.versions[-1]
        for change in self.doubted:
            if change.at == point.mark:
                version.doubt(change.columns)
                self.contradict(another_mode(change)[0], version, another_mode(change)[1], point)

    def open(self, point: Point, schema: TableSchema, declared: bool, after: Coordinates | None) -> None:
        """Begin a version at a point."""
        if self.versions and self.versions[-1].until is None:
            self.versions[-1].until = point.mark
        self.next_id = max([self.next_id, *((c.id or 0) + 1 for c in schema.columns)])
        revision = Revision(0, schema, point.mark)
        id = row_id(schema) if hides_types(point.observation) else fingerprint(schema)
        version = Open(id, self.incarnation, declared, after, point.mark, [revision], [point])
        self.versions.append(version)

    def grow(self, documents: Grown) -> None:
        """Take the versions of a collection, all at once."""
        self.versions += documents.versions
        for kind, message, marks in documents.remarks:
            newest = len(self.versions) - 1
            self.contradictions[kind, newest, message] = list(marks or (self.versions[newest].at,))
        count(self.versions, documents.repeated)

    def carry(self, point: Point, version: Open, carried: Carried, key: tuple[str, ...] = ()) -> None:
        """Keep how an event carried a version; rows without a schema tell nothing of it."""
        if point.observation.evidence == "emitted":
            epoch = self.carriage.take(point.mark, point.observation, version.schema, carried)
            version.carry(epoch, point.mark, carried)
            if version.declared:
                self.keys.append((version, CarriedKey(point.mark, key)))

    def compare(self, point: Point, emitted: TableSchema) -> None:
        """An event beside a declared structure: which version is it of, and does it agree?"""
        newest = self.versions[-1]
        version, fit = fitting(self.living, emitted)
        if fit.wrong:
            told = f"events carry {', '.join(fit.wrong)}, which the declared structure does not explain"
            self.early.append((point, emitted, version, told))
            return
        version.points.append(point)
        version.emitted.update(on_the_wire(fit, emitted))
        self.next_id = renumber(self.versions, self.number(version) - 1, emitted, self.next_id)
        self.carry(point, version, carried_through(fit.names, emitted), fit.own(emitted.key))
        if version is not newest and fit.exact:
            told = f"events still had the structure of version {self.number(version)}"
            self.contradict("emitted-lags-declared", newest, told, point)
        if fit.missing:
            told = f"no event carries the declared {', '.join(fit.missing)}"
            self.contradict("column-not-emitted", version, told, point)
        self.disagree(version, emitted, fit, point)

    def settle(self) -> None:
        """What no structure explained that was declared so far may be of one that was declared later."""
        for point, emitted, version, told in self.early:
            later = self.versions[self.number(version) :]
            living = (v for v in later if v.incarnation == version.incarnation and v.declared)
            names = frozenset(emitted.names)
            likely = (v for v in living if names <= v.fields)
            found = next(((v, f) for v in likely if (f := match(v.schema, emitted)).exact), None)
            if found is None:
                self.contradict("emitted-differs", version, told, point)
                continue
            following, fit = found
            following.points[1:] = sorted([*following.points[1:], point], key=lambda p: p.order)
            following.emitted.update(on_the_wire(fit, emitted))
            self.next_id = renumber(self.versions, self.number(following) - 1, emitted, self.next_id)
            following.carry(len(self.carriage.epochs), point.mark, carried_through(fit.names, emitted))
            if not point.observation.snapshot and point.mark.position.rank < following.at.position.rank:
                told = f"events had the structure of version {self.number(following)} before it was declared"
                self.contradict("emitted-leads-declared", following, told, point)
            self.disagree(following, emitted, fit, point)

    def repeat(self, observation: Observation) -> None:
        """Records delivered again: support for the version that they show, or a contradiction."""
        if observation.schema is None or observation.action == "drop" or not self.versions:
            return
        rank = observation.first.position.rank
        for version in reversed(self.versions):
            if shows(version, observation.schema):
                version.repeats.append(observation)
                return
        there = [v for v in self.versions if v.at.position.rank <= rank] or self.versions[:1]
        told = "the same records were delivered again with another structure"
        place = Point((0, (), 0, 0, "", 0, 0), observation.first, observation)
        self.contradict("delivered-twice-differently", there[-1], told, place)

    def weigh(self, observation: Observation) -> None:
        """What the connector's own schema history says: support for a version, or a contradiction."""
        if observation.schema is None or not self.versions:
            return
        version, kind, told = weighed(observation, observation.schema, self.table, self.versions, self.events)
        if told is None:
            version.second.append(observation)
            return
        point = Point((0, (), 0, 0, "", 0, 0), observation.first, observation)
        self.contradict(kind, version, told, point)

    def flag_windows(self) -> None:
        """Keep which versions began while rows were being read, and what was altered and not seen since."""
        if self.unseen is not None and self.versions and not self.ended:
            self.contradict(UNSEEN, self.versions[-1], UNSEEN_TOLD, self.unseen)
        for index, message, point in changed_while_read([(v.incarnation, v.points) for v in self.versions]):
            self.contradict(CHANGED_WHILE_READ, self.versions[index], message, point)

    def disagree(self, version: Open, emitted: TableSchema, fit: Match, point: Point) -> None:
        """Keep what an event says otherwise than the declared structure that it has."""
        for kind, told in differences(version.schema, emitted, fit):
            self.contradict(kind, version, told, point)

    def contradict(self, kind: str, version: Open, message: str, point: Point) -> None:
        """Keep a disagreement; the same one at many records is told once, with its marks."""
        place = (kind, self.number(version) - 1, message)
        self.contradictions.setdefault(place, []).append(point.mark)

    def number(self, version: Open) -> int:
        """The ordinal of a version, which mostly is one of the newest."""
        return next(n for n in range(len(self.versions), 0, -1) if self.versions[n - 1] is version)

    def living(self) -> Iterator[Open]:
        """The versions of the newest incarnation, the newest first."""
        return takewhile(lambda v: v.incarnation == self.incarnation, reversed(self.versions))

    def all_disagreements(self, others: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
        """The disagreements and others in order of versions; of many marks the first and the last."""
        mine = (
            Disagreement(kind, (index + 1,), message, tuple(dict.fromkeys((marks[0], marks[-1]))))
            for (kind, index, message), marks in self.contradictions.items()
        )
        return tuple(sorted([*mine, *others], key=lambda d: (d.versions, d.kind, d.message)))
