"""Options of clients as users give them: files of `name=value` lines, or single ones; no secrets in flags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from schemaman.errors import BadConfiguration, BadReference, UsageError
from schemaman.io import schema_registry
from schemaman.io.schema_registry import AnyRegistry
from schemaman.settings import Setting, is_secret
from schemaman.store.urls import has_password, without_password
from schemaman_cli.options import Door


def options_of(door: Door, setting: Setting[tuple[str, ...]]) -> dict[str, str]:
    """The options that a setting means; what is said later wins. A file is relative to where it was named.

    Raises:
        UsageError: a secret stands in the command line.
        BadConfiguration: a file that cannot be read, or a line of it that is no `name=value`.
    """
    found: dict[str, str] = {}
    for word in setting.value:
        name, sign, value = word.partition("=")
        if not sign:
            found |= _file(door.path(Setting(word, setting.origin)))
        elif setting.origin.startswith("--") and is_secret(name):
            raise UsageError(
                f"{name} is a secret, and others can see a command line",
                hint=f"write it into a file and say {setting.origin} FILE",
            )
        else:
            found[name.strip()] = value.strip()
    return found


def registered(door: Door) -> AnyRegistry | None:
    """The registry that the settings name, live or an export, if any. Raises as `options_of`."""
    setting = door.settings.registry
    if not setting.value:
        return None
    if schema_registry.is_url(setting.value):
        return schema_registry.open_registry(setting.value, options_of(door, door.settings.registry_config))
    if "://" in setting.value or has_password(setting.value):
        raise BadReference(
            f"{without_password(setting.value)}: no registry has an address of this kind",
            hint="http://…, https://…, or a file",
        )
    return schema_registry.load_export(str(door.path(setting)))


def _file(path: Path) -> dict[str, str]:
    """Source: librdkafka and kcat `-F`: a line each, `#` begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{path} cannot be read: {error}", hint="a text file of name=value lines"
        ) from error
    return dict(_pairs(path, lines))


def _pairs(path: Path, lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, sign, value = text.partition("=")
        if not sign:
            raise BadConfiguration(f"{path}:{number}: not a line of name=value", hint="# begins a comment")
        yield name.strip(), value.strip()
