"""The source as the lake would hold it, under policy and next to what the lake already has.

Law: what the lake cannot tell apart never becomes a difference: after a plan ran, projecting the same
source again gives the live table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.struct_fields import lower_path
from schemaman.migration.convertible import list_row_types
from schemaman.migration.foreign_columns import find_unrecorded_columns, list_own_columns, read_foreign
from schemaman.migration.plan import (
    MigrationSource,
    Policy,
    PolicyDecision,
    Refusal,
)
from schemaman.migration.policy_checks import PolicyCheck, refuse_blocked
from schemaman.migration.projection.column_names import (
    NamedTable,
    Naming,
    distinguish_names,
    has_case_variants,
    list_renamed_columns,
    read_naming,
    refuse_unusable_names,
    rename_to_lake,
    rename_to_source,
    spell_name,
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
from schemaman.migration.projection.metadata_columns import MetadataColumns, plan_metadata_columns
from schemaman.migration.projection.reinterpreted_columns import check_reinterpretation
from schemaman.migration.projection.widen_types import TypeWidening, remove_comments
from schemaman.migration.properties.column_swaps import read_swaps, refuse_during_swap
from schemaman.migration.properties.displaced_columns import is_moved_out, read_displaced
from schemaman.migration.properties.names import (
    KEPT_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    UNTYPED_PROPERTY,
    format_property,
)
from schemaman.migration.properties.stamped_version import find_stamped_version
from schemaman.migration.properties.table_record import find_newest_part, read_record
from schemaman.migration.row_columns import ORDER, is_unfilled, refuse_key, refuse_numbered, refuse_unfilled
from schemaman.migration.target import LakeTable, Target, find_column, has_known_key, is_same_key
from schemaman.migration.type_mapping import Representation
from schemaman.model.ddl import quote_name
from schemaman.model.diff import ChangeType, RenameColumn
from schemaman.model.name_adjustment import TEMPORARY_PREFIX
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Type

_REKEY = (
    "`schemaman plan TABLE --recipe` changes the key if no two rows share the new one; otherwise "
    "create a new table and fill it from a snapshot"
)
_REKEY_FOLLOWS = "its own plan follows, once no two rows share the new key"
_REKEY_WAITS = "its own plan waits for an approval (`schemaman plan TABLE --recipe`)"
_DROPPED: frozenset[str | None] = frozenset({None})
_INFERRED = "its structure is inferred from values, and the next value may have another one"
_IMPOSSIBLE = "this table cannot have got the newest structure, and no event has shown it"
_WAIT = "check `schemaman history`, and plan again when events contain the new columns"
_READ_SCHEMAS = "read events that contain their schemas (schemas.enable=true, or a registry)"
_TEXTS = (
    "no record contains the types of its values: each column is a text (untyped-json), and a name that the "
    "source gives to another column stays one column"
)
_AS_TEXTS = 'write untyped-json = "auto" into a [[policy]] for this table: each value is then a text'


@dataclass(frozen=True, slots=True)
class Projection:
    """The table that the lake should hold; `renames` maps lake names to wanted ones.

    `displaced` maps the new names of dropped columns that make room for others to their old names. `settled`:
    all names are those of the source, so that the table may get the version stamp. `names` maps the
    source's columns to those of the lake; `properties` are table properties about the columns. `kept` are
    paths that the source dropped and an earlier plan kept. `field_renames` are renames of nested fields (see
    `diff.Renamed`). `approval_reason`: why a person has to approve the stamp. `foreign` are columns that
    others fill, by their wanted names; `adopts`: the stamp has to record that one is the source's now.
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
    foreign: frozenset[str] = frozenset()
    adopts: bool = False


