"""One phase of a change that no format makes in place, drawn step by step.

Laws: what a phase needs it checks on the table itself; no step throws values away but those of `contract`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.migration import casts as conversion
from schemaman.migration import spark_sql as sql
from schemaman.migration.conditions import step
from schemaman.migration.plan import Refusal, Step
from schemaman.migration.properties.column_swaps import Exchange, recipe_text
from schemaman.migration.properties.displaced_columns import Retired, retired, retired_text
from schemaman.migration.properties.names import KEY_PROPERTY, RECIPE_PROPERTY, RETIRED_PROPERTY
from schemaman.migration.row_columns import DELETED
from schemaman.migration.target import Draft, Live, Target
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import AddColumn, Change, ChangeNullable, DropColumn, RenameColumn, patch
from schemaman.model.schema import Column

_WRITERS = "whoever writes the table meanwhile: hold the writers until the plan is through"
_CONFLICT = "writers that commit meanwhile: one of the two fails and has to try again"
_MERGE = "writers that merge by the old key: from here on they merge by the new one"
_KEY = "the key changes"
_ALONE = "no two rows get the same key"
_COPIES = "the values that were copied into the new columns go for good"
_GONE = "the old values go for good"
Pairs = Sequence[tuple[Column, Column]]
"""Columns of a table, each with the one of another table that takes its values."""


@dataclass(slots=True)
class Drawing:
    """The steps of one phase: `now` is the table after those drawn so far."""

    target: Target
    table: str
    now: Live
    steps: list[Step] = field(default_factory=list)
    approvals: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The table as SQL writes it."""
        return self.target.table_name(self.table)

    def add(self, draft: Draft, after: Live, why: str = "") -> None:
        """Another step; `why` says why a person has to approve it."""
        self.steps.append(step(draft, self.now, after))
        if why:
            self.approvals.append(f"{draft.kind}: {draft.statement} ({why})")
        self.now = after

    def expand(self, exchanges: tuple[Exchange, ...], why: str) -> str:
        """New columns beside the old ones; the gate in words. `why`: an upgrade has to be approved."""
        needed = needs(self.target, self.now, exchanges)
        if needed:
            self.add(self.target.upgrade(self.table, needed), told(self.now, needed), why)
        self._tell({RECIPE_PROPERTY: recipe_text("expand", exchanges)})
        drafts: list[Draft] = []
        after = self.now.schema
        for e in exchanges:
            like = self.now.schema.column(e.column)
            column = Column(e.new, e.type, comment=like.comment if like else None)
            change = AddColumn((e.new,), column, after.columns[-1].name)
            drafts.append(drafted(self.target.alter(self.now, change)))
            after = patch(after, [change])
        self.add(self.target.together(self.now, drafts), replace(self.now, schema=after))
        return "none: columns are only added"

    def backfill(self, exchanges: tuple[Exchange, ...], why: str) -> str:
        """The values of the old columns, written into the new ones by one statement that may be repeated."""
        values = [(e.new, conversion.converted(quote_name(e.column), e.was, e.type)) for e in exchanges]
        kept = " AND ".join(conversion.exact(quote_name(e.column), e.was, e.type) for e in exchanges)
        alone = self._alone({e.column: value for e, (_, value) in zip(exchanges, values, strict=True)})
        draft = Draft(
            (),
            "backfill",
            sql.update(self.name, values, f"NOT ({_same(exchanges)})"),
            "needs-rewrite",
            "reversible",
            sql.update(self.name, [(e.new, "NULL") for e in exchanges], "true"),
            (_CONFLICT,),
            {"counts": {differing(self.name, exchanges): 0}},
            {"counts": {sql.count(self.name, f"NOT ({kept})"): 0} | alone, "properties": self._mark()},
        )
        self.add(draft, self.now, why)
        told = "every value can be turned into one of the new type, and nothing of it is lost"
        return f"{told}; {_ALONE}" if alone else told

    def swap(self, exchanges: tuple[Exchange, ...], why: str) -> str:
        """The new columns under the names of the old ones, which are kept and no longer required."""
        stands = {e.column: quote_name(e.new) for e in exchanges}
        alone = self._alone(stands)
        counts = {"counts": {differing(self.name, exchanges): 0} | alone}
        names = retired(self.now) | {e.old: Retired(e.column) for e in exchanges}
        begun = {RECIPE_PROPERTY: recipe_text("swap", exchanges), RETIRED_PROPERTY: retired_text(names)}
        key = self.now.schema.key
        self._tell(begun, before=counts, why=why)
        unkeyed = self.target.drop_key(self.now)
        if unkeyed is not None and any(self._is_required(e.column) for e in exchanges):
            self.add(unkeyed, without_identifiers(self.now))
        for e in exchanges:
            # Rows may have come since the first look, and a run that died may be taken up days later: each
            # pair is asked for again right before its names change.
            alone = self._alone(stands)
            self._rename(e, e.column, e.old, key, {"counts": {differing(self.name, (e,)): 0} | alone})
            half = replace(e, column=e.old)
            self._rename(e, e.new, e.column, key, {"counts": {differing(self.name, (half,)): 0} | alone})
            del stands[e.column]
        relaxed = [ChangeNullable((e.old,), False, True) for e in exchanges if self._is_required(e.old)]
        if relaxed:
            drafts = [drafted(self.target.alter(self.now, change)) for change in relaxed]
            after = replace(self.now, schema=patch(self.now.schema, relaxed))
            self.add(self.target.together(self.now, drafts), after)
        self._tell({RECIPE_PROPERTY: "{}"})
        told = "no row has another value in the new column than the old one says, and writers are held"
        return f"{told}; {_ALONE}" if alone else told

    def contract(self, names: Collection[str]) -> str:
        """The end of columns that were moved out of the way."""
        drops = [DropColumn((c.name,), c) for c in self.now.schema.columns if c.name in names]
        drafts = [drafted(self.target.alter(self.now, change)) for change in drops]
        after = replace(self.now, schema=patch(self.now.schema, drops))
        self.add(self.target.together(self.now, drafts), after, _GONE)
        left = {name: each for name, each in retired(self.now).items() if name not in names}
        self._tell({RETIRED_PROPERTY: retired_text(left)})
        return "nobody needs the old values any more"

    def abandon(self, exchanges: Sequence[Exchange], rest: Sequence[Exchange]) -> str:
        """The end of exchanges that nobody wants any more; those of the `rest` stay under way."""
        gone = {e.new for e in exchanges}
        drops = [DropColumn((c.name,), c) for c in self.now.schema.columns if c.name in gone]
        drafts = [drafted(self.target.alter(self.now, change)) for change in drops]
        if drafts:
            dropped = replace(self.target.together(self.now, drafts), before={"properties": self._mark()})
            self.add(dropped, replace(self.now, schema=patch(self.now.schema, drops)), _COPIES)
        self._tell({RECIPE_PROPERTY: recipe_text("expand", rest) if rest else "{}"})
        return "no swap has begun: the old columns have all their values"

    def rekey(self, key: tuple[str, ...]) -> str:
        """Another key for the rows as they are, where no two of them have the same one."""
        gate = {"counts": dict.fromkeys(unfit(self.name, key), 0)} if key else {}
        unkeyed = self.target.drop_key(self.now)
        if unkeyed is not None:
            before = {**unkeyed.before, **gate}
            self.add(replace(unkeyed, before=before), without_identifiers(self.now), _KEY)
        written = {KEY_PROPERTY: json.dumps(key, ensure_ascii=False)}
        self._tell(written, before=gate, why=_KEY, hurts=(_MERGE,))
        self.now = replace(self.now, schema=replace(self.now.schema, key=key))
        keyed = self.target.set_key(self.table, self.now.schema)
        if keyed is not None:
            self.add(keyed, self.now)
        return "no row has NULL in the new key, and no two rows have the same one"

    def fill(self, source: str, moved: Pairs, why: str) -> str:
        """Every row of the table `source` in this new one, written by one statement."""
        there = self.target.table_name(source)
        names = ", ".join(quote_name(new.name) for _, new in moved)
        values = [conversion.converted(quote_name(old.name), old.type, new.type) for old, new in moved]
        kept = [conversion.exact(quote_name(old.name), old.type, new.type) for old, new in moved]
        required = [f"{quote_name(old.name)} IS NOT NULL" for old, new in moved if self._holds_no_null(new)]
        turned = [(old, v) for (old, new), v in zip(moved, values, strict=True) if self._is_key(new.name)]
        gate = {sql.count(there, f"NOT ({' AND '.join((*kept, *required))})"): 0}
        gate |= {sql.count(self.name, "true"): 0}
        if turned:
            # Two keys may be one once they are converted, as `007` and `7` are.
            nulls, _ = unfit(there, [old.name for old, _ in turned])
            gate |= {nulls: 0, repeated(there, [value for _, value in turned]): 0}
        counted = dict.fromkeys(_uncounted(there, self.name, (old.name for old, _ in moved)), 0)
        draft = Draft(
            (),
            "backfill",
            f"INSERT INTO {self.name} ({names}) SELECT {', '.join(values)} FROM {there}",
            "needs-rewrite",
            "reversible",
            f"DELETE FROM {self.name}",
            (f"rows that are written to {source} after it: hold its writers, then point them here",),
            {"counts": counted},
            {"counts": gate},
        )
        self.add(draft, self.now, why)
        return "the new table is empty, and every row of the old one fits it without loss"

    def _rename(
        self, e: Exchange, old: str, new: str, key: tuple[str, ...], gate: Mapping[str, object]
    ) -> None:
        change = RenameColumn((old,), new)
        draft = drafted(self.target.alter(self.now, change))
        expects = f"readers that expect {format_type(e.was)} in {quote_name(e.column)}"
        # A table knows no key of ours: it is a property, and speaks of names.
        schema = replace(patch(self.now.schema, [change]), key=key)
        draft = replace(draft, hurts=(expects, *draft.hurts, _WRITERS), before=gate)
        self.add(draft, replace(self.now, schema=schema))

    def _alone(self, values: Mapping[str, str]) -> dict[str, int]:
        """The gate of a key whose columns get new values, as SQL: it still tells the rows apart.

        Two values may be one once they are converted, as `007` and `7` are, and what is merged by such a
        key would be written into both rows. None where no column of the key is among them.
        """
        key = self.now.schema.key
        if values.keys().isdisjoint(key):
            return {}
        return {repeated(self.name, [values.get(name, quote_name(name)) for name in key]): 0}

    def _is_key(self, name: str) -> bool:
        return name in self.now.schema.key

    def _holds_no_null(self, column: Column) -> bool:
        return not column.nullable or self.target.relax(self.now, column.name) is not None

    def _is_required(self, name: str) -> bool:
        column = self.now.schema.column(name)
        return column is not None and not column.nullable

    def _mark(self) -> dict[str, str]:
        return {RECIPE_PROPERTY: self.now.properties[RECIPE_PROPERTY]}

    def _tell(
        self,
        properties: Mapping[str, str],
        *,
        before: Mapping[str, object] | None = None,
        why: str = "",
        hurts: tuple[str, ...] = (),
    ) -> None:
        """A step that writes down where the table stands; `before` is the gate of its phase."""
        draft = self.target.set_properties(self.table, properties)
        old = {key: self.now.properties.get(key) for key in properties}
        undo = (
            self.target.unset_properties(self.table, tuple(properties))
            if all(value is None for value in old.values())
            else self.target.set_properties(self.table, {key: value or "{}" for key, value in old.items()})
        )
        needed = {**(before or {}), "properties": old}
        draft = replace(draft, before=needed, hurts=hurts, undo=undo.statement)
        scanned = replace(draft, step_class="needs-scan") if before else draft
        self.add(scanned, told(self.now, properties), why)


