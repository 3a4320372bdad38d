"""One phase of a change that no format makes in place, drawn step by step.

Laws: what a phase needs it checks on the table itself; no step throws values away but those of `contract`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from schemaman.migration import casts as conversion
from schemaman.migration import spark_sql as sql
from schemaman.migration.foreign_columns import read_added
from schemaman.migration.key_queries import count_repeated, count_unfit_keys
from schemaman.migration.part_names import PartRenames, record_both_names, record_new_names
from schemaman.migration.plan import Refusal
from schemaman.migration.properties.column_swaps import format_swaps
from schemaman.migration.properties.displaced_columns import format_displaced, read_displaced
from schemaman.migration.properties.names import (
    ADDED_PROPERTY,
    DISPLACED_PROPERTY,
    KEY_PROPERTY,
    RECIPE_PROPERTY,
    SPLIT_PROPERTY,
    format_property,
)
from schemaman.migration.properties.table_record import (
    ColumnSwap,
    DisplacedColumn,
    SplitColumn,
    format_split,
    read_record,
)
from schemaman.migration.row_columns import DELETED
from schemaman.migration.step_order import group_changes
from schemaman.migration.step_sequence import StepSequence, set_on_table
from schemaman.migration.target import Draft, LakeTable, Target
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import AddColumn, Change, ChangeNullable, DropColumn, RenameColumn, patch
from schemaman.model.schema import Column

_HOLD_WRITERS = "writers of the table: stop them until the plan is complete"
_CONFLICT = "writers that commit meanwhile: one of the two fails and has to try again"
_MERGE = "writers that merge by the old key: from here on they merge by the new one"
_KEY = "the key changes"
_ALONE = "no two rows get the same key"
_COPIES = "the values that were copied into the new columns are lost"
_OLD_VALUES_LOST = "the old values are lost"
Pairs = Sequence[tuple[Column, Column]]
"""Columns of a table, each with the one of another table that takes its values."""


class PhaseDraft:
    """The steps of one phase, drawn one after the other: `planned` are those so far."""

    def __init__(self, target: Target, table: str, lake: LakeTable) -> None:
        self.target = target
        self.table = table
        self.planned = StepSequence(lake)

    @property
    def name(self) -> str:
        """The table as SQL writes it."""
        return self.target.table_name(self.table)

    @property
    def now(self) -> LakeTable:
        """The table after the steps drawn so far."""
        return self.planned.table

    def add_step(self, draft: Draft, after: LakeTable, why: str = "") -> None:
        """Another step; `why` says why a person has to approve it."""
        self.planned = self.planned.add_step(draft, after, why)

    def expand(self, swaps: tuple[ColumnSwap, ...], why: str, adding: str) -> str:
        """New columns beside the old ones; the gate in words.

        `why`: an upgrade has to be approved, `adding`: the new columns have to be.
        """
        needed = find_missing_properties(self.target, self.now, swaps)
        if needed:
            self.add_step(
                self.target.upgrade_features(self.table, needed), set_on_table(self.now, needed), why
            )
        self._set_properties({RECIPE_PROPERTY: format_swaps("expand", swaps)})
        drafts: list[Draft] = []
        after = self.now.schema
        for e in swaps:
            like = self.now.schema.column(e.column)
            column = Column(e.new, e.new_type, comment=like.comment if like else None)
            change = AddColumn((e.new,), column, after.columns[-1].name)
            drafts.append(require_draft(self.target.draft_change(self.now, change)))
            after = patch(after, [change])
        self.add_step(self.target.combine_drafts(self.now, drafts), replace(self.now, schema=after), adding)
        return "none: columns are only added"

    def split(
        self, splits: Mapping[str, SplitColumn], typed: Sequence[Column], texts: Sequence[Column]
    ) -> str:
        """Columns beside others of the same source column: the table records them, then it gets them.

        `typed` are those of a newer version than the table's, `texts` those of values without a type.
        """
        self._set_properties({SPLIT_PROPERTY: format_split(splits)})
        if typed:
            added = sorted({*read_added(self.now), *(c.name for c in typed)})
            self._set_properties({ADDED_PROPERTY: format_property(added)})
        self.add_recorded((*typed, *texts), {})
        return "none: columns are only added"

    def add_recorded(self, columns: Sequence[Column], properties: Mapping[str, str]) -> None:
        """Columns that the table records before it gets them."""
        if properties:
            self._set_properties(properties)
        drafts: list[Draft] = []
        after = self.now.schema
        for column in columns:
            change = AddColumn((column.name,), column, after.columns[-1].name)
            drafts.append(require_draft(self.target.draft_change(self.now, change)))
            after = patch(after, [change])
        if drafts:
            self.add_step(self.target.combine_drafts(self.now, drafts), replace(self.now, schema=after))

    def rename_parts(self, found: PartRenames) -> str:
        """Parts of split columns under other names: the table records both, then only the new ones."""
        if found.renames:
            self._set_properties(record_both_names(self.now, found.renames))
        for old, new in found.renames.items():
            change = RenameColumn((old,), new)
            draft = require_draft(self.target.draft_change(self.now, change))
            schema = replace(patch(self.now.schema, [change]), key=self.now.schema.key)
            self.add_step(draft, replace(self.now, schema=schema))
        self._set_properties(record_new_names(self.now, {**found.left, **found.renames}))
        return "none: only names change"

    def gather(self, part: Column, former: Sequence[Column], texts: Sequence[str], why: str) -> str:
        """The values of the parts before the newest one of a split column, written into that one, too.

        `texts` are columns of values without a type: a row that has such a value gets no other one.
        """
        for column in former:
            empty = " AND ".join(f"{quote_name(name)} IS NULL" for name in (part.name, *texts))
            value = quote_name(column.name)
            exact = conversion.write_exactness(value, column.type, part.type)
            rows = f"{value} IS NOT NULL AND {empty} AND {exact}"
            converted = conversion.write_conversion(value, column.type, part.type)
            draft = Draft(
                (),
                "backfill",
                sql.update_rows(self.name, [(part.name, converted)], rows),
                "needs-rewrite",
                "reversible",
                sql.update_rows(self.name, [(part.name, "NULL")], f"{value} IS NOT NULL"),
                (_CONFLICT,),
                {"counts": {sql.count_rows(self.name, rows): 0}},
            )
            self.add_step(draft, self.now, why)
        known = dict(read_record(self.now.properties).split)
        known[part.name] = replace(known[part.name], gathered="yes")
        self._set_properties({SPLIT_PROPERTY: format_split(known)})
        return "only values that the newer type holds exactly are written"

    def backfill(self, swaps: tuple[ColumnSwap, ...], why: str) -> str:
        """The values of the old columns, written into the new ones by one statement that may be repeated."""
        values = [
            (e.new, conversion.write_conversion(quote_name(e.column), e.old_type, e.new_type)) for e in swaps
        ]
        kept = " AND ".join(
            conversion.write_exactness(quote_name(e.column), e.old_type, e.new_type) for e in swaps
        )
        alone = self._check_key_unique({e.column: value for e, (_, value) in zip(swaps, values, strict=True)})
        draft = Draft(
            (),
            "backfill",
            sql.update_rows(self.name, values, f"NOT ({_write_equality(swaps)})"),
            "needs-rewrite",
            "reversible",
            sql.update_rows(self.name, [(e.new, "NULL") for e in swaps], "true"),
            (_CONFLICT,),
            {"counts": {count_differing(self.name, swaps): 0}},
            {
                "counts": {sql.count_rows(self.name, f"NOT ({kept})"): 0} | alone,
                "properties": self._recipe_property(),
            },
        )
        self.add_step(draft, self.now, why)
        gate = "every value can be converted to the new type without loss"
        return f"{gate}; {_ALONE}" if alone else gate

    def swap(self, swaps: tuple[ColumnSwap, ...], why: str, keyed: str, nulled: str) -> str:
        """The new columns under the names of the old ones, which are kept and no longer required.

        `keyed`: that identifier fields go has to be approved, `nulled`: that the old columns take NULL.
        """
        new_values = {e.column: quote_name(e.new) for e in swaps}
        alone = self._check_key_unique(new_values)
        counts = {"counts": {count_differing(self.name, swaps): 0} | alone}
        names = read_displaced(self.now) | {e.old: DisplacedColumn(e.column) for e in swaps}
        begun = {
            RECIPE_PROPERTY: format_swaps("swap", swaps),
            DISPLACED_PROPERTY: format_displaced(names),
        }
        key = self.now.schema.key
        self._set_properties(begun, before=counts, why=why)
        unkeyed = self.target.drop_key(self.now)
        if unkeyed is not None and any(self._is_required(e.column) for e in swaps):
            self.add_step(unkeyed, remove_identifiers(self.now), keyed)
        for e in swaps:
            # Rows may have come since the first look, and a run that died may be taken up days later: each
            # pair is asked for again right before its names change.
            alone = self._check_key_unique(new_values)
            self._rename(e, e.column, e.old, key, {"counts": {count_differing(self.name, (e,)): 0} | alone})
            half = replace(e, column=e.old)
            self._rename(
                e, e.new, e.column, key, {"counts": {count_differing(self.name, (half,)): 0} | alone}
            )
            del new_values[e.column]
        relaxed = [ChangeNullable((e.old,), False, True) for e in swaps if self._is_required(e.old)]
        for wave in group_changes(self.now, relaxed):
            drafts = [require_draft(self.target.draft_change(self.now, change)) for change in wave]
            after = replace(self.now, schema=patch(self.now.schema, wave))
            self.add_step(self.target.combine_drafts(self.now, drafts), after, nulled)
        self._set_properties({RECIPE_PROPERTY: "{}"})
        gate = "each row has the same value in the new column and in the old one, and writers are stopped"
        return f"{gate}; {_ALONE}" if alone else gate

    def contract(self, names: Collection[str]) -> str:
        """The end of columns that were moved out of the way."""
        drops = [DropColumn((c.name,), c) for c in self.now.schema.columns if c.name in names]
        drafts = [require_draft(self.target.draft_change(self.now, change)) for change in drops]
        after = replace(self.now, schema=patch(self.now.schema, drops))
        self.add_step(self.target.combine_drafts(self.now, drafts), after, _OLD_VALUES_LOST)
        kept = {name: each for name, each in read_displaced(self.now).items() if name not in names}
        self._set_properties({DISPLACED_PROPERTY: format_displaced(kept)})
        return "the old values are no longer needed"

    def abandon(self, swaps: Sequence[ColumnSwap], rest: Sequence[ColumnSwap]) -> str:
        """The end of exchanges that nobody wants any more; those of the `rest` stay under way."""
        new_names = {e.new for e in swaps}
        drops = [DropColumn((c.name,), c) for c in self.now.schema.columns if c.name in new_names]
        drafts = [require_draft(self.target.draft_change(self.now, change)) for change in drops]
        if drafts:
            dropped = replace(
                self.target.combine_drafts(self.now, drafts), before={"properties": self._recipe_property()}
            )
            self.add_step(dropped, replace(self.now, schema=patch(self.now.schema, drops)), _COPIES)
        self._set_properties({RECIPE_PROPERTY: format_swaps("expand", rest) if rest else "{}"})
        return "no swap has begun: the old columns have all their values"

    def rekey(self, key: tuple[str, ...], ruling: str) -> str:
        """Another key for the rows as they are, where no two of them have the same one.

        `ruling`: the level of the policy has to be approved; empty if it makes the change by itself.
        """
        why = _KEY if ruling else ""
        counts = self._check_new_key(key)
        gate = {"counts": dict.fromkeys(counts, 0)} if counts else {}
        unkeyed = self.target.drop_key(self.now)
        if unkeyed is not None:
            before = {**unkeyed.before, **gate}
            self.add_step(replace(unkeyed, before=before), remove_identifiers(self.now), why)
        written = {KEY_PROPERTY: json.dumps(key, ensure_ascii=False)}
        self._set_properties(written, before=gate, why=why, hurts=(_MERGE,))
        keyed_lake = replace(self.now, schema=replace(self.now.schema, key=key))
        self.planned = replace(self.planned, lake=keyed_lake)
        keyed = self.target.set_key(self.table, self.now.schema)
        if keyed is not None:
            self.add_step(keyed, self.now)
        return "no row has NULL in the new key, and no two rows have the same one"

    def _check_new_key(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """The queries that have to give 0 before the rows get a key.

        Rows that a key tells apart are told apart by more columns, too: then nothing is counted but NULL.
        """
        keeps_deleted = self.now.schema.column(DELETED) is not None
        now = self.now.schema.key
        if not key:
            return ()
        if not now or not set(key).issuperset(now):
            return count_unfit_keys(self.name, key, keeps_deleted=keeps_deleted)
        added = [n for n in key if n not in now and not self._is_required(n)]
        return count_unfit_keys(self.name, added, keeps_deleted=keeps_deleted)[:1] if added else ()

    def fill(self, source: str, pairs: Pairs, why: str) -> str:
        """Every row of the table `source` in this new one, written by one statement."""
        source_table = self.target.table_name(source)
        names = ", ".join(quote_name(new.name) for _, new in pairs)
        values = [conversion.write_conversion(quote_name(old.name), old.type, new.type) for old, new in pairs]
        kept = [conversion.write_exactness(quote_name(old.name), old.type, new.type) for old, new in pairs]
        required = [f"{quote_name(old.name)} IS NOT NULL" for old, new in pairs if self._holds_no_null(new)]
        key_values = [(old, v) for (old, new), v in zip(pairs, values, strict=True) if self._is_key(new.name)]
        gate = {sql.count_rows(source_table, f"NOT ({' AND '.join((*kept, *required))})"): 0}
        gate |= {sql.count_rows(self.name, "true"): 0}
        if key_values:
            # Two keys may be one once they are converted, as `007` and `7` are.
            nulls, _ = count_unfit_keys(source_table, [old.name for old, _ in key_values])
            gate |= {nulls: 0, count_repeated(source_table, [value for _, value in key_values]): 0}
        counted = dict.fromkeys(
            _count_row_differences(source_table, self.name, (old.name for old, _ in pairs)), 0
        )
        draft = Draft(
            (),
            "backfill",
            f"INSERT INTO {self.name} ({names}) SELECT {', '.join(values)} FROM {source_table}",
            "needs-rewrite",
            "reversible",
            f"DELETE FROM {self.name}",
            (f"rows that are written to {source} afterwards: stop its writers, then point them here",),
            {"counts": counted},
            {"counts": gate},
        )
        self.add_step(draft, self.now, why)
        return "the new table is empty, and every row of the old one fits it without loss"

    def _rename(
        self, e: ColumnSwap, old: str, new: str, key: tuple[str, ...], gate: Mapping[str, object]
    ) -> None:
        change = RenameColumn((old,), new)
        draft = require_draft(self.target.draft_change(self.now, change))
        expects = f"readers that expect {format_type(e.old_type)} in {quote_name(e.column)}"
        # A table knows no key of ours: it is a property, and speaks of names.
        schema = replace(patch(self.now.schema, [change]), key=key)
        draft = replace(draft, hurts=(expects, *draft.hurts, _HOLD_WRITERS), before=gate)
        self.add_step(draft, replace(self.now, schema=schema))

    def _check_key_unique(self, values: Mapping[str, str]) -> dict[str, int]:
        """The gate of a key whose columns get new values, as SQL: it still tells the rows apart.

        Two values may be one once they are converted, as `007` and `7` are, and what is merged by such a
        key would be written into both rows. None where no column of the key is among them.
        """
        key = self.now.schema.key
        if values.keys().isdisjoint(key):
            return {}
        return {count_repeated(self.name, [values.get(name, quote_name(name)) for name in key]): 0}

    def _is_key(self, name: str) -> bool:
        return name in self.now.schema.key

    def _holds_no_null(self, column: Column) -> bool:
        return not column.nullable or self.target.allow_null(self.now, column.name) is not None

    def _is_required(self, name: str) -> bool:
        column = self.now.schema.column(name)
        return column is not None and not column.nullable

    def _recipe_property(self) -> dict[str, str]:
        return {RECIPE_PROPERTY: self.now.properties[RECIPE_PROPERTY]}

    def _set_properties(
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
        self.add_step(scanned, set_on_table(self.now, properties), why)


def find_missing_properties(target: Target, lake: LakeTable, swaps: Sequence[ColumnSwap]) -> dict[str, str]:
    """The table properties to switch on before columns can be exchanged."""
    needed: dict[str, str] = {}
    for e in swaps:
        changes: tuple[Change, ...] = (
            AddColumn((e.new,), Column(e.new, e.new_type), None),
            RenameColumn((e.column,), e.old),
            DropColumn((e.column,), Column(e.column, e.old_type)),
        )
        for change in changes:
            needed |= target.find_missing_properties(lake, change)
    return needed


def require_draft(answer: Draft | Refusal) -> Draft:
    """The draft of a change to which the target has agreed before."""
    if isinstance(answer, Refusal):
        raise AssertionError(f"agreed before, refused now: {answer.change}: {answer.reason}")
    return answer


def remove_identifiers(lake: LakeTable) -> LakeTable:
    """The table as it is once its identifier fields were dropped."""
    return set_on_table(lake, {"identifier-fields": "[]"}) if "identifier-fields" in lake.properties else lake


def _write_equality(swaps: Sequence[ColumnSwap]) -> str:
    turned = [(e, conversion.write_conversion(quote_name(e.column), e.old_type, e.new_type)) for e in swaps]
    return " AND ".join(
        conversion.write_equality(quote_name(e.new), value, e.new_type) for e, value in turned
    )


def count_differing(name: str, swaps: Sequence[ColumnSwap]) -> str:
    """The query for the number of rows whose new value is not all that the old one says.

    What cannot be converted gives NULL, which is what a row has that came later: it is no equal value.
    """
    kept = (conversion.write_exactness(quote_name(e.column), e.old_type, e.new_type) for e in swaps)
    return sql.count_rows(name, f"NOT ({' AND '.join((_write_equality(swaps), *kept))})")


def _count_row_differences(source_table: str, here: str, columns: Iterable[str]) -> Iterator[str]:
    """The queries for how many rows one table has more than the other, of all and of deleted ones."""
    yield f"SELECT (SELECT count(*) FROM {source_table}) - (SELECT count(*) FROM {here})"
    if DELETED in columns:
        dead = quote_name(DELETED)
        counts = [f"(SELECT count_if({dead}) FROM {name})" for name in (source_table, here)]
        yield f"SELECT {' - '.join(counts)}"
