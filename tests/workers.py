"""Which tests go to one process where several share a run: `make test` gives each core one.

Groups by the marks of pytest-xdist 3.8 have no effect under pytest 9.2, whose nodes no longer take their
id from the attribute that it writes.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

_TOGETHER = {"jvm": "servers", "live": "servers"}
"""Folders whose tests share what takes long to start."""


class SharedRun(LoadScopeScheduling):
    """Keeps together what shares a session, servers, or a file; the others go wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        _, first, *_ = PurePosixPath(nodeid.partition("::")[0]).parts
        return _TOGETHER.get(first, first)