def needs(target: Target, live: Live, exchanges: Sequence[Exchange]) -> dict[str, str]:
    """The table properties to switch on before columns can be exchanged."""
    needed: dict[str, str] = {}
    for e in exchanges:
        changes: tuple[Change, ...] = (
            AddColumn((e.new,), Column(e.new, e.type), None),
            RenameColumn((e.column,), e.old),
            DropColumn((e.column,), Column(e.column, e.was)),
        )
        for change in changes:
            needed |= target.needs(live, change)
    return needed


def drafted(answer: Draft | Refusal) -> Draft:
    """The draft of a change to which the target has agreed before."""
    if isinstance(answer, Refusal):
        raise AssertionError(f"agreed before, refused now: {answer.change}: {answer.reason}")
    return answer


def told(live: Live, properties: Mapping[str, str]) -> Live:
    """The table with these properties set."""
    return replace(live, properties={**live.properties, **properties})


def without_identifiers(live: Live) -> Live:
    """The table as it is once its identifier fields were dropped."""
    return told(live, {"identifier-fields": "[]"}) if "identifier-fields" in live.properties else live


def _same(exchanges: Sequence[Exchange]) -> str:
    turned = [(e, conversion.converted(quote_name(e.column), e.was, e.type)) for e in exchanges]
    return " AND ".join(conversion.same(quote_name(e.new), value, e.type) for e, value in turned)


