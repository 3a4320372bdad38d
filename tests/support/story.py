"""Stories: real records in, then what must come out, in Markdown that people read and tests run.

The front matter names the recording and the table, and, for a long life, the versions that are told. The
fenced blocks `versions`, `findings`, `delta` and `iceberg` are compared with what comes out, or rewritten
by `--bless`; everything else is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from schemaman.history.decisions import (
    Decisions,
    Rename,
    apply_decisions,
    format_coordinates,
    list_rename_pairs,
)
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.plan import Plan, Policy, Step
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import format_columns
from schemaman.model.diff import diff
from schemaman.report.document import Inline
from schemaman.report.views import words
from schemaman.report.views.table_changes import select_shown_changes
from tests.support import chain
from tests.support.checkout import STORIES

TARGETS = ("delta", "iceberg")
BLOCKS = ("versions", "findings", *TARGETS)
_STAMP = re.compile(r"(?:, )?'schemaman\.\w+' = '(?:[^'\\]|\\.)*'")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Story:
    """A story as written: its name, front matter and text."""

    name: str
    facts: Mapping[str, str]
    text: str

    @property
    def blocks(self) -> dict[str, str]:
        """The expected blocks by name."""
        return {m[1]: m[2] for m in _BLOCK.finditer(self.text) if m[1] in BLOCKS}

    def with_blocks(self, blocks: Mapping[str, str]) -> str:
        """The text with other expected blocks."""
        return _BLOCK.sub(lambda m: f"```{m[1]}\n{blocks[m[1]]}```" if m[1] in blocks else m[0], self.text)


def read(path: Path) -> Story:
    """A story from its file."""
    text = path.read_text(encoding="utf-8")
    head = text.split("---\n")[1]
    facts = dict(line.split(": ", 1) for line in head.splitlines() if line)
    return Story(path.stem, facts, text)


def stories() -> list[Story]:
    """All of them, by name."""
    return [read(path) for path in sorted(STORIES.glob("*.md")) if path.name != "README.md"]


def history(story: Story) -> TableHistory:
    """The history of the story's table, as the whole recording teaches it and people answered for members."""
    found = chain.history(story.facts["recording"], story.facts["table"])
    renames = [
        Rename(str(found.table), old, new, version.id, format_coordinates(version.at))
        for (old, new), same in answers(story).items()
        for before, version in pairwise(found.versions)
        if same and "." in old and (old, new) in list_rename_pairs(before, version)
    ]
    return apply_decisions(found, Decisions(renames=tuple(renames)))


def versions(story: Story) -> tuple[SchemaVersion, ...]:
    """The versions that are told: all, or those of the front matter (`versions: 2-4`)."""
    found = history(story).versions
    first, _, last = story.facts.get("versions", f"1-{found[-1].number}").partition("-")
    return tuple(v for v in found if int(first) <= v.number <= int(last or first))


def target_table(story: Story, target: str) -> str:
    """What the story's lake table is called."""
    name = story.name.replace("-", "_")
    return f"stories.{name}" if target == "delta" else f"ice.stories.{name}"


def plans(story: Story, target: str) -> Iterator[Plan]:
    """The plan for each version in turn, as if every plan before had been applied: no Spark needed."""
    live: LakeTable | None = None
    for version in versions(story):
        plan = plan_for(story, version, live, target)
        yield plan
        live = applied(live, plan)


def plan_for(story: Story, version: SchemaVersion, live: LakeTable | None, target: str) -> Plan:
    """The plan that brings the story's lake table to one version."""
    table = target_table(story, target)
    return chain.plan(history(story), version, live, target, table, policy(story), answers(story))


def answers(story: Story) -> dict[tuple[str, str], bool]:
    """What people decided about renames: `decided: a → b yes, c → d no` in the front matter.

    Members of structs are told by their paths: `address.street → address.road yes`.
    """
    told = (part.split() for part in story.facts.get("decided", "").split(",") if part.strip())
    return {(old, new): yes == "yes" for old, _, new, yes in told}


def policy(story: Story) -> Policy:
    """What the story's user allows: `drops: drop` in the front matter, else the defaults."""
    return Policy(drops="drop" if story.facts.get("drops") == "drop" else "keep")


def applied(live: LakeTable | None, plan: Plan) -> LakeTable:
    """The table after a plan, as the plan promises it."""
    if live is None:
        live = LakeTable(plan.table, plan.wanted, identity="story", version="0")
    properties = dict(live.properties)
    for step in plan.steps:
        promised = step.postcondition.get("properties", {})
        assert isinstance(promised, Mapping)
        properties |= promised
    number = str(int(live.version) + len(plan.steps))
    return replace(live, schema=plan.wanted, version=number, properties=properties)


def told_blocks(story: Story) -> dict[str, str]:
    """What comes out, block by block."""
    return {
        "versions": "".join(_version_lines(story)),
        "findings": "".join(f"{line}\n" for line in chain.finding_lines(history(story), versions(story))),
        **{target: "".join(_plan_lines(story, target)) for target in TARGETS},
    }


def _version_lines(story: Story) -> Iterator[str]:
    before: SchemaVersion | None = None
    for version in versions(story):
        records = words.format_count(version.records, "record")
        yield f"{version.number}  {version.id}  {version.status}, {records}, "
        yield f"{words.describe_begin(version)}\n"
        if before is None or before.incarnation != version.incarnation:
            yield f"   {format_columns(_plain(version))}\n"
        else:
            changes = diff(before.schema, version.revisions[0].schema)
            yield from (f"   {_text(words.describe_change(c))}\n" for c in select_shown_changes(changes))
        yield from (f"   ? {c.old} → {c.new}: {c.grade}\n" for c in version.candidates)
        if version.unconfirmed:
            yield f"   not sure: {', '.join(version.unconfirmed)}\n"
        for older, newer in zip(version.revisions, version.revisions[1:], strict=False):
            yield f"{version.number}.{newer.number}\n"
            yield from (
                f"   {_text(words.describe_change(c))}\n"
                for c in select_shown_changes(diff(older.schema, newer.schema))
            )
        before = version


def _plain(version: SchemaVersion):
    schema = version.revisions[0].schema
    bare = tuple(replace(c, id=None, source_type=None, emitted_name=None) for c in schema.columns)
    return replace(schema, columns=bare)


def _text(inline: Inline) -> str:
    return "".join(text.text for text in inline)


def _plan_lines(story: Story, target: str) -> Iterator[str]:
    for plan in plans(story, target):
        yield f"-- version {plan.source.version}\n"
        yield from (f"{shown};\n" for step in plan.steps if (shown := _shown(step)))
        yield from (f"-- refused: {r.change}: {r.reason}; instead: {r.instead}\n" for r in plan.refusals)
        yield from (f"-- needs approval: {approval}\n" for approval in plan.approvals_needed)
        yield from (f"-- note: {note}\n" for note in plan.notes)
        if not (any(map(_shown, plan.steps)) or plan.refusals):
            yield "-- nothing to do\n"


def _shown(step: Step) -> str:
    """The statement without the stamp that says which version the table follows: that is in every one."""
    text = _STAMP.sub("", step.statement).replace("TBLPROPERTIES (, ", "TBLPROPERTIES (")
    return "" if text.endswith("TBLPROPERTIES ()") else text
