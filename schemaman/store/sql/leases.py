"""Leases as rows of a SQL store: one a target, each call in a transaction of its own.

Law: of any number of processes that ask at once, one is given the target.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, delete, insert, select, update

from schemaman.store.derived import make_locked_error, make_lost_error
from schemaman.store.log import Lease
from schemaman.store.sql.tables import LEASE


def acquire(connection: Connection, target: str, owner: str, now_ms: int, ttl_ms: int) -> str:
    """A token for the target until `now_ms + ttl_ms`. Raises `Locked`: who holds it, until when."""
    row = connection.execute(select(LEASE).where(LEASE.c.target == target)).one_or_none()
    if row is not None and row.expires_ms > now_ms:
        raise make_locked_error(Lease(row.target, row.owner, row.token, row.expires_ms))
    token = secrets.token_hex(8)
    connection.execute(delete(LEASE).where(LEASE.c.target == target))
    lease = {"target": target, "owner": owner, "token": token, "expires_ms": now_ms + ttl_ms}
    connection.execute(insert(LEASE).values(lease))
    return token


def renew(connection: Connection, target: str, token: str, expires_ms: int) -> None:
    """Extend the lease to that time. Raises `Locked` if the token is no longer valid."""
    own = (LEASE.c.target == target) & (LEASE.c.token == token)
    changed = connection.execute(update(LEASE).where(own).values(expires_ms=expires_ms))
    if changed.rowcount != 1:
        raise make_lost_error(target)


def release(connection: Connection, target: str, token: str) -> None:
    """Release the lease; no effect if the token is no longer valid."""
    connection.execute(delete(LEASE).where((LEASE.c.target == target) & (LEASE.c.token == token)))


def read_leases(connection: Connection) -> tuple[Lease, ...]:
    """The leases that were taken and not given back, also those that have ended, by target."""
    rows = connection.execute(select(LEASE).order_by(LEASE.c.target)).all()
    return tuple(Lease(row.target, row.owner, row.token, row.expires_ms) for row in rows)
