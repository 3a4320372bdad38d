"""Tries a plan on an empty clone of its table, so that the engine refuses a statement there first.

Laws: the table itself is never written. The clone is always dropped afterwards. An empty clone proves nothing
about rows: its gates only prove that their queries run, and no rows are copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from schemaman.errors import CouldNotDo, PartlyApplied, StalePlan, StatementFailed
from schemaman.migration import spark_sql as sql
from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import Plan, Step, describe_change
from schemaman.migration.target import Executor, LakeTable, Target
from schemaman.migration.view_steps import VIEW_KINDS
from schemaman.model.diff import diff
from schemaman.store.log import MigrationEntry

NAMESPACE = "schemaman_clones"
"""The namespace of clones, in the catalogue of the table; for a Delta path in the session's own one."""

_SESSION = "spark_catalog"


def make_rehearsal(executor: Executor, target: Target, run: str) -> Callable[[Plan], None]:
    """Make the function that tries a plan on an empty clone: the argument `rehearse` of `apply`.

    Raises, when it is called:
        StatementFailed: a step failed on the clone, or led to another structure than the plan's.
        CouldNotDo: no exact clone of the table can be made.
    """

    def rehearse(plan: Plan) -> None:
        if any("version" in step.precondition for step in plan.steps):
            raise CouldNotDo(
                f"the plan for {plan.table} restores an older version, which a clone does not have",
                hint="apply without --clone",
            )
        name = _clone_name(plan, run)
        with _open_clone(executor, target, plan, name) as lake:
            redirected = _redirect_plan(plan, target, name, lake)
            try:
                migration = apply(
                    redirected, executor, _ScratchJournal(), lambda: 0, run=run, partial=True, approved=True
                )
            except (StatementFailed, StalePlan, PartlyApplied) as error:
                raise StatementFailed(
                    f"tried on an empty clone, the plan for {plan.table} failed: {error.message}",
                    hint="the table was not changed; remove the cause, or plan again",
                ) from error
            if migration.differences:
                changes = "; ".join(map(describe_change, migration.differences))
                raise StatementFailed(
                    f"tried on an empty clone, the plan for {plan.table} leaves differences: {changes}"
                )

    return rehearse


class _ScratchJournal:
    """A journal that keeps nothing."""

    def read_plan_lines(self, plan: str) -> tuple[MigrationEntry, ...]:
        """Nothing."""
        return ()

    def read_target_lines(self, target: str) -> tuple[MigrationEntry, ...]:
        """Nothing."""
        return ()

    def begin(self, *lines: MigrationEntry) -> int:
        """Return 0: each run is the first one."""
        return 0

    def write(self, *lines: MigrationEntry) -> None:
        """Drop the lines."""


@contextmanager
def _open_clone(executor: Executor, target: Target, plan: Plan, name: str) -> Iterator[LakeTable | None]:
    """Create the clone, and drop it at the end; yields None if the table does not exist yet."""
    parts = sql.split_table_name(name)
    executor.run(sql.create_namespace(parts[:-1]))
    try:
        yield None if plan.base_schema is None else _make_clone(executor, target, plan, name)
    finally:
        executor.run(target.drop_clone(sql.quote_table_name(parts)))


def _make_clone(executor: Executor, target: Target, plan: Plan, name: str) -> LakeTable:
    source, clone = target.table_name(plan.table), target.table_name(name)
    for statement in target.draft_clone(executor, source, clone):
        executor.run(statement)
    lake = executor.inspect(name, plan.format)
    wanted = plan.base_schema
    if lake is None or wanted is None or diff(wanted, lake.schema):
        raise CouldNotDo(f"no exact clone of {plan.table} could be made", hint="apply without --clone")
    return lake


def _clone_name(plan: Plan, run: str) -> str:
    parts = () if "/" in plan.table else sql.split_table_name(plan.table)
    named = len(parts) > 2
    return sql.quote_table_name(
        (parts[0] if named else _SESSION, NAMESPACE, f"clone_{re.sub(r'[^0-9A-Za-z]', '_', run)}")
    )


def _redirect_plan(plan: Plan, target: Target, name: str, lake: LakeTable | None) -> Plan:
    """Redirect every statement and every condition of a plan to the clone."""
    old, new = target.table_name(plan.table), target.table_name(name)
    # A view reads the table itself, and is no part of the clone.
    steps = (s for s in plan.steps if s.kind != "create-namespace" and s.kind not in VIEW_KINDS)
    return replace(
        plan,
        table=name,
        base_identity=lake.identity if lake else None,
        base_version=lake.version if lake else None,
        base_schema=lake.schema if lake else None,
        base_column_ids=lake.column_ids if lake else "",
        base_layout={},
        steps=tuple(_redirect_step(each, old, new) for each in steps),
        expires_ms=None,
    )


def _redirect_step(step: Step, old: str, new: str) -> Step:
    """Redirect a step to the clone.

    A step that only rows show as done loses its postcondition: an empty table always seems to meet it.
    """
    statement = _redirect_statement(step.statement, old, new)
    if statement.startswith("INSERT INTO "):
        statement += " WHERE false"
    before, after = dict(step.precondition), dict(step.postcondition)
    counts = before.pop("counts", None)
    if isinstance(counts, Mapping):
        queries = {query: _redirect_statement(query, old, new) for query in map(str, counts)}
        before["counts"] = {
            redirected: counts[query] for query, redirected in queries.items() if redirected != query
        }
    if "counts" in after:
        after = {}
    return replace(step, statement=statement, precondition=before, postcondition=after)


def _redirect_statement(text: str, old: str, new: str) -> str:
    """Replace the table of a statement or a query; the first name in it is the table."""
    return re.sub(rf"(?<!\.){re.escape(old)}(?!\.)", lambda _: new, text, count=1)
