"""When versions began, which columns stayed, and whether it was still the same table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import SchemaVersion, TableHistory
from tests.truth.compare import TypeOf, last_mark, name_of, true_table
from tests.truth.facts import Judged
from tests.truth.recording import Fact, Place
from tests.truth.tables import TrueTable
from tests.truth.truth import PostgresTruth, Step, Truth, place_of

_DOUBTS = ("perhaps-swapped", "perhaps-excluded")
Shown = Callable[[TrueTable], object]


def changes(
    histories: Iterable[TableHistory], truth: Truth, facts: dict[Place, Fact], type_of: TypeOf
) -> Iterator[Judged]:
    """Of each version that followed another: interval, table, columns; and each end of a table."""

    def step_of(mark: Coordinates) -> Step | None:
        fact = facts.get(place_of(mark))
        return truth.at(fact) if fact is not None else None

    generated_too = not isinstance(truth, PostgresTruth)

    def columns(table: TrueTable) -> object:
        shown = (c for c in table.columns if generated_too or not c.generated)
        return table.identity, tuple(sorted((c.number, c.name, type_of(c)) for c in shown))

    for history in histories:
        for before, version in zip(history.versions, history.versions[1:], strict=False):
            if version.status != "phantom":
                yield from _began(history, before, version, step_of, columns, truth)
            yield from _stayed(history, before, version, step_of)
        yield from _ended(history, step_of)


def _began(
    history: TableHistory,
    before: SchemaVersion,
    version: SchemaVersion,
    step_of: Callable[[Coordinates], Step | None],
    columns: Shown,
    truth: Truth,
) -> Iterator[Judged]:
    """Whether the change that made the version lies in the interval that the history names."""
    late = _only_late(before, version)
    upper = version.proven_from or last_mark(version) if late else version.at
    first, last = (None if m is None else step_of(m) for m in (version.after, upper))
    if first is None or last is None:
        return
    shown = _late_facts if late else columns
    began = _since(truth, history, last, shown)
    # where places are known by step alone, a record may stand on either side of the change in its own step
    holds = first.place < began or (first.place == began and not isinstance(truth, PostgresTruth))
    says = f"after step {first.number}, by step {last.number}"
    true = says if holds else f"step {truth.steps[began].number}"
    sure = not late or version.proven_from is not None
    yield Judged(name_of(history.table), version.number, "began", "begin", says, true, sure)


def _since(truth: Truth, history: TableHistory, last: Step, shown: Shown) -> int:
    """The place of the step since which the table looked as it did after the last one."""
    wanted = _look(last, history, shown)
    place = last.place
    while place > 0 and _look(truth.steps[place - 1], history, shown) == wanted:
        place -= 1
    return place


def _look(step: Step, history: TableHistory, shown: Shown) -> object:
    table = true_table(step, history.table)
    return None if table is None else shown(table)


def _late_facts(table: TrueTable) -> object:
    return table.identity, table.key, tuple(sorted((c.number, c.nullable) for c in table.columns))


def _only_late(before: SchemaVersion, version: SchemaVersion) -> bool:
    """Whether nothing but key and nullability makes it another version."""
    types = version.status != "inferred"
    one, two = (
        {(c.id, c.name, types and c.type) for c in schema.columns}
        for schema in (before.revisions[-1].schema, version.revisions[0].schema)
    )
    return one == two


def _stayed(
    history: TableHistory,
    before: SchemaVersion,
    version: SchemaVersion,
    step_of: Callable[[Coordinates], Step | None],
) -> Iterator[Judged]:
    """Whether it is still the same table, and which column was which before."""
    steps = step_of(before.at), step_of(version.at)
    was, now = (true_table(s, history.table) for s in steps)
    if was is None or now is None:
        return
    name, words = name_of(history.table), ("another table", "the same table")
    same = words[before.incarnation == version.incarnation], words[was.identity == now.identity]
    doubted = any(
        d.kind == "perhaps-made-anew" and version.number in d.versions for d in history.disagreements
    )
    yield Judged(name, version.number, "table:same", "begin", *same, sure=not doubted)
    if same[0] != same[1] or same[0] == words[0]:
        return
    known = {c.id: c.name for c in before.schema.columns}
    numbers = {c.number: c.name for c in was.columns}
    truly = {c.name: numbers.get(c.number, "new") for c in now.columns}
    suspected = {c.new: c.old for c in version.candidates}
    told = [d.message for d in history.disagreements if d.kind in _DOUBTS and version.number in d.versions]
    for column in version.revisions[0].schema.columns:
        if column.name in truly:
            says = known.get(column.id, "new")
            true = truly[column.name]
            sure = true != suspected.get(column.name) and not any(column.name in text for text in told)
            yield Judged(name, version.number, f"same:{column.name}", "begin", says, true, sure)


def _ended(history: TableHistory, step_of: Callable[[Coordinates], Step | None]) -> Iterator[Judged]:
    """Whether a table that is said to have ended was gone then, or was another one."""
    for event in history.events:
        step = step_of(event.at)
        if event.kind in ("truncated", "created") or step is None:
            continue
        (last,) = [v for v in history.versions if v.incarnation == event.incarnation][-1:]
        was, now = (true_table(s, history.table) for s in (step_of(last.at), step))
        gone = now is None or was is None or was.identity != now.identity
        yield Judged(
            name_of(history.table),
            last.number,
            "ended",
            "end",
            event.kind,
            event.kind if gone else "lives on",
        )
