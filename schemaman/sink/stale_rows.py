"""What the rows of a lake table were read as, and whether the history has told otherwise of them since.

Law: a table with rows that were read as another structure than they are of takes nothing, and nothing is
renamed over them, until they are gone from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from schemaman.debezium.connector import DIALECTS
from schemaman.debezium.observation import STATEMENTS
from schemaman.history.fold.fold import fold
from schemaman.history.versions import TableHistory
from schemaman.migration.projection.column_names import names_told
from schemaman.migration.properties.names import READ_PROPERTY, SOURCE_PROPERTY
from schemaman.migration.row_columns import ORDER
from schemaman.migration.spark_sql import literal, set_properties
from schemaman.migration.target import Executor, Live
from schemaman.model.ddl import quote_name
from schemaman.model.name_adjustment import GIVEN_AWAY, adjusted_forms
from schemaman.model.schema import TableId
from schemaman.registry import Memory
from schemaman.sink.reread import Beside, Retold, reading_of, retold, told_once
from schemaman.sink.row_mapping import row_map
from schemaman.sink.values.connector_modes import UNTOLD, Modes

_MEMBERS = ("store", "table", "reading", "said")


@dataclass(frozen=True, slots=True)
class Misread:
    """Rows of a table that were read as what they are not, and what to do with them."""

    reason: str
    instead: str

    def __str__(self) -> str:
        return f"{self.reason}. {self.instead[:1].upper()}{self.instead[1:]}"


_SPOILT = Misread(
    f"its property {READ_PROPERTY} cannot be read: somebody edited it",
    "give it back the value that it had before; or unset it, if no change of the source was read later than "
    "rows that came behind it",
)


@dataclass(frozen=True, slots=True)
class LetThrough:
    """Knows what the rows of lake tables were read as: each table bears it.

    `modes` are those of who reads; who does not know them takes those that the table bears.
    """

    store: Memory
    modes: Modes

    def fault(self, history: TableHistory, live: Live, name: str, executor: Executor) -> Misread | None:
        """Why a table must take nothing and stay as it is; None if its rows are what they were read as.

        `name` is the table as SQL writes it. Raises `StatementFailed`.
        """
        known = _known(live)
        if known is None:
            return _SPOILT
        said = self._said(history, live)
        if said is None or ORDER not in live.schema.names:
            return None
        told = self.store.load(history.table)
        before = fold(told[:said], history.table, DIALECTS.get)
        after = fold(told, history.table, DIALECTS.get)
        if before is None or after is None:
            return None
        modes = self.modes if self.modes != UNTOLD else Modes(**known.get("modes", {}))
        told_of = retold(before, after, modes)
        for beside in dict.fromkeys(each.beside for each in told_of):
            placed = _placed(live, before, beside)
            own = placed or _own(live, beside)
            if beside and own is None:
                continue
            stretches = told_once([each for each in told_of if each.beside == beside])
            # nobody else's values ever stand in a column that is known for what it is, whatever its name
            for one in (replace(each, until=None) for each in stretches) if placed else stretches:
                where = _where(one, own)
                found = executor.query(_rows_in(name, where))
                if found:
                    return _reason(history, name, one, where, found)
        former = self._renamed_since(before, after)
        if former is not None and executor.query(_rows_in(name, f"`{ORDER}` >= ''")):
            return _apart(history, name, former)
        return None

    def _renamed_since(self, before: TableHistory, after: TableHistory) -> TableId | None:
        """A table that had rows, and that is known to have become this one only by what was told since."""
        known, told = ({a.name for a in h.aliases if a.kind == "table"} for h in (before, after))
        tables = (table for table in self.store.tables() if str(table) in told - known)
        return next((t for t in tables if any(o.witness not in STATEMENTS for o in self.store.load(t))), None)

    def note(self, history: TableHistory, live: Live, name: str, executor: Executor) -> bool:
        """The table bears what its rows are read as from now on; False if the store tells more by now.

        Raises `StatementFailed`.
        """
        known = _known(live) or {}
        mine: dict[str, Any] = {
            "store": self.store.id, "table": str(history.table), "reading": reading_of(history)
        }  # fmt: skip
        if self.modes != UNTOLD:
            mine["modes"] = {name: mode for name, mode in asdict(self.modes).items() if mode is not None}
        if {key: known.get(key) for key in mine} == mine:
            return True
        mine["said"] = str(len(self.store.load(history.table)))
        newest = self.store.history(history.table)
        if newest is None or reading_of(newest) != mine["reading"]:
            return False
        executor.run(set_properties(name, {READ_PROPERTY: json.dumps(mine, sort_keys=True)}))
        return True

    def _said(self, history: TableHistory, live: Live) -> int | None:
        """How much had been said when the rows were read; None where nobody knows, or nothing is new."""
        known = _known(live) or {}
        mine = known.get("store") == self.store.id and known.get("table") == str(history.table)
        if not mine or known.get("reading") == reading_of(history):
            return None
        return int(known["said"])


def _known(live: Live) -> Mapping[str, Any] | None:
    """What a table bears; None if nobody can read it."""
    try:
        told = json.loads(live.properties.get(READ_PROPERTY, "{}"))
        right = told == {} or (told["said"].isdecimal() and all(isinstance(told[m], str) for m in _MEMBERS))
        Modes(**told.get("modes", {}))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return dict(told) if right else None


def _placed(live: Live, before: TableHistory, beside: Beside | None) -> str | None:
    """The column of a table that holds what belongs into another one by now; None if it lacks one of both.

    What the two were when rows were written tells it: others may have had their names.
    """
    if beside is None:
        return None
    names = row_map(before, live).names
    held = [names.get(id) for id in (beside.former_id, beside.kept_id) if id is not None]
    return held[0] if len({None, *held}) == 3 else None


def _own(live: Live, beside: Beside | None) -> str | None:
    """The same as the names alone tell it, where the stamp does not tell what is what."""
    if beside is None:
        return None
    former, kept = beside.former, beside.kept
    gave = former.casefold() == kept.casefold()  # a lake knows names without regard to case
    held = _called(live, former, GIVEN_AWAY if gave else ""), _called(live, kept)
    return held[0] if len({None, *held}) == 3 else None


def _called(live: Live, column: str, behind: str = "") -> str | None:
    """What a table calls a column of the source, with what stands `behind` its name; None if it has none.

    What the table itself says of its names comes first, then the forms in which a name may travel.
    """
    told = names_told(live)
    forms = {f"{form}{behind}".casefold() for form in adjusted_forms(column)}
    said = (lake for lake, there in told.items() if there == f"{column}{behind}")
    alike = sorted((lake for lake in live.schema.names if lake.casefold() in forms), key=told.__contains__)
    return next(iter((*said, *alike)), None)


def _where(one: Retold, own: str | None) -> str:
    began = f"`{ORDER}` >= {literal(one.since)}"
    stretch = began if one.until is None else f"{began} AND `{ORDER}` < {literal(one.until)}"
    # a row without a value there lacks nothing where it belongs
    return stretch if own is None else f"{stretch} AND {quote_name(own)} IS NOT NULL"


def _rows_in(name: str, where: str) -> str:
    """By partition, how many of a table's rows are so, and the first offset of their records."""
    partition = f"substring_index(substring_index(`{ORDER}`, '/', -1), '.', 1)"
    return (
        f"SELECT {partition}, count(*), min(substring_index(`{ORDER}`, '.', -1)) "
        f"FROM {name} WHERE {where} GROUP BY 1 ORDER BY 1"
    )


