"""Which tests share a process where several processes share a run (`make unit`, `make test`).

Groups by the marks of pytest-xdist 3.8 have no effect under pytest 9.2: its nodes take their id from another
attribute.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

SHARED = {"spark": "spark", "jvm": "servers", "live": "servers"}
"""Folders whose tests share a Spark session, or servers that take long to start."""


class SharedRun(LoadScopeScheduling):
    """Keeps together what shares a session, servers or a file; any process runs the other files."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = PurePosixPath(file).parts[1]
        return SHARED.get(folder, file)


def order_of_start(nodeid: str) -> int:
    """The shared groups take longest, so they start first: Spark, then servers, then every other file."""
    folder = PurePosixPath(nodeid.partition("::")[0]).parts[1]
    return ("spark", "servers", "").index(SHARED.get(folder, ""))
