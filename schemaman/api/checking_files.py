"""The gate for two schemas of files, git or a registry: it needs no store and no history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from schemaman.api.avro_checks import read_avro
from schemaman.api.files import read_text
from schemaman.api.references import read_outside_history
from schemaman.api.workspace import Workspace
from schemaman.compat.avro.levels import list_reasons
from schemaman.compat.avro.resolution import AmbiguousField, list_leaf_causes
from schemaman.compat.avro.schema import AvroSchema, InvalidAvroSchema
from schemaman.compat.gate import AVRO_READERS, CheckResult, GatePolicy, judge_pair
from schemaman.compat.judge import RULES, Finding, Reader, Severity, Transition, judge_transition
from schemaman.compat.rules.avro_incompatible import NAME as INCOMPATIBLE
from schemaman.compat.snapshots import remove_ids
from schemaman.errors import UnreadableInput
from schemaman.history.references import FileRef, GitRef, Reference, TableRef, parse
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.io import git
from schemaman.model.diff import diff
from schemaman.model.schema import TableId, TableSchema


def is_outside_history(text: str) -> bool:
    """Whether a text is a REF to a file, git, a schema registry or the lake."""
    return not isinstance(parse(text), TableRef)


def check_schemas(
    workspace: Workspace,
    new: str,
    old: str,
    *,
    level: str | None = None,
    fail_on: Severity | None = None,
) -> CheckResult:
    """Check the schema of one REF against that of another; both are outside the history.

    Two Avro schemas are compared as they are, of any root; Avro's verdict then comes from their text. All
    other schemas are compared as tables.

    Raises:
        UnreadableInput: a REF has no schema, or no valid one.
        UnknownName: there is no such level.
    """
    settings = workspace.settings
    before, after = (_read_side(workspace, parse(text)) for text in (old, new))
    waivers = workspace.read_waivers()
    policy = GatePolicy(
        settings.readers.value if level is None or settings.readers.origin != "default" else (),
        workspace.rule_overrides(),
        fail_on or settings.fail_on.value,
        level and level.upper(),
        waived=waivers.keys(),
    )
    table = TableId("", "", "", PurePath(new.rpartition(":")[2]).stem or new)
    findings = _judge(table, before, after, old, new)
    return replace(judge_pair(table, findings, policy), waivers=waivers)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two schemas: as a table and as Avro, None where it is none of that kind."""

    table: TableSchema | None
    avro: AvroSchema | None


def _read_side(workspace: Workspace, reference: Reference) -> _Side:
    """Read one schema. Raises `UnreadableInput` if it is neither a table nor Avro."""
    avro = None
    text = _read_avro_text(reference)
    if text is not None:
        try:
            avro = read_avro(text)
        except InvalidAvroSchema as error:
            raise UnreadableInput(f"{reference}: {error.message}") from error
    try:
        table = remove_ids(read_outside_history(workspace, reference).schema)
    except UnreadableInput:
        if avro is None:
            raise
        table = None
    return _Side(table, avro)


def _read_avro_text(reference: Reference) -> str | None:
    """Read the text of an Avro schema; None if the name does not say that it is one."""
    match reference:
        case FileRef(path) if path.endswith(".avsc"):
            return read_text(path)
        case GitRef(revision, path) if path.endswith(".avsc"):
            return git.read_file(revision, path)
        case _:
            return None


def _judge(table: TableId, old: _Side, new: _Side, old_ref: str, new_ref: str) -> tuple[Finding, ...]:
    findings: tuple[Finding, ...] = ()
    if old.table is not None and new.table is not None:
        changes = diff(old.table, new.table)
        suspects = find_rename_candidates(old.table, new.table, append_only=False)
        transition = Transition(
            table, old.table, new.table, changes, suspects, old_ref=old_ref, new_ref=new_ref
        )
        findings = judge_transition(transition, RULES.load_all())
    if old.avro is None or new.avro is None:
        return findings
    return _apply_avro(findings, table, old.avro, new.avro, (old_ref, new_ref))


def _apply_avro(
    findings: Sequence[Finding], table: TableId, old: AvroSchema, new: AvroSchema, refs: tuple[str, str]
) -> tuple[Finding, ...]:
    """Replace Avro's verdicts by those of the texts, and add what no rule explains."""
    pairs: tuple[tuple[Reader, AvroSchema, AvroSchema], ...] = (
        ("avro-backward", new, old), ("avro-forward", old, new),
    )  # fmt: skip
    refused = {reader: list_reasons(r, w) for reader, r, w in pairs}
    kept: list[Finding] = []
    for finding in findings:
        verdicts = {
            r: v for r, v in finding.verdicts.items() if r not in AVRO_READERS or refused[r] or v != "break"
        }
        if verdicts and finding.rule != INCOMPATIBLE:
            kept.append(replace(finding, verdicts=verdicts))
    for reader, r, w in pairs:
        if refused[reader] and not any(f.verdicts.get(reader) == "break" for f in kept):
            try:
                causes = tuple(map(str, list_leaf_causes(r, w)))
            except AmbiguousField as error:
                causes = (error.message,)
            data, schema = ("old", "new") if reader == "avro-backward" else ("new", "old")
            kept.append(
                Finding(
                    INCOMPATIBLE, table, (), refs[0], refs[1],
                    f"Avro cannot read {data} data with the {schema} schema: {causes[0]}",
                    {reader: "break"},
                    fixes=("give the field a default, or keep the old field beside the new one",),
                    evidence=(*causes, *(f"Avro: {reason}" for reason in refused[reader])),
                    old_ref=refs[0], new_ref=refs[1],
                )
            )  # fmt: skip
    return tuple(kept)
