"""A store for each test of the sink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemaman.store.sql.store import SqlStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as made:
        yield made
