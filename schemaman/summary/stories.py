"""What a report tells about one table: its stages, each with what changed and what the rules say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from schemaman.compat import SEVERITIES, Finding, Severity, Transition
from schemaman.diff import Change, ChangeAttribute, ChangeKey, Diff, diff
from schemaman.plan import Plan
from schemaman.schema import Column
from schemaman.versions import Revision, SchemaVersion, TableHistory


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding, and how grave it is for the declared readers."""

    finding: Finding
    severity: Severity

    @property
    def anchor(self) -> str:
        """Where a report tells it; the same finding at another step is told elsewhere."""
        steps = [ref.rpartition("@")[2] for ref in (self.finding.old_ref, self.finding.new_ref)]
        words = ["".join(ch for ch in step if ch.isalnum()) for step in steps]
        return "-".join(["f", self.finding.fingerprint, *words])


@dataclass(frozen=True, slots=True)
class Stage:
    """One revision of a table, what changed since the one before, and the findings about that."""

    version: SchemaVersion
    revision: Revision
    changes: Diff = ()
    findings: tuple[Judged, ...] = ()

    @property
    def severity(self) -> Severity:
        """The gravest severity of its findings."""
        return worst(self.findings)


@dataclass(frozen=True, slots=True)
class Story:
    """A table in a report: its history in stages, and plans for its targets."""

    history: TableHistory
    stages: tuple[Stage, ...]
    plans: tuple[Plan, ...] = ()

    @property
    def findings(self) -> tuple[Judged, ...]:
        """All findings, oldest first."""
        return tuple(f for stage in self.stages for f in stage.findings)


Judge = Callable[[Transition], Iterable[Judged]]


def story(history: TableHistory, judge: Judge, plans: Iterable[Plan] = ()) -> Story:
    """The story of a table; `judge` says what the rules and the declared readers make of a transition."""
    return Story(history, tuple(_stages(history, judge)), tuple(plans))


def worst(findings: Iterable[Judged]) -> Severity:
    """The gravest severity, `off` where there is none."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default="off")


def since(history: TableHistory, column: Column) -> int:
    """The number of the version since which a column is as it is now: same id, name, type, nullability."""
    number = history.latest.number
    for version in reversed(history.versions):
        if version.incarnation != history.latest.incarnation:
            break
        then = next((c for c in version.schema.columns if _same(c, column)), None)
        if then is None:
            break
        number = version.number
    return number


def told(changes: Diff) -> tuple[Change, ...]:
    """The changes that a person wants to read: ids are ours, and a type change says its spelling."""
    retyped = {c.path for c in changes if not isinstance(c, ChangeAttribute | ChangeKey)}
    return tuple(
        c
        for c in changes
        if not isinstance(c, ChangeAttribute)
        or (c.attribute == "emitted_name" and c.old is not None)
        or (c.attribute == "source_type" and c.old is not None and c.path not in retyped)
    )


def _same(then: Column, now: Column) -> bool:
    identity = then.id == now.id if then.id is not None and now.id is not None else then.name == now.name
    return identity and (then.name, then.type, then.nullable) == (now.name, now.type, now.nullable)


def _stages(history: TableHistory, judge: Judge) -> Iterator[Stage]:
    before: tuple[SchemaVersion, Revision] | None = None
    for version in history.versions:
        for revision in version.revisions:
            stage = Stage(version, revision)
            if before is not None:
                stage = _compared(history, before, stage, judge)
            yield stage
            before = version, revision


def _compared(
    history: TableHistory, before: tuple[SchemaVersion, Revision], stage: Stage, judge: Judge
) -> Stage:
    old_version, old = before
    changes = diff(old.schema, stage.revision.schema)
    transition = Transition(
        table=history.table,
        old=old.schema,
        new=stage.revision.schema,
        changes=changes,
        candidates=stage.version.candidates if stage.revision.number == 0 else (),
        unconfirmed=stage.version.unconfirmed,
        old_ref=_ref(history, old_version, old),
        new_ref=_ref(history, stage.version, stage.revision),
        at=stage.revision.at,
    )
    return replace(stage, changes=changes, findings=tuple(judge(transition)))


def _ref(history: TableHistory, version: SchemaVersion, revision: Revision) -> str:
    number = f"{version.number}.{revision.number}" if revision.number else str(version.number)
    return f"{history.table}@{number}"
