"""Few records are enough to prove lines and rows in columns."""

from __future__ import annotations

import pytest

from schemaman.ingest import block_prover, column_matching


@pytest.fixture(autouse=True)
def short_streaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_prover, "_STREAK", 2)
    monkeypatch.setattr(column_matching, "_WORTH_A_TEMPLATE", 1)
