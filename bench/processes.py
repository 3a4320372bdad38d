"""Runs processes and measures them: output, CPU time and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SCRIPT = str(Path(sys.executable).with_name("schemaman"))


@dataclass(frozen=True, slots=True)
class Finished:
    """Standard output, CPU seconds of user and system, and peak memory (kB)."""

    output: str
    cpu: float
    peak: int


def run_process(*command: str) -> Finished:
    """Run a Python script, or the interpreter with options. Ends the benchmark on a failure."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return Finished(output, used.ru_utime + used.ru_stime, used.ru_maxrss)
