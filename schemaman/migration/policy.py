"""The policy: a level for each kind of change, table and target, which decides whether a plan makes a change.

Laws: the most specific rule decides, and among equally specific ones the most restrictive. Their order does
not matter. `auto` applies to a kind that destroys values or their meaning only by that kind's own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from schemaman.errors import BadConfiguration
from schemaman.migration.bounds import Bounds, parse_size, parse_window
from schemaman.migration.type_mapping import DEFAULT, Representation

Level = Literal["auto", "approve", "ignore", "quarantine", "block"]
"""The levels, each stricter than the one before it.

`auto`: the change is made. `approve`: it is made after a person approved the plan. `ignore`: it is not made,
and a note reports it. `quarantine`: it is not made, and rows that need it are quarantined. `block`: it is not
made, and the plan refuses."""

ChangeKind = Literal[
    "new-table", "add-column", "add-required-column", "reuse-name",
    "widen", "integer-to-decimal", "integer-to-double", "upgrade", "narrow", "retype", "split-column",
    "drop-not-null", "set-not-null", "change-default", "change-comment", "reorder",
    "drop-column", "rename-stated", "rename-proven", "rename-suspected",
    "rename-unanswered", "unite-columns",
    "change-key", "on-key-changed", "on-key-lost", "fill-successor",
    "change-layout-column", "drop-table", "rename-table", "truncate", "change-representation",
    "untyped-json",
]  # fmt: skip
"""The kinds of changes, by their effect on the rows of a table and on its readers."""

DropPolicy = Literal["keep", "drop"]

Profile = Literal["careful", "autopilot", "additive"]
"""The tables of levels that apply without a rule.

