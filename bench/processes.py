"""Runs processes and measures them: output, CPU time and peak memory; and what a process tree has spent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SCRIPT = str(Path(sys.executable).with_name("schemaman"))


@dataclass(frozen=True, slots=True)
class Finished:
    """Standard output, CPU seconds of user and system, peak memory (kB), and seconds by the clock."""

    output: str
    cpu: float
    peak: int
    seconds: float


def run_process(*command: str) -> Finished:
    """Run a Python script, or the interpreter with options. Ends the benchmark on a failure."""
    begin = time.monotonic()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return Finished(output, used.ru_utime + used.ru_stime, used.ru_maxrss, time.monotonic() - begin)


def read_tree_cpu() -> float:
    """Read the CPU seconds of this process and of all its descendants, also of those that have ended."""
    return sum(_read_tree().values()) / os.sysconf("SC_CLK_TCK")


def list_tree() -> tuple[int, ...]:
    """List the ids of this process and of all its descendants."""
    return tuple(_read_tree())


def read_cpu(pids: Iterable[int]) -> float:
    """Read the CPU seconds of processes, without what their descendants spent."""
    texts = (Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace") for pid in pids)
    spent = (sum(map(int, text.rpartition(")")[2].split()[11:13])) for text in texts)
    return sum(spent) / os.sysconf("SC_CLK_TCK")


def _read_tree() -> dict[int, int]:
    """Read the clock ticks of this process and of each descendant, with those of its ended children.

    Source: proc(5), `/proc/PID/stat`, fields 4 and 14 to 17.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended meanwhile, and its parent knows what it spent
        fields = text.rpartition(")")[2].split()
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    mine = os.getpid()
    return {pid: spent for pid, spent in ticks.items() if mine in _list_ancestors(pid, parents)}


def _list_ancestors(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    """List a process and those that it descends from."""
    while pid in parents:
        yield pid
        pid = parents[pid]
