"""What was read of all subjects, kept in memory until they change.

Law: it is used only in a transaction that sees the revision of the subjects at which it was read; each
transaction that writes subjects gives them another revision.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy import Connection, bindparam, insert, select, update

from schemaman.plugins import defer
from schemaman.store.sql.quick_statements import QuickStatement
from schemaman.store.sql.tables import META

if TYPE_CHECKING:  # each store makes an empty `KeptSubjects`
    from schemaman.store.sql.subject_order import SubjectOrder, read_order
    from schemaman.store.subjects import Association, SubjectFilter, SubjectName
else:
    read_order = defer("schemaman.store.sql.subject_order:read_order")

_DEEP = 500
"""The offset from which on an order is worth its reading; the rows before a smaller one are read quickly."""

_REVISION = "subjects"
_READ_REVISION = QuickStatement(select(META.c.value).where(META.c.name == bindparam("wanted")))
_SET_REVISION = QuickStatement(
    update(META).where(META.c.name == bindparam("wanted")).values(value=bindparam("revision"))
)

Bound: TypeAlias = "Sequence[tuple[SubjectName, Association]]"


def change_revision(connection: Connection) -> None:
    """Give the subjects another revision, in a transaction that writes them."""
    value = uuid.uuid4().hex
    if not _SET_REVISION.write_rows(connection, [{"wanted": _REVISION, "revision": value}]):
        connection.execute(insert(META).values(name=_REVISION, value=value))


def read_revision(connection: Connection) -> str:
    """Read the revision of the subjects; empty before the first change."""
    return str(_READ_REVISION.find_value(connection, {"wanted": _REVISION}) or "")


class KeptSubjects:
    """What one store keeps; threads may share it."""

    def __init__(self) -> None:
        self._order: tuple[str, SubjectOrder] | None = None
        self._missed: str | None = None
        self._associations: tuple[str, Bound] | None = None

    def find_order(self, connection: Connection, wanted: SubjectFilter) -> SubjectOrder | None:
        """The order at the moment that a transaction sees; None if the database itself is as quick.

        Reading the order costs as much as some deep pages. It is read for the second deep page of a revision,
        since between registrations there may be no other one.
        """
        if wanted.offset < _DEEP or (wanted.context is None and wanted.prefix):
            return None
        revision = read_revision(connection)
        kept = self._order
        if kept is not None and kept[0] == revision:
            return kept[1]
        if not revision or self._missed != revision:
            self._missed = revision
            return None
        order = read_order(connection)
        self._order = revision, order
        return order

    def find_associations(self, connection: Connection, read: Callable[[], Bound]) -> Bound:
        """The associations at the moment that a transaction sees: each client that starts asks for some."""
        revision = read_revision(connection)
        kept = self._associations
        if kept is not None and kept[0] == revision:
            return kept[1]
        found = read()
        self._associations = (revision, found) if revision else None
        return found
