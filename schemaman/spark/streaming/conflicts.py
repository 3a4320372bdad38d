"""Commits that another writer came before are tried again, a bounded number of times and never in step."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from schemaman.errors import StatementConflict

ATTEMPTS = 6
_FIRST_SECONDS = 0.1

Result = TypeVar("Result")


def rest_after(attempt: int) -> None:
    """Rest after a failed attempt, counted from 0: twice as long each time, and never as long as others.

    Source: M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
    """
    time.sleep(random.uniform(_FIRST_SECONDS, _FIRST_SECONDS * 2 ** (attempt + 1)))


def retry_conflicts(commit: Callable[[], Result]) -> Result:
    """Commit, and try again after a conflict. Raises `StatementConflict` of the last attempt."""
    for attempt in range(ATTEMPTS - 1):
        try:
            return commit()
        except StatementConflict:
            rest_after(attempt)
    return commit()
