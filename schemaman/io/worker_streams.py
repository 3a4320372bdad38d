"""Runs tasks in several processes. Each gives a stream of values; the streams come in the order of the tasks.

Law: values that wait for their turn take `HELD_BYTES` at most, and a message of each process. Then the
processes wait, too.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from schemaman.errors import CouldNotDo

HELD_BYTES = 64 * 2**20
"""The size of the values that wait for their turn; a chunk of records usually gives some kilobytes."""

_AHEAD = 2
"""The number of tasks that a process has at most, so that it need not wait for the next one."""

_VALUE, _END, _ERROR = b"v", b"e", b"x"

Task = TypeVar("Task")
Value = TypeVar("Value")


def stream_tasks(
    tasks: Iterable[Task], start: Callable[[], Callable[[Task], Iterator[Value]]], jobs: int
) -> Generator[tuple[Task, Iterator[Value]]]:
    """Runs each task in one of `jobs` processes; gives each task with its values, in the order of the tasks.

    A process calls `start` once, and what it returns with each task. Tasks, values and `start` are pickled.
    The values of a task must be taken before the next task is. An error of a task is raised in its turn.

    Raises:
        CouldNotDo: a process ended early.
    """
    streams = _Streams(iter(tasks), start, jobs)
    try:
        while (turn := streams.begin()) is not None:
            yield turn.task, streams.take(turn)
    finally:
        streams.close()


@dataclass(slots=True, eq=False)
class _Turn(Generic[Task]):
    """A task with the messages that have come of it; the last one says how it ended."""

    task: Task
    worker: _Worker[Task]
    messages: deque[bytes] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Worker(Generic[Task]):
    """A process with its tasks; the messages of the first one are coming."""

    process: BaseProcess
    connection: Connection
    turns: deque[_Turn[Task]] = field(default_factory=deque)


class _Streams(Generic[Task, Value]):
    """The processes, and the tasks that they have, in order."""

    def __init__(
        self, tasks: Iterator[Task], start: Callable[[], Callable[[Task], Iterator[Value]]], jobs: int
    ) -> None:
        self._tasks: Iterator[Task] | None = tasks
        self._start = start
        self._jobs = jobs
        self._context = _choose_context()
        self._workers: list[_Worker[Task]] = []
        self._turns: deque[_Turn[Task]] = deque()
        self._held = 0

    def begin(self) -> _Turn[Task] | None:
        """Begins the turn of the next task; None at the end."""
        self._assign()
        return self._turns.popleft() if self._turns else None

    def take(self, turn: _Turn[Task]) -> Iterator[Value]:
        """Takes the values of a task as they come."""
        while True:
            self._receive(turn)
            message = turn.messages.popleft()
            self._held -= len(message)
            kind, body = message[:1], message[1:]
            if kind == _END:
                return
            if kind == _ERROR:
                raise pickle.loads(body)
            yield pickle.loads(body)

    def close(self) -> None:
        """Ends all processes, also amid a task."""
        for worker in self._workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()

    def _assign(self) -> None:
        """Gives tasks to the processes that have room for them; a process starts with its first task."""
        while self._tasks is not None:
            least = min(self._workers, key=lambda worker: len(worker.turns), default=None)
            can_start = len(self._workers) < self._jobs
            if self._held >= HELD_BYTES or (not can_start and (least is None or len(least.turns) >= _AHEAD)):
                return
            try:
                task = next(self._tasks)
            except StopIteration:
                self._tasks = None
                return
            worker = self._start_worker() if can_start or least is None else least
            turn = _Turn(task, worker)
            self._turns.append(turn)
            try:
                worker.connection.send(task)
            except OSError:
                self._end_early(turn)
                return
            worker.turns.append(turn)

    def _start_worker(self) -> _Worker[Task]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._start), daemon=True)
        process.start()
        theirs.close()  # otherwise the end of the process would not end its connection
        worker: _Worker[Task] = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _receive(self, turn: _Turn[Task]) -> None:
        """Receives what has come, and waits for a message of the turn if there is none yet."""
        while True:
            has_room = self._held < HELD_BYTES
            coming = {
                worker.connection: worker
                for worker in self._workers
                if worker.turns and (has_room or (worker is turn.worker and not turn.messages))
            }
            for connection in wait(list(coming), 0 if turn.messages else None):
                worker = coming[connection]  # type: ignore[index]
                try:
                    message = worker.connection.recv_bytes()
                except (EOFError, OSError):
                    self._end_early(worker.turns[0])
                    worker.turns.clear()
                    continue
                worker.turns[0].messages.append(message)
                self._held += len(message)
                if message[:1] != _VALUE:
                    worker.turns.popleft()
            self._assign()
            if turn.messages:
                return

    def _end_early(self, turn: _Turn[Task]) -> None:
        """Has a turn raise that its process ended; earlier turns are taken as usual, no task follows."""
        message = _ERROR + pickle.dumps(_build_error(turn.worker))
        turn.messages.append(message)
        self._held += len(message)
        self._tasks = None


def _build_error(worker: _Worker[Any]) -> CouldNotDo:
    """Builds the error for a process that ended early, with its exit status if that is known soon."""
    worker.process.join(1)
    code = worker.process.exitcode
    how = "" if code is None else f" (signal {-code})" if code < 0 else f" (exit status {code})"
    return CouldNotDo(
        f"a process that reads a part of the source ended early{how}",
        hint="run the command again: it goes on behind the last chunk; --jobs 1 reads with one process",
    )


def _choose_context() -> ForkContext | SpawnContext:
    """Chooses how processes start: a copy needs no imports, but only one thread may run then."""
    is_copied = sys.platform == "linux" and threading.active_count() == 1
    return get_context("fork") if is_copied else get_context("spawn")


def _serve(connection: Connection, start: Callable[[], Callable[[Any], Iterator[Any]]]) -> None:
    """Runs the tasks that come, until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the processes
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    run = start()
    try:
        while True:
            for message in _run_task(run, connection.recv()):
                connection.send_bytes(message)
    except (EOFError, OSError):
        return


def _run_task(run: Callable[[Any], Iterator[Any]], task: object) -> Iterator[bytes]:
    """Runs a task; gives its messages."""
    try:
        for value in run(task):
            yield _VALUE + pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # the parent raises it
        yield _ERROR + pickle.dumps(error)
        return
    yield _END


def _end_with_parent() -> None:
    """Ends this process when its parent was killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
