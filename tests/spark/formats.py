"""On which formats of a lake a test runs: on both what differs between them, on one a story."""

from __future__ import annotations

import pytest

from tests.support.checkout import PROOF

both = pytest.mark.parametrize("format", ["delta", "iceberg"])
"""For what the formats do each in a way of its own."""
on_delta = both if PROOF else pytest.mark.parametrize("format", ["delta"])
on_iceberg = both if PROOF else pytest.mark.parametrize("format", ["iceberg"])
"""For stories that are the same on both: a small run has each on one, by turns; on Iceberg what is long."""
