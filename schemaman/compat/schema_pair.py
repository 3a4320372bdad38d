"""The gate for two schemas without a history: as tables, and as the Avro texts that they are written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.compat.avro.branches import list_lost_branches
from schemaman.compat.avro.field_causes import AvroCause, list_field_causes
from schemaman.compat.avro.levels import list_reasons
from schemaman.compat.avro.lost_defaults import list_lost_defaults
from schemaman.compat.avro.schema import AvroSchema, RecordOf, UnionOf
from schemaman.compat.counterexample import add_counterexamples
from schemaman.compat.gate import AVRO_READERS
from schemaman.compat.judge import (
    RULES,
    Finding,
    Reader,
    StepFact,
    Transition,
    add_claimed,
    judge_transition,
)
from schemaman.compat.rules.avro_incompatible import NAME as INCOMPATIBLE
from schemaman.compat.rules.avro_incompatible import WAYS
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.model.diff import diff
from schemaman.model.schema import TableId, TableSchema


@dataclass(frozen=True, slots=True)
class SchemaSide:
    """One of the two schemas: as a table and as Avro, None where it is none of that kind or absent.

    `digest` tells two texts apart. `ids` are those of the columns, if the text has them, as one of Iceberg.
    """

    table: TableSchema | None = None
    avro: AvroSchema | None = None
    table_id: TableId | None = None
    digest: str = ""
    ids: Mapping[str, int] = field(default_factory=dict)


def judge_sides(
    table: TableId, old: SchemaSide, new: SchemaSide, old_ref: str, new_ref: str
) -> tuple[Finding, ...]:
    """Judge the step from one schema to another; two Avro schemas get Avro's verdict from their text."""
    findings: tuple[Finding, ...] = ()
    if old.table is not None or new.table is not None:
        is_new = old.table is None and old.avro is None
        facts = (StepFact("created"),) if is_new else _list_avro_facts(old.avro, new.avro)
        transition = Transition(table, old.table, new.table, old_ref=old_ref, new_ref=new_ref, facts=facts)
        if old.table is not None and new.table is not None:
            transition = _compare_tables(transition, old.table, new.table, (old.ids, new.ids))
        findings = add_counterexamples(transition, judge_transition(transition, RULES.load_all()))
    if old.avro is None or new.avro is None:
        return findings
    pair = (f"schema {old.digest}", f"schema {new.digest}")
    return _apply_avro(findings, table, old.avro, new.avro, (old_ref, new_ref), pair)


def _compare_tables(
    transition: Transition, old: TableSchema, new: TableSchema, ids: Sequence[Mapping[str, int]]
) -> Transition:
    """Add the changes to a transition. Field ids of both sides say which column is which."""
    if not all(ids):
        suspects = find_rename_candidates(old, new, append_only=False)
        return replace(transition, changes=diff(old, new), candidates=suspects)
    sides = [
        replace(table, columns=tuple(replace(c, id=known[c.name]) for c in table.columns))
        for table, known in zip((old, new), ids, strict=True)
    ]
    again = tuple(n for n in new.names if n in old.names and ids[0][n] != ids[1][n] not in ids[0].values())
    facts = (StepFact("dropped-earlier", columns=again),) if again else ()
    return replace(transition, changes=diff(sides[0], sides[1]), facts=(*transition.facts, *facts))


def _list_avro_facts(old: AvroSchema | None, new: AvroSchema | None) -> tuple[StepFact, ...]:
    """List the optional fields of an Avro record without a default, and those that lost one."""
    fields = new.root.fields if new is not None and isinstance(new.root, RecordOf) else ()
    optional = [
        field
        for field in fields
        if isinstance(field.type, UnionOf) and any(b.kind == "null" for b in field.type.branches)
    ]
    names = tuple(field.name for field in optional if not field.has_default)
    lost = [] if old is None or new is None else list_lost_defaults(old, new)
    found = (StepFact("no-avro-default", columns=names),) if names else ()
    return (*found, StepFact("null-default-removed", columns=tuple(lost))) if lost else found


def _apply_avro(
    findings: Sequence[Finding],
    table: TableId,
    old: AvroSchema,
    new: AvroSchema,
    refs: tuple[str, str],
    described: tuple[str, str],
) -> tuple[Finding, ...]:
    """Replace Avro's verdicts by those of the texts, and add what no rule explains.

    `described` are both texts, in words that stay the same when a base moves on.
    """
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
    kept = _add_refusals(
        kept, table, {reader: (r, w) for reader, r, w in pairs if refused[reader]}, described
    )
    read = [(reader, list_lost_branches(r, w)) for reader, r, w in pairs if not refused[reader]]
    lost = {reader: names for reader, names in read if names}
    if lost:
        texts = tuple(dict.fromkeys(name for names in lost.values() for name in names))
        kept.append(
            Finding(
                INCOMPATIBLE, table, (), *described,
                f"Avro calls it compatible, but its decoder fails on a {texts[0]} in a union: "
                "the other schema has the type in another namespace",
                dict.fromkeys(lost, "danger"),
                fixes=("keep the namespace of the type",),
                evidence=tuple(f"{name} is in a union under another namespace" for name in texts),
            )
        )  # fmt: skip
    return tuple(replace(f, old_ref=refs[0], new_ref=refs[1]) for f in kept)


def _add_refusals(
    findings: Sequence[Finding],
    table: TableId,
    refused: Mapping[Reader, tuple[AvroSchema, AvroSchema]],
    described: tuple[str, str],
) -> list[Finding]:
    """Add one finding with the causes that no break of their reader at their field explains.

    A break at another field explains nothing: it may be waived, or concern another consumer.
    """
    causes: dict[Reader, list[AvroCause]] = {}
    for reader, (r, w) in refused.items():
        breaks = [f for f in findings if f.verdicts.get(reader) == "break"]
        paths = [p for f in breaks for p in (f.path, *(c.path for c in f.claimed), *_list_claimed_paths(f))]
        if rest := [cause for cause in list_field_causes(r, w) if not cause.is_explained(paths)]:
            causes[reader] = rest
    if not causes:
        return list(findings)
    places = {cause.path for found in causes.values() for cause in found}
    words = dict.fromkeys(cause.words for found in causes.values() for cause in found)
    finding = Finding(
        INCOMPATIBLE, table, next(iter(places)) if len(places) == 1 else (), *described,
        f"Avro cannot read {WAYS[tuple(causes)]}: {next(iter(words))}",
        dict.fromkeys(causes, "break"),
        fixes=("give the field a default, or keep the old field and add the new one",),
        evidence=tuple(words),
    )  # fmt: skip
    families = {rule.name: rule.family for rule in RULES.load_all()}
    same = [f for f in findings if f.path and f.path in places and families[f.rule] in ("types", "values")]
    return [*(f for f in findings if f not in same), add_claimed(finding, same)]


def _list_claimed_paths(finding: Finding) -> Iterator[tuple[str, ...]]:
    return (path for rule, path in finding.claims if rule == INCOMPATIBLE)
