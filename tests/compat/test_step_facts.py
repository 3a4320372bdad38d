"""What shows in no structure: truncations, releases, encodings, topics; each is told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.compat.gate import check, list_all_steps, list_steps
from schemaman.compat.judge import RULES, StepFact
from schemaman.compat.snapshots import Snapshot, from_text, take_snapshot, to_text
from schemaman.history.epochs import Epoch
from schemaman.history.step_facts import find_version_facts, list_occurrences
from schemaman.history.versions import (
    Alias,
    Disagreement,
    KeySpan,
    NestedFieldAnswer,
    TableEvent,
    TableHistory,
)
from tests.support.histories import ORDERS, mark, told

ALL_RULES = RULES.load_all()
KEYED = "id INT NOT NULL, PRIMARY KEY (id)"
OTHER = replace(ORDERS, table="lines")


def told_by(*histories: TableHistory, since: int = 1) -> list[tuple[str, str, str]]:
    kept = {h.table: replace(take_snapshot(h, h.versions[since - 1], 0), occurrences=0) for h in histories}
    found = check(histories, kept, ALL_RULES).findings
    return [(f.rule, ".".join(f.path), severity) for f, severity in found]


def remarked(history: TableHistory, *remarks: tuple[str, int, str]) -> TableHistory:
    found = tuple(Disagreement(kind, (n,), text, (mark(n),)) for kind, n, text in remarks)
    return replace(history, disagreements=found)


def epochs(*periods: tuple[int, str, tuple[str, ...]]) -> tuple[Epoch, ...]:
    return tuple(
        Epoch(n, "mysql", release, None, mark(at), changes)
        for n, (at, release, changes) in enumerate(periods, start=1)
    )


def test_a_truncation_is_a_step_of_its_own_and_is_accepted_by_a_snapshot() -> None:
    history = replace(
        told(KEYED, f"{KEYED}, n INT"),
        events=(TableEvent("truncated", mark(5), 1), TableEvent("truncated", mark(9), 1)),
    )
    assert told_by(history) == [
        ("column-added-nullable", "n", "note"),
        *[("table-truncated", "", "danger")] * 2,
    ]  # fmt: skip
    kept = take_snapshot(history, history.latest)
    assert kept.occurrences == 2
    assert from_text(to_text(kept)) == kept
    assert list_steps(history, kept) == ()
    later = replace(history, events=(*history.events, TableEvent("truncated", mark(12), 1)))
    (step,) = list_steps(later, kept)
    assert step.old == step.new
    assert list_steps(later, replace(kept, occurrences=None)) == ()
    assert take_snapshot(history, history.versions[0]).occurrences == 0
    assert list_steps(later, Snapshot(ORDERS, kept.schema)) == ()


def test_an_epoch_is_one_finding_for_all_tables() -> None:
    changes = ("at is sent as TIMESTAMP_NTZ(6), no longer as TIMESTAMP_NTZ(3)",)
    one = replace(told("id INT, at TIMESTAMP_NTZ(6)"), epochs=epochs((0, "2.5", ()), (3, "2.5", changes)))
    others = [replace(one, table=replace(OTHER, table=f"t{n}")) for n in range(3)]
    time = ("t is sent as TIME(6), no longer as TIME(3)",)
    another = replace(told("t TIME(6)", table=OTHER), epochs=epochs((0, "2.5", ()), (7, "2.5", time)))
    assert told_by(one, *others, another) == [("time-precision-mode-changed", "", "break")]
    kept = {h.table: replace(take_snapshot(h, h.latest, 0), occurrences=0) for h in (one, *others, another)}
    ((finding, _),) = check((one, *others, another), kept, ALL_RULES).findings
    assert len(finding.evidence) == 5
    many = [replace(one, table=replace(OTHER, table=f"t{n:04}")) for n in range(1000)]
    of_all = {h.table: replace(kept[ORDERS], table=h.table) for h in many}
    ((shared, _),) = check(many, of_all, ALL_RULES).findings
    assert shared.fingerprint == finding.fingerprint
    assert shared.evidence[-1] == "and in 980 more tables"
    ((alone, _),) = check((another,), {OTHER: kept[OTHER]}, ALL_RULES).findings
    assert alone.fingerprint == finding.fingerprint


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("a is sent as STRING, no longer as DECIMAL(9,2)", "decimal-mode-changed"),
        ("a is sent as DOUBLE, no longer as STRING", "decimal-mode-changed"),
        ("a is sent as STRING, no longer as BINARY", "binary-mode-changed"),
        ("a is sent as ARRAY<STRING>, no longer as ARRAY<BINARY>", "binary-mode-changed"),
        ("a is sent as STRING, no longer as DATE", "time-precision-mode-changed"),
        ("a is sent as STRING, no longer as INTERVAL", "interval-encoding-changed"),
        ("a is sent as MAP<STRING, STRING>, no longer as JSON", "json-and-struct-exchanged"),
        ("a is sent as a_, no longer as a", "name-adjustment-changed"),
        ("a is sent as UUID, no longer as BOOLEAN", "not-judged"),
    ],
)
def test_each_change_of_encoding_has_a_rule(change: str, rule: str) -> None:
    history = replace(told("id INT, a INT"), epochs=epochs((0, "2.5", ()), (3, "2.5", (change,))))
    assert [name for name, _, _ in told_by(history)] == [rule]


def test_another_release_claims_what_it_changed() -> None:
    changes = ("a is sent as STRING, no longer as DECIMAL(9,2)",)
    minor = replace(told("a INT"), epochs=epochs((0, "2.5.1.Final", ()), (3, "2.6.0.Final", changes)))
    major = replace(told("a INT"), epochs=epochs((0, "1.9.8.Final", ()), (3, "2.6.0.Final", changes)))
    assert told_by(minor) == [("decimal-mode-changed", "", "break")]
    assert told_by(major) == [("connector-major-upgrade", "", "break")]
    quiet = replace(major, epochs=epochs((0, "2.5.1.Final", ()), (3, "2.6.0.Final", ())))
    assert told_by(quiet) == []


def test_another_topic_claims_the_name_of_the_schema() -> None:
    aliases = (
        Alias("topic", "shop.public.orders", mark(0), mark(4)),
        Alias("topic", "store.public.orders", mark(4)),
        Alias("schema_name", "shop.public.orders.Value", mark(0), mark(4)),
        Alias("schema_name", "store.public.orders.Value", mark(4)),
    )
    moved = replace(told("id INT"), aliases=aliases)
    assert told_by(moved) == [("routing-changed", "", "break")]
    assert list_occurrences(moved)[0].facts[0] == StepFact("topic", "shop", "store", scope="main:shop")
    assert told_by(replace(moved, aliases=aliases[2:])) == [("record-name-changed", "", "break")]
    both = (replace(aliases[0], until=None), aliases[1])
    assert told_by(replace(moved, aliases=both)) == []
    adjusted = (Alias("topic", "s.24-items", mark(0), mark(4)), Alias("topic", "s.24_items", mark(4)))
    assert told_by(replace(moved, aliases=adjusted)) == [("name-adjustment-changed", "", "break")]


def test_what_remarks_explain_is_no_drop() -> None:
    streamed = "n was read from the table and is not in the stream: generated columns are not streamed, or it"
    history = remarked(told("id INT, n INT", "id INT"), ("column-not-streamed", 2, streamed))
    assert told_by(history) == [("generated-column-not-captured", "n", "danger")]
    back = "n is in its old position again: it was dropped and added again, or the connector excluded it"
    filtered = remarked(told("id INT, n INT", "id INT", "id INT, n INT"), ("perhaps-excluded", 3, back))
    assert told_by(filtered) == [
        ("column-filter-changed", "n", "danger"), ("column-filter-changed", "n", "danger"),
    ]  # fmt: skip
    without = replace(filtered, disagreements=())
    assert told_by(without) == [("column-dropped", "n", "break"), ("column-readded", "n", "danger")]


def test_a_table_made_anew_and_exchanged_columns_are_one_finding() -> None:
    anew = told("id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)", "no INT NOT NULL, c INT, PRIMARY KEY (no)")
    assert told_by(remarked(anew, ("perhaps-made-anew", 2, "key and columns changed at once"))) == [
        ("table-recreated", "", "break")
    ]
    assert len(told_by(anew)) > 1
    text = "a, b are in other positions than before: they swapped names, or were dropped and added again"
    before, after = told("a INT, b INT").versions[0], told("x INT, y INT, b INT, a INT").versions[0]
    columns = tuple(replace(c, id=n) for n, c in enumerate(after.schema.columns[2:], start=8))
    second = replace(
        after,
        number=2,
        revisions=(replace(after.revisions[0], at=mark(2), schema=replace(after.schema, columns=columns)),),
        at=mark(2),
    )
    swapped = TableHistory(ORDERS, "postgresql", (before, second))
    assert told_by(remarked(swapped, ("perhaps-swapped", 2, text))) == [("columns-swapped", "a", "break")]


def test_phantoms_are_no_steps_and_keys_in_passing_are_none() -> None:
    history = told("id INT", "id INT, x INT NOT NULL", "id INT, n INT")
    phantom = replace(history.versions[1], status="phantom")
    known = replace(history, versions=(history.versions[0], phantom, history.versions[2]))
    assert told_by(known) == [("column-added-nullable", "n", "note")]
    columns = "a INT NOT NULL, b INT NOT NULL"
    keys = told(
        f"{columns}, PRIMARY KEY (a, b)",
        f"{columns}, PRIMARY KEY (b)",
        f"{columns}, c INT NOT NULL, PRIMARY KEY (b, c)",
    )
    passing = replace(keys.versions[1], unconfirmed=("key",))
    keys = replace(keys, versions=(keys.versions[0], passing, keys.versions[2]))
    text = "no record confirms the key (b): rows that lack columns of the later key (b, c) show it"
    assert told_by(remarked(keys, ("key-in-passing", 2, text))) == [("key-column-removed", "a", "break")]
    assert [rule for rule, _, _ in told_by(keys)] == ["key-column-removed", "key-column-added"]


def test_types_on_both_sides_of_a_change_are_no_types_of_their_own() -> None:
    number, text = "UNKNOWN('json:number')", "UNKNOWN('json:string')"
    history = told(f"id INT, a {number}", f"id INT, a UNION<{number}, {text}>", f"id INT, a {text}")
    assert told_by(history) == [("field-type-drift", "a", "break")]
    mixed = replace(history, versions=history.versions[:2])
    assert told_by(mixed) == [("field-type-conflict", "a", "break")]


def test_keys_of_events_and_of_other_origins_are_told() -> None:
    spans = (
        KeySpan(("id",), "declared", ("primary-key",), None, mark(0)),
        KeySpan((), "events", ("none",), mark(1), mark(4), mark(6)),
    )
    history = replace(told(KEYED), keys=spans)
    assert told_by(history) == [("key-override-changed", "", "danger")] * 2
    first = replace(history, keys=(spans[0], replace(spans[1], after=None)))
    assert told_by(first) == []
    other = (spans[0], KeySpan(("id",), "declared", ("unique-index",), None, mark(3)))
    assert told_by(replace(history, keys=other)) == [("key-source-changed", "", "break")]
    dropped = remarked(told(KEYED), ("key-index-dropped", 1, "the statement drops the index"))
    assert told_by(dropped) == [("unique-constraint-lost", "", "danger")]


def test_documents_have_rules_of_their_own() -> None:
    history = replace(
        told("_id INT NOT NULL", "_id INT NOT NULL, n INT", "_id INT NOT NULL, n BIGINT"), connector="mongodb"
    )
    dormant = remarked(history, ("field-dormant", 3, "n is dormant: not in the last 1000 records of t[0]"))
    assert told_by(dormant) == [
        ("field-appeared", "n", "danger"),
        ("numeric-kind-widened", "n", "break"),
        ("field-vanished", "n", "danger"),
    ]


def test_answers_about_nested_fields_count() -> None:
    history = told("s STRUCT<street: STRING>", "s STRUCT<road: STRING>")
    assert told_by(history) == [("column-rename-suspected", "s.street", "break")]

    def answered(same: bool) -> list[tuple[str, str, str]]:
        answer = NestedFieldAnswer(("s", "street"), ("s", "road"), same)
        second = replace(history.versions[1], field_answers=(answer,))
        return told_by(replace(history, versions=(history.versions[0], second)))

    assert answered(True) == [("column-renamed", "s.street", "break")]
    assert answered(False) == [
        ("nested-field-added", "s.road", "danger"),
        ("nested-field-dropped", "s.street", "break"),
    ]


def test_columns_without_a_field_are_told_with_the_step_to_their_version() -> None:
    history = remarked(
        told("id INT", "id INT, n INT"), ("column-not-emitted", 2, "no event carries the declared n")
    )
    assert told_by(history) == [("column-vanished-silently", "n", "danger")]
    assert find_version_facts(history)[2] == (StepFact("field-lost", columns=("n",)),)
    differs = remarked(
        told("id INT", "id INT, n INT"),
        ("nullability-differs", 2, "n is declared nullable and emitted NOT NULL"),
    )
    assert ("nullability-disagrees", "n", "danger") in told_by(differs)
    assert all(step.facts == () for step in list_all_steps(told("id INT", "id INT, n INT")))
