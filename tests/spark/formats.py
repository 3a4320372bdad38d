"""For which formats of a lake a test runs: for both, or in a small run for the one in which it is quicker."""

from __future__ import annotations

import pytest

from tests.support.checkout import PROOF

both = pytest.mark.parametrize("format", ["delta", "iceberg"])
slow = both if PROOF else pytest.mark.parametrize("format", ["iceberg"])
"""For tests that take tens of seconds a format: a proof runs them for both."""
