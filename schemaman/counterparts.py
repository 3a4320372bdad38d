"""Which column of a live table is which column of the source: stamps, former names, open questions.

A lake knows columns by name alone, without regard to case. What a name meant when the table was last
brought up to date is told by the table's own stamp; without one, by the names that columns had before.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from schemaman import members
from schemaman.ddl import quote_name
from schemaman.exchanges import free_name, phase_of, retired
from schemaman.plan import (
    BEGAN_PROPERTY,
    SOURCE_PROPERTY,
    VERSION_PROPERTY,
    Live,
    Past,
    Refusal,
    Source,
    column_of,
)
from schemaman.rulings import Judge
from schemaman.schema import walk
from schemaman.versions import SchemaVersion, TableHistory

TEMPORARY = "__schemaman_"
"""How a column begins that stands between two names while a plan runs."""


@dataclass(slots=True)
class Talk:
    """What there is to say, gathered on the way; `judge` knows the policy."""

    judge: Judge
    notes: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def note(self, path: Iterable[str], text: str) -> None:
        """Say something about a column or a part of one."""
        self.notes.append(f"{'.'.join(quote_name(p) for p in path)}: {text}")

    def refuse(self, change: str, reason: str, instead: str) -> None:
        """Say that something must not be done as asked."""
        self.refusals.append(Refusal(change, reason, instead))


def began_text(began: Mapping[str, object]) -> str:
    """A place in the source's log as the stamp keeps it."""
    return json.dumps(began, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Counterparts:
    """How the columns of a live table and of its source belong together.

    `renames` maps live names to wanted ones, `partners` live names to source names (renames included).
    `frozen` live columns must not be touched, `absent` source columns must not be added: a person has to
    decide first. `away` are renames too: live columns that left, out of the way of others of their name.
    `settled`: the names of the table will all be those of the source.
    """

    renames: Mapping[str, str]
    partners: Mapping[str, str]
    frozen: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    away: Mapping[str, str] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether nothing about the names is left to decide."""
        return not self.frozen


def counterparts(source: Source, live: Live, held: Collection[str], talk: Talk) -> Counterparts:
    """The columns that belong together; `held` are those that the target can hold.

    Exactly by the stamp where the table has one that the history knows, else by former names.
    """
    waiting = _unanswered(source, live, talk)
    away: dict[str, str] = {}
    standing = stamped(source, live)
    if standing is None:
        pairs = _by_former_names(source, live, held, talk)
        frozen = _unknown_swaps(source, live, talk)
    else:
        pairs = {then: now for then, now in source.past[standing].names.items() if now and then != now}
        frozen, away = _reused(source, live, standing, talk)
    names = {c.name.lower(): c.name for c in live.schema.columns}
    pairs = {names[o.lower()]: n for o, n in pairs.items() if o.lower() in names and o.lower() != n.lower()}
    frozen |= waiting.keys() | {old for old, new in pairs.items() if new not in held}
    renames = {old: new for old, new in pairs.items() if old not in frozen} | away
    frozen |= _clashes(renames, names, talk)
    absent = {*waiting.values(), *(pairs[old] for old in frozen if old in pairs)}
    known = {name.lower(): name for name in source.schema.names}
    partners = {
        name: known[renames.get(name, name).lower()]
        for name in live.schema.names
        if renames.get(name, name).lower() in known and name not in frozen
    }
    return Counterparts(renames, partners, frozenset(frozen), frozenset(absent), away)


def blocked(source: Source, live: Live, talk: Talk) -> bool:
    """Whether nothing at all may be planned for this table; why is said."""
    refusals = talk.refusals
    owner = live.properties.get(SOURCE_PROPERTY)
    if owner is not None and owner != source.table:
        refusals.append(
            Refusal(
                f"bring {live.name} to {source.table}",
                f"the table follows another source, {owner}",
                f"give each source a table of its own, or unset the table property {SOURCE_PROPERTY}",
            )
        )
    ended = _of_an_ended_life(source, live)
    if ended:
        _say_of_the_end(source, live, talk)
    if phase_of(live) == "swap":
        refusals.append(
            Refusal(
                f"bring {live.name} to {source.table}",
                "another plan stopped while it exchanged columns",
                "finish that plan with `schemaman resume`",
            )
        )
    refusals += (
        Refusal(
            f"plan over {'.'.join(map(quote_name, path))}",
            f"another plan stopped between two names of this {'member' if path[1:] else 'column'}",
            "finish that plan with `schemaman resume`, or rename it by hand",
        )
        for path, _, _ in walk(live.schema)
        if path[-1].startswith(TEMPORARY)
    )
    return ended or bool(refusals)


def _say_of_the_end(source: Source, live: Live, talk: Talk) -> None:
    change = f"bring {live.name} to {source.table}"
    ruling = talk.judge.rule(change, (), "drop-table", "rename-table")
    reason = (
        "the source table was dropped or renamed away, and another one has its name: the rows of the target "
        f"are those of the old one ({ruling.why})"
    )
    if ruling.level == "block":
        again = "move the target table away and plan again, which makes a new one; to go on in the old one, "
        talk.refuse(change, reason, f"{again}unset its property {VERSION_PROPERTY}")
    else:
        talk.notes.append(f"{change}: not done: {reason}")


def _of_an_ended_life(source: Source, live: Live) -> bool:
    """Whether the stamp of the table means a version of an earlier incarnation."""
    id, began = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    past = [p for p in source.past if p.answers_to(id)]
    ended = [p for p in source.ended if p.answers_to(id)]
    if any(began_text(p.began) == began for p in past):
        return False
    return any(began_text(p.began) == began for p in ended) or (bool(ended) and not past)


def _unanswered(source: Source, live: Live, talk: Talk) -> dict[str, str]:
    """Rename questions that matter here: the old name is in the lake, the new one is not."""
    waiting: dict[str, str] = {}
    for old, new in source.unanswered:
        column = column_of(live.schema, old)
        if column is None or column_of(live.schema, new) is not None or column_of(source.schema, new) is None:
            continue
        waiting[column.name] = new
        change = f"rename {quote_name(old)} to {quote_name(new)}"
        ruling = talk.judge.rule(change, (new,), "rename-suspected")
        reason = "rename not decided: the values may belong to one column or to two"
        if ruling.level in ("ignore", "quarantine"):
            talk.note((new,), f"{reason}; it is not in the lake ({ruling.why})")
        else:
            say = f"say with `schemaman decide` whether {quote_name(old)} became {quote_name(new)}"
            talk.refuse(change, reason, say)
    return waiting


def stamped(source: Source, live: Live) -> int | None:
    """Which of the past versions the stamp of the table means."""
    id, began = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    same = [n for n, past in enumerate(source.past) if past.answers_to(id)]
    exact = [n for n in same if began_text(source.past[n].began) == began]
    # Late evidence may move the beginning of a version; its id alone is enough while it is the only one.
    return exact[-1] if exact else same[0] if len(same) == 1 else None


def _reused(source: Source, live: Live, standing: int, talk: Talk) -> tuple[set[str], dict[str, str]]:
    """Live columns whose name now means another column: one that left had it, and it may still be there.

    Those that must not be touched, and those that go out of the way, under which name.
    """
    meant: dict[str, str | None] = dict.fromkeys((name.lower() for name in retired(live)), None)
    for past in reversed(source.past[: standing + 1]):
        for then, now in past.names.items():
            meant.setdefault(then.lower(), now)
    frozen: set[str] = set()
    away: dict[str, str] = {}
    for column in live.schema.columns:
        gone = meant.get(column.name.lower(), "") is None
        if not gone or column_of(source.schema, column.name) is None:
            continue
        taken = (*live.schema.names, *source.schema.names, *away.values())
        change = f"fill {quote_name(column.name)} with another column"
        ruling = talk.judge.rule(change, (column.name,), "reuse-name")
        if ruling.level in ("auto", "approve"):
            away[column.name] = free_name(column.name, "old", taken)
            continue
        talk.refuse(
            change,
            "the source dropped this column and made another one of this name: values would mix "
            f"({ruling.why})",
            _away(column.name),
        )
        frozen.add(column.name)
    return frozen, away


def _clashes(renames: dict[str, str], names: Mapping[str, str], talk: Talk) -> set[str]:
    """Renames to a name that stays taken; they are taken out of `renames`, and both sides left alone."""
    frozen: set[str] = set()
    while True:
        free = {name.lower() for name in renames}
        clash = next((o for o, n in renames.items() if n.lower() in names and n.lower() not in free), None)
        if clash is None:
            return frozen
        taken = names[renames.pop(clash).lower()]
        talk.refuse(
            f"rename {quote_name(clash)} to {quote_name(taken)}",
            "the lake has a column of that name",
            _away(taken),
        )
        frozen |= {clash, taken}


def _away(name: str) -> str:
    old = quote_name(f"{name}__old")
    return f"rename the old one, RENAME COLUMN {quote_name(name)} TO {old}, and plan again"


def _by_former_names(source: Source, live: Live, held: Collection[str], talk: Talk) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name, formers in source.former_names.items():
        if name in held and column_of(live.schema, name) is None:
            here = (f for f in formers if column_of(live.schema, f) is not None and f not in pairs)
            former = next(here, None)
            if former is not None:
                pairs[former] = name
    return pairs


def _unknown_swaps(source: Source, live: Live, talk: Talk) -> set[str]:
    """Columns that took each other's names: an unstamped table does not say on which side it stands."""
    frozen: set[str] = set()
    for name, formers in source.former_names.items():
        for former in formers:
            columns = column_of(live.schema, name), column_of(live.schema, former)
            if name < former and name in source.former_names.get(former, ()) and all(columns):
                talk.refuse(
                    f"follow {quote_name(name)} and {quote_name(former)}",
                    "they swapped names at the source, and nothing says on which side of it this table is",
                    f"set the table property {VERSION_PROPERTY} to the version that the table follows",
                )
                frozen |= {column.name for column in columns if column}
    return frozen


Pair = tuple[str, str]
ColumnId = int | None


def source_of(
    history: TableHistory, answers: Mapping[Pair, bool] | None = None, *, proven: bool = False
) -> Source:
    """The newest version of a table as something to follow, with what its columns were called before.

    `answers` are people's decisions on renames: (old name, new name) → whether it is one column; with
    `proven`, renames that nobody has answered and the evidence proves are taken for renames too. Only the
    newest incarnation counts: a table that was dropped and made again shares no column with the old.
    """
    newest = history.latest
    versions = [v for v in history.versions if v.incarnation == newest.incarnation]
    on_proof = _proven(versions, answers or {}) if proven else {}
    told = {**dict.fromkeys(on_proof, True), **(answers or {})}
    same = _same_columns(versions, told)
    now = {same.get(c.id, c.id): c.name for c in newest.schema.columns}
    came = {same.get(id, id) for ids in on_proof.values() for id in ids}
    parts = members.became(versions, same)
    past = tuple(
        Past(
            v.id,
            _began(v),
            {c.name: now.get(same.get(c.id, c.id)) for c in v.schema.columns},
            v.known_as,
            parts[number],
        )
        for number, v in enumerate(versions)
    )
    ended = tuple(
        Past(v.id, _began(v), known_as=v.known_as)
        for v in history.versions
        if v.incarnation != newest.incarnation
    )
    formers: dict[str, dict[str, None]] = {}
    for earlier in reversed(past):
        for then, name in earlier.names.items():
            if name is not None and name != then:
                formers.setdefault(name, {})[then] = None
    return Source(
        table=str(history.table),
        version=newest.number,
        id=newest.id,
        revision=newest.revision,
        schema=newest.schema,
        began=_began(newest),
        former_names={name: tuple(thens) for name, thens in formers.items()},
        unanswered=_open_questions(versions, told, now),
        past=past,
        ended=ended,
        proven=tuple(sorted(now[id] for id in came if id in now)),
        unsure_types=tuple(f.removeprefix("type:") for f in newest.unconfirmed if f.startswith("type:")),
        inferred=newest.status == "inferred",
        phantom=newest.status == "phantom",
    )


def _proven(
    versions: Sequence[SchemaVersion], answers: Mapping[Pair, bool]
) -> dict[Pair, tuple[ColumnId, ...]]:
    """Each pair that evidence proves and nobody has answered, with the ids of the column that came."""
    found: dict[Pair, tuple[ColumnId, ...]] = {}
    for version in versions:
        for candidate in version.candidates:
            pair = candidate.old, candidate.new
            column = version.schema.column(candidate.new)
            if candidate.grade == "proven" and pair not in answers and column is not None:
                found[pair] = (*found.get(pair, ()), column.id)
    return found


def _same_columns(
    versions: Sequence[SchemaVersion], answers: Mapping[Pair, bool]
) -> dict[ColumnId, ColumnId]:
    """Column id → the id of the same column earlier, where a person said that it is the same."""
    same: dict[ColumnId, ColumnId] = {}
    for before, after in pairwise(versions):
        for old, new in (pair for pair, yes in answers.items() if yes):
            left, came = before.schema.column(old), after.schema.column(new)
            if left and came and not before.schema.column(new) and not after.schema.column(old):
                same[came.id] = same.get(left.id, left.id)
    return same


def _open_questions(
    versions: Sequence[SchemaVersion], answers: Mapping[Pair, bool], now: Mapping[int | None, str]
) -> tuple[Pair, ...]:
    asked: dict[Pair, None] = {}
    for version in versions:
        for candidate in version.candidates:
            column = version.schema.column(candidate.new)
            name = now.get(column.id) if column else None
            if (candidate.old, candidate.new) not in answers and name is not None:
                asked[candidate.old, name] = None
    return tuple(asked)


def _began(version: SchemaVersion) -> dict[str, object]:
    at = version.at
    return {
        "position": {"kind": at.position.kind, "value": at.position.value},
        "topic": at.topic,
        "partition": at.partition,
        "offset": at.offset,
    }