`careful`: a person approves what could surprise a reader. `autopilot`: each change is made that loses
nothing. `additive`: columns and tables are added, and nothing else changes."""

MEANINGS: Mapping[ChangeKind, str] = {
    "new-table": "a table of the source that the lake does not have",
    "add-column": "a column or a nested field",
    "add-required-column": "a column that is NOT NULL at the source; in the lake it is nullable",
    "reuse-name": "a column with the previous name of another one, or with the name of one that others fill: "
    "readers may mix their values",
    "widen": "a type that holds all old values, where the format changes it in place",
    "integer-to-decimal": "an integer becomes a DECIMAL in place, which Delta never does by itself",
    "integer-to-double": "an integer becomes a DOUBLE in place",
    "upgrade": "a feature of Delta or a format version of Iceberg that older readers do not know",
    "narrow": "the source's type became narrower; the lake keeps the wide one",
    "retype": "a type that the format cannot change in place; the level also holds for recipe phases",
    "split-column": "a column beside one whose new type the format cannot make in place: `price__2` beside "
    "`price`, and both stay readable",
    "drop-not-null": "NULL becomes allowed",
    "set-not-null": "NULL becomes forbidden; a table of the sink keeps NULL, since deleted rows may have "
    "their key alone",
    "change-default": "another default; writers write every value, so no step is needed",
    "change-comment": "another comment on the table or a column",
    "reorder": "another order of columns; readers use names, so the lake keeps its own order",
    "drop-column": "a column or nested field that the source dropped; `ignore` keeps it, nullable, with its "
    "values",
    "rename-stated": "a rename that a statement or a person stated, also of a nested field; or a rename that "
    "makes room for another column of that name",
    "rename-proven": "a rename by column order, which no statement states",
    "rename-suspected": "a rename that may also be a drop and an addition, or of a column that another "
    "writer added: a person has to decide",
    "rename-unanswered": "a suspected rename that nobody has answered: `auto` keeps the old column, adds the "
    "new one, and leaves the question open; it needs `drop-column` at `ignore`",
    "unite-columns": "a rename that was answered after the lake had got both columns: rows that were not "
    "written since get the earlier value, and the earlier column stays",
    "change-key": "other key columns: the rows were merged by the old ones",
    "on-key-changed": "another key that the rows do not prove, or a type of it that the format does not make "
    "in place: `auto` begins a successor `orders__2` for the rows from there on, and `orders` keeps its rows",
    "on-key-lost": "a table of the sink loses its key, or a log of changes gets one: `auto` begins a "
    "successor, as above",
    "fill-successor": "a successor after `on-key-lost` gets the rows of the table before it, where that is "
    "proven: live rows go into a log, and a log of created rows is folded by its new key",
    "change-layout-column": "another type of a column by which files are laid out",
    "drop-table": "the source table was dropped, and another one has its name: `auto` keeps the lake table "
    "as `orders__dropped_1` and begins a new one",
    "rename-table": "the source table was renamed, and another one may have its name: `auto` renames the "
    "lake table, too, with its rows",
    "truncate": "the source table was emptied: writers of rows follow this level, and no plan does",
    "change-representation": "a type that may come from a connector setting alone, or that a "
    "[[projection]] writes into the same lake type as the previous one",
    "untyped-json": "a table of JSON without schemas, whose types nothing shows: `auto` writes each value as "
    "text",
}

LEVELS: tuple[Level, ...] = get_args(Level)
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)

DEFAULTS: Mapping[ChangeKind, Level] = {
    "new-table": "auto",
    "add-column": "auto",
    "add-required-column": "auto",
    "reuse-name": "approve",
    "widen": "auto",
    "integer-to-decimal": "approve",
    "integer-to-double": "approve",
    "upgrade": "approve",
    "narrow": "ignore",
    "retype": "approve",
    "split-column": "block",
    "drop-not-null": "auto",
    "set-not-null": "ignore",
    "change-default": "auto",
    "change-comment": "auto",
    "reorder": "ignore",
    "drop-column": "ignore",
    "rename-stated": "auto",
    "rename-proven": "approve",
    "rename-suspected": "approve",
    "rename-unanswered": "block",
    "unite-columns": "approve",
    "change-key": "block",
    "on-key-changed": "block",
    "on-key-lost": "block",
    "fill-successor": "block",
    "change-layout-column": "block",
    "drop-table": "block",
    "rename-table": "block",
    "truncate": "block",
    "change-representation": "approve",
    "untyped-json": "block",
}
"""The levels that apply without a rule."""

PROFILES: Mapping[Profile, Mapping[ChangeKind, Level]] = {
    "careful": DEFAULTS,
    "autopilot": {
        **DEFAULTS,
        "reuse-name": "auto",
        "integer-to-decimal": "auto",
        "integer-to-double": "auto",
        "upgrade": "auto",
        "split-column": "auto",
        "rename-proven": "auto",
        "rename-unanswered": "auto",
        "unite-columns": "auto",
        "change-key": "auto",
        "on-key-changed": "auto",
        "on-key-lost": "auto",
        "drop-table": "auto",
        "rename-table": "auto",
        "truncate": "auto",
        "change-representation": "auto",
        "untyped-json": "auto",
    },
    "additive": {
        **DEFAULTS,
        "reuse-name": "block",
        "widen": "block",
        "integer-to-decimal": "block",
        "integer-to-double": "block",
        "upgrade": "block",
        "retype": "block",
        "change-comment": "ignore",
        "rename-stated": "block",
        "rename-proven": "block",
        "rename-suspected": "block",
        "unite-columns": "block",
        "change-representation": "block",
    },
}
"""The levels of each kind that apply without a rule, by profile."""

DEFAULT_PROFILE: Profile = "careful"

DESTRUCTIVE: frozenset[ChangeKind] = frozenset({
    "reuse-name", "narrow", "retype", "split-column", "drop-column", "rename-suspected",
    "rename-unanswered", "change-key", "on-key-changed", "on-key-lost", "fill-successor",
    "change-layout-column", "drop-table", "rename-table", "truncate", "untyped-json",
})  # fmt: skip
"""Kinds after which values are lost or have another meaning: no pattern makes them automatic."""

NEVER: Mapping[ChangeKind, frozenset[Level]] = {
    "reuse-name": frozenset({"ignore"}),
    "narrow": frozenset({"auto", "approve"}),
    "set-not-null": frozenset({"quarantine", "block"}),
    "reorder": frozenset({"auto", "approve", "quarantine", "block"}),
    "change-comment": frozenset({"quarantine"}),
    "change-default": frozenset({"approve", "quarantine", "block"}),
    "rename-suspected": frozenset({"auto"}),
    "split-column": frozenset({"approve", "ignore", "quarantine"}),
    "rename-unanswered": frozenset({"approve", "ignore", "quarantine"}),
    "unite-columns": frozenset({"quarantine"}),
    "on-key-changed": frozenset({"approve", "ignore", "quarantine"}),
    "on-key-lost": frozenset({"approve", "ignore", "quarantine"}),
    "fill-successor": frozenset({"approve", "ignore", "quarantine"}),
    "drop-table": frozenset({"approve"}),
    "rename-table": frozenset({"approve"}),
    "untyped-json": frozenset({"approve", "ignore", "quarantine"}),
    "truncate": frozenset({"approve"}),
}
"""Levels that a kind cannot have.

