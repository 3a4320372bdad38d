"""Reads all of a registry with Confluent's REST API, and writes all of one.

Confluent Schema Registry, Karapace and Apicurio (`/apis/ccompat/v7`) are read alike: what one of them does
not answer is not there. Source: Confluent Schema Registry, REST API, and "Migrate schemas", mode IMPORT.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

from schemaman.errors import CouldNotDo, RegistryUnavailable
from schemaman.io.http_client import OPTIONS, open_http_client
from schemaman.io.schema_registry import require_address
from schemaman.store.subject_names import ALL_CONTEXTS, GLOBAL_CONTEXT, format_context
from schemaman.store.subjects import DEFAULT_CONTEXT, SubjectSettings
from schemaman.subjects.copies import CopiedVersion, RegistryCopy, order_versions

V = TypeVar("V")
R = TypeVar("R")

OWN_CLUSTER = "schemaman"
"""The cluster that a server of schemaman names in its metadata."""

_AT_ONCE = 8
_WHOLE_PAGE = 1_000
"""How many entries a page has at least before the next one is asked for."""
_DEFAULTS = {"config": {"compatibilityLevel": "BACKWARD"}, "mode": {"mode": "READWRITE"}}
_PARTS = ("schema", "schemaType", "references", "metadata", "ruleSet", "guid", "ts")
_JSON = "application/vnd.schemaregistry.v1+json"
_OWN = "/schemaman/v1"
_CHANGED = "set the registry to READONLY while it is copied"


class RegistryServer:
    """A registry at an address; it is closed at the end of `open_server`."""

    def __init__(self, url: str, client: Any) -> None:
        self.url = url
        self._client = client

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Send a request; return its status, and its answer as JSON or None.

        Raises:
            RegistryUnavailable: no answer, a wrong password, or a fault of the server.
        """
        headers = {"Accept": f"{_JSON}, application/json", "Content-Type": _JSON}
        try:
            answer = self._client.request(method, f"{self.url}{path}", json=body, headers=headers)
        except Exception as error:  # whatever the transport raises
            raise RegistryUnavailable(
                f"the registry {self.url} cannot be reached: {error or type(error).__name__}",
                hint="check the address",
            ) from error
        status = int(answer.status_code)
        if status in (401, 403):
            raise RegistryUnavailable(
                f"the registry {self.url} answers {status}",
                hint=f"--registry-config FILE with {', '.join(OPTIONS)}",
            )
        if status >= 500:
            raise RegistryUnavailable(
                f"the registry {self.url} answers {status} for {method} {path}",
                hint="read the registry's own log, then run the command again",
            )
        try:
            return status, answer.json() if answer.content else None
        except ValueError:
            return status, None

    def find(self, path: str) -> Any:
        """The answer to GET; None if the registry does not have it."""
        status, answer = self.ask("GET", path)
        return answer if status == 200 else None

    def list_all(self, path: str) -> list[Any]:
        """All entries of a list, page by page; the path has a query. Empty if there is no such list."""
        found: dict[Any, None] = {}
        while True:
            page = self.find(f"{path}&offset={len(found)}" if found else path)
            before = len(found)
            found |= dict.fromkeys(page if isinstance(page, list) else ())
            # A registry without pages repeats the whole list.
            if len(found) == before or len(page) < _WHOLE_PAGE:
                return list(found)

    def require(self, method: str, path: str, body: object = None) -> Any:
        """Send a request that must succeed. Raises `CouldNotDo` with the registry's own message."""
        status, answer = self.ask(method, path, body)
        if status >= 300:
            message = answer.get("message") if isinstance(answer, dict) else None
            raise CouldNotDo(f"{self.url} refuses {method} {path}: {status} {message or ''}".rstrip())
        return answer

    def is_own(self) -> bool:
        """Whether it is a server of schemaman, which keeps times and guids of an import."""
        match self.find("/v1/metadata/id"):
            case {"scope": {"clusters": {"schema-registry-cluster": str(cluster)}}}:
                return cluster == OWN_CLUSTER
        return False


@contextmanager
def open_server(url: str, options: Mapping[str, str]) -> Iterator[RegistryServer]:
    """Open the registry at an address. Raises as `require_address` and `open_http_client`."""
    require_address(url)
    with open_http_client(options) as client:
        yield RegistryServer(url.rstrip("/"), client)


