"""Which column of a live table is which column of the source: stamps, former names, open questions.

A lake knows columns by name alone, without regard to case. What a name meant when the table was last
brought up to date is told by the table's own stamp; without one, by the names that columns had before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from schemaman.migration.foreign_columns import find_unrecorded_columns, list_own_columns, read_foreign
from schemaman.migration.plan import MigrationSource, Refusal
from schemaman.migration.policy_checks import PolicyCheck
from schemaman.migration.properties.column_swaps import find_free_name, suggest_resume
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.names import (
    FOREIGN_PROPERTY,
    SOURCE_PROPERTY,
    VERSION_PROPERTY,
)
from schemaman.migration.properties.stamped_version import (
    find_stamped_version,
    find_version,
    is_ended_incarnation,
    refuse_stamp,
)
from schemaman.migration.properties.table_record import DisplacedColumn, read_record
from schemaman.migration.properties.validation import refuse_unreadable
from schemaman.migration.target import LakeTable, find_column
from schemaman.model.ddl import quote_name
from schemaman.model.name_adjustment import DISPLACED_SUFFIX, TEMPORARY_PREFIX
from schemaman.model.schema import walk_fields

_UNRECORDED = (
    "another writer added it after the migration to the stamped version: it counts as the column of this "
    "name at the source, and earlier values may be of another origin"
)
_EARLIER_NAME = "it is {0} now: the table was recreated with the name from before its version stamp"
SPLIT_COLUMN = (
    "it was kept as a dropped column, and a later decision says that it was renamed to {0}: earlier "
    "rows have their value only here, so it is not dropped; copy these values into {0}, then drop it "
    "by hand"
)


@dataclass(slots=True)
class PlanNotes:
    """What there is to say, gathered on the way; `check` knows the policy.

    `adopted` are columns of another writer that are the source's from now on.
    """

    check: PolicyCheck
    notes: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)

    def add_note(self, path: Iterable[str], text: str) -> None:
        """Say something about a column or a part of one."""
        self.notes.append(f"{'.'.join(quote_name(p) for p in path)}: {text}")

    def add_refusal(self, change: str, reason: str, instead: str) -> None:
        """Say that something must not be done as asked."""
        self.refusals.append(Refusal(change, reason, instead))


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """How the columns of a live table and of its source belong together.

    `renames` maps live names to wanted ones, `partners` live names to source names (renames included).
    `frozen` live columns must not be touched, `absent` source columns must not be added: a person has to
    decide first. `displaced` are renames too: live columns that left, out of the way of others of their name.
    `is_settled`: the names of the table will all be those of the source.
    """

    renames: Mapping[str, str]
    partners: Mapping[str, str]
    frozen: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    displaced: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether nothing about the names is left to decide."""
        return not self.frozen