A column whose name another one has cannot be left out: values of the two would mix. The lake keeps a type
that is wide enough, and its own order of columns. No row needs a comment, and none waits for columns to be
united, or for NULL to be forbidden. Writers write every value, whatever its default is. A suspected rename
is not evidence. A whole table is moved by itself or by hand, and no plan empties one. Values are written as
text, or wait.

A pattern with such a level leaves the kind to the profile; a destructive kind that could be automatic is
blocked by it."""

WORDS: Mapping[ChangeKind, Mapping[str, Mapping[ChangeKind, Level]]] = {
    "on-key-lost": {
        "wait": {"on-key-lost": "block"},
        "successor": {"on-key-lost": "auto", "fill-successor": "block"},
        "fill": {"on-key-lost": "auto", "fill-successor": "auto"},
    },
    "on-key-changed": {"wait": {"on-key-changed": "block"}, "successor": {"on-key-changed": "auto"}},
}
"""What the settings may say of a kind instead of a level, and the levels that this means."""

ANY = "*"
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A level for the kinds, tables and targets that match its patterns; `origin` names the entry.

    `tables` are patterns over the whole name of a source table or any suffix of it. `targets` are names of
    targets or of formats.
    """

    level: Level
    changes: tuple[str, ...] = (ANY,)
    tables: tuple[str, ...] = (ANY,)
    targets: tuple[str, ...] = (ANY,)
    origin: str = "a rule"


