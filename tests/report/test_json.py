"""The JSON that scripts read: each document is valid against its schema, which knows every member."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemaman.compat.affected_consumers import AffectedConsumer
from schemaman.compat.consumers import Consumer
from schemaman.compat.impact.graph import ConsumerUse, Place, Unread
from schemaman.compat.impact.impact import Impact
from schemaman.compat.judge import READERS, Rule
from schemaman.debezium.observation import Note, Reject
from schemaman.errors import UnknownName
from schemaman.history.open_questions import OpenQuestion
from schemaman.history.summary import summarize_history
from schemaman.migration import plan_file as planfile
from schemaman.migration.apply.apply import Migration, Outcome
from schemaman.migration.apply.waiting import Waiting
from schemaman.migration.digest import (
    Digest,
    ForeignChange,
    SourceDigest,
    WaitingDigest,
    digest_runs,
)
from schemaman.model.diff import diff
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Array, Integer, String, Struct
from schemaman.model.types import Field as Member
from schemaman.report.json import changes, schemas, status, tables
from schemaman.report.json import ingest as intake
from schemaman.report.json import migrations as lake
from schemaman.report.json.impact import build_impact
from schemaman.report.views.digest import build_digest_report
from schemaman.report.views.names import build_names_report
from schemaman.report.views.overview import build_report
from schemaman.store.log import Lease, MigrationEntry, RenumberingEntry, VersionMove
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.report_example import ORDERS, history, judged, orders_story, plan

RULE = Rule("column-dropped", "A column is gone", {"sql": "break"}, lambda t: iter(()), (), "What happened.")
REJECTS = (
    Reject("main", "t", 0, 1, 2, "no JSON", "ab" * 32),
    Reject("main", "t", 0, 9, 1, "too short", "cd" * 32, b"\x00\xff"),
)
OLD = TableSchema(
    (Column("a", Integer(32), id=1), Column("b", String(), id=2), Column("c", String(), id=3)), ("a",)
)
NEW = TableSchema(
    (
        Column("e", Struct((Member("x", Integer(8)),)), False, id=4),
        Column("a", Array(Integer(64)), False, 7, "words", "int8", "A", id=1),
        Column("d", String(9), id=2),
    ),
    ("a", "d"),
    "table",
)
MIGRATION = Migration(
    "r1", "ab" * 32, "ice.raw.orders", "applied", (Outcome(0, "done", "ALTER", "2"),), (), diff(OLD, NEW)
)
JOURNAL = (
    (1, MigrationEntry("r1", "p", "delta:/x", None, "started")),
    (2, MigrationEntry("r1", "p", "delta:/x", 0, "intent", "ALTER")),
    (3, MigrationEntry("r1", "p", "delta:/x", 0, "done", "ALTER", "1")),
    (4, MigrationEntry("r2", "q", "delta:/y", None, "started")),
    (5, MigrationEntry("r1", "p", "delta:/x", None, "finished")),
    (6, MigrationEntry("r2", "q", "delta:/y", 0, "failed", "ALTER", error="no")),
)


NOTES = (
    Note("main", "t", 0, 7, "ddl-not-parsed", "nobody reads this", ORDERS),
    Note("main", "t", 0, 8, "order-lost", "more than one partition", None, 2),
)

RUNS = sorted(str(p.parent.relative_to(CAPTURES)) for p in CAPTURES.glob("*/*/records.*"))


def documents() -> Iterator[tuple[str, Any]]:
    found = history()
    yield "tables", tables.build_tables([summarize_history(found)])
    yield "history", tables.build_history(found)
    yield "show", tables.build_show("orders@4", found.latest.schema, ORDERS, found.latest)
    yield "show", tables.build_show("file:x.avsc", NEW)
    yield "diff", changes.build_diff("a@1", "a@2", diff(OLD, NEW), found.latest.candidates)
    yield "diff", changes.build_diff("a@1", "a@1", ())
    yield "check", changes.build_check(((j.finding, j.severity) for j in judged()), "fail")
    yield "check", changes.build_check((), "pass")
    yield "explain", changes.build_explain(judged()[0].finding, "break", RULE)
    use = ConsumerUse("dash", "a.sql", 3, "v", "ann", "#ann", 2, ("u",), ("filter",))
    consumer = Consumer("dash", "sql", owner="ann", contact="#ann")
    affected = (AffectedConsumer(consumer, "break", (use,)),)
    yield "explain", changes.build_explain(judged()[0].finding, "break", RULE, affected)
    unread = Unread(Place("dash", "b.sql", 4, "w", "ann", "#ann"), "a template")
    yield "impact", build_impact(Impact(ORDERS, ("id",), (use,), (consumer,), (unread,), 1, 1))
    yield "rules", changes.build_rules([RULE])
    yield "rejects", intake.build_rejects(REJECTS, NOTES)
    yield (
        "ingest",
        intake.build_ingest(
            stream="main",
            engine="local",
            sources=["records.jsonl"],
            read=3,
            new=2,
            known=1,
            unchanged={"files": 1, "since_ms": 1_700_000_000_000},
            skipped={"tombstone": 1},
            rejects=0,
            notes=1,
            shifts=[
                RenumberingEntry(
                    ORDERS, (VersionMove("0123456789ab", 2, 3), VersionMove("ba9876543210", 3, None))
                )
            ],
            tables={"a.b": 2},
        ),
    )
    yield "report", build_report([orders_story()], {}).data
    yield "names", build_names_report([found], whole=True).data
    yield "plan", planfile.to_document(plan())
    yield "apply", lake.build_apply(MIGRATION)
    yield "apply", lake.build_failed(lake.FailedPlan("r2", "ab" * 32, "ice.raw.orders", "it is held", "wait"))
    leases = [Lease("delta:/y", "anna@host (7)", "ab" * 8, 9)]
    told = status.fold_run_states(JOURNAL, leases, 8), status.fold_target_states(JOURNAL, leases, 8)
    yield "status", status.build_status(*told)
    lines = [(at, at, line) for at, line in JOURNAL]
    runs = digest_runs(lines, 0, {"delta:/y"})
    waiting = Waiting("records", "quarantine", "delta:/x", "", "no row", "schemaman rejects", 2, 5)
    source = SourceDigest(found, (4,), ("4.0", "4.1"), (3,), (2,), found.events, True)
    question = OpenQuestion(str(ORDERS), "whether note became memo", ("schemaman decide",))
    changed = ForeignChange(3, "delta:/x", "add `q`")
    every = Digest(0, 9, (source,), runs, (changed,), (WaitingDigest(5, waiting),), (question,))
    yield "digest", build_digest_report(every).data
    yield "digest", build_digest_report(Digest(0, 9)).data
    yield (
        "drift",
        lake.build_drift(
            [lake.Drift("delta", "/lake/orders", diff(OLD, NEW)), lake.Drift("delta", "/x", ())]
        ),
    )


DOCUMENTS = [(name, json.loads(json.dumps(document))) for name, document in documents()]


@pytest.mark.parametrize(("name", "document"), DOCUMENTS)
def test_a_document_is_valid_against_its_schema(name: str, document: Any) -> None:
    Draft202012Validator(schemas.read_schema(name)).validate(document)


@pytest.mark.parametrize(("name", "document"), DOCUMENTS)
def test_the_schema_knows_every_member(name: str, document: Any) -> None:
    Draft202012Validator(closed(schemas.read_schema(name))).validate(document)


@pytest.mark.parametrize("name", schemas.list_names())
def test_a_schema_is_a_schema_and_whole_in_itself(name: str) -> None:
    schema = schemas.read_schema(name)
    Draft202012Validator.check_schema(schema)
    for ref in set(references(schema)) - {"#"}:
        assert ref.removeprefix("#/$defs/") in schema["$defs"]


@pytest.mark.parametrize("name", schemas.list_names())
def test_a_document_without_a_member_is_not_valid(name: str) -> None:
    schema = schemas.read_schema(name)
    for document in (d for n, d in DOCUMENTS if n == name):
        for member in (*schema["required"], *schema.get("else", {}).get("required", ())):
            cut = {k: v for k, v in document.items() if k != member}
            assert not Draft202012Validator(schema).is_valid(cut)


@pytest.mark.parametrize(("name", "several"), [("plan", "plans"), ("apply", "runs")])
def test_several_documents_in_one_are_each_valid(name: str, several: str) -> None:
    validator = Draft202012Validator(schemas.read_schema(name))
    (first, *_) = (d for n, d in DOCUMENTS if n == name)
    assert validator.is_valid({"schema_version": 1, several: [first, first]})
    assert not validator.is_valid({"schema_version": 1, several: [first, {"schema_version": 1}]})


def test_an_unknown_output_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="history") as caught:
        schemas.read_schema("histori")
    assert caught.value.hint == "did you mean history?"


@pytest.mark.parametrize("run", RUNS)
def test_the_versions_and_what_they_share_make_the_records_of_the_table(run: str) -> None:
    every = chain.histories(run)
    told: Any = tables.build_tables(map(summarize_history, every))["tables"]
    for found, entry in zip(every, told, strict=True):
        document: Any = tables.build_history(found)
        table, versions = document["table"], document["versions"]
        assert sum(v["records"] for v in versions) + table["shared"] == table["records"] == entry["records"]
        # each version at an edge tells the same records, the table tells them once
        sharing = [v["shared"] for v in versions if v["shared"]]
        assert table["shared"] * min(len(sharing), 2) <= sum(sharing)
        assert max(sharing, default=0) <= table["shared"]


def test_a_version_says_in_which_interval_it_began() -> None:
    second: Any = DOCUMENTS[1][1]["versions"][1]
    assert second["from"]["after"]["offset"] == 9
    assert second["from"]["at"]["offset"] == 10
    assert second["until"]["offset"] == 31
    assert second["revision"] == 1
    assert second["from"]["at"]["position"] == {"kind": "lsn", "value": "23819344", "commit": "23819344"}


def test_every_kind_of_change_has_its_word() -> None:
    document: Any = changes.build_diff("x@1", "x@2", diff(OLD, NEW))
    assert {c["change"] for c in document["changes"]} == {
        "add-column",
        "drop-column",
        "rename-column",
        "change-type",
        "change-nullable",
        "change-default",
        "change-comment",
        "change-source-type",
        "change-emitted-name",
        "change-key",
    }
    moved: Any = changes.build_diff(
        "", "", diff(OLD, TableSchema((OLD.columns[2], *OLD.columns[:2]), ("a",)))
    )
    assert [c["change"] for c in moved["changes"]] == ["move-column"]


def test_a_rename_has_the_grade_that_the_history_knows() -> None:
    old = TableSchema((Column("note", String(200), id=1),))
    new = TableSchema((Column("memo", String(200), id=1),))
    document: Any = changes.build_diff("x@1", "x@2", diff(old, new), history().latest.candidates)
    assert [(c["grade"], c["evidence"]) for c in document["changes"]] == [
        ("possible", ["same place", "same kind of type"])
    ]


def test_verdicts_stand_in_the_order_of_the_readers() -> None:
    document: Any = changes.build_finding(judged()[1].finding, "break")
    assert list(document["verdicts"]) == [r for r in READERS if r in document["verdicts"]]


def test_bytes_of_a_reject_are_base64_and_only_there_if_kept() -> None:
    document: Any = intake.build_rejects(REJECTS, NOTES)
    assert [r["payload"] for r in document["rejects"]] == [None, "AP8="]


def test_a_run_stands_where_its_last_line_says() -> None:
    states = {r.run: (r.state, r.steps_done, r.began_ms, r.last_ms) for r in status.fold_run_states(JOURNAL)}
    assert states == {"r1": ("finished", 1, 1, 5), "r2": ("failed", 0, 4, 6)}


def test_a_report_carries_plan_documents_of_its_tables() -> None:
    data: Any = build_report([orders_story()], {plan().table: {"hash": "x"}}).data
    assert data["tables"][0]["plans"] == [{"hash": "x"}]


def closed(part: Any) -> Any:
    """The schema with every object that lists its members closed to others."""
    if isinstance(part, dict):
        found = {key: closed(value) for key, value in part.items()}
        return found | {"additionalProperties": False} if "properties" in part and "type" in part else found
    return [closed(p) for p in part] if isinstance(part, list) else part


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)
