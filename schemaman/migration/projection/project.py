"""The source as the lake would hold it, under policy and next to what the lake already has.

Law: what the lake cannot tell apart never becomes a difference: after a plan ran, projecting the same
source again gives the live table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.migration.plan import (
    MigrationSource,
    Policy,
    PolicyDecision,
    Refusal,
)
from schemaman.migration.policy_checks import PolicyCheck, refuse_blocked
from schemaman.migration.projection.column_names import (
    NamedTable,
    distinguish_names,
    format_property,
    has_case_variants,
    list_renamed_columns,
    read_naming,
    refuse_unusable_names,
    rename_to_lake,
    rename_to_source,
)
from schemaman.migration.projection.match_columns import (
    SPLIT_COLUMN,
    ColumnMatch,
    PlanNotes,
    find_split_columns,
    is_blocked,
    match_columns,
)
from schemaman.migration.projection.match_fields import match_fields
from schemaman.migration.projection.metadata_columns import plan_metadata_columns
from schemaman.migration.projection.reinterpreted_columns import check_reinterpretation
from schemaman.migration.projection.widen_types import TypeWidening, remove_comments
from schemaman.migration.properties.column_swaps import read_swaps
from schemaman.migration.properties.displaced_columns import is_moved_out, read_displaced
from schemaman.migration.properties.names import (
    KEPT_PROPERTY,
    KEY_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
)
from schemaman.migration.properties.stamped_version import find_stamped_version
from schemaman.migration.row_columns import refuse_key
from schemaman.migration.target import LakeTable, Target
from schemaman.migration.type_mapping import Representation
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type

_REKEY = (
    "schemaman plan TABLE --recipe gives the rows the new key where no two of them have the same one; else "
    "build a new table with the new key and fill it from a snapshot"
)
_INFERRED = "its structure is inferred from values, which promise nothing of the next one"
_IMPOSSIBLE = "the newest structure is none that this table can have got, and no event has shown it"
_WAIT = "look at `schemaman history`, and plan again when events carry the new columns"
_READ_SCHEMAS = "read events that carry their schemas (schemas.enable=true, or a registry)"


@dataclass(frozen=True, slots=True)
class Projection:
    """The table that the lake should hold; `renames` maps lake names to wanted ones.

    `displaced` maps the new names of dropped columns that make room for others to their old names. `settled`:
    all names are those of the source, so that the table may get the version stamp. `names` maps the
    source's columns to those of the lake; `properties` are table properties about the columns. `kept` are
    paths that the source dropped and an earlier plan kept. `field_renames` are renames of nested fields (see
    `diff.Renamed`). `approval_reason`: why a person has to approve the stamp.
    """

    wanted: TableSchema
    renames: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    settled: bool = True
    rulings: tuple[PolicyDecision, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[Path] = frozenset()
    displaced: Mapping[str, str] = field(default_factory=dict)
    field_renames: Mapping[Path, str] = field(default_factory=dict)
    approval_reason: str = ""


def project(
    source: MigrationSource, lake: LakeTable | None, target: Target, policy: Policy, target_name: str = ""
) -> Projection:
    """The wanted table in the target's own alphabet, with what is to be said about it.

    A live table keeps its columns, their order and every type that is wide enough; the source adds, widens
    and renames. A change stream cannot promise values, so only key columns of a new table are NOT NULL.

    Raises:
        BadConfiguration: two equally specific projections want different things.
    """
    if source.inferred or source.phantom:
        now = lake.schema if lake else TableSchema(())
        why, instead = (_INFERRED, _READ_SCHEMAS) if source.inferred else (_IMPOSSIBLE, _WAIT)
        return Projection(now, {}, (), (Refusal(f"follow {source.table}", why, instead),), settled=False)
    targets = (target_name or target.name, target.name)
    representation = policy.find_representation(source.table, *targets)
    notes = PlanNotes(PolicyCheck(policy, source.table, targets))
    if lake and is_blocked(source, lake, notes):
        said = tuple(notes.notes), tuple(notes.refusals)
        return Projection(lake.schema, {}, *said, settled=False, rulings=tuple(notes.check.rulings))
    return _Projecting(source, lake, target, representation, notes).all()


class _Projecting:
    """One projection: thought in the source's names, then written in the lake's."""

    def __init__(
        self,
        source: MigrationSource,
        lake: LakeTable | None,
        target: Target,
        representation: Representation,
        notes: PlanNotes,
    ) -> None:
        apart = representation.collisions == "number" or (lake is not None and has_case_variants(lake))
        self.source, self.exact = distinguish_names(source, newest=apart)
        self.target = target
        self.how = representation
        self.talk = notes
        self.comments = notes.check.ask("change-comment").level != "ignore"
        self.extras = plan_metadata_columns(self.source.schema, lake, representation)
        notes.refusals += self.extras.refusals
        notes.notes += self.extras.notes
        self.naming = read_naming(
            self.source, lake, representation, tuple(self.extras.names.values()), self.exact
        )
        self.lake = lake.schema if lake else None
        self.live = rename_to_source(lake, self.naming) if lake else None
        self.left_out: list[str] = []
        self.asked, self.told = "", True
        told = match_fields(self.source, find_stamped_version(self.source, lake)) if lake else {}
        named = self.naming.source_names
        left = {(named.get(path[0], path[0]), *path[1:]) for path in self.kept_before()}
        self.merging = TypeWidening(self.comments, notes, told, left)
        whole = [path[0] for path in left if not path[1:]]
        self.parted = find_split_columns(self.source, self.live, whole) if self.live else {}
        self.held = self.hold()

    def all(self) -> Projection:
        if self.live is None:
            return self.named(_create_schema(self.source.schema, self.held, self.comments), None)
        match = match_columns(self.source, self.live, self.held, self.talk)
        columns = self.followed(self.live, match)
        self.asked, self.told = check_reinterpretation(
            self.source, self.live, self.target, self.how, match.partners, self.talk
        )
        key = _follow_key(self.source, self.live, match, self.talk)
        comment = (self.source.schema.comment if self.comments else None) or self.live.schema.comment
        return self.named(TableSchema(columns, key, comment), match)

    def followed(self, lake: LakeTable, match: ColumnMatch) -> tuple[Column, ...]:
        """The columns of a live table as they shall be, then those that it lacks."""
        known = {name.lower() for past in self.source.past for name in past.names}
        known |= {former.lower() for names in self.source.former_names.values() for former in names}
        known |= {name.lower() for name in read_displaced(lake)}
        exchanged = {e.new: e.column for e in read_swaps(lake)}
        raw = {c.name: c for c in self.source.schema.columns}
        columns: list[Column] = []
        for column in lake.schema.columns:
            name = match.partners.get(column.name)
            if column.name in match.displaced:
                columns.append(self.moved_away(column, match.displaced[column.name]))
            elif column.name in exchanged:
                self.talk.add_note(
                    (column.name,), f"it is to take the place of {quote_name(exchanged[column.name])}"
                )
                columns.append(column)
            elif (
                column.name in match.frozen
                or self.extras.has_column(column.name)
                or (name is not None and name not in self.held)
            ):
                columns.append(column)
            elif name is None:
                columns += self.left(column, column.name.lower() in known)
            else:
                columns.append(
                    _follow_column(column, raw[name], self.held[name], match.renames, self.merging)
                )
        taken = {name.lower() for name in (*(c.name for c in columns), *match.absent)}
        columns += [
            replace(_make_lake_column(raw[name], type, self.comments), nullable=True)
            for name, type in self.held.items()
            if name.lower() not in taken
        ]
        return tuple(columns)

    def moved_away(self, lake: Column, name: str) -> Column:
        """A live column that left, out of the way of another one of its name."""
        text = f"the source made another column of this name: the old one gets the name {quote_name(name)}"
        self.talk.add_note((lake.name,), text)
        self.left_out.append(name)
        return replace(lake, name=name, nullable=True)

    def left(self, lake: Column, known: bool) -> list[Column]:
        """A live column that the source does not have: it left, or it was never of the source."""
        path, notes = (lake.name,), self.talk
        if not known:
            barred = "" if lake.nullable else "; it is NOT NULL, so writers that do not know it will fail"
            notes.add_note(path, f"the source never had it: it stays as it is{barred}")
            return [lake]
        if self.live is not None and is_moved_out(self.live, lake.name):
            notes.add_note(
                path, "it was moved out of the way of another column: it stays until a recipe drops it"
            )
            self.left_out.append(lake.name)
            return [replace(lake, nullable=True)]
        if lake.name in self.parted:
            other = quote_name(self.parted[lake.name])
            notes.add_note(path, SPLIT_COLUMN.format(other))
            self.left_out.append(lake.name)
            return [replace(lake, nullable=True)]
        if notes.check.ask("drop-column").level in ("auto", "approve"):
            return []
        change = f"drop {quote_name(lake.name)}"
        ruling = notes.check.decide(change, path, "drop-column")
        self.left_out.append(lake.name)
        if ruling.level == "block":
            notes.refusals.append(refuse_blocked(change, ruling))
            return [lake]
        notes.add_note(path, f"the source has dropped it: it stays with its old values ({ruling.why})")
        return [replace(lake, nullable=True)]

    def named(self, wanted: TableSchema, match: ColumnMatch | None) -> Projection:
        """The projection under the lake's names, with the metadata columns behind all others."""
        wanted = replace(wanted, columns=(*wanted.columns, *self.extras.added))
        ages = {c.name: c.id or 0 for c in self.source.schema.columns}
        away = match.displaced if match else {}
        besides = (*self.extras.names.values(), *away.values())
        renames = match.renames if match else {}
        told = rename_to_lake(wanted, renames, self.live, self.naming, ages, besides)
        self.say(told)
        # A live column that differs by case alone keeps its name, but which of the source's it is counts.
        partners = match.partners if match else {}
        spelled = {
            renames.get(lake_name, lake_name): source_name for lake_name, source_name in partners.items()
        }
        names = {spelled.get(name, name): lake_name for name, lake_name in told.names.items()}

        def placed(path: Path) -> Path:
            return (told.names.get(path[0], path[0]), *path[1:])

        return Projection(
            told.schema,
            told.renames,
            tuple(self.talk.notes),
            tuple(self.talk.refusals),
            match is None
            or (match.is_settled and self.told and not (self.merging.waiting or self.doubled())),
            tuple(self.talk.check.rulings),
            {self.exact.get(source_name, source_name): lake_name for source_name, lake_name in names.items()},
            self.properties(told, names),
            self.kept_before() | frozenset(map(placed, self.merging.kept)),
            {new: self.exact.get(old, old) for old, new in away.items()},
            {placed(path): name for path, name in self.merging.renames.items()},
            self.asked,
        )

    def doubled(self) -> bool:
        """Whether the table has one column for several that only case tells apart: no stamp says which."""
        spellings = Counter(name.lower() for name in self.source.schema.names)
        return any(spellings[name.lower()] > 1 for name in (self.live.schema.names if self.live else ()))

    def say(self, told: NamedTable) -> None:
        """What names columns get, where it is not their own, and which get none."""
        own = {name.lower() for name in (self.live.schema.names if self.live else ())}
        for source_name, lake_name in told.names.items():
            exact = self.exact.get(source_name, source_name)
            if lake_name.lower() != exact.lower() and source_name.lower() not in own:
                self.talk.add_note((exact,), f"the lake calls it {quote_name(lake_name)}")
        for source_name in told.kept:
            self.talk.add_note(
                (source_name,),
                f"it keeps its name {quote_name(told.names[source_name])}: its new one is taken",
            )
        for source_name in told.refused:
            name = self.naming.spell(source_name)
            taken = f"another column of the table is called {quote_name(name)}"
            instead = "say collisions = number in [[projection]], or rename the column at the source"
            if name.lower() not in {lake_name.lower() for lake_name in told.schema.names}:
                instead += "; or drop the other one first (`schemaman apply --partial`), and plan again"
            self.talk.add_refusal(f"name a column {quote_name(source_name)}", taken, instead)

    def properties(self, told: NamedTable, names: Mapping[str, str]) -> dict[str, str]:
        """What the table is to say of its columns, by their `names` in it; only what there is to say."""
        kept: list[object] = [*sorted(told.names[name] for name in self.left_out if name in told.names)]
        kept += sorted([told.names.get(name, name), *rest] for name, *rest in self.merging.staying)
        said: dict[str, Mapping[str, str] | Sequence[object]] = {
            NAMES_PROPERTY: list_renamed_columns(names, self.exact),
            METADATA_PROPERTY: self.extras.names,
            KEPT_PROPERTY: kept,
        }
        had = self.live.properties if self.live else {}
        return {key: format_property(value) for key, value in said.items() if value or key in had}

    def kept_before(self) -> frozenset[Path]:
        """Columns, and members of structs, that the source had dropped and an earlier plan kept."""
        told = json.loads(self.live.properties.get(KEPT_PROPERTY, "[]")) if self.live else []
        return frozenset((each,) if isinstance(each, str) else tuple(each) for each in told)

    def hold(self) -> dict[str, Type]:
        """Each column that the target can hold, and how."""
        refused = self.unnameable()
        self.talk.refusals += refused.values()
        held: dict[str, Type] = {}
        for column in self.source.schema.columns:
            if column.name in refused:
                continue
            match self.target.hold_type(column.type, self.how):
                case Refusal(_, reason, instead):
                    self.talk.add_refusal(f"hold {quote_name(column.name)}", reason, instead)
                case answer:
                    held[column.name] = answer.type
                    if answer.note:
                        self.talk.add_note((column.name,), answer.note)
        return held

    def unnameable(self) -> dict[str, Refusal]:
        """The columns that cannot be in the lake under the names that they have or would get there."""
        schema = self.source.schema
        told = {source_name.lower() for source_name in self.naming.source_names.values()}
        lake_name = {
            n: self.naming.find_lake_name(n) if n.lower() in told else self.naming.spell(n)
            for n in schema.names
        }
        spelled = TableSchema(
            (*(replace(c, name=lake_name[c.name]) for c in schema.columns), *self.extras.added)
        )
        taken = {name.lower() for name in spelled.names}
        beside = (c for c in (self.lake.columns if self.lake else ()) if c.name.lower() not in taken)
        refused = dict(self.target.refuse_names(replace(spelled, columns=(*spelled.columns, *beside))))
        self.talk.refusals += (refused[c.name] for c in self.extras.added if c.name in refused)
        found = refuse_unusable_names(schema, lake_name)
        for name in schema.names:
            change = f"name a column {quote_name(name)}"
            if self.extras.has_column(lake_name[name]):
                reason = "the table has a metadata column of this name"
                found[name] = Refusal(change, reason, "give the metadata column another name")
            elif lake_name[name] in refused:
                found[name] = refused[lake_name[name]]
        return found


