"""Reads options of clients: files of `name=value` lines, or single options; flags take no secrets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from schemaman.api.settings_files import resolve_path
from schemaman.errors import BadConfiguration, BadReference, UsageError
from schemaman.io import schema_registry
from schemaman.io.schema_registry import AnyRegistry
from schemaman.settings import Setting, Settings
from schemaman.store.urls import has_password, is_secret, without_password


def read_client_options(setting: Setting[tuple[str, ...]]) -> dict[str, str]:
    """Read the options of a client; a later option wins. A file is relative to the origin of the setting.

    Raises:
        UsageError: the command line contains a secret.
        BadConfiguration: a file cannot be read, or a line of it is not `name=value`.
    """
    found: dict[str, str] = {}
    for word in setting.value:
        name, sign, value = word.partition("=")
        if not sign:
            found |= _read_file(resolve_path(Setting(word, setting.origin)))
        elif setting.origin.startswith("--") and is_secret(name):
            raise UsageError(
                f"{name} is a secret, and other users can see command lines",
                hint=f"put it in a file and use {setting.origin} FILE",
            )
        else:
            found[name.strip()] = value.strip()
    return found


def open_schema_registry(settings: Settings) -> AnyRegistry | None:
    """Open the schema registry or the export of the settings, if any. Raises as `read_client_options`."""
    setting = settings.registry
    if not setting.value:
        return None
    if schema_registry.is_url(setting.value):
        return schema_registry.open_registry(setting.value, read_client_options(settings.registry_config))
    if "://" in setting.value or has_password(setting.value):
        raise BadReference(
            f"{without_password(setting.value)}: not the address of a schema registry",
            hint="use http://…, https://…, or a file",
        )
    return schema_registry.load_export(str(resolve_path(setting)))


def _read_file(path: Path) -> dict[str, str]:
    """Source: librdkafka and kcat `-F`: one option per line, `#` begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{path} cannot be read: {error}", hint="use a text file of name=value lines"
        ) from error
    return dict(_read_pairs(path, lines))


def _read_pairs(path: Path, lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, sign, value = text.partition("=")
        if not sign:
            raise BadConfiguration(f"{path}:{number}: not a name=value line", hint="# begins a comment")
        yield name.strip(), value.strip()


def read_subject(settings: Settings, subject: str, version: int | None) -> str:
    """Read the schema of a subject from the schema registry or the export of the settings.

    Raises:
        UsageError: the settings name no registry, or one without subjects.
        CouldNotDo: the subject cannot be read.
    """
    setting = settings.registry
    if not setting.value:
        raise UsageError("no schema registry is set", hint="set registry = URL or FILE in schemaman.toml")
    if not schema_registry.is_url(setting.value):
        return schema_registry.read_subject(str(resolve_path(setting)), subject, version)
    client = schema_registry.open_registry(setting.value, read_client_options(settings.registry_config))
    return client.fetch_subject(subject, version)
