"""Runs processes and measures them: output, CPU time and peak memory; and what a process tree has spent."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SCRIPT = str(Path(sys.executable).with_name("schemaman"))


_WATCH_SECONDS = 0.1
"""The time between two samples of processes."""


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


class ProcessWatch:
    """Watches the memory and the CPU time of this process and of its descendants, while it is entered.

    `cpu` are the CPU seconds that they spent meanwhile, without the watch itself. A process that has ended
    counts up to its last sample: if its parent does not wait for it, its time is in no other process.
    `own`, `largest_python` and `largest_java` are the greatest resident sizes in kB that were seen: of this
    process, of a descendant that runs Python, and of one that runs Java. Source: proc(5), `VmRSS`.
    """

    def __init__(self) -> None:
        self.own = 0
        self.largest_python = 0
        self.largest_java = 0
        self._before: dict[int, float] = {}
        self._spent: dict[int, float] = {}
        self._cost = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ProcessWatch:
        self._sample()
        self._before = dict(self._spent)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._sample()

    @property
    def cpu(self) -> float:
        """The CPU seconds that the processes spent up to the last sample."""
        spent = sum(spent - self._before.get(pid, 0) for pid, spent in self._spent.items())
        return spent - self._cost

    def _watch(self) -> None:
        while not self._is_over.wait(_WATCH_SECONDS):
            self._sample()
        self._cost = time.thread_time()

    def _sample(self) -> None:
        mine = os.getpid()
        for pid in list_tree():
            name, size = _read_memory(pid)
            with suppress(OSError):  # it has ended meanwhile
                self._spent[pid] = read_cpu((pid,))
            if pid == mine:
                self.own = max(self.own, size)
            elif name.startswith("python"):
                self.largest_python = max(self.largest_python, size)
            elif name == "java":
                self.largest_java = max(self.largest_java, size)


def _read_memory(pid: int) -> tuple[str, int]:
    """Read the name of a process and its resident kilobytes; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0
    fields = dict(line.split(":", 1) for line in text.splitlines())
    return fields["Name"].strip(), int(fields.get("VmRSS", "0 kB").split()[0])


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
