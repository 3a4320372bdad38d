"""What a command line came to, as tests of commands look at it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """The exit code of a command, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output, read as JSON."""
        return json.loads(self.out)