def project(
    source: MigrationSource, lake: LakeTable | None, target: Target, policy: Policy, target_name: str = ""
) -> Projection:
    """The wanted table in the target's own alphabet, with what is to be said about it.

    A live table keeps its columns, their order and every type that is wide enough; the source adds, widens
    and renames. A change stream cannot promise values, so only key columns of a new table are NOT NULL.

    Raises:
        BadConfiguration: two equally specific projections want different things.
    """
    targets = (target_name or target.name, target.name)
    refusal = _refuse_structure(source, policy, targets)
    if refusal is not None:
        now = lake.schema if lake else TableSchema(())
        return Projection(now, {}, (), (refusal,), settled=False)
    representation = policy.find_representation(source.table, *targets)
    notes = PlanNotes(PolicyCheck(policy, source.table, targets))
    notes.notes += [_TEXTS] if source.untyped and lake is None else []
    if lake and is_blocked(source, lake, notes):
        rulings = tuple(notes.check.rulings)
        return Projection(
            lake.schema, {}, tuple(notes.notes), tuple(notes.refusals), settled=False, rulings=rulings
        )
    tables = _make_tables(source, lake, target, representation, notes)
    held = _hold_columns(tables)
    return _name_columns(tables, _create_table(tables, held) if lake is None else _follow_table(tables, held))


def _refuse_structure(source: MigrationSource, policy: Policy, targets: tuple[str, ...]) -> Refusal | None:
    """Refuse a structure that no table follows; None if a table may follow it."""
    change = f"follow {source.table}"
    if source.phantom:
        return Refusal(change, _IMPOSSIBLE, _WAIT)
    if source.inferred:
        return Refusal(change, _INFERRED, _READ_SCHEMAS)
    if not source.untyped or policy.find_ruling("untyped-json", source.table, *targets).level == "auto":
        return None
    return Refusal(change, _INFERRED, f"{_READ_SCHEMAS}; or {_AS_TEXTS}")


@dataclass(frozen=True, slots=True)
class _Tables:
    """A source and the lake table that follows it, both under the names of the source.

    `exact` maps names that `distinguish_names` made to those of the source. `own_schema` is the lake table
    under its own names. `kept` are paths that the source dropped and an earlier plan kept. `notes` gather
    what there is to say, stage after stage.
    """

    source: MigrationSource
    exact: Mapping[str, str]
    lake: LakeTable | None
    own_schema: TableSchema
    target: Target
    representation: Representation
    comments: bool
    metadata: MetadataColumns
    naming: Naming
    kept: frozenset[Path]
    notes: PlanNotes


@dataclass(frozen=True, slots=True)
class _ProjectedTable:
    """The wanted table under the names of the source.

    `match` tells which lake column is which; `dropped` are columns that the source dropped and that stay,
    `foreign` are those that others fill.
    `widening` found the types. `approval_reason` and `settled` are those of a projection.
    """

    schema: TableSchema
    match: ColumnMatch
    dropped: tuple[str, ...]
    widening: TypeWidening
    foreign: tuple[str, ...] = ()
    approval_reason: str = ""
    settled: bool = True


def _make_tables(
    source: MigrationSource,
    lake: LakeTable | None,
    target: Target,
    representation: Representation,
    notes: PlanNotes,
) -> _Tables:
    apart = representation.collisions == "number" or (lake is not None and has_case_variants(lake))
    source, exact = distinguish_names(source, newest=apart)
    metadata = plan_metadata_columns(source.schema, lake, representation)
    notes.refusals += metadata.refusals
    notes.notes += metadata.notes
    others = (*metadata.names.values(), *(read_foreign(lake) if lake else ()))
    naming = read_naming(source, lake, representation, others, exact)
    return _Tables(
        source,
        exact,
        rename_to_source(lake, naming) if lake else None,
        lake.schema if lake else TableSchema(()),
        target,
        representation,
        notes.check.ask("change-comment").level != "ignore",
        metadata,
        naming,
        frozenset(read_record(lake.properties).kept) if lake else frozenset(),
        notes,
    )


def _hold_columns(tables: _Tables) -> Mapping[str, Type]:
    """Each column that the target can hold, and how."""
    refused, notes = _refuse_names(tables), tables.notes
    notes.refusals += refused.values()
    held: dict[str, Type] = {}
    for column in tables.source.schema.columns:
        if column.name in refused:
            continue
        match tables.target.hold_type(column.type, tables.representation):
            case Refusal(_, reason, instead):
                notes.add_refusal(f"hold {quote_name(column.name)}", reason, instead)
            case answer:
                held[column.name] = answer.type
                if answer.note:
                    notes.add_note((column.name,), answer.note)
    return held