def _reason(
    history: TableHistory, name: str, one: Retold, where: str, found: Sequence[tuple[object, ...]]
) -> Misread:
    count = sum(int(str(n)) for _, n, _ in found)
    offsets = ", ".join(f"offset {int(str(o))} of partition {int(str(p))}" for p, _, o in found)
    topics = " and ".join(history.topics) or "its topic"
    return Misread(
        f"{count} of its rows {_late(one)}: {one.why}. What stands in them may be wrong, so nothing is "
        "renamed, altered or written over them",
        f"delete them (DELETE FROM {name} WHERE {where}) and read "
        f"{topics} again from {offsets} on, with a new checkpoint: until then its records wait. What these "
        "rows hold in columns that have left the source does not come again: copy it away before",
    )


def _apart(history: TableHistory, name: str, former: TableId) -> Misread:
    topics = " and ".join(history.topics) or "its topic"
    return Misread(
        f"its rows were written before it was read that the source had renamed {former} to {history.table}: "
        f"those of {former} are not among them",
        f"drop it, rename the lake table that has the rows of {former} to {name}, set that one's property "
        f"{SOURCE_PROPERTY} to {history.table}, and read {topics} again from its first row on, with a new "
        f"checkpoint: until then its records wait. Or leave both apart: unset its property {READ_PROPERTY}",
    )


def _late(one: Retold) -> str:
    at = one.mark.position.value
    if one.beside:
        return f"from {at} on were written before a change of the source was read that came behind them"
    return f"were written before a change of the source was read that came before them, at {at}"