def fetch_registry(server: RegistryServer) -> dict[str, Any]:
    """Fetch all of a registry as the document of a copy.

    Settings of a subject without versions are not found: no registry lists them.

    Raises:
        RegistryUnavailable: the registry does not answer, or it changed meanwhile.
    """
    subjects = _list_subjects(server)
    contexts = dict.fromkeys((DEFAULT_CONTEXT, *(server.find("/contexts") or ())))
    entries = [e for found in _run(subjects, lambda s: _fetch_versions(server, s)) for e in found]
    scopes = [format_context(context) for context in (*contexts, GLOBAL_CONTEXT)]
    is_own = server.is_own()
    scopes = [*dict.fromkeys(scopes), *subjects]
    settings = list(_run(scopes, lambda scope: _fetch_settings(server, scope, is_own)))
    if is_own:
        _add_marks(server, settings)
    else:
        _drop_inherited_modes(settings, set(subjects))
    _add_associations(server, settings)
    return {
        "format": "schemaman-registry",
        "format_version": 1,
        "contexts": list(_fetch_largest_ids(server, contexts, entries)),
        "settings": [one for one in settings if len(one) > 1],
        "schemas": entries,
    }


def _list_subjects(server: RegistryServer) -> list[str]:
    status, answer = server.ask("GET", "/subjects")
    if status != 200 or not isinstance(answer, list):
        raise RegistryUnavailable(
            f"the answer of {server.url} is not that of a registry ({status} for /subjects)",
            hint="Apicurio has its address …/apis/ccompat/v7",
        )
    return server.list_all(f"/subjects?deleted=true&subjectPrefix={quote(f':{ALL_CONTEXTS}:')}")


def _fetch_versions(server: RegistryServer, subject: str) -> list[dict[str, Any]]:
    path = f"/subjects/{quote(subject, safe='')}/versions"
    live = set(server.list_all(f"{path}?deleted=false"))
    found = []
    for number in sorted({*server.list_all(f"{path}?deleted=true"), *live}):
        answer = server.find(f"{path}/{number}?deleted=true")
        if not isinstance(answer, dict):
            raise RegistryUnavailable(
                f"{subject}@{number} went away while {server.url} was read", hint=_CHANGED
            )
        entry = {"subject": subject, "version": number, "id": answer.get("id")}
        entry |= {name: answer[name] for name in _PARTS if answer.get(name)}
        found.append(entry if number in live else entry | {"deleted": True})
    return found


def _fetch_settings(server: RegistryServer, scope: str, is_own: bool) -> dict[str, Any]:
    """Fetch what a scope has of its own; the registry answers its defaults as if they were its own."""
    found: dict[str, Any] = {"scope": scope}
    is_default = scope == format_context(DEFAULT_CONTEXT)
    for kind in ("config", "mode"):
        answer = server.find(f"/{kind}" if is_default else f"/{kind}/{quote(scope, safe='')}")
        if isinstance(answer, dict) and not (is_default and answer == _DEFAULTS[kind]):
            found[kind] = answer if kind == "config" else answer.get("mode")
    policy = server.find(f"{_policy_path(scope)}?own=true") if is_own else None
    if isinstance(policy, dict) and policy.get("policy"):
        found["policy"] = policy["policy"]
    return found


def _policy_path(scope: str) -> str:
    return f"{_OWN}/policies/{quote(scope, safe='')}"


def _add_marks(server: RegistryServer, settings: Iterable[dict[str, Any]]) -> None:
    """Add the marks of quarantine to the settings of their subjects."""
    by_scope = {one["scope"]: one for one in settings}
    for step in server.find(f"{_OWN}/quarantine") or ():
        mark = {"version": step["version"], "id": step["id"], "ts": step["quarantine"]["since_ms"]}
        mark["failures"] = step["quarantine"]["failures"]
        by_scope[step["subject"]].setdefault("quarantine", []).append(mark)


def _add_associations(server: RegistryServer, settings: Iterable[dict[str, Any]]) -> None:
    """Add associations to the settings of their subjects; an older registry has none."""
    by_scope = {one["scope"]: one for one in settings}
    found: dict[str, dict[str, Any]] = {}
    while page := server.find(f"/associations/resources/-/-?limit={_WHOLE_PAGE}&offset={len(found)}"):
        before = len(found)
        found |= {json.dumps(one, sort_keys=True): one for one in page}
        if len(found) == before:
            break
    for one in found.values():
        if one.get("subject") in by_scope:
            by_scope[one["subject"]].setdefault("associations", []).append(one)


