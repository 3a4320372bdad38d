"""What lies at a place that a user named, which may be no name of a file at all."""

from __future__ import annotations

from pathlib import Path


def is_there(path: Path) -> bool:
    """Whether there is a file or a folder; not where the name is one that no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; whoever reads or writes the place says what is wrong with its name."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
