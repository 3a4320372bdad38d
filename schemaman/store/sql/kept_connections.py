"""Connections to a file that are kept between transactions, since to take one from a pool costs many of them.

Laws: a transaction that fails is taken back with its connection; one that ends was committed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

from schemaman.store.sql.quick_statements import run_text


class KeptConnections:
    """Connections of an engine; `require_usable` is asked before each transaction.

    Threads may share it. The connection that was used last is used next: what it has read, or written itself,
    it does not read again.
    """

    def __init__(self, engine: Engine, require_usable: Callable[[], None]) -> None:
        self._engine = engine
        self._require_usable = require_usable
        self._free: list[Connection] = []
        self._is_closed = False

    @contextmanager
    def begin(self, text: str) -> Iterator[Connection]:
        """Begin a transaction with a text such as `BEGIN`; the end of the block commits it.

        Raises as `Connection.execute` does, and what `require_usable` raises.
        """
        self._require_usable()
        try:
            connection = self._free.pop()
        except IndexError:
            connection = self._engine.connect()
        try:
            run_text(connection, text)
            yield connection
            if connection.in_transaction():  # a statement went through SQLAlchemy
                connection.commit()
            else:
                run_text(connection, "COMMIT")
        except BaseException:
            connection.close()  # the pool takes back what was not committed
            raise
        self._free.append(connection)
        if self._is_closed:
            self.close()

    def close(self) -> None:
        """Give all connections back to the pool, those in use at the end of their transactions."""
        self._is_closed = True
        while self._free:
            self._free.pop().close()
