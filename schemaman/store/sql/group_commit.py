"""Writers of one process share a commit: those that come while another one writes join its transaction.

Laws: no writer is told of success before the commit of all. One that is refused takes back its own part
alone. A fault of the database ends the transaction for all, since the database may have ended it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

_LARGEST_GROUP = 64
"""After how many writers a group commits, though others wait."""


@dataclass(eq=False, slots=True)
class _Group:
    """One transaction; `fault` is why its commit failed, once `ended` is set."""

    transaction: AbstractContextManager[Connection]
    connection: Connection
    writers: int = 0
    ended: Event = field(default_factory=Event)
    fault: BaseException | None = None


class GroupCommit:
    """Takes turns in transactions that `begin` opens; the commit of one makes all of them durable."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._begin = begin
        self._turn = Lock()
        self._count = Lock()
        self._waiting = 0
        self._group: _Group | None = None

    @contextmanager
    def join(self) -> Iterator[Connection]:
        """Write in a shared transaction; at the end of the block, it is durable.

        Raises what the block or the commit raises.
        """
        with self._count:
            self._waiting += 1
        self._turn.acquire()
        with self._count:
            self._waiting -= 1
        try:
            group = self._group or self._open()
        except BaseException:
            self._turn.release()
            raise
        fault: BaseException | None = None
        try:
            if group.writers:
                with group.connection.begin_nested():
                    yield group.connection
            else:
                yield group.connection
            group.writers += 1
        except BaseException as error:
            fault = error
            # SQLite takes the whole transaction back for some faults, and a later commit would say nothing.
            # Source: sqlite.org/lang_transaction.html, "Response To Errors Within A Transaction".
            if isinstance(error, SQLAlchemyError):
                group.fault = error
        is_last = self._is_last(group, fault)
        if is_last:
            self._close(group, fault)
        self._turn.release()
        if fault is not None:
            raise fault
        if not is_last:
            group.ended.wait()
        if group.fault is not None:
            raise group.fault

    def _open(self) -> _Group:
        transaction = self._begin()
        group = _Group(transaction, transaction.__enter__())
        self._group = group
        return group

    def _is_last(self, group: _Group, fault: BaseException | None) -> bool:
        # The first writer has no savepoint: if it fails, its transaction ends with it.
        if group.fault is not None or (fault is not None and not group.writers):
            return True
        with self._count:
            return not self._waiting or group.writers >= _LARGEST_GROUP

    def _close(self, group: _Group, fault: BaseException | None) -> None:
        self._group = None
        try:
            if fault is None or (group.writers and group.fault is None):
                group.transaction.__exit__(None, None, None)
            else:
                group.transaction.__exit__(type(fault), fault, None)
        except BaseException as error:
            if error is not fault:
                group.fault = error
        finally:
            group.ended.set()