def _refuse_names(tables: _Tables) -> Mapping[str, Refusal]:
    """The columns that cannot be in the lake under the names that they have or would get there."""
    schema, naming, added = tables.source.schema, tables.naming, tables.metadata.added
    recorded = {source_name.lower() for source_name in naming.source_names.values()}
    lake_names = {
        n: naming.find_lake_name(n) if n.lower() in recorded else naming.spell(n) for n in schema.names
    }
    spelled = TableSchema((*(replace(c, name=lake_names[c.name]) for c in schema.columns), *added))
    taken = {name.lower() for name in spelled.names}
    beside = (c for c in tables.own_schema.columns if c.name.lower() not in taken)
    refused = tables.target.refuse_names(replace(spelled, columns=(*spelled.columns, *beside)))
    tables.notes.refusals += (refused[c.name] for c in added if c.name in refused)
    found = refuse_unusable_names(schema, lake_names)
    for name in schema.names:
        change = f"name a column {quote_name(name)}"
        if tables.metadata.has_column(lake_names[name]):
            reason = "the table has a metadata column of this name"
            found[name] = Refusal(change, reason, "give the metadata column another name")
        elif lake_names[name] in refused:
            found[name] = refused[lake_names[name]]
    return found


def _create_table(tables: _Tables, held: Mapping[str, Type]) -> _ProjectedTable:
    """The wanted table where there is none yet."""
    schema = _create_schema(tables.source.schema, held, tables.comments)
    return _ProjectedTable(schema, ColumnMatch({}, {}), (), TypeWidening(tables.comments, tables.notes))


def _follow_table(tables: _Tables, held: Mapping[str, Type]) -> _ProjectedTable:
    """The wanted table next to a live one: its columns matched, then typed."""
    source, lake, notes = tables.source, tables.lake, tables.notes
    assert lake is not None
    named = tables.naming.source_names
    kept = {(named.get(path[0], path[0]), *path[1:]) for path in tables.kept}
    fates = match_fields(source, find_stamped_version(source, lake))

    def is_in_place(path: Path, old: Type, new: Type) -> bool:
        return not isinstance(tables.target.draft_change(lake, ChangeType(path, old, new)), Refusal)

    widening = TypeWidening(
        tables.comments,
        notes,
        fates,
        kept,
        source.accepted_types,
        is_in_place,
        list_row_types(source),
        source.former_comments,
        read_record(lake.properties).united,
    )
    split = find_split_columns(source, lake, [path[0] for path in kept if not path[1:]])

    def is_renamable(name: str) -> bool:
        change = RenameColumn((name,), f"{TEMPORARY_PREFIX}1")
        refused = refuse_during_swap(lake, change) or tables.target.draft_change(lake, change)
        return not isinstance(refused, Refusal) and not tables.target.find_missing_properties(lake, change)

    match = match_columns(source, lake, held, notes, is_renamable)
    columns, dropped, foreign = _follow_columns(tables, held, match, widening, split)
    approval_reason, settled = check_reinterpretation(
        source, lake, tables.target, tables.representation, match.partners, notes
    )
    key = _follow_key(source, lake, match, notes)
    comment = widening.follow_comment((), lake.schema.comment, source.schema.comment)
    schema = TableSchema(columns, key, comment)
    return _ProjectedTable(schema, match, dropped, widening, foreign, approval_reason, settled)


