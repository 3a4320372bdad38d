"""Client of a schema registry that fetches each schema once; a subclass for each kind of registry.

A client can be pickled; every process fetches for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeVar

from schemaman.debezium.wire_format import SchemaId
from schemaman.errors import RegistryUnavailable, UnreadableInput

T = TypeVar("T")
TIMEOUT = 10.0
"""Seconds to wait for each piece of an answer, unless the option `timeout` is set."""

_PIECES_PER_ANSWER = 6
_LONGEST_SECONDS = 3600.0
_SHOWN_CHARACTERS = 200


@dataclass(eq=False, slots=True)
class RegistryClient(ABC):
    """Reads the schemas of a registry by id; a call with an id returns the text, or None.

    `options` are named as those of Confluent's client: `basic.auth.user.info`, `ssl.ca.location` and others.
    """

    url: str
    options: Mapping[str, str] = field(default_factory=dict)
    _texts: dict[SchemaId, str | UnreadableInput | None] = field(default_factory=dict)
    _client: Any = None

    def __getstate__(self) -> tuple[str, Mapping[str, str]]:
        return (self.url, self.options)

    def __setstate__(self, state: tuple[str, Mapping[str, str]]) -> None:
        self.url, self.options = state
        self._texts, self._client = {}, None

    def __call__(self, id: SchemaId) -> str | None:
        """Return the text of the schema with that id; None if the registry does not have it.

        Raises:
            UnreadableInput: the id belongs to another kind of registry, or the schema is neither Avro nor
                JSON Schema.
            RegistryUnavailable: the registry does not answer, or refuses the request.
            BadConfiguration: an option is invalid.
            EngineUnavailable: the client is not installed.
        """
        if id not in self._texts:
            try:
                self._texts[id] = self.fetch_text(id)
            except UnreadableInput as fault:
                self._texts[id] = fault
        found = self._texts[id]
        if isinstance(found, UnreadableInput):
            raise UnreadableInput(found.message)
        return found

    @abstractmethod
    def fetch_text(self, id: SchemaId) -> str | None:
        """Fetches the text of a schema. Raises the errors of `__call__`."""

    def wait_for_answer(self, question: Callable[[], T]) -> T:
        """Returns the answer to a question, or raises its error.

        A client waits `timeout` for each piece, so that a slow answer could take forever. `answer_timeout`
        limits the time for the whole answer, including retries.

        Raises:
            TimeoutError: the answer was not complete in that time.
        """
        future = Future[T]()

        def ask() -> None:
            try:
                future.set_result(question())
            except BaseException as error:
                future.set_exception(error)

        Thread(target=ask, daemon=True).start()
        seconds = min(_LONGEST_SECONDS, self.answer_timeout)
        if not wait((future,), seconds).done:
            raise TimeoutError(f"its answer was not complete after {seconds:g} s")
        return future.result()

    @property
    def answer_timeout(self) -> float:
        """Seconds for a whole answer."""
        return _PIECES_PER_ANSWER * float(self.options.get("timeout", TIMEOUT))

    def build_unreachable_error(self, error: Exception) -> RegistryUnavailable:
        """Builds the error for an exception of the transport."""
        return RegistryUnavailable(
            f"the registry {self.url} cannot be reached: {error or type(error).__name__}",
            hint="check the address, or use a file exported from it: --registry FILE",
        )

    def build_refusal_error(self, status: int, detail: str, sign_in: str) -> RegistryUnavailable:
        """Builds the error for an answer that is neither a schema nor "not found"."""
        return RegistryUnavailable(
            f"the registry {self.url} answers {status}{detail[:_SHOWN_CHARACTERS]}",
            hint=f"--registry-config {sign_in}"
            if status in (401, 403)
            else "check the address and the registry's own log, then run the command again",
        )

    def build_answer_error(self, reason: object) -> RegistryUnavailable:
        """Builds the error for an answer that is not a registry's."""
        return RegistryUnavailable(
            f"the answer of {self.url} is not that of a registry: {str(reason)[:_SHOWN_CHARACTERS]}",
            hint="check the address: another service may answer there",
        )
