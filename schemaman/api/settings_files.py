"""Where settings come from on this machine: the environment and the nearest `schemaman.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from schemaman.errors import BadConfiguration
from schemaman.settings import Setting, Settings, SettingsFile, read_settings


def load_settings(flags: Mapping[str, object], file: SettingsFile | None = None) -> Settings:
    """The settings by flag, environment, file and default; the nearest file unless `file` is given.

    Raises:
        BadConfiguration: a value or a file that is wrong.
    """
    return read_settings(flags, os.environ, file or find_settings_file(Path.cwd()))


def open_settings_file(path: str | Path) -> SettingsFile:
    """The settings file at a path. Raises `BadConfiguration`."""
    file = Path(path).absolute()
    section = ("tool", "schemaman") if file.name == "pyproject.toml" else ()
    return SettingsFile(str(file), _read_text(file), section)


def find_settings_file(folder: Path) -> SettingsFile | None:
    """The nearest `schemaman.toml`, or `pyproject.toml` with `[tool.schemaman]`, up to the repository's root.

    Outside a repository only the folder itself is searched.
    """
    here = folder.absolute()
    above = (here, *here.parents)
    root = next((i for i, place in enumerate(above) if (place / ".git").exists()), 0)
    for place in above[: root + 1]:
        own = place / "schemaman.toml"
        if own.is_file():
            return SettingsFile(str(own), _read_text(own))
        project = place / "pyproject.toml"
        if project.is_file() and "[tool.schemaman" in (text := _read_text(project)):
            return SettingsFile(str(project), text, ("tool", "schemaman"))
    return None


def resolve_path(setting: Setting[str]) -> Path:
    """The path of a setting; one from a file is relative to that file."""
    return _base_folder(setting) / setting.value


def resolve_store_url(setting: Setting[str]) -> str:
    """The URL of the store, with the path of a local one made absolute."""
    scheme, slashes, path = setting.value.partition(":///")
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
        raise BadConfiguration(
            f"{path} cannot be read: {error}", hint="it has to be a UTF-8 text file"
        ) from error
