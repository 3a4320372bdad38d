"""What the database itself said about its tables while a recording was made.

Two forms: PostgreSQL lines carry the transaction that wrote them, so an event is placed by its own
transaction and log position; Db2 and MariaDB lines carry the offsets that the topics had reached.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.truth.recording import Fact, Place
from tests.truth.statements import who_is_who, without_later_keys
from tests.truth.tables import Tables, TrueColumn, TrueTable


@dataclass(frozen=True, slots=True)
class Step:
    """The tables after one statement, what the statement was, and what happened around it.

    `between`: tables as an earlier statement of the same step had left them.
    """

    number: int
    text: str
    tables: Tables
    connector: str = ""
    place: int = 0
    between: Tables = field(default_factory=dict)


@dataclass(slots=True)
class PostgresTruth:
    """Steps by transaction and log position."""

    steps: tuple[Step, ...]
    ends: tuple[int, ...]
    transactions: dict[int, list[int]] = field(default_factory=dict)
    start: int = 0
    times: tuple[int, ...] = ()

    @classmethod
    def read(cls, lines: Iterable[str]) -> PostgresTruth:
        """The truth of a PostgreSQL run."""
        steps: list[Step] = []
        ends: list[int] = []
        times: list[int] = []
        transactions: dict[int, list[int]] = {}
        tables: dict[int, TrueTable] = {}
        start = 0
        for line in lines:
            told = json.loads(line)
            for table in (*told.get("affected", ()), *told.get("tables", ())):
                tables[table["oid"]] = _postgres_table(table)
            for table in told.get("dropped", ()):
                tables.pop(table["oid"], None)
            if told.get("control", "").startswith("connector start ") if told.get("control") else False:
                start = len(steps)
            if told["txid"] is not None:
                transactions.setdefault(int(told["txid"]), []).append(len(steps))
            text = told.get("sql") or told.get("control") or ""
            now = {t.name: t for t in tables.values()}
            steps.append(Step(told["step"], text, now, told["connector"], len(steps)))
            ends.append(_lsn(told["insert_lsn"]))
            times.append(round(datetime.fromisoformat(told["time"]).timestamp() * 1000))
        return cls(tuple(steps), tuple(ends), transactions, start, tuple(times))

    def at(self, fact: Fact) -> Step | None:
        """The step that wrote the record; a snapshot shows the tables of its own time, not of a row's."""
        if fact.snapshot:
            read_ms = fact.source.get("ts_ms") or 0
            return self.steps[max(self.start, bisect_right(self.times, read_ms) - 1)]
        numbers = self.transactions.get(int(fact.source["txId"] or -1))
        if numbers is None:
            return None
        lsn = int(fact.source["lsn"])
        return self.steps[next((n for n in numbers if self.ends[n] > lsn), numbers[-1])]


@dataclass(slots=True)
class OffsetTruth:
    """Steps by the offsets that each topic had reached when the step was over."""

    steps: tuple[Step, ...]
    offsets: dict[str, list[int]]

    @classmethod
    def read(cls, lines: Iterable[str], nullable_keys: bool = False) -> OffsetTruth:
        """The truth of a Db2 or MariaDB run; `nullable_keys`: an index that takes nulls may be the key."""
        steps: list[Step] = []
        offsets: dict[str, list[int]] = {}
        tables: Tables = {}
        for line in lines:
            told = json.loads(line)
            text = told.get("sql") or f"{told['op']} {told.get('table', '')} {told.get('why', '')}".strip()
            text = "; ".join(text) if isinstance(text, list) else text
            changed = [_plain_table(table, nullable_keys) for table in told["changed_tables"]]
            tables = who_is_who(
                tables, changed, [_split(name) for name in told["dropped_tables"]], text, told["step"]
            )
            for topic, offset in told["next_offsets"].items():
                reached = offsets.setdefault(topic, [0] * len(steps))
                reached.append(offset)
            for reached in offsets.values():
                if len(reached) == len(steps):
                    reached.append(reached[-1] if reached else 0)
            between = without_later_keys(changed, text)
            steps.append(Step(told["step"], text, tables, place=len(steps), between=between))
        return cls(tuple(steps), offsets)

    def at(self, fact: Fact) -> Step | None:
        """The first step after which the topic had gone past the record."""
        topic, _, offset = fact.place
        number = bisect_right(self.offsets.get(topic, []), offset)
        return self.steps[number] if number < len(self.steps) else None


Truth = PostgresTruth | OffsetTruth


def read_truth(folder: Path) -> Truth:
    """The truth of a run, in whichever form it lies there."""
    lines = truth_lines(folder)
    if '"next_offsets"' not in lines[0]:
        return PostgresTruth.read(lines)
    # Debezium MySQL connector up to 1.9: the first unique key serves as key, even one that takes nulls
    return OffsetTruth.read(lines, nullable_keys="-mysql-1." in folder.name)


def truth_lines(folder: Path) -> list[str]:
    """The lines of a run's truth, packed or not."""
    path = folder / "truth.jsonl"
    data = path.read_bytes() if path.exists() else gzip.decompress((folder / "truth.jsonl.gz").read_bytes())
    return data.decode().splitlines()


def spelled(truth: Truth, name_of: Callable[[str], str]) -> Truth:
    """The same truth with the columns called as their names travel."""

    def table(true: TrueTable) -> TrueTable:
        columns = tuple(replace(c, name=name_of(c.name)) for c in true.columns)
        return replace(true, columns=columns, key=tuple(map(name_of, true.key)))

    steps = (replace(s, tables={name: table(true) for name, true in s.tables.items()}) for s in truth.steps)
    return replace(truth, steps=tuple(steps))


def place_of(mark: Any) -> Place:
    """Where a mark of the history points to."""
    return mark.topic, mark.partition, mark.offset


def _lsn(text: str) -> int:
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _split(name: Any) -> tuple[str, str]:
    schema, table = name.split(".", 1) if isinstance(name, str) else name
    return schema, table


def _first_unique(indexes: Any) -> tuple[str, ...]:
    if isinstance(indexes, dict):
        return tuple(indexes[min(indexes)]) if indexes else ()
    found = sorted((i["name"], tuple(i["columns"])) for i in indexes or ())
    return found[0][1] if found else ()


def _postgres_table(told: dict[str, Any]) -> TrueTable:
    columns = tuple(
        TrueColumn(
            name=c["name"],
            type=c["domain"]["base"] if c["domain"] else c["type"],
            nullable=not (c["not_null"] or (c["domain"] or {}).get("not_null", False)),
            generated=bool(c["generated"]),
            labels=tuple(c["enum"] or ()),
            default=c["default"],
            number=c["attnum"],
        )
        for c in told["columns"]
    )
    key = told["primary_key"]["columns"] if told["primary_key"] else _first_unique(told["unique_indexes"])
    return TrueTable((told["schema"], told["name"]), columns, tuple(key), told["oid"])


def _plain_table(told: dict[str, Any], nullable_keys: bool) -> TrueTable:
    columns = tuple(
        TrueColumn(
            name=c["name"],
            type=c["type"],
            nullable=c["nullable"],
            generated=c["generated"] and not c.get("identity", False),
            size=c.get("size"),
            scale=c.get("scale"),
            default=c["default"],
            collation=c.get("collation"),
        )
        for c in told["columns"]
    )
    name = (told["schema"] if "schema" in told else told["db"], told["table"])
    nullable = set() if nullable_keys else {c.name for c in columns if c.nullable}
    unique = {n: i for n, i in told["unique_indexes"].items() if nullable.isdisjoint(i)}
    return TrueTable(name, columns, tuple(told["primary_key"] or _first_unique(unique)))
