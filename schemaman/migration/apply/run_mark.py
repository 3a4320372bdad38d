"""The mark of a run: properties by which a table shows its store, its plan and the fencing token of the run.

Law: a table that shows the mark of another run is not changed by this one.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.migration.conditions import is_met
from schemaman.migration.plan import Plan, Step
from schemaman.migration.properties.names import FENCE_PROPERTY, PLAN_PROPERTY, STORE_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import TARGETS, LakeTable

_OWN_PREFIX = "schemaman."
_SLOW = ("needs-scan", "needs-rewrite")


class RunMark:
    """The mark of one run of a plan; without a store a run marks nothing.

    The mark is a commit of its own before the first step. If the table names this store already, it may be a
    part of the last step; the journal of the store excludes other runs of it until then.
    """

    def __init__(self, plan: Plan, name: str, store: str) -> None:
        self._plan = plan
        self._name = name
        self._store = store
        self.properties: Mapping[str, str] = {}
        self.is_set = False
        self.comes_last = False
        self._fence_before: str | None = None

    def begin(self, lake: LakeTable | None) -> None:
        """Make the mark, for a table as it is before the run; its fencing token is set by `set_fence`."""
        if not self._store:
            return
        self.properties = {STORE_PROPERTY: self._store, PLAN_PROPERTY: self._name, FENCE_PROPERTY: ""}
        last = self._plan.steps[-1:]
        if lake is None or self._plan.phase is not None or not last or not _is_record(last[0]):
            return
        slow = any(step.step_class in _SLOW or "version" in step.precondition for step in self._plan.steps)
        self.comes_last = read_record(lake.properties).store == self._store and not slow
        self._fence_before = lake.properties.get(FENCE_PROPERTY)

    def set_fence(self, fence: str) -> None:
        """Set the fencing token, before which no statement is run."""
        if self.properties:
            self.properties = {**self.properties, FENCE_PROPERTY: fence}

    def note(self, lake: LakeTable | None) -> bool:
        """Whether the table shows the mark for the first time."""
        is_new = bool(self.properties) and not self.is_set and lake is not None and self.is_shown(lake)
        self.is_set = self.is_set or is_new
        return is_new

    def forget(self) -> None:
        """Forget that the table was marked: a restored table has another mark."""
        self.is_set = False

    def is_shown(self, lake: LakeTable | None, *names: str) -> bool:
        """Whether the table has these properties of the mark, or all; True for an empty mark."""
        wanted = {name: self.properties[name] for name in names or self.properties} if self.properties else {}
        return not wanted or (
            lake is not None and all(lake.properties.get(name) == value for name, value in wanted.items())
        )

    def is_replaced(self, lake: LakeTable) -> bool:
        """Whether the table shows that another run has begun on it since this one."""
        if self.is_shown(lake):
            return False
        return self.is_set or (self.comes_last and lake.properties.get(FENCE_PROPERTY) != self._fence_before)

    def write_statement(self) -> str:
        """Write the statement that marks the table."""
        return TARGETS.get(self._plan.format).set_properties(self._plan.table, self.properties).statement

    def complete_statement(self, number: int, step: Step) -> str:
        """The statement of a step, with the mark where both are one commit."""
        if not self.properties or self.is_set:
            return step.statement
        target, properties = TARGETS.get(self._plan.format), {**_list_recorded(step), **self.properties}
        if step.kind == "create-table":
            return target.create_table(self._plan.table, self._plan.wanted, properties).statement
        if self.comes_last and number == len(self._plan.steps) - 1:
            return target.set_properties(self._plan.table, properties).statement
        return step.statement


def follows_at_once(plan: Plan, number: int, before: LakeTable | None) -> bool:
    """Whether the step after a step may be sent with it; `before` is the table before both.

    It only records properties of schemaman, or gives a table its key that was just created, and it is due
    once the statement before it is done. What others do between the two, they may also do right after them.
    """
    following = plan.steps[number + 1 : number + 2]
    if plan.phase is not None or not following:
        return False
    step, record = plan.steps[number], following[0]
    if before is None:
        is_due = dict(record.precondition) == {"structure": step.postcondition.get("structure")}
        return (step.kind, record.kind) == ("create-table", "set-key") and is_due
    if not _is_record(record) or step.step_class in _SLOW or _list_recorded(step):
        return False
    due = {name: wanted for name, wanted in record.precondition.items() if name != "properties"}
    return (
        due == {"structure": step.postcondition.get("structure", "")}
        and is_met(before, {"properties": record.precondition.get("properties", {})})
        and not is_met(before, {"properties": record.postcondition["properties"]})
    )


def _list_recorded(step: Step) -> dict[str, str]:
    """The properties that a step sets, without those that it unsets."""
    properties = step.postcondition.get("properties", {})
    found = properties.items() if isinstance(properties, Mapping) else ()
    return {str(name): str(value) for name, value in found if value is not None}


def _is_record(step: Step) -> bool:
    """Whether a step only sets properties of schemaman, which change nothing for a reader."""
    properties, own = step.postcondition.get("properties"), _list_recorded(step)
    if step.kind != "set-properties" or not isinstance(properties, Mapping) or len(own) < len(properties):
        return False
    return bool(own) and all(name.startswith(_OWN_PREFIX) for name in own)