def _follow_columns(
    tables: _Tables,
    held: Mapping[str, Type],
    match: ColumnMatch,
    widening: TypeWidening,
    split: Mapping[str, str],
) -> tuple[tuple[Column, ...], tuple[str, ...], tuple[str, ...]]:
    """The columns of a live table as they shall be, then those that it lacks; dropped ones; foreign ones."""
    source, lake, notes = tables.source, tables.lake, tables.notes
    assert lake is not None
    known = {name.lower() for past in source.past for name in past.names}
    known |= {former.lower() for names in source.former_names.values() for former in names}
    known |= {name.lower() for name in read_displaced(lake)}
    swapped = {e.new: e.column for e in read_swaps(lake)}
    raw = {c.name: c for c in source.schema.columns}
    columns, dropped, foreign = list[Column](), list[str](), list[str]()
    others, own = read_foreign(lake), list_own_columns(lake)
    parts = read_record(lake.properties).split
    texts = {part for part, each in parts.items() if each.holds}
    unrecorded = find_unrecorded_columns(source, lake)
    for column in lake.schema.columns:
        name = match.partners.get(column.name)
        if column.name in others:
            columns.append(_follow_foreign(lake, column, source, match.displaced.get(column.name), notes))
            foreign.append(columns[-1].name)
        elif column.name in match.displaced:
            moved = _displace_column(column, match.displaced[column.name], notes)
            columns.append(moved)
            dropped.append(moved.name)
        elif column.name in swapped:
            notes.add_note((column.name,), f"it will replace {quote_name(swapped[column.name])}")
            columns.append(column)
        elif (
            column.name in match.frozen
            or tables.metadata.has_column(column.name)
            or column.name in texts
            or (name is not None and name not in held)
        ):
            columns.append(column)
        elif name is not None:
            followed = _follow_column(column, raw[name], held[name], match.renames, widening)
            columns.append(_follow_in_sink(tables, followed, column, name))
        elif column.name.lower() in known and unrecorded.get(column.name) != _DROPPED:
            newest = find_newest_part(parts, column.name)
            if newest is not None and newest in lake.schema.names:
                newest = match.renames.get(newest, newest) if newest in match.partners else None
            staying = _follow_dropped(lake, column, split, newest, notes)
            columns += [staying] if staying else []
            dropped += [column.name] if staying else []
        else:
            columns.append(_follow_foreign(lake, column, source, None, notes))
            # A column that the table records under another name is the source's, whatever became of it.
            is_ours = column.name in tables.naming.source_names.values() or column.name.lower() in own
            foreign += [] if is_ours else [column.name]
    taken = {name.lower() for name in (*(c.name for c in columns), *match.absent)}
    columns += [
        replace(_make_lake_column(raw[name], type, tables.comments), nullable=True)
        for name, type in held.items()
        if name.lower() not in taken
    ]
    return tuple(columns), tuple(dropped), tuple(foreign)


def _follow_foreign(
    lake: LakeTable, column: Column, source: MigrationSource, name: str | None, notes: PlanNotes
) -> Column:
    """A live column that others fill; with a new `name` if the source now has a column of its name."""
    if name is not None:
        text = "others fill it, and the source has a column of this name now: it gets the name"
        notes.add_note((column.name,), f"{text} {quote_name(name)}")
        return replace(column, name=name)
    text = "the source never had it: it does not change"
    if not is_unfilled(lake, column):
        notes.add_note((column.name,), text)
    elif find_column(source.schema, ORDER) is None:
        notes.add_note((column.name,), f"{text}; it is NOT NULL, so writers that omit it will fail")
    else:
        notes.refusals.append(refuse_unfilled(column))
    return column


def _displace_column(lake: Column, name: str, notes: PlanNotes) -> Column:
    """A live column that left, out of the way of another one of its name."""
    text = f"the source added another column of this name: the old one gets the name {quote_name(name)}"
    notes.add_note((lake.name,), text)
    return replace(lake, name=name, nullable=True)


def _follow_dropped(
    lake: LakeTable, column: Column, split: Mapping[str, str], newer_part: str | None, notes: PlanNotes
) -> Column | None:
    """A live column that the source does not fill any more; None where it goes.

    A source that fills a newer part of the column has dropped nothing.
    """
    path = (column.name,)
    if newer_part is not None:
        notes.add_note(path, f"newer values have another type and go into {quote_name(newer_part)}")
        return replace(column, nullable=True)
    if is_moved_out(lake, column.name):
        notes.add_note(path, "it was displaced by another column, and is kept until a recipe drops it")
        return replace(column, nullable=True)
    if column.name in split:
        notes.add_note(path, SPLIT_COLUMN.format(quote_name(split[column.name])))
        return replace(column, nullable=True)
    if notes.check.ask("drop-column").level in ("auto", "approve"):
        return None
    change = f"drop {quote_name(column.name)}"
    ruling = notes.check.decide(change, path, "drop-column")
    if ruling.level == "block":
        notes.refusals.append(refuse_blocked(change, ruling))
        return column
    notes.add_note(path, f"the source has dropped it: it is kept with its old values ({ruling.why})")
    return replace(column, nullable=True)


