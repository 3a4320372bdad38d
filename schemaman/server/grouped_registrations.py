"""Registrations that arrive while others are written: they share the next commit, and one thread."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

from schemaman.errors import SchemamanError
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.schema_registry import SchemaRegistry, WantedRegistration

_LARGEST_GROUP = 64
_Waiting = tuple[WantedRegistration, "asyncio.Future[VersionedSchema]"]


class GroupedRegistrations:
    """Collects registrations of one event loop, and writes a group at a time."""

    def __init__(self, registry: SchemaRegistry, executor: Executor) -> None:
        self._registry = registry
        self._executor = executor
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    async def register(self, wanted: WantedRegistration) -> VersionedSchema:
        """Register a schema; when this returns, it is durable. Raises as `SchemaRegistry.register`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[VersionedSchema] = loop.create_future()
        self._waiting.append((wanted, future))
        if self._task is None:
            self._task = loop.create_task(self._write_groups())
        return await future

    async def _write_groups(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), _LARGEST_GROUP))]
                work = _make_work(self._registry, [wanted for wanted, _ in group])
                try:
                    outcomes = await loop.run_in_executor(self._executor, work)
                except BaseException as error:
                    outcomes = (error,) * len(group)
                for (_, future), outcome in zip(group, outcomes, strict=True):
                    _settle(future, outcome)
        finally:
            self._task = None


def _make_work(
    registry: SchemaRegistry, group: list[WantedRegistration]
) -> Callable[[], tuple[VersionedSchema | BaseException, ...]]:
    def register() -> tuple[VersionedSchema | BaseException, ...]:
        try:
            return registry.register_group(group)
        except (SchemamanError, RecursionError) as error:
            if len(group) == 1:
                return (error,)
        # What one of them met, such as a damaged row, is no fault of the others.
        return tuple(_register_alone(registry, wanted) for wanted in group)

    return register


def _register_alone(registry: SchemaRegistry, wanted: WantedRegistration) -> VersionedSchema | BaseException:
    try:
        return registry.register_group([wanted])[0]
    except (SchemamanError, RecursionError) as error:
        return error


def _settle(future: asyncio.Future[VersionedSchema], outcome: VersionedSchema | BaseException) -> None:
    if future.done():  # whoever asked has gone
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
