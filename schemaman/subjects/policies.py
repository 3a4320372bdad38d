"""Policies of registration above Avro's levels: what fails the gate of `check` is refused or quarantined.

`AVRO` asks for nothing more. `CDC` refuses a schema that fails. `QUARANTINE` accepts each schema, and marks
the version of one that fails, so that a change of the source does not stop the connector.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from schemaman.compat.gate import GatePolicy, judge_files
from schemaman.compat.judge import READERS, Finding, Reader, Severity, merge_verdicts
from schemaman.compat.schema_pair import SchemaSide, judge_sides
from schemaman.model.schema import TableId
from schemaman.store.subjects import (
    JsonObject,
    QuarantinedVersion,
    SchemaContent,
    SubjectName,
    SubjectRows,
    SubjectVersion,
)
from schemaman.subjects.contents import read_avro
from schemaman.subjects.event_schemas import (
    EventStructure,
    Part,
    find_meaning,
    join_parts,
    list_partners,
    read_structure,
)
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema, list_referenced_texts, load_version

POLICIES = ("AVRO", "CDC", "QUARANTINE")
NOT_JUDGED = "not-judged"
"""The rule of a failure that is the lack of a verdict."""


@dataclass(frozen=True, slots=True)
class RegisteredText:
    """A content, and the Avro texts that it refers to."""

    content: SchemaContent
    referenced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate says of the step from one schema to another.

    `findings` are pairs of a finding and its severity. `failing` are those that fail the gate.
    `is_judged` is False if neither Avro nor the rules of tables can compare the two.
    """

    table: TableId
    findings: tuple[tuple[Finding, Severity], ...] = ()
    failing: tuple[Finding, ...] = ()
    is_judged: bool = True

    @property
    def passes(self) -> bool:
        """Whether the gate lets the step pass."""
        return self.is_judged and not self.failing

    @property
    def verdicts(self) -> Mapping[Reader, str]:
        """The worst verdict of each reader, whatever is declared: `break`, `danger`, `note` or `ok`."""
        if not self.is_judged:
            return {}
        worst = merge_verdicts(*(finding.verdicts for finding, _ in self.findings))
        return {reader: worst.get(reader, "ok") for reader in READERS}


def _name_table(names: Sequence[str]) -> TableId:
    return TableId("", "", "", names[0] if names else "")


@dataclass(frozen=True, slots=True)
class RegistrationGate:
    """Judges registrations: the settings of the gate, and what finds the table of a topic or a record.

    Without a known table a finding is about a table with the name of the topic.
    """

    policy: GatePolicy = field(default_factory=GatePolicy)
    find_table: Callable[[Sequence[str]], TableId] = _name_table

    def judge(
        self, rows: SubjectRows, subject: SubjectName, old: RegisteredText | None, new: RegisteredText
    ) -> Judgement:
        """Judge the step of a subject from its old schema to a new one; without an old one, the new alone.

        Key and value are one unit: the other part is that of the latest version of its subject.
        """
        before = None if old is None else read_structure(old.content, old.referenced)
        after = read_structure(new.content, new.referenced)
        meaning = find_meaning(subject.name, after)
        partner = _find_partner(rows, subject)
        sides = [
            _make_side(text, structure, partner, meaning.part) if text is not None else SchemaSide()
            for text, structure in ((old, before), (new, after))
        ]
        table = self.find_table(meaning.names)
        if not _is_comparable(sides, old is None):
            return Judgement(table, is_judged=False)
        refs = (f"{subject} before", f"{subject} after")
        result = judge_files((table,), 1, judge_sides(table, sides[0], sides[1], *refs), self.policy)
        active = [(f, severity) for f, severity in result.findings if f.fingerprint not in self.policy.waived]
        failing = tuple(f for f, severity in active if self.policy.is_failing(severity))
        return Judgement(table, result.findings, failing)

    def list_failures(
        self, rows: SubjectRows, subject: SubjectName, earlier: Sequence[SubjectVersion], new: RegisteredText
    ) -> tuple[JsonObject, ...]:
        """List why a schema fails after the latest of earlier versions; empty if it passes.

        A first schema that nothing can read passes, as there is nothing that it could break.
        """
        old = None if not earlier else load_text(rows, load_version(rows, earlier[-1]))
        judgement = self.judge(rows, subject, old, new)
        if not judgement.is_judged:
            return () if old is None else (_describe_unjudged(new.content.type),)
        return tuple(map(describe_failure, judgement.failing))