@dataclass(frozen=True, slots=True)
class ProjectionRule:
    """The options of a `Representation` for some tables and targets, as pairs of name and value."""

    options: tuple[tuple[str, object], ...]
    tables: tuple[str, ...] = (ANY,)
    targets: tuple[str, ...] = (ANY,)
    origin: str = "a rule"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The level of a kind of change, and the rule that decided it."""

    kind: ChangeKind
    level: Level
    why: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The changes that the user allows; the defaults destroy nothing.

    `profile` is the table of levels for kinds that nothing else decides; an unknown one raises
    `BadConfiguration`.
    `drops`, `comments` and `upgrades` set the defaults of `drop-column`, `change-comment` and `upgrade`;
    `rules` are more specific than all of them. `projections` decide how values and names are written.
    `max_rewrite` and `max_scan` are sizes such as `50GB`, and `window` is such as `22:00-06:00` (see
    `bounds`); with `max_rewrite`, the profile `autopilot` makes recipes by itself.
    """

    drops: DropPolicy = "keep"
    comments: bool = True
    upgrades: bool = True
    rules: tuple[PolicyRule, ...] = ()
    projections: tuple[ProjectionRule, ...] = ()
    profile: Profile = "careful"
    max_rewrite: str = ""
    max_scan: str = ""
    window: str = ""

    def __post_init__(self) -> None:
        for rule in self.rules:
            _require_levels(rule)
        try:
            _ = self.bounds
        except ValueError as error:
            raise BadConfiguration(str(error)) from error
        if self.profile not in PROFILES:
            known = f"profiles are: {', '.join(PROFILES)}"
            raise BadConfiguration(
                f"there is no profile {self.profile!r}", hint=suggest_word(self.profile, PROFILES) or known
            )

    @property
    def bounds(self) -> Bounds:
        """The bounds of what is done without a person."""
        return Bounds(parse_size(self.max_rewrite), parse_size(self.max_scan), parse_window(self.window))

    def find_representation(self, table: str, *targets: str) -> Representation:
        """Find how a target holds a source table; for each option the most specific rule decides.

        Raises:
            BadConfiguration: two equally specific rules contradict each other.
        """
        names = tuple(list_names(table))
        selector_ranks = [
            (_rank_selectors(rule.tables, rule.targets, names, targets), rule) for rule in self.projections
        ]
        ranked = [(rank, rule) for rank, rule in selector_ranks if rank is not None]
        # The reader of the entry has checked that each value is one of its option.
        chosen: dict[str, Any] = {}
        for option in dict.fromkeys(option for _, rule in ranked for option, _ in rule.options):
            choices = [(rank, value, r.origin) for rank, r in ranked for o, value in r.options if o == option]
            best = max(rank for rank, _, _ in choices)
            (_, value, first), *others = (each for each in choices if each[0] == best)
            for _, other, origin in others:
                if other != value:
                    raise BadConfiguration(
                        f"{origin} and {first} choose different {option} for {table}",
                        hint="select the tables or the targets more narrowly in one of them",
                    )
            chosen[option] = value
        return replace(DEFAULT, **chosen)

    def find_ruling(self, kind: ChangeKind, table: str, *targets: str) -> Ruling:
        """Find the level of a kind of change of a source table, and the rule that decides it.

        `targets` are all names of the target: its own and that of its format.
        """
        names = tuple(list_names(table))
        ranked = [
            (rank, level, r.origin)
            for r in self.rules
            if (level := _find_level(r, kind)) and (rank := _rank_rule(r, kind, names, targets)) is not None
        ]
        if not ranked:
            return self._find_default(kind)
        best = max(rank for rank, _, _ in ranked)
        found = ((level, origin) for rank, level, origin in ranked if rank == best)
        level, origin = max(found, key=lambda each: (LEVELS.index(each[0]), each[1]))
        return Ruling(kind, level, f"{kind} = {level}, from {origin}")

    def has_rule(self, kind: ChangeKind, table: str, *targets: str) -> bool:
        """Whether a rule decides the level of a kind, and not the profile."""
        names = tuple(list_names(table))
        return any(
            _find_level(r, kind) is not None and _rank_rule(r, kind, names, targets) is not None
            for r in self.rules
        )

    def is_made(self, kind: ChangeKind, table: str, *targets: str) -> bool:
        """Whether a kind of change is made, with or without an approval."""
        return self.find_ruling(kind, table, *targets).level in ("auto", "approve")

    def takes_proof(self, table: str, *targets: str) -> bool:
        """Whether a rename by column order counts as one, also where the lake keeps the old name."""
        return self.find_ruling("rename-proven", table, *targets).level in ("auto", "approve", "ignore")

    def keeps_both(self, table: str, *targets: str) -> bool:
        """Whether the lake has both columns of a suspected rename that is not answered.

        Where dropped columns are dropped from the lake, none is kept: the question then waits for its answer.
        """
        is_kept = not self.is_made("drop-column", table, *targets)
        return is_kept and self.find_ruling("rename-unanswered", table, *targets).level == "auto"

    def list_levels(self) -> tuple[Ruling, ...]:
        """List the level of each kind where no rule that selects tables or targets applies."""
        rules = tuple(r for r in self.rules if r.tables == r.targets == (ANY,))
        return tuple(replace(self, rules=rules).find_ruling(kind, "", "") for kind in KINDS)

    def find_strictest(self, kinds: Iterable[ChangeKind], table: str, *targets: str) -> Ruling:
        """Find the most restrictive level for a change that has several kinds."""
        rulings = [self.find_ruling(kind, table, *targets) for kind in kinds]
        return max(rulings, key=lambda r: LEVELS.index(r.level))

    def _find_default(self, kind: ChangeKind) -> Ruling:
        if kind == "drop-column" and self.drops == "drop":
            return Ruling(kind, "approve", f"{kind} = approve, from drops = drop")
        if kind == "change-comment" and not self.comments:
            return Ruling(kind, "ignore", f"{kind} = ignore, from comments = false")
        if kind == "upgrade" and not self.upgrades:
            return Ruling(kind, "block", f"{kind} = block, from upgrades = false")
        if kind == "retype" and self.profile == "autopilot" and self.bounds.max_rewrite is not None:
            return Ruling(kind, "auto", f"{kind} = auto, from max_rewrite = {self.max_rewrite}")
        if kind == "fill-successor" and self.profile == "autopilot" and self.bounds.max_rewrite is not None:
            return Ruling(kind, "auto", f"{kind} = auto, from max_rewrite = {self.max_rewrite}")
        level = PROFILES[self.profile][kind]
        if self.profile == DEFAULT_PROFILE:
            return Ruling(kind, level, f"{kind} = {level} by default")
        return Ruling(kind, level, f"{kind} = {level}, from profile = {self.profile}")


