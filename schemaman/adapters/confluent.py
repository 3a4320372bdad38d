"""A live registry that speaks Confluent's REST: schemas by id or GUID, with what they refer to.

Source: Confluent Schema Registry API: `/schemas/ids/{id}`, `/schemas/guids/{guid}`,
`/subjects/{subject}/versions/{version}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from schemaman.decode.framing import SchemaId
from schemaman.errors import (
    BadConfiguration,
    EngineUnavailable,
    RegistryUnavailable,
    UnknownName,
    UnreadableInput,
)
from schemaman.evidence import UNKNOWN_SCHEMA
from schemaman.languages.avro_references import inlined

_DEFAULTS: dict[str, object] = {
    "timeout": 10,
    "max.retries": 2,
    "retries.wait.ms": 300,
    "retries.max.wait.ms": 2000,
}
_NUMBERS = (
    "timeout",
    "max.retries",
    "retries.wait.ms",
    "retries.max.wait.ms",
    "cache.capacity",
    "cache.latest.ttl.sec",
)
_NOT_FOUND = (40401, 40402, 40403)
"""Subject, version or schema not found. Any other 404 says that no registry is there.
Source: Confluent Schema Registry API, error codes."""


@dataclass(eq=False, slots=True)
class Confluent:
    """The schemas of a registry by id, each asked for once; called with an id, it gives the text, or None.

    It can be pickled; every process asks for itself. `options` are those of Confluent's client:
    `basic.auth.user.info`, `ssl.ca.location` and others.
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
                self._texts[id] = self._asked(id)
            except UnreadableInput as fault:
                self._texts[id] = fault
        found = self._texts[id]
        if isinstance(found, UnreadableInput):
            raise UnreadableInput(found.message)
        return found

    def subject(self, name: str, version: int | None = None) -> str:
        """The text registered under a subject: of that version, or of the latest.

        Raises:
            UnknownName: there is no such subject or version.
            RegistryUnavailable: as when called.
        """
        wanted = "latest" if version is None else version
        found = self._told(lambda client: client.get_version(name, wanted))
        if found is None:
            raise UnknownName(f"{self.url} has no subject {name!r}, or no version {wanted} of it")
        return self._text(f"{name}@{wanted}", found.schema)

    def _asked(self, id: SchemaId) -> str | None:
        if isinstance(id, int):
            found = self._told(lambda client: client.get_schema(id))
        elif id.startswith("guid:"):
            found = self._told(lambda client: client.get_schema_by_guid(id.removeprefix("guid:")))
        else:
            raise UnreadableInput(
                f"{UNKNOWN_SCHEMA} {id}: ask Apicurio itself, --registry …/apis/registry/v3"
            )
        return None if found is None else self._text(str(id), found)

    def _text(self, name: str, schema: Any) -> str:
        if (schema.schema_type or "AVRO") != "AVRO":
            raise UnreadableInput(f"the schema {name} is of type {schema.schema_type}; Avro is read")
        return inlined(schema.schema_str, self._described(schema, ()))

    def _described(self, schema: Any, above: tuple[tuple[str, int], ...]) -> list[str]:
        """The texts behind references, each behind those that it refers to itself."""
        found: list[str] = []
        for reference in schema.references or ():
            place = (reference.subject, reference.version)
            if place in above:
                raise UnreadableInput(f"the schema {place[0]}@{place[1]} refers to itself")
            registered = self._told(partial(_version, place))
            if registered is None:
                raise UnreadableInput(
                    f"{UNKNOWN_SCHEMA} of {place[0]}@{place[1]}, which another one refers to"
                )
            found += [*self._described(registered.schema, (*above, place)), registered.schema.schema_str]
        return found

    def _told(self, question: Callable[[Any], Any]) -> Any:
        """The answer of the registry; None for what it does not have."""
        client, errors = self._opened()
        try:
            return question(client)
        except errors.SchemaRegistryError as error:
            if error.error_code in _NOT_FOUND:
                return None
            raise RegistryUnavailable(
                f"the registry {self.url} answers {error.http_status_code}: {error.error_message}",
                hint="--registry-config FILE with basic.auth.user.info, bearer.auth.*, ssl.*",
            ) from None
        except Exception as error:  # whatever transport and sign-in raise: httpx, ssl, OAuth
            raise RegistryUnavailable(
                f"the registry {self.url} cannot be reached: {error or type(error).__name__}",
                hint="check the address, or give its export: --registry FILE",
            ) from None

    def _opened(self) -> tuple[Any, Any]:
        try:
            from confluent_kafka.schema_registry import (  # only for a live registry
                SchemaRegistryClient,
                error,
            )
        except ImportError as fault:
            raise EngineUnavailable(
                f"confluent-kafka with its registry client is needed ({fault})",
                hint="pip install 'schemaman[kafka]'",
            ) from fault
        if self._client is None:
            try:
                told = {k: float(v) if k in _NUMBERS else v for k, v in self.options.items()}
                self._client = SchemaRegistryClient({**_DEFAULTS, **told, "url": self.url})
            except (ValueError, TypeError, OSError) as fault:
                raise BadConfiguration(
                    f"an option of the registry's client: {fault}", hint="--registry-config"
                ) from None
        return self._client, error


def _version(place: tuple[str, int], client: Any) -> Any:
    """What is registered there; what refers to it may have outlived it."""
    return client.get_version(*place, deleted=True)
