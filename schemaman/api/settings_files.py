"""Loads settings from the environment and the nearest `schemaman.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from schemaman.errors import BadConfiguration
from schemaman.settings import Setting, Settings, SettingsFile, read_settings
from schemaman.store.urls import has_password


def load_settings(flags: Mapping[str, object], file: SettingsFile | None = None) -> Settings:
    """Load settings by flag, environment, file and default; the nearest file unless `file` is given.

    Raises:
        BadConfiguration: a value or a file is invalid.
    """
    return read_settings(flags, os.environ, file or find_settings_file(Path.cwd()))


def open_settings_file(path: str | Path) -> SettingsFile:
    """Open the settings file at a path. Raises `BadConfiguration`."""
    file = Path(path).absolute()
    section = ("tool", "schemaman") if file.name == "pyproject.toml" else ()
    return SettingsFile(str(file), _read_text(file), section)


def find_settings_file(folder: Path) -> SettingsFile | None:
    """Find the nearest `schemaman.toml`, or `pyproject.toml` with `[tool.schemaman]`.

    The search goes up to the root of the git repository; outside one it covers only the folder itself.
    """
    here = folder.absolute()
    above = (here, *here.parents)
    root = next((i for i, parent in enumerate(above) if (parent / ".git").exists()), 0)
    for parent in above[: root + 1]:
        own = parent / "schemaman.toml"
        if own.is_file():
            return SettingsFile(str(own), _read_text(own))
        project = parent / "pyproject.toml"
        if project.is_file() and "[tool.schemaman" in (text := _read_text(project)):
            return SettingsFile(str(project), text, ("tool", "schemaman"))
    return None


def resolve_path(setting: Setting[str]) -> Path:
    """Resolve the path of a setting; a path from a settings file is relative to that file."""
    return _base_folder(setting) / setting.value


def resolve_store_url(setting: Setting[str]) -> str:
    """Return the URL of the store; the path of a local store becomes absolute."""
    scheme, slashes, path = setting.value.partition(":///")
    if "://" not in setting.value and setting.value and not has_password(setting.value):
        return str(_base_folder(setting) / setting.value)
    if scheme != "sqlite" or not slashes or path in ("", ":memory:"):
        return setting.value
    return f"sqlite:///{(_base_folder(setting) / path).absolute()}"


def _base_folder(setting: Setting[str]) -> Path:
    origin = Path(setting.origin)
    return origin.parent if origin.suffix == ".toml" else Path()


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{path} cannot be read: {error}", hint="use a UTF-8 text file") from error