def _drop_inherited_modes(settings: list[dict[str, Any]], subjects: set[str]) -> None:
    """Drop the modes of subjects if each one has the same: such a registry answers its own mode for each.

    Source: Karapace, `GET /mode/{subject}`, which has one mode for all.
    """
    mine = [one for one in settings if one["scope"] in subjects]
    if len({one.get("mode") for one in mine}) == 1:
        for one in mine:
            one.pop("mode", None)


def _fetch_largest_ids(
    server: RegistryServer, contexts: Iterable[str], entries: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    ids = {_find_context(str(entry["subject"])): entry["id"] for entry in entries}
    for context in contexts:
        if context in ids:
            subject = "" if context == DEFAULT_CONTEXT else f"&subject={quote(format_context(context))}"
            answer = server.find(f"/schemas/ids/{ids[context]}?fetchMaxId=true{subject}")
            if isinstance(answer, dict) and isinstance(answer.get("maxId"), int):
                yield {"context": context, "maxId": answer["maxId"]}


def _find_context(subject: str) -> str:
    return subject[1:].partition(":")[0] if subject.startswith(":.") else DEFAULT_CONTEXT


def _run(values: Iterable[V], work: Callable[[V], R]) -> Iterator[R]:
    """Do work in threads; results come in the order of the values."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(work, values)


def send_registry(
    server: RegistryServer, copy: RegistryCopy, announce: Callable[[str], None]
) -> tuple[RegistryCopy, tuple[str, ...]]:
    """Write a copy into an empty registry, with ids and numbers of versions.

    A registry without the mode IMPORT gives the ids itself: it takes a copy whose numbers have no gap.
    `announce` takes the command that ends the mode, in case that this process is killed.

    Returns:
        The copy as this registry can have it, and what it lacks there.

    Raises:
        CouldNotDo: the registry has subjects, or refuses a request.
    """
    if _list_subjects(server):
        raise CouldNotDo(
            f"{server.url} has subjects, and a copy goes into an empty registry",
            hint="delete them permanently first",
        )
    ordered = order_versions(copy.versions)
    scopes = _list_scopes(copy)
    is_own = server.is_own()
    copy, lost = (copy, ()) if is_own else _keep_common(server, copy)
    is_import = True
    try:
        is_import = all(server.ask("PUT", _path("mode", s), {"mode": "IMPORT"})[0] < 300 for s in scopes)
        if is_import:
            commands = " && ".join(f"curl -X DELETE {server.url}{_path('mode', scope)}" for scope in scopes)
            announce(f"{server.url} is in mode IMPORT until all is written; if this is killed: {commands}")
        else:
            _require_without_gaps(server, ordered)
            server.require("PUT", "/config", {"compatibility": "NONE"})
        _send_versions(server, ordered, is_import, is_own)
        _send_associations(server, copy)
        _send_settings(server, copy, scopes, is_import)
    except BaseException:
        _restore(server, scopes, is_import)
        raise
    if is_own:
        _send_own_settings(server, copy)
    return copy, lost


def _keep_common(server: RegistryServer, copy: RegistryCopy) -> tuple[RegistryCopy, tuple[str, ...]]:
    """Leave out what only a registry of schemaman keeps, or what this one does not know; name what it is."""
    has_associations = isinstance(server.find("/associations/resources/-/-"), list)
    kept, lost = dict[str, SubjectSettings](), dict[str, None]()
    for scope, settings in copy.settings.items():
        parts = {
            "policies": bool(settings.policy),
            "marks of quarantine": bool(settings.quarantine),
            "associations": bool(settings.associations) and not has_associations,
        }
        lost |= dict.fromkeys(name for name, is_there in parts.items() if is_there)
        associations = settings.associations if has_associations else ()
        common = replace(settings, policy="", quarantine=(), associations=associations)
        kept |= {scope: common} if common != SubjectSettings() else {}
    return replace(copy, settings=kept), tuple(lost)


def _send_versions(
    server: RegistryServer, ordered: Sequence[CopiedVersion], is_import: bool, is_own: bool
) -> None:
    for version in ordered:
        path = f"/subjects/{quote(str(version.subject), safe='')}/versions"
        answer = server.require("POST", path, _build_request(version, is_import, is_own))
        if not isinstance(answer, dict) or answer.get("id") != version.id:
            raise CouldNotDo(f"{server.url} gave {version.subject}@{version.number} another id: {answer}")
    for version in _order_deletions(ordered):
        name = quote(str(version.subject), safe="")
        server.require("DELETE", f"/subjects/{name}/versions/{version.number}")


def _send_associations(server: RegistryServer, copy: RegistryCopy) -> None:
    """Send associations; in the mode IMPORT, a STRONG one needs no schema."""
    for scope, settings in copy.settings.items():
        for one in settings.associations:
            body = {
                "resourceName": one.resource_name,
                "resourceNamespace": one.resource_namespace,
                "resourceId": one.resource_id,
                "resourceType": one.resource_type,
                "associations": [{"subject": scope, "associationType": one.kind, "lifecycle": one.lifecycle}],
            }
            server.require("POST", "/associations", body)


def _send_own_settings(server: RegistryServer, copy: RegistryCopy) -> None:
    """Send what only a registry of schemaman keeps."""
    for scope, settings in copy.settings.items():
        if settings.policy:
            server.require("PUT", _policy_path(scope), {"policy": settings.policy})
        for mark in settings.quarantine:
            path = f"{_OWN}/quarantine/{quote(scope, safe='')}/versions/{mark.number}"
            server.require("PUT", path, {"since_ms": mark.at_ms, "failures": list(mark.failures)})


def _restore(server: RegistryServer, scopes: Iterable[str], is_import: bool) -> None:
    """Make a registry writable again after a fault; one that does not answer stays as it is."""
    try:
        if not is_import:
            server.require("PUT", "/config", {"compatibility": "BACKWARD"})
            return
        for scope in scopes:
            _end_import(server, scope)
    except (CouldNotDo, RegistryUnavailable):
        return


def _end_import(server: RegistryServer, scope: str) -> None:
    # An older registry cannot take a mode away, and has the default as a value.
    if server.ask("DELETE", _path("mode", scope))[0] >= 300:
        server.require("PUT", _path("mode", scope), {"mode": "READWRITE"})


def _list_scopes(copy: RegistryCopy) -> list[str]:
    """The contexts of the copy that have a version, as scopes; the default one first."""
    found = dict.fromkeys(format_context(version.subject.context) for version in copy.versions)
    return list(dict.fromkeys((format_context(DEFAULT_CONTEXT), *found)))


def _path(kind: str, scope: str) -> str:
    return f"/{kind}" if scope == format_context(DEFAULT_CONTEXT) else f"/{kind}/{quote(scope, safe='')}"


def _require_without_gaps(server: RegistryServer, ordered: Iterable[CopiedVersion]) -> None:
    ids: dict[int, None] = {}
    numbers: dict[object, int] = {}
    for version in ordered:
        ids.setdefault(version.id)
        following = numbers.get(version.subject, 0) + 1
        numbers[version.subject] = following
        if len(ids) < version.id or version.number != following:
            raise CouldNotDo(
                f"{server.url} has no mode IMPORT, and would not give {version.subject}@{version.number} its "
                f"id {version.id} and its number",
                hint="name a registry that imports ids",
            )


def _build_request(version: CopiedVersion, is_import: bool, is_own: bool) -> dict[str, Any]:
    request = version.request
    body: dict[str, Any] = {"schema": request.text}
    if request.type != "AVRO":
        body["schemaType"] = request.type
    if request.references:
        body["references"] = [
            {"name": r.name, "subject": r.subject, "version": r.version} for r in request.references
        ]
    if request.metadata is not None:
        body["metadata"] = request.metadata
    if request.rule_set is not None:
        body["ruleSet"] = request.rule_set
    if is_import:
        body |= {"id": version.id, "version": version.number}
    if is_own:
        body |= {"guid": request.guid, "ts": request.at_ms}
    return body


def _order_deletions(ordered: Iterable[CopiedVersion]) -> list[CopiedVersion]:
    """The deleted versions, each before those that it refers to."""
    return [version for version in reversed(list(ordered)) if version.is_deleted]


def _send_settings(
    server: RegistryServer, copy: RegistryCopy, scopes: Iterable[str], is_import: bool
) -> None:
    if not is_import:
        server.require("PUT", "/config", {"compatibility": "BACKWARD"})
    for scope, settings in copy.settings.items():
        if settings.config is not None:
            config = {
                "compatibility" if k == "compatibilityLevel" else k: v for k, v in settings.config.items()
            }
            server.require("PUT", _path("config", scope), config)
    if not is_import:
        return
    for scope in scopes:
        if copy.settings.get(scope, SubjectSettings()).mode:
            continue
        _end_import(server, scope)
    for scope, settings in copy.settings.items():
        if settings.mode and settings.mode != "IMPORT":
            server.require("PUT", _path("mode", scope), {"mode": settings.mode})
        elif settings.mode and scope not in scopes:
            server.require("PUT", f"{_path('mode', scope)}?force=true", {"mode": settings.mode})
