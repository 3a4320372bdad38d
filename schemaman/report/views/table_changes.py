"""Builds the chapter of one table: its stages, each with its changes and findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from schemaman.compat.affected_consumers import AffectedConsumer
from schemaman.compat.gate import build_unread, list_all_steps
from schemaman.compat.judge import SEVERITIES, Finding, RejectedRecords, Severity, Transition
from schemaman.compat.waivers import Waiver
from schemaman.history.versions import Revision, SchemaVersion, TableHistory
from schemaman.migration.plan import Plan
from schemaman.model.diff import Change, ChangeAttribute, ChangeKey, Diff
from schemaman.model.schema import Column


@dataclass(frozen=True, slots=True)
class JudgedFinding:
    """A finding, its severity, the consumers that it concerns, and its waiver if it has a valid one."""

    finding: Finding
    severity: Severity
    affected: tuple[AffectedConsumer, ...] = ()
    waiver: Waiver | None = None

    @property
    def anchor(self) -> str:
        """The anchor in a report; the same finding at another step has another anchor."""
        steps = [ref.rpartition("@")[2] for ref in (self.finding.old_ref, self.finding.new_ref)]
        words = ["".join(ch for ch in step if ch.isalnum()) for step in steps]
        return "-".join(["f", self.finding.fingerprint, *words])


@dataclass(frozen=True, slots=True)
class ChapterStage:
    """One revision of a table, what changed since the one before, and the findings about that.

    `repeats` is the number of the earlier version with the same schema, if there is one.
    """

    version: SchemaVersion
    revision: Revision
    changes: Diff = ()
    findings: tuple[JudgedFinding, ...] = ()
    repeats: int | None = None

    @property
    def severity(self) -> Severity:
        """The worst severity of its findings."""
        return find_worst(self.findings)


@dataclass(frozen=True, slots=True)
class TableChapter:
    """A table in a report: its history in stages, findings about its end, and plans for its targets."""

    history: TableHistory
    stages: tuple[ChapterStage, ...]
    ending: tuple[JudgedFinding, ...] = ()
    plans: tuple[Plan, ...] = ()

    @property
    def findings(self) -> tuple[JudgedFinding, ...]:
        """All findings, oldest first."""
        return (*(f for stage in self.stages for f in stage.findings), *self.ending)

    @property
    def newest_findings(self) -> tuple[JudgedFinding, ...]:
        """Each finding once, where it was found last; newest first."""
        found: dict[str, JudgedFinding] = {}
        for judged in reversed(self.findings):
            found.setdefault(judged.finding.fingerprint, judged)
        return tuple(found.values())

    def select_stages(self, refs: Collection[str]) -> TableChapter:
        """Return the chapter with only the stages of some REFs."""
        numbers = {ref.rpartition("@")[2] for ref in refs}
        kept = tuple(s for s in self.stages if s.version.format_number(s.revision) in numbers)
        return replace(self, stages=kept)


TransitionJudge = Callable[[Transition], Iterable[JudgedFinding]]


def build_chapter(
    history: TableHistory,
    judge: TransitionJudge,
    plans: Iterable[Plan] = (),
    whole: TableHistory | None = None,
    unread: tuple[RejectedRecords, ...] = (),
) -> TableChapter:
    """Build the chapter of a table; `judge` applies the rules and the declared readers to a transition.

    `whole` is the whole history if `history` has only its last versions. `unread` are the records behind the
    newest version that could not be read.
    """
    repeats = (whole or history).find_repeats()
    stages = {
        v.format_number(r): ChapterStage(
            v, r, repeats=None if (one := repeats.get(v.number)) is None else one.number
        )
        for v in history.versions
        for r in v.revisions
    }
    end_findings: tuple[JudgedFinding, ...] = ()
    for transition in list_all_steps(history):
        found = tuple(judge(transition))
        if transition.new is None:
            end_findings = found
            continue
        stage = stages[label := transition.new_ref.rpartition("@")[2]]
        # What happened between two structures belongs to the stage of the first, which may have findings.
        findings = (*stage.findings, *end_findings, *found)
        stages[label] = replace(stage, changes=stage.changes or transition.changes, findings=findings)
        end_findings = ()
    if unread:
        step = build_unread(history, unread)
        stage = stages[label := step.new_ref.rpartition("@")[2]]
        stages[label] = replace(stage, findings=(*stage.findings, *judge(step)))
    return TableChapter(history, tuple(stages.values()), end_findings, tuple(plans))


def keep_shared_once(chapters: Iterable[TableChapter]) -> tuple[TableChapter, ...]:
    """Keep a finding that several tables share in the chapter of the first one only."""
    known: set[str] = set()
    kept: list[TableChapter] = []
    for chapter in chapters:
        shared = {f.finding.fingerprint for f in chapter.findings if f.finding.scope}
        stages = tuple(replace(s, findings=_drop_repeated(s.findings, known)) for s in chapter.stages)
        kept.append(replace(chapter, stages=stages) if shared & known else chapter)
        known |= shared
    return tuple(kept)


def _drop_repeated(findings: Iterable[JudgedFinding], known: Collection[str]) -> tuple[JudgedFinding, ...]:
    return tuple(f for f in findings if not f.finding.scope or f.finding.fingerprint not in known)


def keep_recent_versions(history: TableHistory, count: int) -> TableHistory:
    """Return the history with only the last `count` versions and their disagreements."""
    kept = history.versions[-count:]
    numbers = {v.number for v in kept}
    disputes = tuple(d for d in history.disagreements if not d.versions or numbers & {*d.versions})
    return replace(history, versions=kept, disagreements=disputes)


def build_recent_chapter(history: TableHistory, count: int, judge: TransitionJudge) -> TableChapter:
    """Build the chapter of the last `count` versions: their changes and disagreements."""
    recent = replace(history, versions=history.versions[-count - 1 :])
    chapter = build_chapter(recent, judge, whole=history)
    kept = keep_recent_versions(history, count)
    numbers = {v.number for v in kept.versions}
    stages = tuple(stage for stage in chapter.stages if stage.version.number in numbers)
    return replace(chapter, history=kept, stages=stages)


def find_worst(findings: Iterable[JudgedFinding]) -> Severity:
    """Finds the worst severity without waived findings, `off` if there is none."""
    open_findings = (f.severity for f in findings if f.waiver is None)
    return max(open_findings, key=SEVERITIES.index, default="off")


def find_first_version(history: TableHistory, column: Column) -> int:
    """Find the version since which a column has its current id, name, type and nullability."""
    number = history.latest.number
    for version in reversed(history.versions):
        if version.incarnation != history.latest.incarnation:
            break
        then = next((c for c in version.schema.columns if _is_same_column(c, column)), None)
        if then is None:
            break
        number = version.number
    return number


def select_shown_changes(changes: Diff) -> tuple[Change, ...]:
    """Selects the changes for people: without column ids, and without spellings beside a type change."""
    retyped = {c.path for c in changes if not isinstance(c, ChangeAttribute | ChangeKey)}
    return tuple(
        c
        for c in changes
        if not isinstance(c, ChangeAttribute)
        or (c.attribute == "emitted_name" and None not in (c.old, c.new) and c.new != c.path[-1])
        or (c.attribute == "source_type" and c.old is not None and c.path not in retyped)
    )


def _is_same_column(then: Column, now: Column) -> bool:
    identity = then.id == now.id if then.id is not None and now.id is not None else then.name == now.name
    return identity and (then.name, then.type, then.nullable) == (now.name, now.type, now.nullable)