def _name_columns(tables: _Tables, projected: _ProjectedTable) -> Projection:
    """The projection under the lake's names, with the metadata columns behind all others."""
    exact, match, widening = tables.exact, projected.match, projected.widening
    wanted = replace(projected.schema, columns=(*projected.schema.columns, *tables.metadata.added))
    ages = {c.name: c.id or 0 for c in tables.source.schema.columns}
    besides = (*tables.metadata.names.values(), *match.displaced.values(), *projected.foreign)
    named = rename_to_lake(wanted, match.renames, tables.lake, tables.naming, ages, besides)
    _note_names(tables, named)
    # A live column that differs by case alone keeps its name, but which of the source's it is counts.
    spelled = {
        match.renames.get(lake_name, lake_name): source_name
        for lake_name, source_name in match.partners.items()
    }
    names = {spelled.get(name, name): lake_name for name, lake_name in named.names.items()}

    def rename_path(path: Path) -> Path:
        return (named.names.get(path[0], path[0]), *path[1:])

    is_settled = match.is_settled and projected.settled
    return Projection(
        named.schema,
        named.renames,
        tuple(tables.notes.notes),
        tuple(tables.notes.refusals),
        is_settled and not (widening.waiting or _has_shared_column(tables)),
        tuple(tables.notes.check.rulings),
        {exact.get(source_name, source_name): lake_name for source_name, lake_name in names.items()},
        _write_properties(tables, projected, named, names),
        tables.kept | frozenset(map(rename_path, widening.kept)),
        {new: exact.get(old, old) for old, new in match.displaced.items() if new not in projected.foreign},
        {rename_path(path): name for path, name in widening.renames.items()},
        projected.approval_reason,
        frozenset(projected.foreign),
        bool(tables.notes.adopted),
    )


def _has_shared_column(tables: _Tables) -> bool:
    """Whether the table has one column for several that only case tells apart: no stamp says which."""
    spellings = Counter(name.lower() for name in tables.source.schema.names)
    return any(spellings[name.lower()] > 1 for name in (tables.lake.schema.names if tables.lake else ()))


def _note_names(tables: _Tables, named: NamedTable) -> None:
    """What names columns get, where it is not their own, and which get none."""
    notes = tables.notes
    own = {name.lower() for name in (tables.lake.schema.names if tables.lake else ())}
    for source_name, lake_name in named.names.items():
        exact = tables.exact.get(source_name, source_name)
        if lake_name.lower() != exact.lower() and source_name.lower() not in own:
            notes.add_note((exact,), f"the lake calls it {quote_name(lake_name)}")
    for name, fields in _list_unspelled_fields(tables, named.schema).items():
        notes.add_note((name,), f"nested fields keep their names: {', '.join(map(quote_name, fields))}")
    for source_name in named.kept:
        kept = f"it keeps its name {quote_name(named.names[source_name])}: its new one is taken"
        notes.add_note((source_name,), kept)
    for source_name in named.refused:
        name = tables.naming.spell(source_name)
        taken = f"another column of the table is called {quote_name(name)}"
        instead = "set collisions = number in [[projection]], or rename the column at the source"
        if name.lower() not in {lake_name.lower() for lake_name in named.schema.names}:
            instead += "; or drop the other one first (`schemaman apply --partial`), and plan again"
        notes.add_refusal(f"name a column {quote_name(source_name)}", taken, instead)


