"""Where things lie in a checkout, and how much a run is asked to prove."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
CAPTURES = FIXTURES / "captures"
STORIES = FIXTURES / "stories"
PROOF = os.environ.get("SCHEMAMAN_PROOF") == "1"
"""Full counts (`make proof`) instead of small fixed seeds (`make test`)."""
