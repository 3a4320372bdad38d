"""Threads that end with their process: what they still wait for, such as the lock of a store, delays no stop.

Law: a process that ends amid a transaction leaves the store as it was before, as one that is killed does.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")


class EndingThreads(Executor):
    """Runs work in up to `count` threads; the end of the process waits for none of them."""

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = Lock()
        self._begun = self._open = 0
        self._is_shut = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a function in a thread. Raises `RuntimeError` after `shutdown`."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)

        with self._lock:
            if self._is_shut:
                raise RuntimeError("these threads have been shut down")
            self._open += 1
            if self._begun < min(self._open, self._count):
                self._begun += 1
                start_thread(self._run_all, f"{self._name}-{self._begun}")
        self._work.put(run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work, and end each thread behind what was submitted; waits for nothing."""
        with self._lock:
            if not self._is_shut:
                self._is_shut = True
                for _ in range(self._begun):
                    self._work.put(None)

    def _run_all(self) -> None:
        while (run := self._work.get()) is not None:
            run()
            del run  # what it holds is needed no longer
            with self._lock:
                self._open -= 1


def start_thread(run: Callable[[], None], name: str) -> None:
    """Start a thread that ends with its process."""
    Thread(target=run, name=name, daemon=True).start()