def _list_unspelled_fields(tables: _Tables, wanted: TableSchema) -> dict[str, list[str]]:
    """New nested fields whose names `names` would change if they were columns, by their column."""
    style = tables.representation.names
    had = {lower_path(path) for path, _, _ in walk_fields(tables.lake.schema)} if tables.lake else set()
    found: dict[str, list[str]] = {}
    for path, _, _ in walk_fields(wanted):
        if path[1:] and spell_name(path[-1], style) != path[-1] and lower_path(path) not in had:
            found.setdefault(path[0], []).append(path[-1])
    return found


def _write_properties(
    tables: _Tables, projected: _ProjectedTable, named: NamedTable, names: Mapping[str, str]
) -> dict[str, str]:
    """What the table is to say of its columns, by their `names` in it; only what there is to say."""
    kept: list[object] = [*sorted(named.names[name] for name in projected.dropped if name in named.names)]
    kept += sorted([named.names.get(name, name), *rest] for name, *rest in projected.widening.staying)
    properties: dict[str, Mapping[str, str] | Sequence[object]] = {
        NAMES_PROPERTY: list_renamed_columns(names, tables.exact),
        METADATA_PROPERTY: tables.metadata.names,
        KEPT_PROPERTY: kept,
        UNTYPED_PROPERTY: ["text"] if tables.source.untyped else (),
    }
    had = tables.lake.properties if tables.lake else {}
    return {key: format_property(value) for key, value in properties.items() if value or key in had}


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
    held = type if comments else remove_comments(type)
    return Column(column.name, held, column.nullable, comment=(column.comment or None) if comments else None)


def _follow_column(
    lake: Column, raw: Column, held: Type, renames: Mapping[str, str], merging: TypeWidening
) -> Column:
    """A live column that the source still has."""
    comment = merging.follow_comment((raw.name,), lake.comment, raw.comment)
    return Column(
        renames.get(lake.name, lake.name),
        merging.find_common_type((raw.name,), (raw.name,), lake.type, held, raw.type),
        lake.nullable or raw.nullable,
        comment=comment,
    )


def _follow_in_sink(tables: _Tables, followed: Column, lake: Column, name: str) -> Column:
    """A column of a table that has row columns: only the key is in every row, also in a soft-deleted one."""
    source, table = tables.source.schema, tables.lake
    assert table is not None
    if find_column(source, ORDER) is None or name in source.key or lake.name in table.schema.key:
        return followed
    lake_name = tables.naming.find_lake_name(lake.name)
    if table.generated.get(lake_name) == "":
        tables.notes.refusals.append(refuse_numbered(lake_name))
    return replace(followed, nullable=followed.nullable or (lake_name,) not in table.identifiers)


def _follow_key(
    source: MigrationSource, lake: LakeTable, match: ColumnMatch, notes: PlanNotes
) -> tuple[str, ...]:
    """The key of the live table under its new names; another one in the source needs a person.

    The same columns in another order are the same key, since rows are merged by all of them.
    """
    spelled = {
        source_name: match.renames.get(lake_name, lake_name)
        for lake_name, source_name in match.partners.items()
    }
    wanted = tuple(spelled.get(name, name) for name in source.schema.key)
    if not has_known_key(lake):
        return wanted
    if wanted and is_same_key(wanted, [match.renames.get(name, name) for name in lake.schema.key]):
        return wanted
    lake_name = tuple(match.renames.get(name, name) for name in lake.schema.key)
    undecided = match.frozen & set(lake.schema.key)
    if wanted != lake_name and not undecided:
        change = f"change the key from ({', '.join(lake.schema.key)}) to ({', '.join(source.schema.key)})"
        ruling = notes.check.decide(change, (), "change-key")
        reason = "the rows of the table were merged by the old key"
        other = refuse_key(source.schema.key, lake)
        if ruling.level in ("ignore", "quarantine"):
            notes.notes.append(f"{change}: not done, {reason} ({ruling.why})")
        elif ruling.level in ("auto", "approve") and other is None:
            notes.notes.append(f"{change}: {_REKEY_FOLLOWS if ruling.level == 'auto' else _REKEY_WAITS}")
        else:
            instead = _REKEY if other is None else other.instead
            notes.add_refusal(change, f"{other.reason if other else reason} ({ruling.why})", instead)
    return lake_name
