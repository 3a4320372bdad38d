"""Steps that make and replace a view, and how the mark of a view tells who made it.

Laws: no step replaces a view that has no mark of schemaman, and none drops one; nor a view that no run on its
own table made. A view that cannot be made stops no table. No view shows the values of another column: before
a name that it reads is given to one, it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from schemaman.errors import StatementFailed
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Plan, Reversible, Step, StepKind
from schemaman.migration.properties.names import VIEW_PROPERTY
from schemaman.migration.target import Executor
from schemaman.model.ddl import quote_name
from schemaman.store.log import MigrationEntry

VIEW_KINDS: tuple[StepKind, ...] = ("replace-view", "drop-view")
_DEFAULT_NAMESPACE = "default"
_ABSENT = "NOT_FOUND"
"""A part of Spark's conditions for a missing view, table, schema or catalogue."""
_DROPPED = "readers of the view: they fail until a view is made again, perhaps of another name"
_READERS = "readers of the view: they fail from the first step that renames what it reads until this one"

ReadMark = Callable[[str], "str | None"]
"""Reads the mark of a view (named as in SQL): None without such a view, empty for one that others made."""


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column of a view: its name, and the expression that makes it."""

    name: str
    expression: str


def write_view(name: str, columns: Sequence[ViewColumn], table: str, where: str, mark: str) -> str:
    """Write `CREATE VIEW` without its first words: name, mark and query; names as SQL writes them."""
    listed = ", ".join(
        c.expression if c.expression == quote_name(c.name) else f"{c.expression} AS {quote_name(c.name)}"
        for c in columns
    )
    properties = f"{sql.literal(VIEW_PROPERTY)} = {sql.literal(mark)}"
    only = f" WHERE {where}" if where else ""
    return f"{name} TBLPROPERTIES ({properties}) AS SELECT {listed} FROM {table}{only}"


def make_view_steps(name: str, text: str, mark: str, before: str | None, previous: str) -> tuple[Step, ...]:
    """Make the steps that make or replace a view.

    Args:
        name: the view as SQL writes it.
        text: what `write_view` wrote.
        mark: the mark in the text.
        before: the mark of the present view; None if there is none, and its namespace may be missing.
        previous: the text of the present view, empty if it is unknown or there is none.
    """
    if before is None:
        statement, undo = f"CREATE VIEW {text}", f"DROP VIEW {name}"
    else:
        statement = f"CREATE OR REPLACE VIEW {text}"
        undo = f"CREATE OR REPLACE VIEW {previous}" if sql.literal(before) in previous else ""
    step = Step(
        "replace-view",
        statement,
        "metadata",
        "reversible" if undo else "no",
        {"views": {name: before}},
        {"views": {name: mark}},
        undo or None,
        (_READERS,),
    )
    namespace = sql.split_table_name(name)[:-1]
    if before is not None or not namespace or namespace[-1] == _DEFAULT_NAMESPACE:
        return (step,)
    created = sql.create_namespace(namespace)
    return (Step("create-namespace", created, "none", "reversible", {}, {}), step)


def make_drop_steps(name: str, before: str, previous: str = "") -> tuple[Step, ...]:
    """Make the step that drops a view (named as in SQL) with a mark; its undo makes the `previous` text."""
    conditions = {"views": {name: before}}, {"views": {name: None}}
    undo = f"CREATE VIEW {previous}" if previous and sql.literal(before) in previous else None
    reversible: Reversible = "reversible" if undo else "no"
    statement = f"DROP VIEW {name}"
    return (Step("drop-view", statement, "metadata", reversible, *conditions, undo, (_DROPPED,)),)


def add_steps(plan: Plan, steps: Sequence[Step]) -> Plan:
    """Add the steps of a view at the end of a plan, behind those of its table."""
    return replace(plan, steps=(*plan.steps, *steps)) if steps else plan


def is_view_step(steps: Sequence[Step], number: int) -> bool:
    """Whether a step is about a view, or its namespace right before it, and not about the table."""
    following = steps[number + 1 : number + 2] if steps[number].kind == "create-namespace" else ()
    return any(step.kind in VIEW_KINDS for step in (steps[number], *following))


def list_view_names(steps: Sequence[Step]) -> tuple[str, ...]:
    """List the views of steps, as SQL writes them."""
    names = (name for step in steps for name in _read_views(step.postcondition))
    return tuple(dict.fromkeys(names))


def read_view_mark(executor: Executor, name: str) -> str | None:
    """Read the mark of a view; see `ReadMark`.

    Raises:
        StatementFailed: the catalogue cannot be read.
    """
    try:
        rows = executor.query(f"SHOW TBLPROPERTIES {name}")
    except StatementFailed as error:
        if _ABSENT in error.message:
            return None
        raise
    return next((str(value) for property, value in rows if property == VIEW_PROPERTY), "")


def has_made_view(lines: Iterable[MigrationEntry], name: str) -> bool:
    """Whether a run of which these lines tell sent a statement that made a view (named as in SQL)."""
    made = (f"CREATE VIEW {name} TBLPROPERTIES", f"CREATE OR REPLACE VIEW {name} TBLPROPERTIES")
    return any(line.state in ("intent", "done") and line.statement.startswith(made) for line in lines)


def has_views(condition: Mapping[str, object], read: ReadMark) -> bool:
    """Whether the views of a condition have their marks."""
    return all(read(name) == mark for name, mark in _read_views(condition).items())


def without_views(condition: Mapping[str, object]) -> Mapping[str, object]:
    """Return the condition of the table alone."""
    return {name: wanted for name, wanted in condition.items() if name != "views"}


def undo_view_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Undo the steps of views; they come last in a rollback, once the table has what the views read."""
    undone = []
    for step in reversed(steps):
        if step.kind in VIEW_KINDS and step.undo is not None:
            kind: StepKind = "drop-view" if step.undo.startswith("DROP VIEW ") else "replace-view"
            conditions = step.postcondition, step.precondition
            undone.append(Step(kind, step.undo, "metadata", "no", *conditions, None, step.hurts))
    return tuple(undone)


def _read_views(condition: Mapping[str, object]) -> Mapping[str, str | None]:
    views = condition.get("views")
    if not isinstance(views, Mapping):
        return {}
    return {str(name): None if mark is None else str(mark) for name, mark in views.items()}
