"""Registrations that arrive while others are written: they share the next commit."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from queue import Empty, SimpleQueue

from schemaman.errors import SchemamanError
from schemaman.server.threads import start_thread
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.schema_registry import SchemaRegistry, WantedRegistration

_LARGEST_GROUP = 64
_Waiting = tuple[WantedRegistration, "asyncio.Future[VersionedSchema]"]
_Outcome = VersionedSchema | BaseException


class GroupedRegistrations:
    """Writes registrations of one event loop, a group at a time, in a thread that waits for them.

    The thread takes all that is there, and tells the loop once: each way between the two costs as much as
    to parse a small schema.
    """

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._waiting: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def register(self, wanted: WantedRegistration) -> VersionedSchema:
        """Register a schema; when this returns, it is durable. Raises as `SchemaRegistry.register`."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            start_thread(self._write_groups, "schemaman-registrations")
        future: asyncio.Future[VersionedSchema] = self._loop.create_future()
        self._waiting.put((wanted, future))
        return await future

    def close(self) -> None:
        """End the thread behind what has been asked of it."""
        self._waiting.put(None)

    def _write_groups(self) -> None:
        while group := self._take_group():
            outcomes = _register_group(self._registry, [wanted for wanted, _ in group])
            with suppress(RuntimeError):  # the loop was closed, and with it all who wait
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(_settle_group, group, outcomes)

    def _take_group(self) -> list[_Waiting]:
        """Wait for a registration, and take those that wait behind it; empty at the end."""
        group: list[_Waiting] = []
        found = self._waiting.get()
        while found is not None:
            group.append(found)
            if len(group) == _LARGEST_GROUP:
                return group
            try:
                found = self._waiting.get_nowait()
            except Empty:
                return group
        if group:
            self._waiting.put(None)  # for the next time
        return group


def _register_group(registry: SchemaRegistry, group: list[WantedRegistration]) -> tuple[_Outcome, ...]:
    try:
        return registry.register_group(group)
    except (SchemamanError, RecursionError) as error:
        if len(group) == 1:
            return (error,)
    except BaseException as error:
        return (error,) * len(group)
    # What one of them met, such as a damaged row, is no fault of the others.
    return tuple(_register_alone(registry, wanted) for wanted in group)


def _register_alone(registry: SchemaRegistry, wanted: WantedRegistration) -> _Outcome:
    try:
        return registry.register_group([wanted])[0]
    except BaseException as error:
        return error


def _settle_group(group: list[_Waiting], outcomes: tuple[_Outcome, ...]) -> None:
    for (_, future), outcome in zip(group, outcomes, strict=True):
        if future.done():  # the request was given up
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
