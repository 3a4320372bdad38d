"""Commands of the CLI in processes of their own, forked from one that has read the code already.

A start costs milliseconds, so that hundreds of them can be killed; each is a real process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from schemaman_cli.commands import ingest
from schemaman_cli.main import main

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])
_READ_AHEAD = ingest.COMMAND
"""Commands are read when they are called; this one is before anybody calls it."""


def start(arguments: Sequence[str]) -> ForkServerProcess:
    """`schemaman ARGUMENTS` on its way; what it says is thrown away, its exit code is kept."""
    process = _CONTEXT.Process(target=_run, args=(tuple(arguments),), daemon=True)
    process.start()
    return process


def finished(process: ForkServerProcess) -> int:
    """The exit code of a process that nobody kills."""
    process.join(timeout=300)
    assert process.exitcode is not None, "it goes on and on"
    return process.exitcode


def killed(process: ForkServerProcess, after: float, ends: Sequence[int] = (0,)) -> bool:
    """Whether SIGKILL found it still at work, so many seconds later; by itself it `ends` with these codes."""
    process.join(timeout=after)
    process.kill()
    process.join()
    assert process.exitcode in (*ends, -signal.SIGKILL), f"it ended by itself with {process.exitcode}"
    return process.exitcode == -signal.SIGKILL


def _run(arguments: tuple[str, ...]) -> None:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        code = main(arguments)
    sys.exit(code)
