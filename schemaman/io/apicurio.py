"""Client of Apicurio's own REST API: schemas by global id, content id, hash or name.

Source: Apicurio Registry core API v2 and v3: `/ids/globalIds/{id}`, `/ids/contentIds/{id}`,
`/ids/contentHashes/{hash}`, `/groups/{group}/artifacts/{artifact}/versions/{version}`, each with
`/references`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from schemaman.debezium.converters.avro_references import inline_references
from schemaman.debezium.converters.registered import mark_text
from schemaman.debezium.observation import AMBIGUOUS_FORM, UNKNOWN_SCHEMA
from schemaman.debezium.wire_format import SchemaId
from schemaman.errors import UnreadableInput, UsageError
from schemaman.io.http_client import OPTIONS, open_http_client
from schemaman.io.registry_client import RegistryClient

_PATHS = {"globalId": "ids/globalIds", "contentId": "ids/contentIds", "contentHash": "ids/contentHashes"}
_TYPE = "X-Registry-ArtifactType"


class Apicurio(RegistryClient):
    """Reads the schemas of a registry by number, hash or name."""

    __slots__ = ()

    def fetch_text(self, id: SchemaId) -> str | None:
        """Fetches the text of a schema. Raises the errors of `__call__`."""
        path = self._path(id)
        found = self._fetch_content(path)
        if found is None:
            return None
        kind, text = found
        if kind != "AVRO":
            return mark_text(kind, text, path)
        return inline_references(text, self._collect_texts(path, ()))

    def fetch_subject(self, name: str, version: int | None = None) -> str:
        """Always raises UsageError: this API has no subjects."""
        raise UsageError("Apicurio's own REST API has no subjects", hint="use its address …/apis/ccompat/v7")

    def _path(self, id: SchemaId) -> str:
        if isinstance(id, int):
            raise UnreadableInput(
                f"{AMBIGUOUS_FORM} of the ids: Apicurio's of four bytes are global or content "
                "ids; use --format-value (--format-key) apicurio-global-4 or apicurio-content-4"
            )
        kind, _, name = id.partition(":")
        if kind == "guid":
            raise UnreadableInput(f"{UNKNOWN_SCHEMA} {id}: ask a registry with Confluent's REST API")
        return (
            self._version(*name.split("/", 2))
            if kind == "artifact"
            else f"{_PATHS[kind]}/{quote(name, safe='')}"
        )

    def _version(self, group: str, artifact: str, version: str) -> str:
        if version == "latest" and self.url.endswith("v3"):
            version = "branch=latest"
        names = (quote(group, safe=""), quote(artifact, safe=""), quote(version, safe="="))
        return "groups/{}/artifacts/{}/versions/{}".format(*names)

    def _fetch_content(self, path: str) -> tuple[str, str] | None:
        """Fetches the type and the text of a schema; None if the registry does not have it."""
        whole = f"{path}/content" if path.startswith("groups/") and self.url.endswith("v3") else path
        answer = self._fetch_answer(whole)
        return None if answer is None else (answer.headers.get(_TYPE, "AVRO"), str(answer.text))

    def _collect_texts(self, path: str, above: tuple[str, ...]) -> list[str]:
        """Collects the texts of referenced schemas, each after its own references."""
        found: list[str] = []
        for reference in self._references(path):
            referred = None if reference in above else self._fetch_content(reference)
            if referred is None:
                raise UnreadableInput(f"{UNKNOWN_SCHEMA} of {reference}, which another one refers to")
            found += [*self._collect_texts(reference, (*above, reference)), referred[1]]
        return found

    def _references(self, path: str) -> list[str]:
        """Lists the paths of the schemas that a schema refers to."""
        answer = self._fetch_answer(f"{path}/references")
        try:
            return [
                self._version(
                    reference.get("groupId") or "default", reference["artifactId"], str(reference["version"])
                )
                for reference in (answer.json() if answer is not None else ())
            ]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self.build_answer_error(f"{path}/references: {error!r}") from None

    def _fetch_answer(self, path: str) -> Any:
        """Returns the answer to GET; None if the registry does not have the schema."""
        client = self._open_client()
        try:
            answer = self.wait_for_answer(lambda: client.get(f"{self.url}/{path}"))
        except Exception as error:  # whatever the transport raises
            raise self.build_unreachable_error(error) from None
        if answer.status_code == 404 and _is_unknown(answer):
            return None
        if answer.status_code != 200:
            raise self.build_refusal_error(
                answer.status_code, f" for {path}", f"FILE with {', '.join(OPTIONS)}"
            )
        return answer

    def _open_client(self) -> Any:
        if self._client is None:
            self._client = open_http_client(self.options)
        return self._client


def _is_unknown(answer: Any) -> bool:
    """Returns whether the registry itself sent a 404. Source: Apicurio, `name` in the body of an error."""
    try:
        body = answer.json()
    except ValueError:
        return False
    return isinstance(body, dict) and "NotFound" in str(body.get("name"))
