"""Schemas of a registry whose lookup kills a process once, at a chosen moment of a reading."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from schemaman.debezium.wire_format import SchemaId
from schemaman.io.schema_registry import RegistryExport


@dataclass
class KillingSchemas:
    """Looks schemas up, and kills at a lookup in the driver or in a worker: itself, or the process `pid`.

    The lookups of each task are counted anew. It kills only while the file `armed` exists.
    """

    schemas: RegistryExport
    armed: Path
    lookup: int
    in_driver: bool = False
    pid: int | None = None
    driver: int = field(default_factory=os.getpid)
    lookups: int = 0

    def __post_init__(self) -> None:
        self.armed.touch()

    def __call__(self, id: SchemaId) -> str | None:
        if (os.getpid() == self.driver) == self.in_driver:
            self.lookups += 1
            if self.lookups >= self.lookup and self.disarm():
                os.kill(self.pid or os.getpid(), signal.SIGKILL)
                if self.pid is None:
                    signal.pause()  # a loaded machine may let the process run on for a moment
        return self.schemas(id)

    def disarm(self) -> bool:
        """Remove the file; False if another process has done so."""
        try:
            self.armed.unlink()
        except FileNotFoundError:
            return False
        return True
