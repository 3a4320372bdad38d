"""Registrations are in the log before any record, and `history` shows them; `store check` finds damage."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import schemaman as sm
from schemaman.store.sql.store import SqlStore
from schemaman.store.subjects import SchemaReference
from tests.server.test_source_tables import list_recorded
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run

NAMES = CAPTURES / "postgres" / "shop-names-avro"


def test_registrations_are_evidence_that_makes_no_version(run: Run, tmp_path: Path) -> None:
    url, plain = (f"sqlite:///{tmp_path / name}.db" for name in ("a", "b"))
    registry = sm.open_schema_registry(url, create=True)
    registry.update_config({"compatibility": "NONE"})
    wanted = [e for e in list_recorded(NAMES) if "shop.plain" in e["subject"]]
    for entry in wanted:
        registry.register(entry["subject"], entry["schema"])
    registry.register("own", '{"type":"record","name":"Own","fields":[]}')
    with SqlStore.open(url) as opened:
        assert (opened.end(), opened.tables(), opened.check()) == (len(wanted), (), ())
    for store in (url, plain):
        assert run("ingest", str(NAMES), "--store", store, "--quiet").code == 0
    later = json.loads(wanted[-1]["schema"])
    later["fields"] = [f for f in later["fields"] if f["name"] not in ("before", "after", "UPPER")]
    registry.register("shopdb.shop.plain-value", json.dumps(later))
    shown = [json.loads(run("history", "plain", "--store", s, "--format", "json").out) for s in (url, plain)]
    registered = shown[0].pop("registered")
    assert shown[0] == shown[1]
    found = [(one["subject"].rpartition("-")[2], one["version"], one["versions"]) for one in registered]
    assert found == [
        ("key", 1, [1]), ("value", 1, [1]), ("key", 2, [2]), ("value", 2, [2]), ("value", 3, []),
    ]  # fmt: skip
    text = run("history", "plain", "--store", url).out
    assert "5 event schemas that clients registered" in text
    assert "none: no record has shown it" in text


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE subject_schema SET body = replace(body, 'int', 'long')", "does not match its fingerprint"),
        ("UPDATE subject_schema SET body = '[]' WHERE id = 1", "no JSON object"),
        ("UPDATE subject_context SET largest_id = 1", "schema 2 of context . has an id that was never given"),
        ("DELETE FROM subject_schema WHERE id = 1", "version 1 of subject s has no schema"),
        ("UPDATE subject_version SET number = -1 WHERE subject = 's'", "has no number that there is"),
        ("DELETE FROM subject_version WHERE subject = 's'", "subject s has 0 versions"),
        ("UPDATE subject SET live = 7", "counts others"),
        ("UPDATE subject SET live = 'x'", "a row of subject has 'x' among its values"),
        ("DELETE FROM subject_reference", "the reference of schema 2 to version 1 of s is wrong"),
    ],
)
def test_damaged_subjects_are_found(run: Run, tmp_path: Path, damage: str, words: str) -> None:
    store = f"sqlite:///{tmp_path / 'a.db'}"
    registry = sm.open_schema_registry(store, create=True)
    registry.register("s", '{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}')
    reference = sm.SchemaRequest('["null","A"]', references=(SchemaReference("A", "s", 1),))
    registry.register("t", reference)
    registry.tables.set_policy({"policy": "CDC"})
    assert run("store", "check", "--store", store).code == 0
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute(damage)
    connection.close()
    done = run("store", "check", "--store", store)
    assert (done.code, words in done.out) == (3, True), done.out