def has_known_key(lake: LakeTable) -> bool:
    """Whether a live table tells its key, be it an empty one."""
    return KEY_PROPERTY in lake.properties or bool(lake.schema.key)


def _create_schema(schema: TableSchema, held: Mapping[str, Type], comments: bool) -> TableSchema:
    columns = tuple(
        replace(_make_lake_column(c, held[c.name], comments), nullable=c.nullable or c.name not in schema.key)
        for c in schema.columns
        if c.name in held
    )
    key = schema.key if all(name in held for name in schema.key) else ()
    return TableSchema(columns, key, (schema.comment or None) if comments else None)


def _make_lake_column(column: Column, type: Type, comments: bool) -> Column:
    """The column without what only a source knows: default, spelling, wire name and id."""
    told = type if comments else remove_comments(type)
    return Column(column.name, told, column.nullable, comment=(column.comment or None) if comments else None)


def _follow_column(
    lake: Column, raw: Column, held: Type, renames: Mapping[str, str], merging: TypeWidening
) -> Column:
    """A live column that the source still has."""
    comment = (raw.comment if merging.comments else None) or lake.comment
    return Column(
        renames.get(lake.name, lake.name),
        merging.find_common_type((raw.name,), (raw.name,), lake.type, held, raw.type),
        lake.nullable or raw.nullable,
        comment=comment,
    )


def _follow_key(
    source: MigrationSource, lake: LakeTable, match: ColumnMatch, notes: PlanNotes
) -> tuple[str, ...]:
    """The key of the live table under its new names; another one in the source needs a person."""
    spelled = {
        source_name: match.renames.get(lake_name, lake_name)
        for lake_name, source_name in match.partners.items()
    }
    wanted = tuple(spelled.get(name, name) for name in source.schema.key)
    if not has_known_key(lake):
        return wanted
    lake_name = tuple(match.renames.get(name, name) for name in lake.schema.key)
    undecided = match.frozen & set(lake.schema.key)
    if wanted != lake_name and not undecided:
        change = f"change the key from ({', '.join(lake.schema.key)}) to ({', '.join(source.schema.key)})"
        ruling = notes.check.decide(change, (), "change-key")
        reason = "the rows of the table were merged by the old key"
        if ruling.level in ("ignore", "quarantine"):
            notes.notes.append(f"{change}: not done, {reason} ({ruling.why})")
        else:
            other = refuse_key(source.schema.key, lake)
            instead = _REKEY if other is None else other.instead
            notes.add_refusal(change, f"{other.reason if other else reason} ({ruling.why})", instead)
    return lake_name