def match_columns(
    source: MigrationSource,
    lake: LakeTable,
    held: Collection[str],
    notes: PlanNotes,
    is_renamable: Callable[[str], bool],
) -> ColumnMatch:
    """The columns that belong together; `held` are those that the target can hold.

    Exactly by the stamp where the table has one, else by former names. `is_renamable`: the format renames a
    column of this name without a new feature.
    """
    undecided = _find_open_renames(source, lake, notes)
    foreign = read_foreign(lake)
    others, displaced = _find_taken_names(source, lake, foreign, notes)
    unclear: dict[str, set[str]] = {}
    stamped = find_stamped_version(source, lake)
    if stamped is None:
        pairs = _match_former_names(source, lake, held)
        frozen = _find_unknown_swaps(source, lake, notes)
    else:
        pairs = {then: now for then, now in source.past[stamped].names.items() if now and then != now}
        younger, unclear = _match_partial_plans(source, lake, stamped, pairs, notes)
        pairs |= younger
        pairs |= _match_earlier_names(source, lake, stamped, pairs, notes)
        frozen, reused = _find_reused_names(source, lake, stamped, undecided, (foreign, displaced), notes)
        displaced |= reused
        frozen |= unclear.keys()
    frozen |= others
    pairs = {old: new for old, new in pairs.items() if old not in foreign}
    names = {c.name.lower(): c.name for c in lake.schema.columns}
    pairs = {
        names[o.lower()]: n
        for o, n in pairs.items()
        if o.lower() in names and (o.lower() != n.lower() or _is_respelled(o, n, names, notes, is_renamable))
    }
    frozen |= undecided.keys() | _find_unholdable(source, pairs, held, notes)
    renames = {old: new for old, new in pairs.items() if old not in frozen} | displaced
    frozen |= _remove_clashes(renames, names, notes)
    absent = {*undecided.values(), *(pairs[old] for old in frozen if old in pairs)}.union(*unclear.values())
    known = {name.lower(): name for name in source.schema.names}
    partners = {
        name: known[renames.get(name, name).lower()]
        for name in lake.schema.names
        if renames.get(name, name).lower() in known and name not in frozen and name not in foreign
    }
    return ColumnMatch(renames, partners, frozenset(frozen), frozenset(absent), displaced)


def _is_respelled(
    old: str, new: str, names: Mapping[str, str], notes: PlanNotes, is_renamable: Callable[[str], bool]
) -> bool:
    """Whether a rename changes case alone, and is made: the lake has exactly the old spelling.

    Spark finds the column under both names, so a rename that costs more than a statement is not made.
    """
    if old == new or names[old.lower()] != old:
        return False
    if not is_renamable(old):
        notes.add_note((old,), f"the source calls it {quote_name(new)} now: the lake keeps its own spelling")
        return False
    return True


def is_blocked(source: MigrationSource, lake: LakeTable, notes: PlanNotes) -> bool:
    """Whether nothing at all may be planned for this table; why is said."""
    refusals = notes.refusals
    refusals += refuse_unreadable(lake)
    if refusals:
        return True
    owner = read_record(lake.properties).source
    if owner is not None and owner != source.table:
        refusals.append(
            Refusal(
                f"migrate {lake.name} to {source.table}",
                f"the table follows another source, {owner}",
                f"give each source a table of its own, or unset the table property {SOURCE_PROPERTY}",
            )
        )
    ended = is_ended_incarnation(source, lake)
    lost = None if ended or owner not in (None, source.table) else refuse_stamp(source, lake)
    if ended:
        _report_ended_incarnation(source, lake, notes)
    if lost is not None:
        refusals.append(lost)
    if read_record(lake.properties).phase == "swap":
        refusals.append(
            Refusal(
                f"migrate {lake.name} to {source.table}",
                "another plan was interrupted during a column swap",
                suggest_resume(lake),
            )
        )
    refusals += (
        Refusal(
            f"plan over {'.'.join(map(quote_name, path))}",
            "another plan was interrupted between two renames of this "
            f"{'nested field' if path[1:] else 'column'}",
            suggest_resume(lake),
        )
        for path, _, _ in walk_fields(lake.schema)
        if path[-1].lower().startswith(TEMPORARY_PREFIX)
    )
    return ended or bool(refusals)


def _report_ended_incarnation(source: MigrationSource, lake: LakeTable, notes: PlanNotes) -> None:
    change = f"migrate {lake.name} to {source.table}"
    ruling = notes.check.decide(change, (), "drop-table", "rename-table")
    reason = (
        "the source table was dropped or renamed, and another one has its name: the rows of the target "
        f"are those of the old one ({ruling.why})"
    )
    if ruling.level in ("auto", "block"):
        again = (
            "move the target table away and plan again, which creates a new one; to continue in the old one, "
        )
        notes.add_refusal(change, reason, f"{again}unset its property {VERSION_PROPERTY}")
    else:
        notes.notes.append(f"{change}: not done: {reason}")


