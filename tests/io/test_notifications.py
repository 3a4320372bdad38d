"""Messages to a webhook: bounded, tried again, and never the reason of another result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from schemaman.api.notifying import notify_of_tables
from schemaman.api.schema_registries import make_served_registry
from schemaman.api.workspace import Workspace
from schemaman.errors import CouldNotDo
from schemaman.io import webhook
from schemaman.io.notifications import LONGEST_TEXT, MOST_ENTRIES, build_body, send_notification
from schemaman.report.json.sync import FollowedTable
from schemaman.settings import NotifySetting, SettingsFile, read_settings
from schemaman.spark.streaming.batch_notices import BatchNotices
from schemaman.spark.streaming.batch_report import BatchReport, TableReport
from schemaman.store.sql.store import SqlStore
from tests.cli.test_check_branch import CHANGES, make_repository
from tests.support.command_line import Run, place
from tests.support.command_line import run as ask

__all__ = ["ask", "place"]


class Hook(ThreadingHTTPServer):
    """A webhook on loopback: it answers with `codes` in order, then with 204, and keeps what it received."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.codes: list[int] = []
        self.received: list[tuple[dict[str, str], Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/secret"


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Hook)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((dict(self.headers), json.loads(body)))
        self.send_response(self.server.codes.pop(0) if self.server.codes else 204)
        self.send_header("Location", self.server.address)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    monkeypatch.setattr(webhook, "_PAUSE_SECONDS", 0.0)
    with Hook() as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


ENTRY = {"table": "orders", "message": "sku is gone"}


def send(setting: NotifySetting, *entries: dict[str, str]) -> list[str]:
    """Send a break, and return the warnings."""
    warnings: list[str] = []
    send_notification(
        (setting,), "break", "1 break", entries or (ENTRY,), lambda text, _: warnings.append(text)
    )
    return warnings


def test_a_message_is_sent_once_with_the_secrets_of_the_environment(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", hook.address)
    monkeypatch.setenv("TOKEN", "s3cret")
    setting = NotifySetting("env:HOOK", headers=(("Authorization", "env:TOKEN"),))
    assert send(setting) == []
    ((headers, body),) = hook.received
    assert (headers["Authorization"], headers["Content-Type"]) == ("s3cret", "application/json")
    assert body == {
        "schema_version": 1, "event": "break", "text": "schemaman: 1 break\norders: sku is gone",
        "entries": [ENTRY], "more": 0,
    }  # fmt: skip
    assert send(replace(setting, events=("block",))) == []
    assert len(hook.received) == 1


@pytest.mark.parametrize(
    ("codes", "requests", "fails"),
    [([500, 429], 3, False), ([503, 503, 503], 3, True), ([404], 1, True), ([302], 1, True)],
)
def test_only_what_may_pass_is_tried_again(hook: Hook, codes: list[int], requests: int, fails: bool) -> None:
    hook.codes = list(codes)
    warnings = send(NotifySetting(hook.address))
    assert len(hook.received) == requests
    assert bool(warnings) is fails
    assert not [text for text in warnings if "secret" in text or "127.0.0.1" in text]


def test_a_webhook_that_is_not_there_is_a_warning() -> None:
    pauses: list[float] = []
    with pytest.raises(CouldNotDo, match="ConnectionRefusedError"):
        webhook.post_json("http://127.0.0.1:9/x", b"{}", {}, timeout=1, attempts=4, sleep=pauses.append)
    assert pauses == [0.5, 1.0, 2.0]
    for address in ("env:NOT_SET", "http://[", "http://127.0.0.1:9/\n"):
        (warning,) = send(NotifySetting(address, attempts=1))
        assert warning.startswith("the notification was not sent: ")


def test_a_webhook_that_answers_byte_by_byte_takes_no_longer_than_its_time() -> None:
    with create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                for byte in b"HTTP/1.1 200 " + b"O" * 20:
                    connection.send(bytes([byte]))
                    sleep(0.1)

        Thread(target=drip, daemon=True).start()
        address, begun = f"http://127.0.0.1:{server.getsockname()[1]}/x", monotonic()
        with pytest.raises(CouldNotDo, match="TimeoutError"):
            webhook.post_json(address, b"{}", {}, timeout=0.3, attempts=1)
        assert monotonic() - begun < 2


def test_a_message_is_bounded_and_its_names_are_text() -> None:
    entries = [{"table": f"t{n}\u202e", "message": "x" * 10_000 + "\ud800"} for n in range(1000)]
    body = build_body("break", "many", entries)
    document = json.loads(body)
    assert len(body) < 64 * 1024
    assert (len(document["entries"]), document["more"]) == (MOST_ENTRIES, 1000 - MOST_ENTRIES)
    assert {len(entry["message"]) for entry in document["entries"]} == {LONGEST_TEXT}
    assert document["text"].endswith("and 980 more")
    assert document["entries"][0]["table"] == "t0\\u202e"


def test_a_check_tells_of_its_breaks_and_keeps_its_exit_code(
    tmp_path: Path, ask: Run, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repository(tmp_path, "", CHANGES["drop"][0]))
    Path("schemaman.toml").write_text(f'[notify]\nwebhook = "{hook.address}"\nattempts = 1\n')
    assert ask("check").code == 1
    ((_, body),) = hook.received
    assert [(e["rule"], e["path"]) for e in body["entries"]] == [("column-dropped", "name")]
    assert "secret" not in ask("config", "show").out
    hook.codes = [500]
    done = ask("check", "--format", "json")
    assert done.code == 1
    assert (
        "warning: the notification was not sent: the webhook did not accept the message: HTTP 500" in done.err
    )
    assert done.json["verdict"] == "fail"


def test_a_round_of_sync_tells_of_tables_that_wait(hook: Hook) -> None:
    file = SettingsFile("schemaman.toml", f'[notify]\nwebhook = "{hook.address}"\n')
    tables = (
        FollowedTable("orders", "raw", "ice.orders", "waiting", 1, reasons=("an approval is missing",)),
        FollowedTable("stock", "raw", "ice.stock", "current"),
    )
    notify_of_tables(Workspace(read_settings({}, {}, file)), tables)
    ((_, body),) = hook.received
    assert (body["event"], [entry["lake_table"] for entry in body["entries"]]) == ("block", ["ice.orders"])


def test_a_quarantined_schema_is_told(hook: Hook, tmp_path: Path) -> None:
    file = SettingsFile("schemaman.toml", f'[notify]\nwebhook = "{hook.address}"\n')
    text = '{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}'
    with SqlStore.open(f"sqlite:///{tmp_path / 'a.db'}", create=True) as store:
        registry = make_served_registry(Workspace(read_settings({}, {}, file)), store)
        registry.tables.set_policy({"policy": "QUARANTINE"})
        registry.register("t-value", text)
        registry.register("t-value", text.replace('"a"', '"b"'))
    for _ in range(500):
        if hook.received:
            break
        sleep(0.01)
    ((_, body),) = hook.received
    assert body["event"] == "quarantine"
    assert [entry["rule"] for entry in body["entries"]] == ["column-rename-suspected", "compatibility-level"]
    assert {(entry["table"], entry["version"]) for entry in body["entries"]} == {("t-value", "2")}


def test_batches_tell_what_is_new(hook: Hook) -> None:
    notices = BatchNotices((NotifySetting(hook.address),))
    held = BatchReport(
        1, (TableReport("orders", "lake.orders", quarantined=3, blocked="a rename"),), rejected=1
    )
    fine = BatchReport(2, (TableReport("orders", "lake.orders"),))
    for report in (held, held, fine, held):
        notices.send(report)
    events = [(body["event"], len(body["entries"])) for _, body in hook.received]
    assert events == [("block", 1), ("quarantine", 2)] * 2


@pytest.mark.parametrize(
    "text",
    [
        "webhook = 'ftp://x'", "webhook = 3", "url = 'https://x'", "webhook = 'https://x'\ntimeout = 0",
        "webhook = 'https://x'\nevents = ['brake']", "webhook = 'https://x'\nattempts = true",
        "webhook = 'https://x'\nretries = 2",
    ],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"notify|expected one of"):
        read_settings({}, {}, SettingsFile("schemaman.toml", f"[notify]\n{text}\n"))
