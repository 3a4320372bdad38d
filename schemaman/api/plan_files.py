"""Names and writes the plan files of a folder.

Law: the plan of a lake table always has the same file name, and two tables never share one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from schemaman.api.files import read_text, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.errors import BadConfiguration, CouldNotDo
from schemaman.migration.plan import Phase, Plan
from schemaman.migration.plan_file import from_text, to_sql, to_text
from schemaman.settings import Settings

_LONGEST_NAME = 160
"""In bytes. File systems allow 255, and a suffix, a phase and an ending follow."""
_SHORTEST_KEY = 16


def plan_file(folder: Path, target: str, table: str, phase: Phase | None = None) -> Path:
    """Return the path of the plan file for a lake table, or for one phase of its recipe."""
    title = f"{target}.{table}"
    name = "".join(ch if ch.isalnum() or ch in "-_." else "_" for ch in title)
    # A dot in the target's name would be ambiguous: `a.b` and `c` join like `a` and `b.c`.
    unique = f"{target}\0{table}" if "." in target else title
    if len(name.encode()) > _LONGEST_NAME:
        name = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    suffix = "" if name == unique else f"-{hashlib.sha256(unique.encode()).hexdigest()[:8]}"
    part = "" if phase is None else f".{phase.number}-{phase.name}"
    return folder / f"{name}{suffix}{part}.plan.json"


def read_plan(settings: Settings, file: str) -> Plan:
    """The plan of a file, or of the standard input for `-`, signed if the settings name a key.

    Raises:
        CouldNotDo, BadConfiguration, StalePlan: the file cannot be read, is no plan, or was edited.
    """
    return from_text(read_text(file), read_plan_key(settings))


def read_plan_key(settings: Settings) -> bytes | None:
    """The key that signs plan files: the bytes of the file that the settings name; None without one.

    Raises:
        CouldNotDo: the file cannot be read.
        BadConfiguration: the key is shorter than 16 bytes.
    """
    if not settings.plan_key_file.value:
        return None
    path = resolve_path(settings.plan_key_file)
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise CouldNotDo(f"{path}: {error.strerror}", hint="plan_key_file names the key of plans") from error
    if len(key) < _SHORTEST_KEY:
        raise BadConfiguration(
            f"{path}: a key of {len(key)} bytes", hint=f"write at least {_SHORTEST_KEY}: openssl rand -hex 32"
        )
    return key


def write_plan(file: Path, plan: Plan, key: bytes | None = None) -> None:
    """The plan file, signed with the key if given, and its SQL for people beside it. Raises `CouldNotDo`."""
    write_text(file, to_text(plan, key))
    write_text(file.with_suffix(".sql"), to_sql(plan))