def _find_open_renames(source: MigrationSource, lake: LakeTable, notes: PlanNotes) -> dict[str, str]:
    """Rename questions that matter here: the old name is in the lake, the new one is no other column's."""
    undecided: dict[str, str] = {}
    open_names: set[str] = set()
    # A name that may have been handed on is open as long as that of the next column is.
    for _ in source.unanswered:
        open_names |= {
            old
            for old, new in source.unanswered
            if new in open_names or find_column(lake.schema, new) is None
        }
    for old, new in source.unanswered:
        column = find_column(lake.schema, old)
        if column is None or find_column(source.schema, new) is None:
            continue
        if find_column(lake.schema, new) not in (None, column) and new not in open_names:
            continue
        undecided[column.name] = new
        change = f"rename {quote_name(old)} to {quote_name(new)}"
        ruling = notes.check.decide(change, (new,), "rename-suspected")
        reason = "rename not decided: the values may belong to one column or to two"
        if ruling.level in ("ignore", "quarantine"):
            notes.add_note((new,), f"{reason}; it is not in the lake ({ruling.why})")
        else:
            say = f"use `schemaman decide` to state whether {quote_name(old)} became {quote_name(new)}"
            notes.add_refusal(change, reason, say)
    return undecided


def _find_taken_names(
    source: MigrationSource, lake: LakeTable, foreign: Collection[str], notes: PlanNotes
) -> tuple[set[str], dict[str, str]]:
    """Foreign columns whose name the source now has for a column of its own.

    Those that must not be touched, and those that go out of the way, under which name.
    """
    frozen: set[str] = set()
    displaced: dict[str, str] = {}
    for name in sorted(foreign):
        if find_column(source.schema, name) is None:
            continue
        change = f"fill {quote_name(name)} with another column"
        ruling = notes.check.decide(change, (name,), "reuse-name")
        if ruling.level in ("auto", "approve"):
            taken = (*lake.schema.names, *source.schema.names, *displaced.values())
            displaced[name] = find_free_name(name, "old", taken)
            continue
        frozen.add(name)
        instead = (
            f"{_suggest_rename(name)}; or, if its values are those of the source, take it out of the table"
        )
        notes.add_refusal(
            change,
            f"others fill it, and the source has a column of this name now: values would mix ({ruling.why})",
            f"{instead} property {FOREIGN_PROPERTY}",
        )
    return frozen, displaced


def _find_reused_names(
    source: MigrationSource,
    lake: LakeTable,
    stamped: int,
    undecided: Collection[str],
    foreign: tuple[Collection[str], Mapping[str, str]],
    notes: PlanNotes,
) -> tuple[set[str], dict[str, str]]:
    """Live columns whose name now means another column: one that left had it, and it may still be there.

    Those that must not be touched, and those that go out of the way, under which name. Of those that are
    `undecided` for an answer nobody knows yet.
    """
    meant: dict[str, str | None] = dict.fromkeys((name.lower() for name in read_displaced(lake)), None)
    meant |= dict.fromkeys(list_own_columns(lake) - meant.keys(), "")
    foreign_names, moved = foreign
    meant |= dict.fromkeys((name.lower() for name in foreign_names), "")
    # What the version of the stamp does not have has left: another one's name by now is not that column's.
    for past in reversed(source.past[: stamped + 1]):
        for then, now in past.names.items():
            meant.setdefault(then.lower(), now if past is source.past[stamped] else None)
    frozen: set[str] = set()
    displaced: dict[str, str] = {}
    in_the_lake = read_record(lake.properties).names
    for column in lake.schema.columns:
        is_dropped = meant.get(column.name.lower(), "") is None
        if not is_dropped or column.name in undecided or find_column(source.schema, column.name) is None:
            continue
        taken = (*lake.schema.names, *in_the_lake, *source.schema.names, *displaced.values(), *moved.values())
        change = f"fill {quote_name(column.name)} with another column"
        ruling = notes.check.decide(change, (column.name,), "reuse-name")
        if ruling.level in ("auto", "approve"):
            displaced[column.name] = find_free_name(column.name, "old", taken)
            continue
        notes.add_refusal(
            change,
            "the source dropped this column and added another one of this name: values would mix "
            f"({ruling.why})",
            _suggest_rename(column.name),
        )
        frozen.add(column.name)
    return frozen, displaced