def list_names(table: str) -> Iterator[str]:
    """List the names of a source table that patterns match: the whole name and its suffixes, unquoted."""
    yield table
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(_without_stream(table))]
    for start in range(len(parts)):
        yield ".".join(parts[start:])


def suggest_word(word: str, known: Iterable[str]) -> str | None:
    """Ask whether a similar known word was meant; None if no word is similar."""
    near = get_close_matches(word, list(known), 1, 0.5)
    return f"did you mean {near[0]}?" if near else None


def _without_stream(table: str) -> str:
    """Remove the stream from a name; it ends with a colon outside quotes."""
    found = re.match(r'(?:"(?:[^"]|"")*"|[^":])*:', table)
    return table[found.end() :] if found else table


_SelectorRank = tuple[tuple[int, int], int]
_Rank = tuple[_SelectorRank, tuple[int, int]]


def _require_levels(rule: PolicyRule) -> None:
    """Raises `BadConfiguration` for a kind, named as such, with a level that it cannot have."""
    for kind in KINDS:
        if kind in rule.changes and rule.level in NEVER.get(kind, ()):
            able = ", ".join(each for each in LEVELS if each not in NEVER[kind])
            raise BadConfiguration(f"{rule.origin}: {kind} cannot be {rule.level}; it may be {able}")


def _find_level(rule: PolicyRule, kind: ChangeKind) -> Level | None:
    """The level that a rule has for a kind; None if it says nothing of it.

    A pattern with a level that the kind cannot have must not leave a destructive kind automatic.
    """
    never = NEVER.get(kind, frozenset())
    if rule.level not in never:
        return rule.level
    is_barred = kind in DESTRUCTIVE and never.isdisjoint(("auto", "block"))
    return "block" if rule.level != "auto" and is_barred else None


def _rank_rule(
    rule: PolicyRule, kind: ChangeKind, names: tuple[str, ...], targets: tuple[str, ...]
) -> _Rank | None:
    """Rank how narrowly a rule selects a change: by table, then target, then kind; None if it does not."""
    selector_rank = _rank_selectors(rule.tables, rule.targets, names, targets)
    kinds = [p for p in rule.changes if fnmatchcase(kind, p)]
    if rule.level == "auto" and kind in DESTRUCTIVE:
        kinds = [p for p in kinds if p == kind]
    change = max(map(_rank_pattern, kinds), default=None)
    return None if selector_rank is None or change is None else (selector_rank, change)


def _rank_selectors(
    tables: tuple[str, ...], aims: tuple[str, ...], names: tuple[str, ...], targets: tuple[str, ...]
) -> _SelectorRank | None:
    table = max((_rank_pattern(p) for p in tables if any(fnmatchcase(n, p) for n in names)), default=None)
    target = max((_rank_target(t, targets) for t in aims if t == ANY or t in targets), default=None)
    return None if table is None or target is None else (table, target)


def _rank_target(word: str, targets: tuple[str, ...]) -> int:
    """Rank a target: its own name (the first) is narrower than its format, and the format than `*`."""
    return 0 if word == ANY else 2 if word == targets[0] else 1


def _rank_pattern(pattern: str) -> tuple[int, int]:
    """Rank a pattern: a name is narrower than a pattern, and more literal characters are narrower."""
    wild = any(ch in pattern for ch in "*?[")
    return (0 if wild else 1, sum(ch not in "*?" for ch in pattern))
