"""`schemaman serve` as a user types it."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from schemaman.server.users import read_users
from tests.support.certificates import self_signed
from tests.support.checkout import ROOT
from tests.support.command_line import Run


def test_a_server_beyond_this_machine_needs_users(run: Run, tmp_path: Path) -> None:
    done = run("serve", "--host", "0.0.0.0", "--store", f"sqlite:///{tmp_path / 'a.db'}")
    assert (done.code, "--users" in done.err) == (2, True)
    assert not (tmp_path / "a.db").exists()
    done = run("serve", "--users", str(tmp_path / "none"))
    assert (done.code, "cannot be read" in done.err) == (2, True)
    assert run("serve", "--add-user", "ana").code == 2


KEY = "B" * 85 + "A=="
"""The base64 of 64 bytes."""


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("ana:admin:x", "the role of ana is neither read nor write"),
        (":read:x", "the name is missing"),
        ("ana:read:$2b$12$abcdefgh", "the hash of ana is none of scrypt"),
        (f"ana:read:scrypt$16384$8$0$AAAA${KEY}", "the hash of ana"),
        (f"ana:read:scrypt$16384$-8$-1$AAAA${KEY}", "the hash of ana"),
        (f"ana:read:scrypt$1048576$8$1$AAAA${KEY}", "the hash of ana"),
        (f"ana:read:scrypt$16384$8$1$${KEY}", "the hash of ana"),
        ("ana:read:scrypt$16384$8$1$AAAA$BBBB", "the hash of ana"),
        (
            f"ana:read:scrypt$16384$8$1$AAAA${KEY}\nana:write:scrypt$16384$8$1$AAAA${KEY}",
            "ana is there twice",
        ),
    ],
)
def test_a_line_of_users_that_nobody_could_log_in_with_is_refused(
    run: Run, tmp_path: Path, line: str, fault: str
) -> None:
    (tmp_path / "bad").write_text(f"{line}\n")
    done = run("serve", "--users", str(tmp_path / "bad"))
    assert (done.code, f"line {len(line.splitlines())}: {fault}" in done.err) == (2, True)
    assert KEY not in done.err


def test_a_certificate_that_cannot_be_used_is_told_with_its_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    for words, code, fault in (
        (("--key", "k.pem"), 2, "--key needs the certificate"),
        (("--certificate", "none.pem"), 3, "none.pem cannot be read"),
        (("--certificate", "c.pem"), 3, "c.pem comes without its key"),
        (("--certificate", "c.pem", "--key", "none.pem"), 3, "none.pem cannot be read"),
        (("--certificate", "c.pem", "--key", "c.pem"), 3, "c.pem cannot be used"),
    ):
        files = [word if word.startswith("--") else str(tmp_path / word) for word in words]
        done = run("serve", "--port", "0", "--store", f"sqlite:///{tmp_path / 'a.db'}", *files)
        assert (done.code, fault in done.err) == (code, True), done.err
        assert not (tmp_path / "a.db").exists()


def test_an_encrypted_key_is_refused_without_a_question(run: Run, tmp_path: Path) -> None:
    pair = self_signed(tmp_path, pass_phrase=b"secret")
    done = run(
        "serve", "--port", "0", "--store", f"sqlite:///{tmp_path / 'a.db'}", "--certificate", str(pair)
    )
    assert (done.code, f"the key in {pair} is encrypted" in done.err) == (3, True), done.err
    assert f"openssl pkey -in {pair} -out FILE" in done.err
    assert not (tmp_path / "a.db").exists()


def test_an_address_that_cannot_be_listened_on_is_told(run: Run, tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path / 'a.db'}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "--port", str(taken.getsockname()[1]), *store)
    assert (done.code, "--port" in done.err) == (3, True)
    done = run("serve", "--port", "0", "--insecure", "--host", "192.0.2.1", *store)
    assert (done.code, "--host" in done.err) == (3, True)
    assert not (tmp_path / "a.db").exists()


def test_a_user_is_added_with_a_password_that_is_not_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.prompt", lambda *words, **options: "secret")
    path = tmp_path / "users"
    done = run("serve", "--users", str(path), "--add-user", "ana", "--read-only", "--format", "json")
    assert done.json == {"schema_version": 1, "url": None, "user": "ana", "role": "read"}
    assert (done.code, "ana may read" in done.err) == (0, True)
    assert [(user.name, user.role) for user in read_users(path)] == [("ana", "read")]
    assert "secret" not in done.err + path.read_text()


def test_a_server_keeps_what_it_has_acknowledged(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "schemaman_cli.main",
        "serve",
        "--port",
        "0",
        "--store",
        "sqlite:///r.db",
    ]
    for version in (1, 1):
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": python_path()},
        ) as server:
            assert server.stdout is not None
            assert server.stderr is not None
            url = server.stdout.readline().strip()
            assert f"serving {url};" in server.stderr.readline()
            parts = urlsplit(url)
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
            connection.request("POST", "/subjects/s/versions", json.dumps({"schema": '"int"'}))
            assert json.loads(connection.getresponse().read())["version"] == version
            connection.close()
            server.send_signal(signal.SIGTERM)
            rest = server.stderr.read()
            assert server.wait(60) == 143
            assert rest.endswith("stopped; every request that had begun was answered\n")
            assert '"path": "/subjects/s/versions"' in rest


def test_a_stop_does_not_wait_for_whoever_has_locked_the_store(tmp_path: Path) -> None:
    command = (
        "from schemaman.server import running; running._GRACE_SECONDS = 0.2; "
        "from schemaman_cli.main import main; raise SystemExit(main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", command, "serve", "--port", "0", "--store", "sqlite:///r.db"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": python_path()},
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        parts = urlsplit(server.stdout.readline().strip())
        with closing(sqlite3.connect(tmp_path / "r.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = [http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60) for _ in "ab"]
            waiting[0].request("POST", "/subjects/s/versions", json.dumps({"schema": '"int"'}))
            waiting[1].request("PUT", "/config", json.dumps({"compatibility": "NONE"}))
            probe = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
            probe.request("GET", "/health")  # behind both
            assert probe.getresponse().read()
            server.send_signal(signal.SIGTERM)
            assert [connection.getresponse().status for connection in waiting] == [503, 503]
            began = time.monotonic()
            assert server.wait(60) == 143
            assert time.monotonic() - began < 30  # the lock is waited for up to a minute
            assert "2 requests took too long and were answered with 503" in server.stderr.read()
            for connection in (*waiting, probe):
                connection.close()


def python_path() -> str:
    """Where the command line and the library lie."""
    return f"{ROOT}:{ROOT / 'build' / 'typing'}"