def differing(name: str, exchanges: Sequence[Exchange]) -> str:
    """The query for the number of rows whose new value is not all that the old one says.

    What cannot be converted gives NULL, which is what a row has that came later: it is no equal value.
    """
    kept = (conversion.exact(quote_name(e.column), e.was, e.type) for e in exchanges)
    return sql.count(name, f"NOT ({' AND '.join((_same(exchanges), *kept))})")


def _uncounted(there: str, here: str, columns: Iterable[str]) -> Iterator[str]:
    """The queries for how many rows one table has more than the other, of all and of deleted ones."""
    yield f"SELECT (SELECT count(*) FROM {there}) - (SELECT count(*) FROM {here})"
    if DELETED in columns:
        dead = quote_name(DELETED)
        counts = [f"(SELECT count_if({dead}) FROM {name})" for name in (there, here)]
        yield f"SELECT {' - '.join(counts)}"


def unfit(name: str, key: Sequence[str]) -> tuple[str, str]:
    """The queries for rows without a value in the key, and for keys that several rows have."""
    nulls = " OR ".join(f"{quote_name(column)} IS NULL" for column in key)
    return sql.count(name, nulls), repeated(name, [quote_name(column) for column in key])


def repeated(name: str, values: Sequence[str]) -> str:
    """The query for how many combinations of values, each as SQL, several rows have."""
    rows = f"SELECT 1 FROM {name} GROUP BY {', '.join(values)} HAVING count(*) > 1"
    return f"SELECT count(*) FROM ({rows}) AS twice"
