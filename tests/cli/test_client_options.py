"""Options of clients: from files, single words and settings; what is said later wins, secrets stay hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemaman.api.client_options import read_client_options
from schemaman.errors import BadConfiguration, UsageError
from schemaman.settings import SettingsFile, read_settings
from schemaman.store.urls import has_password, is_secret, without_password
from schemaman_cli.main import main


def told(
    flags: tuple[str, ...] = (), toml: str = "", folder: Path | None = None, **variables: str
) -> dict[str, str]:
    """The options of Kafka that settings mean."""
    file = SettingsFile(str((folder or Path()) / "schemaman.toml"), toml)
    settings = read_settings({"kafka_config": flags}, variables, file)
    return read_client_options(settings.kafka_config)


def test_files_and_single_options(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# a comment\n\nclient.id = me\nsasl.password=a=b#c\n")
    assert told((str(file), "client.id=you")) == {"client.id": "you", "sasl.password": "a=b#c"}
    assert told(("client.id=you", str(file)))["client.id"] == "me"
    assert told(SCHEMAMAN_KAFKA_CONFIG=f"{file},client.id=you")["client.id"] == "you"


def test_a_file_that_settings_name_lies_beside_them(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("client.id=me\n")
    assert told(toml='kafka_config = ["client.properties"]', folder=tmp_path) == {"client.id": "me"}
    table = '[kafka_config]\n"fetch.min.bytes" = 1\n"enable.ssl" = true\n"sasl.password" = "x"'
    assert told(toml=table) == {"fetch.min.bytes": "1", "enable.ssl": "true", "sasl.password": "x"}


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sasl\.password is a secret") as fault:
        told(("sasl.password=hush",))
    assert "hush" not in fault.value.message + (fault.value.hint or "")
    with pytest.raises(BadConfiguration, match=r"nothing\.properties cannot be read"):
        told((str(tmp_path / "nothing.properties"),))
    (tmp_path / "bad.properties").write_text("client.id=me\noops\n")
    with pytest.raises(BadConfiguration, match=r"bad\.properties:2: not a name=value line"):
        told((str(tmp_path / "bad.properties"),))
    with pytest.raises(BadConfiguration, match="expected a string"):
        told(toml='[kafka_config]\n"client.id" = 1.5')


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("sasl.password", True),
        ("ssl.key.password", True),
        ("ssl.key.pem", True),
        ("sasl.oauthbearer.client.secret", True),
        ("basic.auth.user.info", True),
        ("bearer.auth.token", True),
        ("client.id", False),
        ("ssl.ca.location", False),
        ("security.protocol", False),
    ],
)
def test_secrets_are_known_by_their_names(name: str, hidden: bool) -> None:
    assert is_secret(name) is hidden


@pytest.mark.parametrize("format", ["text", "json", "markdown"])
def test_secrets_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        'kafka_config = ["client.id=me", "sasl.password=hush"]',
        "[registry_config]",
        '"basic.auth.user.info" = "u:hush"',
    ]
    Path("schemaman.toml").write_text("\n".join(lines))
    assert main(["config", "show", "--format", format]) == 0
    shown = capsys.readouterr().out
    assert "hush" not in shown
    assert "client.id=me" in shown
    if format == "json":
        found = {s["name"]: s["value"] for s in json.loads(shown)["settings"]}
        assert found["kafka_config"] == ["client.id=me", "sasl.password=***"]
        assert found["format_key"] == "auto"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hush@host/db",
        "postgresql://me:hush@hush@host:5432/db?sslmode=disable",
        "postgresql://me:hu/hush@host/db",
        "postgresql://me:a hush@host/db",
        "postgresql://:hush@host/db",
        "postgresql://me@host:5432/db?password=hush",
        "postgresql://host/db?sslmode=disable&sslpassword=hush&schema=s",
        "postgresql:/me:hush@host/db",
        "mysql:me:hush@host/db",
        "ftp://me:hush@host",
        "me:hush@host/db",
        "host=there user=me password=hush dbname=db",
    ],
)
def test_a_password_in_an_address_is_seen_and_not_shown(address: str) -> None:
    assert has_password(address)
    assert "hush" not in without_password(address)
    assert "***" in without_password(address)


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///schemaman.db",
        "sqlite:////home/me@work/a:b@c.db",
        "schemaman.db",
        "postgresql://me@host:5432/db?application_name=me@work",
        "postgresql://host:5432/db?application_name=me@work&schema=s",
        "http://host:8081",
    ],
)
def test_an_address_without_a_password_is_taken(address: str) -> None:
    assert not has_password(address)
