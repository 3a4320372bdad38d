"""Client of a registry with Confluent's REST API: schemas by id or GUID, with their references.

Source: Confluent Schema Registry API: `/schemas/ids/{id}`, `/schemas/guids/{guid}`,
`/subjects/{subject}/versions/{version}`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from json import JSONDecodeError
from typing import Any

from schemaman.debezium.converters.avro_references import inline_references
from schemaman.debezium.converters.registered import describe_unread, mark_text
from schemaman.debezium.observation import UNKNOWN_SCHEMA
from schemaman.debezium.wire_format import SchemaId
from schemaman.errors import (
    BadConfiguration,
    EngineUnavailable,
    UnknownName,
    UnreadableInput,
)
from schemaman.io.registry_client import TIMEOUT, RegistryClient
from schemaman.plugins import install_hint

_DEFAULTS: dict[str, float] = {
    "timeout": TIMEOUT,
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
_SIGN_IN = "FILE with basic.auth.user.info, bearer.auth.*, ssl.*"
_NOT_FOUND = (40401, 40402, 40403)
"""Subject, version or schema not found. Any other 404 does not come from a registry.
Source: Confluent Schema Registry API, error codes."""


class Confluent(RegistryClient):
    """Reads the schemas of a registry by id or GUID, and those of its subjects by version."""

    __slots__ = ()

    def fetch_subject(self, name: str, version: int | None = None) -> str:
        """Fetch the text registered under a subject, of that version or the latest one.

        Raises:
            UnknownName: there is no such subject or version.
            RegistryUnavailable: as when called.
        """
        wanted = "latest" if version is None else version
        found = self._fetch_answer(lambda client: client.get_version(name, wanted))
        if found is None:
            raise UnknownName(f"{self.url} has no subject {name!r}, or no version {wanted} of it")
        if _read_type(found.schema) != "AVRO":
            raise UnreadableInput(describe_unread(_read_type(found.schema), f"{name}@{wanted}"))
        return self._text(f"{name}@{wanted}", found.schema)

    def fetch_text(self, id: SchemaId) -> str | None:
        """Fetches the text of a schema. Raises the errors of `__call__`."""
        if isinstance(id, int):
            found = self._fetch_answer(lambda client: client.get_schema(id))
        elif id.startswith("guid:"):
            found = self._fetch_answer(lambda client: client.get_schema_by_guid(id.removeprefix("guid:")))
        else:
            raise UnreadableInput(
                f"{UNKNOWN_SCHEMA} {id}: ask Apicurio itself, --registry …/apis/registry/v3"
            )
        return None if found is None else self._text(str(id), found)

    @property
    def answer_timeout(self) -> float:
        """Seconds for a whole answer: enough for each try that the options allow."""
        options = {name: float(self.options.get(name, _DEFAULTS[name])) for name in _DEFAULTS}
        one = options["timeout"] + options["retries.max.wait.ms"] / 1000
        return max(super().answer_timeout, (1 + options["max.retries"]) * one)

    def _text(self, name: str, schema: Any) -> str:
        if not isinstance(schema.schema_str, str):
            raise self.build_answer_error(f"the schema {name} has no text")
        kind = _read_type(schema)
        if kind != "AVRO":
            return mark_text(kind, schema.schema_str, name)
        return inline_references(schema.schema_str, self._collect_texts(schema, ()))

    def _collect_texts(self, schema: Any, above: tuple[tuple[str, int], ...]) -> list[str]:
        """Collects the texts of referenced schemas, each after its own references."""
        found: list[str] = []
        for reference in schema.references or ():
            version_key = (reference.subject, reference.version)
            if version_key in above:
                raise UnreadableInput(f"the schema {version_key[0]}@{version_key[1]} refers to itself")
            registered = self._fetch_answer(partial(_fetch_version, version_key))
            if registered is None:
                raise UnreadableInput(
                    f"{UNKNOWN_SCHEMA} of {version_key[0]}@{version_key[1]}, which another one refers to"
                )
            found += [
                *self._collect_texts(registered.schema, (*above, version_key)),
                registered.schema.schema_str,
            ]
        return found

    def _fetch_answer(self, question: Callable[[Any], Any]) -> Any:
        """Returns the answer of the registry; None if it does not have the schema."""
        client, errors = self._open_client()
        try:
            return self.wait_for_answer(lambda: question(client))
        except errors.SchemaRegistryError as error:
            if error.error_code in _NOT_FOUND:
                return None
            message = " ".join(str(error.error_message or "no message").split())
            raise self.build_refusal_error(error.http_status_code, f": {message}", _SIGN_IN) from None
        except JSONDecodeError as error:
            raise self.build_answer_error(error) from None
        except Exception as error:  # whatever transport and sign-in raise: httpx, ssl, OAuth
            raise self.build_unreachable_error(error) from None

    def _open_client(self) -> tuple[Any, Any]:
        try:
            from confluent_kafka.schema_registry import (  # loaded only for a registry server
                SchemaRegistryClient,
                error,
            )
        except ImportError as fault:
            raise EngineUnavailable(
                f"access to a schema registry needs confluent-kafka with its registry client ({fault})",
                hint=install_hint("kafka"),
            ) from fault
        if self._client is None:
            try:
                options = {k: float(v) if k in _NUMBERS else v for k, v in self.options.items()}
                self._client = SchemaRegistryClient({**_DEFAULTS, **options, "url": self.url})
            except (ValueError, TypeError, OSError) as fault:
                raise BadConfiguration(
                    f"invalid option of the registry client: {fault}", hint="check --registry-config"
                ) from None
        return self._client, error


def _read_type(schema: Any) -> str:
    return str(schema.schema_type or "AVRO")


def _fetch_version(version_key: tuple[str, int], client: Any) -> Any:
    """Fetches a version of a subject, also a deleted one, which other schemas may still refer to."""
    return client.get_version(*version_key, deleted=True)