def load_text(rows: SubjectRows, found: VersionedSchema) -> RegisteredText:
    """Load the texts that the schema of a version refers to."""
    content = found.schema.content
    try:
        return RegisteredText(content, list_referenced_texts(rows, content.references, found.schema.context))
    except RefusedRequest:
        return RegisteredText(content)


def list_accepted(rows: SubjectRows, subject: SubjectName) -> tuple[SubjectVersion, ...]:
    """List the live versions of a subject that are not quarantined, by number."""
    return select_accepted(rows.list_versions(subject), rows.read_settings(str(subject)).quarantine)


def select_accepted(
    versions: Iterable[SubjectVersion], quarantine: Iterable[QuarantinedVersion]
) -> tuple[SubjectVersion, ...]:
    """Select the live versions that are not quarantined."""
    marked = {(one.number, one.schema_id) for one in quarantine}
    return tuple(v for v in versions if not v.is_deleted and (v.number, v.schema_id) not in marked)


def describe_failure(finding: Finding) -> JsonObject:
    """Describe a finding that fails by texts: rule, path, message, and what to do."""
    return {
        "rule": finding.rule,
        "path": ".".join(finding.path),
        "message": finding.message,
        "fix": finding.fixes[0] if finding.fixes else "",
    }


def describe_level(messages: Iterable[str]) -> JsonObject:
    """Describe the refusal of Avro's level as a failure."""
    return {
        "rule": "compatibility-level",
        "path": "",
        "message": next(iter(messages), "the schema is incompatible at the level of the subject"),
        "fix": "make the schema compatible, or set another level",
    }


def format_refusal(subject: SubjectName, failures: Sequence[JsonObject]) -> str:
    """Format the message of a refusal: each rule by its name, and what to do."""
    listed = " | ".join(map(format_failure, failures))
    return f"The policy CDC of subject '{subject}' refuses the schema: {listed}"


def format_failure(failure: JsonObject) -> str:
    """Format one failure: the rule, the path, the message, and what to do."""
    place = f" at {failure['path']}" if failure["path"] else ""
    fix = f"; to do: {failure['fix']}" if failure["fix"] else ""
    return f"{failure['rule']}{place}: {failure['message']}{fix}"


def _describe_unjudged(type: str) -> JsonObject:
    return {
        "rule": NOT_JUDGED,
        "path": "",
        "message": f"there is no verdict on this {type} schema",
        "fix": "set the policy of the subject to AVRO",
    }


def _find_partner(rows: SubjectRows, subject: SubjectName) -> EventStructure | None:
    for name in list_partners(subject.name):
        if versions := list_accepted(rows, SubjectName(subject.context, name)):
            text = load_text(rows, load_version(rows, versions[-1]))
            return read_structure(text.content, text.referenced)
    return None


def _make_side(
    text: RegisteredText, structure: EventStructure | None, partner: EventStructure | None, part: Part | None
) -> SchemaSide:
    avro = read_avro(text.content.text, text.referenced) if text.content.type == "AVRO" else None
    digest = hashlib.sha256(text.content.text.encode()).hexdigest()[:12]
    if structure is None:
        return SchemaSide(avro=avro, digest=digest)
    key, value = (structure, partner) if part == "key" else (partner, structure)
    return SchemaSide(join_parts(key, value, part), avro, digest=digest)


def _is_comparable(sides: Sequence[SchemaSide], is_first: bool) -> bool:
    old, new = sides
    if is_first:
        return new.table is not None or new.avro is not None
    tables = old.table is not None and new.table is not None
    return tables or (old.avro is not None and new.avro is not None)
