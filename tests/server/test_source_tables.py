"""Subjects beside the histories of the same store: their tables, versions, moments, and registrations."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import schemaman as sm
from tests.server.conftest import Answer
from tests.support.checkout import CAPTURES

Ask = Callable[..., Answer]
UNICODE = CAPTURES / "db2" / "shop-3.4.1-avro-unicode"
ORDERS = "/schemaman/v1/subjects/db2.DB2INST1.ORDERS-value"


def list_recorded(folder: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((folder / "registry.json").read_text(encoding="utf-8"))
    return [entry for entry in entries if "subject" in entry]


def import_recorded(registry: sm.SchemaRegistry, folder: Path) -> None:
    registry.set_mode({"mode": "IMPORT"})
    for entry in list_recorded(folder):
        request = sm.SchemaRequest(entry["schema"], id=entry["id"], version=entry["version"])
        registry.register(entry["subject"], request)
    registry.delete_mode()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a recording: its histories, and the subjects that its connector registered."""
    url = f"sqlite:///{tmp_path_factory.mktemp('filled') / 'store.db'}"
    with sm.open(url, create=True) as histories:
        histories.ingest(UNICODE)
    import_recorded(sm.open_schema_registry(url), UNICODE)
    return url


@pytest.fixture
def registry(filled: str, server: tuple[str, list[sm.SchemaRegistry]]) -> sm.SchemaRegistry:
    """The registry of that store, which the server serves."""
    server[1][:] = [sm.open_schema_registry(filled)]
    return server[1][0]


def test_each_recorded_schema_belongs_to_versions_of_its_table(registry: sm.SchemaRegistry) -> None:
    steps = 0
    for subject in registry.list_subjects():
        source = registry.tables.find_source(str(subject))
        for step in registry.tables.list_steps(str(subject)):
            assert bool(source.tables) == bool(step.belongs), step
            assert {one.fit for _, one in step.belongs} <= {"exact"}
            steps += len(step.belongs)
    assert steps > 30


def test_the_columns_behind_a_subject_have_their_own_names(ask: Ask) -> None:
    found = ask("GET", "/schemaman/v1/subjects/db2.DB2INST1.ORDERS-value/source").body
    assert (found["topic"], found["part"], found["strategy"]) == ("db2.DB2INST1.ORDERS", "value", "topic")
    assert found["table"] == "db2.TESTDB.DB2INST1.ORDERS" == found["tables"][0]["id"]
    assert (found["belongs"], found["history_version"]["version"], found["collisions"]) == (True, 3, [])
    fields = {one["column"]: one["field"] for one in found["columns"]}
    assert fields["ORDER_NO"] == "ORDER_u005fNO"
    assert [one["column"] for one in found["columns"] if one["key"]] == ["ORDER_NO", "LINE_NO", "CUSTOMER_ID"]
    key = ask("GET", "/schemaman/v1/subjects/db2.DB2INST1.ORDERS-key/source").body
    assert [one["column"] for one in key["columns"]] == ["ORDER_NO", "LINE_NO", "CUSTOMER_ID"]
    unknown = ask("GET", "/schemaman/v1/subjects/db2-key/source").body
    assert (unknown["tables"], unknown["table"], unknown["belongs"]) == ([], None, False)
    assert ask("GET", "/schemaman/v1/subjects/nothing/source").body["error_code"] == 40401


def test_a_moment_names_the_version_and_the_schema_that_held(ask: Ask) -> None:
    steps = ask("GET", "/schemaman/v1/subjects/db2.DB2INST1.ORDERS-value/versions").body
    first = steps[0]["belongs"][0]["history_version"]
    assert first["version"] == 1
    assert ask("GET", "/schemaman/v1/subjects/db2.DB2INST1.ORDERS-value/versions/1").body == steps[0]
    time = steps[-1]["belongs"][0]["history_version"]["from"]["ts_ms"] / 1000 + 3600
    for when, number in (("1", 1), ("latest", 3), (format_time(time), 3)):
        asked = f"{ORDERS}/at?when={when}"
        held = ask("GET", asked).body
        assert held["history_version"]["version"] == number, held
        assert held["versions"] == [
            s for s in steps if number in [b["history_version"]["version"] for b in s["belongs"]]
        ]
    assert ask("GET", "/schemaman/v1/subjects/db2.DB2INST1.ORDERS-value/at").body["error_code"] == 42271
    for when, code in (("yesterdayish", 42271), ("2001-01-01T00:00Z", 40471), ("99", 42271)):
        assert ask("GET", f"{ORDERS}/at?when={when}").body["error_code"] == code, when
    assert ask("GET", "/schemaman/v1/subjects/db2-key/at?when=1").body["error_code"] == 40471


def format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_gate_names_the_table_of_the_history(registry: sm.SchemaRegistry) -> None:
    subject = "db2.DB2INST1.ORDERS-value"
    text = registry.find_version(subject).schema.content.text
    judged = registry.tables.judge(subject, sm.SchemaRequest(text))
    assert (str(judged.table), judged.passes) == ("db2.TESTDB.DB2INST1.ORDERS", True)


def test_quarantine_never_stops_a_recorded_connector() -> None:
    registry = sm.open_schema_registry()
    registry.tables.set_policy({"policy": "QUARANTINE"})
    for entry in list_recorded(UNICODE):
        assert registry.register(entry["subject"], entry["schema"]).version.number == entry["version"]
    quarantined = registry.tables.list_quarantined()
    rules = {f["rule"] for one in quarantined if one.quarantine for f in one.quarantine.failures}
    assert {"key-column-added", "decimal-scale-changed", "column-rename-suspected"} <= rules
    assert len(quarantined) < len(list_recorded(UNICODE)) / 2
