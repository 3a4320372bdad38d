"""A live registry that is asked for each schema once; the registries of each kind say how.

It can be pickled; every process asks for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemaman.decode.framing import SchemaId
from schemaman.errors import RegistryUnavailable, UnreadableInput


@dataclass(eq=False, slots=True)
class LiveRegistry(ABC):
    """The schemas of a registry by id; called with an id, it gives the text, or None.

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
        """The text of the schema with that id; None if the registry has none.

        Raises:
            UnreadableInput: the id is of another kind of registry, or the schema is not Avro.
            RegistryUnavailable: the registry does not answer, or refuses to.
            BadConfiguration: an option that the client does not take.
            EngineUnavailable: the client is not installed.
        """
        if id not in self._texts:
            try:
                self._texts[id] = self.asked(id)
            except UnreadableInput as fault:
                self._texts[id] = fault
        found = self._texts[id]
        if isinstance(found, UnreadableInput):
            raise UnreadableInput(found.message)
        return found

    @abstractmethod
    def asked(self, id: SchemaId) -> str | None:
        """What the registry answers. Raises as when called."""

    def unreachable(self, error: Exception) -> RegistryUnavailable:
        """What to raise for whatever the transport raised."""
        return RegistryUnavailable(
            f"the registry {self.url} cannot be reached: {error or type(error).__name__}",
            hint="check the address, or give its export: --registry FILE",
        )