def _match_partial_plans(
    source: MigrationSource, lake: LakeTable, stamped: int, known_pairs: Mapping[str, str], notes: PlanNotes
) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Columns that are younger than the stamp: they were added while other changes were not made.

    Those whose name has meant one column only, which is called otherwise by now, with the name of that; and
    those whose name has meant several, or one that the table has as it `known_pairs` too, with what these are
    called: all of them are left as they are. A column of the lake's own is none of them, whatever its name.
    """
    known = {name.lower() for past in source.past[: stamped + 1] for name in past.names}
    known |= list_own_columns(lake) | {name.lower() for name in read_foreign(lake)}
    unrecorded = find_unrecorded_columns(source, lake)
    pairs: dict[str, str] = {}
    unclear: dict[str, set[str]] = {}
    for column in lake.schema.columns:
        name = column.name.lower()
        later = [p for p in source.past[stamped + 1 :] if name not in known]
        meant = {now for past in later for then, now in past.names.items() if then.lower() == name}
        if len(meant) > 1:
            notes.add_refusal(
                f"follow {quote_name(column.name)}",
                "a partly applied plan added it, and several columns have had its name since",
                f"rename it to the column that it is, {_rename_statement(column.name)} if the "
                f"source has dropped it, or set the table property {VERSION_PROPERTY} to the "
                "version that it follows; then plan "
                "again",
            )
            unclear[column.name] = {now for now in meant if now is not None}
        if name not in known and column.name in unrecorded and any(meant):
            notes.add_note((column.name,), _UNRECORDED)
            notes.adopted.append(column.name)
        for now in meant if len(meant) == 1 else ():
            if now is None or now.lower() == name or find_column(lake.schema, now) is not None:
                continue
            taken = next((old for old, new in {**known_pairs, **pairs}.items() if new == now), None)
            if taken is None:
                pairs[column.name] = now
                continue
            notes.add_refusal(
                f"rename {quote_name(column.name)} to {quote_name(now)}",
                f"the same rename also led to another column of the table, {quote_name(taken)}",
                "copy the values of one column into the other, drop the first by hand, and plan again",
            )
            unclear[column.name] = unclear[taken] = {now}
    return pairs, unclear


def _match_earlier_names(
    source: MigrationSource, lake: LakeTable, stamped: int, known_pairs: Mapping[str, str], notes: PlanNotes
) -> dict[str, str]:
    """Columns that have a name from before the stamp again, each with what the source calls it now.

    Somebody has made the table anew since, as it was then. A column is one of these if the table lacks the
    column under the newer name, and no plan kept it as a dropped one.
    """
    own = list_own_columns(lake) | {name.lower() for name in (*read_foreign(lake), *known_pairs)}
    own |= {path[0].lower() for path in read_record(lake.properties).kept if len(path) == 1}
    own |= {name.lower() for name in source.past[stamped].names}
    pairs: dict[str, str] = {}
    for column in lake.schema.columns:
        earlier = (p.names for p in reversed(source.past[:stamped]) if column.name.lower() not in own)
        found = ({then.lower(): now for then, now in names.items()} for names in earlier)
        now = next((each[column.name.lower()] for each in found if column.name.lower() in each), None)
        taken = (*known_pairs.values(), *pairs.values())
        if now is not None and now not in taken and find_column(lake.schema, now) is None:
            notes.add_note((column.name,), _EARLIER_NAME.format(quote_name(now)))
            pairs[column.name] = now
    return pairs


def _find_unholdable(
    source: MigrationSource, pairs: Mapping[str, str], held: Collection[str], notes: PlanNotes
) -> set[str]:
    """Columns that have another name by now which the target cannot hold: they stay, under the old one."""
    stay = {old: new for old, new in pairs.items() if new not in held}
    for old, new in stay.items():
        if find_column(source.schema, old) is not None:
            notes.add_refusal(
                f"fill {quote_name(old)} with another column",
                f"it is {quote_name(new)} by now, which the target cannot hold: values would mix",
                _suggest_rename(old),
            )
    return set(stay)


def _remove_clashes(renames: dict[str, str], names: Mapping[str, str], notes: PlanNotes) -> set[str]:
    """Renames to a name that stays taken; they are taken out of `renames`, and both sides left alone."""
    frozen: set[str] = set()
    while True:
        free = {name.lower() for name in renames}
        clash = next((o for o, n in renames.items() if n.lower() in names and n.lower() not in free), None)
        if clash is None:
            return frozen
        taken = names[renames.pop(clash).lower()]
        notes.add_refusal(
            f"rename {quote_name(clash)} to {quote_name(taken)}",
            "the lake has a column of that name",
            _suggest_rename(taken),
        )
        frozen |= {clash, taken}


def _suggest_rename(name: str) -> str:
    return f"rename the old one, {_rename_statement(name)}, and plan again"


def _rename_statement(name: str) -> str:
    return f"RENAME COLUMN {quote_name(name)} TO {quote_name(name + DISPLACED_SUFFIX)}"


def _match_former_names(source: MigrationSource, lake: LakeTable, held: Collection[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name, formers in source.former_names.items():
        if name in held and find_column(lake.schema, name) is None:
            here = (f for f in formers if find_column(lake.schema, f) is not None and f not in pairs)
            former = next(here, None)
            if former is not None:
                pairs[former] = name
    return pairs


def find_split_columns(source: MigrationSource, lake: LakeTable, kept: Collection[str]) -> dict[str, str]:
    """Columns that the table kept, and that are ones which it has beside them: what these are called.

    So it is where somebody said of a rename that it was one when a plan had taken it for a DROP and an ADD,
    whether or not the policy let it add the new name. Columns whose values were united are none of these.
    """
    stamped = find_stamped_version(source, lake)
    if stamped is None:
        return {}
    meant: dict[str, str | None] = {}
    for past in reversed(source.past[: stamped + 1]):
        for then, now in past.names.items():
            meant.setdefault(then.lower(), now)
    displaced, united = read_displaced(lake), read_record(lake.properties).united
    became = {
        name: _find_current_name(source, displaced[name]) if name in displaced else meant.get(name.lower())
        for name in kept
    }
    return {name: now for name, now in became.items() if now is not None and name not in united}


def _find_current_name(source: MigrationSource, entry: DisplacedColumn) -> str | None:
    """What a column is called now that the table tells of since others have had its name."""
    stamped = find_version(source.past, entry.version, entry.began)
    earlier = source.past[: stamped + 1] if stamped is not None else ()
    return next((past.names[entry.column] for past in reversed(earlier) if entry.column in past.names), None)


def _find_unknown_swaps(source: MigrationSource, lake: LakeTable, notes: PlanNotes) -> set[str]:
    """Columns that took each other's names: an unstamped table does not say on which side it stands."""
    frozen: set[str] = set()
    for name, formers in source.former_names.items():
        for former in formers:
            columns = find_column(lake.schema, name), find_column(lake.schema, former)
            if name < former and name in source.former_names.get(former, ()) and all(columns):
                notes.add_refusal(
                    f"follow {quote_name(name)} and {quote_name(former)}",
                    "they swapped names at the source, and the table does not show whether it "
                    "has the old names or the new ones",
                    f"set the table property {VERSION_PROPERTY} to the version that the table follows",
                )
                frozen |= {column.name for column in columns if column}
    return frozen
