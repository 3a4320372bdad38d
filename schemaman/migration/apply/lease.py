"""The lease of a target while it is migrated, and the heartbeat that renews it.

Law: a run notices a lost lease before its next statement, and no later than at the end of the lease.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Self

from schemaman.errors import Locked, SchemamanError, StoreUnavailable
from schemaman.store.log import Leases

LEASE_MS = 60_000
"""How long a target stays locked after its migration died."""

TURN_MS = 20_000
"""How long others wait for their turn after a job died in its own."""

_BEATS = 3
"""The number of renewals in the time of a lease: two may fail."""
_TICK_SECONDS = 1.0
_POLL_SECONDS = 0.2


class TargetLease:
    """Holds a target inside a `with`; a thread renews the lease, however long a statement runs.

    `tick` is called about every second while the target is held. `clock` returns epoch milliseconds; where
    several machines share a store, use the clock of the store, since their own clocks disagree.
    """

    def __init__(
        self,
        leases: Leases | None,
        target: str,
        owner: str,
        clock: Callable[[], int],
        *,
        ttl_ms: int = LEASE_MS,
        tick: Callable[[], None] | None = None,
    ) -> None:
        self._leases = leases
        self._target = target
        self._owner = owner
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._tick = tick
        self._token = ""
        self._lost: Locked | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Take the lease. Raises `Locked` with the holder and the end of the lease."""
        if self._leases is not None:
            self._token = self._leases.acquire(self._target, self._owner, self._clock(), self._ttl_ms)
        if self._leases is not None or self._tick is not None:
            self._thread = threading.Thread(target=self._beat, name="schemaman-lease", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lease if this run still has it; without an answer of the store it ends by itself."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._leases is not None:
            with suppress(StoreUnavailable):
                self._leases.release(self._target, self._token)

    def require_held(self) -> None:
        """Require that the lease is held, and renew it in the second half of its time.

        Raises:
            Locked: it was lost.
        """
        if self._lost is not None:
            raise self._lost
        if self._leases is None:
            return
        own = [lease.expires_ms for lease in self._leases.leases() if lease.token == self._token]
        now_ms = self._clock()
        if not own or 2 * (own[0] - now_ms) < self._ttl_ms:
            self._leases.renew(self._target, self._token, now_ms, self._ttl_ms)

    def _beat(self) -> None:
        tick = min(_TICK_SECONDS, self._ttl_ms / 1000 / _BEATS)
        since = 0.0
        while not self._over.wait(tick):
            since += tick
            if self._tick is not None:
                with suppress(Exception):  # a fault of the caller's function must not cost the lease
                    self._tick()
            if since * 1000 * _BEATS >= self._ttl_ms:
                since = 0.0
                self._renew()

    def _renew(self) -> None:
        """Renew the lease; if the store does not answer, the next beat tries again."""
        if self._lost is not None or self._leases is None:
            return
        try:
            self._leases.renew(self._target, self._token, self._clock(), self._ttl_ms)
        except Locked as lost:
            self._lost = lost
        except SchemamanError:
            return


@contextmanager
def hold_in_turn(
    leases: Leases, target: str, owner: str, clock: Callable[[], int], *, patience_ms: int = TURN_MS + 5000
) -> Iterator[TargetLease]:
    """Hold a target for a short time; wait while others hold it, or until a holder that died is over.

    Raises:
        Locked: others held it all the time.
    """
    with ExitStack() as held:
        for left in reversed(range(int(patience_ms / 1000 / _POLL_SECONDS) + 1)):
            try:
                lease = held.enter_context(TargetLease(leases, target, owner, clock, ttl_ms=TURN_MS))
            except Locked:
                if not left:
                    raise
                threading.Event().wait(_POLL_SECONDS)
            else:
                yield lease
                return
