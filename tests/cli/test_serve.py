"""`schemaman serve` as a user types it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from schemaman.server.users import read_users
from tests.support.checkout import ROOT
from tests.support.command_line import Run


def test_a_server_beyond_this_machine_needs_users(run: Run, tmp_path: Path) -> None:
    done = run("serve", "--host", "0.0.0.0", "--store", f"sqlite:///{tmp_path / 'a.db'}")
    assert (done.code, "--users" in done.err) == (2, True)
    assert not (tmp_path / "a.db").exists()
    done = run("serve", "--users", str(tmp_path / "none"))
    assert (done.code, "cannot be read" in done.err) == (2, True)
    (tmp_path / "bad").write_text("ana:admin:x\n")
    done = run("serve", "--users", str(tmp_path / "bad"))
    assert (done.code, "line 1" in done.err) == (2, True)
    assert run("serve", "--add-user", "ana").code == 2


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


def python_path() -> str:
    """Where the command line and the library lie."""
    return f"{ROOT}:{ROOT / 'build' / 'typing'}"
