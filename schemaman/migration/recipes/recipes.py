"""Changes that no format makes in place, as several plans with gates: expand, backfill, swap, contract.

Laws: a phase begins only where the table shows that the one before it is done and lost nothing; until the
last phase the old values are still there; after the swap the table is what the ordinary plan wants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from schemaman.migration.convertible import ORDINARY, SNAPSHOT
from schemaman.migration.layout import layout_of
from schemaman.migration.plan import (
    Phase,
    Plan,
    Policy,
    Refusal,
    Source,
    Step,
    point_of_no_return,
    words,
)
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.planner import make_plan
from schemaman.migration.policy_checks import Judge, blocked_by
from schemaman.migration.projection.project import Projection, key_is_known, project
from schemaman.migration.properties.column_swaps import RESUME, Exchange, phase_of, under_way
from schemaman.migration.properties.displaced_columns import moved_out, retired
from schemaman.migration.properties.validation import misread
from schemaman.migration.recipes.phases import Drawing, needs
from schemaman.migration.recipes.swap_checks import INTO, Exchanging
from schemaman.migration.replacement_table import successor
from schemaman.migration.row_columns import key_refused
from schemaman.migration.target import Live, Target, column_of
from schemaman.model.ddl import quote_name
from schemaman.model.diff import ChangeKey, DropColumn
from schemaman.model.schema import TableSchema
from schemaman.model.types import Floating

_UNSETTLED = "which column is which, or what its values are, is not settled"
_ITS_OWN = "the source has a column of its own called {} by now, whose values may be in there"
_ASIDE = "look at the rows; then rename that column of the lake table by hand, and plan again"
Named = Literal["expand", "backfill", "swap", "contract"]
_OF: tuple[Named, ...] = ("expand", "backfill", "swap", "contract")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The plans to apply one after the other, and what no recipe is known for."""

    phases: tuple[Plan, ...] = ()
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Cook:
    """Draws recipes for one target table of one source. Nothing is changed by it.

    `exact` names columns that shall have exactly the source's type, though the lake's is wide enough.
    """

    source: Source
    target: Target
    table: str
    policy: Policy
    target_name: str = ""
    exact: tuple[str, ...] = ()
    expires_ms: int | None = None

    def recipe(self, live: Live) -> Recipe:
        """The phases that are left to go, from where the live table stands."""
        if spoilt := misread(live):
            return Recipe((), spoilt)
        standing = under_way(live)
        if standing:
            return self._taken_up(live, standing)
        projection = project(self.source, live, self.target, self.policy, self.target_name)
        if projection.wanted == live.schema and not projection.settled:
            return Recipe((), projection.refusals)
        if projection.members or any(old != new for old, new in projection.renames.items()):
            return Recipe((), (Refusal(f"exchange columns of {live.name}", "others wait", ORDINARY),))
        wanted, refusals = self._exactly(projection)
        asked = self._exchanging(live, projection)
        found = [asked.exchange(wanted, name) for name in asked.stuck(wanted)]
        refusals += [each for each in found if isinstance(each, Refusal)]
        exchanges = tuple(each for each in found if isinstance(each, Exchange))
        if exchanges:
            barred = self._barred(live, exchanges)
            told = (*refusals, *barred)
            return Recipe(() if barred else self._phases(live, exchanges, _OF, told), told)
        rekeyed = self._rekey(live, projection)
        if isinstance(rekeyed, Plan):
            return Recipe((rekeyed,), tuple(refusals))
        refusals += [rekeyed] if rekeyed else []
        return Recipe((), tuple(refusals)) if refusals else self._leftovers(live)

    def plans(self, live: Live, into: str | None = None) -> tuple[Plan, ...]:
        """The phases as plans; where there is no way, one plan without steps that says why."""
        found = self.recipe(live) if into is None else self.into(live, into)
        if found.phases:
            return (replace(found.phases[0], refusals=found.refusals), *found.phases[1:])
        return self._said(live, found.refusals, "no change waits for a recipe")

    def _said(self, live: Live, refusals: tuple[Refusal, ...], otherwise: str = "") -> tuple[Plan, ...]:
        """One plan without steps that says why."""
        empty = self._plan(Drawing(self.target, self.table, live), live, None)
        return (replace(empty, refusals=refusals, notes=() if refusals else (otherwise,)),)

    def into(self, live: Live, table: str) -> Recipe:
        """A new table of the wanted structure, filled from the live one: for what no exchange can do."""
        if spoilt := misread(live):
            return Recipe((), spoilt)
        name, moment = self.target_name, self.expires_ms
        here = project(self.source, live, self.target, self.policy, name)
        new = project(self.source, None, self.target, self.policy, name)
        found = successor(self.source, live, here, new)
        if isinstance(found, list):
            return Recipe((), tuple(found))
        made = make_plan(
            self.source,
            None,
            self.target,
            table,
            self.policy,
            target_name=name,
            expires_ms=moment,
            carried=found.carried,
        )
        if made.refusals:
            return Recipe((), made.refusals)
        first = replace(made, phase=Phase("expand", 1, 2, "there is no such table yet"))
        # What the steps of the first plan say of the table is all that there is of it.
        kept = {k: v for each in made.steps for k, v in _properties(each).items() if v is not None}
        base = Live(table, made.wanted, "", "", kept)
        drawing = Drawing(self.target, table, base)
        why = "; ".join(dict.fromkeys(filter(None, (self._approved("retype"), *found.asked))))
        gate = drawing.fill(self.table, found.pairs, why)
        return Recipe((first, self._plan(drawing, base, Phase("fill", 2, 2, gate, plan_hash(first)))))

    def given_up(self, live: Live) -> tuple[Plan, ...]:
        """The plan after which no column is being exchanged; without steps where there is no such way."""
        if spoilt := misread(live):
            return self._said(live, spoilt)
        standing = under_way(live)
        if not standing:
            return self._said(live, (), "no column is being exchanged")
        refused = self._swapping(live, standing) or self._staying(live, standing)
        return self._said(live, refused) if refused else (self._abandoned(live, standing, (), ()),)

    def _taken_up(self, live: Live, standing: tuple[Exchange, ...]) -> Recipe:
        """The phases that are left, from where the table stands; or the end of what nobody wants any more."""
        refused = self._swapping(live, standing)
        if refused:
            return Recipe((), refused)
        projection = project(self.source, live, self.target, self.policy, self.target_name)
        if not projection.names:
            return Recipe((), projection.refusals)
        why = {e: self._exchanging(live, projection).outdated(e) for e in standing}
        missing = [e for e in standing if column_of(live.schema, e.new) is None]
        if not any(why.values()) and len(missing) in (0, len(standing)):
            return Recipe(self._phases(live, standing, _OF if missing else _OF[1:]))
        ended = [e for e in standing if why[e] or e in missing]
        refused = self._staying(live, ended)
        if refused:
            return Recipe((), refused)
        notes = [f"{quote_name(e.column)}: {why[e] or 'its new column is gone'}" for e in ended]
        rest = [e for e in standing if e not in ended]
        return Recipe((self._abandoned(live, ended, rest, notes),))

    def _swapping(self, live: Live, standing: Sequence[Exchange]) -> tuple[Refusal, ...]:
        change = f"go on with {_listed(standing)}"
        half = phase_of(live) != "expand"
        return (Refusal(change, "a phase stopped half-way", RESUME),) if half else ()

    def _staying(self, live: Live, ended: Sequence[Exchange]) -> tuple[Refusal, ...]:
        """Why columns cannot be dropped that were to take the place of others."""
        found: list[Refusal] = []
        for e in ended:
            column = column_of(live.schema, e.new)
            if column is not None and column_of(self.source.schema, e.new) is not None:
                change, new = f"give up the exchange of {quote_name(e.column)}", quote_name(e.new)
                found.append(Refusal(change, _ITS_OWN.format(new), _ASIDE))
            elif column is not None:
                answer = self.target.alter(live, DropColumn((column.name,), column))
                found += [answer] if isinstance(answer, Refusal) else []
        return tuple(found)

    def _abandoned(
        self, live: Live, ended: Sequence[Exchange], rest: Sequence[Exchange], notes: Sequence[str]
    ) -> Plan:
        drawing = Drawing(self.target, self.table, live)
        gate = drawing.abandon(ended, rest)
        plan = self._plan(drawing, live, Phase("abandon", 1, 1, gate))
        again = f"the exchange of {_listed(ended)} is given up; then plan again"
        return replace(plan, notes=(*notes, again))

    def _exchanging(self, live: Live, projection: Projection) -> Exchanging:
        how = self.policy.representation(self.source.table, *self._targets)
        return Exchanging(self.source, self.target, live, projection, how, self._judge())

    def _exactly(self, projection: Projection) -> tuple[TableSchema, list[Refusal]]:
        """The wanted table, with the source's own types where the user said so."""
        refusals: list[Refusal] = []
        wanted, names = projection.wanted, projection.names
        for name in self.exact:
            column, raw = column_of(wanted, names.get(name, name)), column_of(self.source.schema, name)
            how = self.policy.representation(self.source.table, *self._targets)
            held = self.target.hold(raw.type, how) if raw else None
            if not projection.settled or column is None or held is None or isinstance(held, Refusal):
                reason = "the source and the lake table do not both have it"
                reason = reason if projection.settled else _UNSETTLED
                refusals.append(Refusal(f"give {quote_name(name)} the source's type", reason, ORDINARY))
                continue
            narrow = replace(column, type=held.type)
            wanted = replace(wanted, columns=tuple(narrow if c is column else c for c in wanted.columns))
        return wanted, refusals

    def _barred(self, live: Live, exchanges: Sequence[Exchange]) -> tuple[Refusal, ...]:
        """What the policy has against it."""
        change = f"exchange {', '.join(quote_name(e.column) for e in exchanges)}"
        retype, upgrade = self._judge().ask("retype"), self._judge().ask("upgrade")
        if retype.level not in ("auto", "approve"):
            return (blocked_by(change, retype),)
        if needs(self.target, live, exchanges) and upgrade.level not in ("auto", "approve"):
            reason = f"names can be exchanged only with a feature that the policy blocks: {upgrade.why}"
            return (Refusal(change, reason, INTO),)
        return ()

    @property
    def _targets(self) -> tuple[str, str]:
        return (self.target_name or self.target.name, self.target.name)

    def _judge(self) -> Judge:
        return Judge(self.policy, self.source.table, self._targets)

    def _approved(self, kind: Literal["retype", "upgrade"]) -> str:
        """Why a person has to approve a change of this kind; empty if nobody has to."""
        ruling = self._judge().ask(kind)
        return "" if ruling.level == "auto" else ruling.why

    def _phases(
        self,
        live: Live,
        exchanges: tuple[Exchange, ...],
        left: Sequence[Named],
        refusals: tuple[Refusal, ...] = (),
    ) -> tuple[Plan, ...]:
        """The phases that are left; the first one says what there is no recipe for."""
        plans: list[Plan] = []
        for name in left:
            drawing = Drawing(self.target, self.table, live)
            gate = self._draw(drawing, name, exchanges)
            follows = plan_hash(plans[-1]) if plans else None
            one = self._plan(drawing, live, Phase(name, _OF.index(name) + 1, len(_OF), gate, follows))
            # Which ids the columns get that a phase adds, the engine alone knows; identifier fields may go.
            later = {k: v for k, v in one.base_layout.items() if not plans or k != "identifiers"}
            plans.append(replace(one, base_layout=later, refusals=() if plans else refusals))
            live = replace(drawing.now, column_ids="")
        return tuple(plans)

    def _draw(self, drawing: Drawing, name: Named, exchanges: tuple[Exchange, ...]) -> str:
        match name:
            case "expand":
                return drawing.expand(exchanges, self._approved("upgrade"))
            case "backfill":
                return drawing.backfill(exchanges, self._approved("retype"))
            case "swap":
                return drawing.swap(exchanges, self._approved("retype"))
            case "contract":
                return drawing.contract({e.old: e.column for e in exchanges})

    def _plan(self, drawing: Drawing, base: Live, phase: Phase | None) -> Plan:
        steps = tuple(drawing.steps)
        return Plan(
            self.target_name or self.target.name,
            self.target.name,
            base.name,
            self.source,
            base.identity or None,
            base.version,
            base.schema,
            drawing.now.schema,
            steps,
            approvals_needed=tuple(drawing.approvals),
            expires_ms=self.expires_ms,
            phase=phase,
            point_of_no_return=point_of_no_return(steps),
            base_column_ids=base.column_ids,
            base_layout=layout_of(base) if base.identity else {},
        )

    def _leftovers(self, live: Live) -> Recipe:
        """What earlier plans moved out of the way, to be dropped: the last phase alone."""
        names = [name for name in retired(live) if moved_out(live, name)]
        columns = [column for column in live.schema.columns if column.name in names]
        answers = [self.target.alter(live, DropColumn((column.name,), column)) for column in columns]
        refused = tuple(answer for answer in answers if isinstance(answer, Refusal))
        if not columns or refused:
            return Recipe((), refused)
        drawing = Drawing(self.target, self.table, live)
        gate = drawing.contract(names)
        return Recipe((self._plan(drawing, live, Phase("contract", 1, 1, gate)),))

    def _rekey(self, live: Live, projection: Projection) -> Plan | Refusal | None:
        """The plan after which rows are merged by the source's new key, where the rows allow it."""
        names = projection.names
        found = [column_of(live.schema, names.get(name, name)) for name in self.source.schema.key]
        columns = [column for column in found if column is not None]
        key = tuple(column.name for column in columns)
        change = words(ChangeKey(live.schema.key, self.source.schema.key))
        if not key_is_known(live) or (key == live.schema.key and len(columns) == len(found)):
            return None
        other = key_refused(self.source.schema.key, live)
        if other is not None:
            return other
        if not projection.settled:
            return Refusal(change, _UNSETTLED, ORDINARY)
        if len(columns) < len(found):
            return Refusal(change, "the lake table lacks columns of the new key", ORDINARY)
        if any(isinstance(column.type, Floating) for column in columns):
            return Refusal(change, "floating-point numbers make no key", SNAPSHOT)
        drawing = Drawing(self.target, self.table, live)
        gate = drawing.rekey(key)
        return self._plan(drawing, live, Phase("rekey", 1, 1, gate))


def _listed(exchanges: Sequence[Exchange]) -> str:
    return ", ".join(quote_name(e.column) for e in exchanges)


def _properties(step: Step) -> Mapping[str, str | None]:
    """What a step makes of the table's properties."""
    told = step.postcondition.get("properties")
    return {str(key): value for key, value in told.items()} if isinstance(told, Mapping) else {}
