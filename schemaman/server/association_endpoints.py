"""The endpoints of associations, each with the function that answers it.

Source: Confluent Schema Registry, REST API, "Associations".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemaman.server.answers import build_association, build_bindings, build_fault
from schemaman.server.calls import NO_CONTENT, Call, Endpoint, ManyAnswers
from schemaman.subjects.associations import (
    KINDS,
    TOPIC,
    AssociationFilter,
    parse_associations,
    parse_lifecycle,
)
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.requests import parse_name
from schemaman.subjects.schema_registry import paginate

_LARGEST_PAGE = 1000
_OPERATIONS = ("CREATE", "UPSERT", "DELETE")


def read_filter(call: Call, **parts: Any) -> AssociationFilter:
    """Read the parts of a filter that are in a query. Raises `RefusedRequest` with 42212."""
    return AssociationFilter(
        type=call.read_text("resourceType") or TOPIC,
        kinds=tuple(call.query.get("associationType", ())),
        lifecycle=parse_lifecycle(call.read_text("lifecycle")),
        **parts,
    )


def _list_page(call: Call, wanted: AssociationFilter) -> object:
    found = call.registry.associations.list(wanted)
    return [build_association(*bound) for bound in paginate(found, *call.read_page(_LARGEST_PAGE))]


def list_by_name(call: Call) -> object:
    """List the associations of a topic by its name; `-` means every name or namespace."""
    return _list_page(call, read_filter(call, name=call.parts["name"], namespace=call.parts["namespace"]))


def list_by_id(call: Call) -> object:
    """List the associations of a resource by its id."""
    return _list_page(call, read_filter(call, id=call.parts["resource"]))


def list_by_subject(call: Call) -> object:
    """List the associations of a subject."""
    return _list_page(call, read_filter(call, subject=parse_name(call.subject, call.registry.context)))


def create_associations(call: Call) -> object:
    """Bind a new resource to subjects."""
    return _bind(call, call.body, is_upsert=False)


def update_associations(call: Call) -> object:
    """Bind a resource that exists to subjects."""
    return _bind(call, call.body, id=call.parts.get("resource", ""), is_upsert=True)


def _bind(call: Call, body: object, *, id: str = "", is_upsert: bool) -> object:
    context, is_dry_run = call.read_text("context").strip(":"), call.is_true("dryRun")
    resource, requests = parse_associations(
        body, context or call.registry.context, id=id, may_lack_id=is_dry_run
    )
    bindings = call.registry.associations.bind(
        resource, requests, is_upsert=is_upsert, is_dry_run=is_dry_run, actor=call.actor
    )
    return build_bindings(resource, bindings)


def delete_associations(call: Call) -> object:
    """Remove the associations of a resource."""
    kinds, type = call.query.get("associationType", ()), call.read_text("resourceType")
    _delete(call, call.parts["resource"], kinds, type)
    return NO_CONTENT


def _delete(call: Call, id: str, kinds: Sequence[str], type: str, *, is_cascading: bool = False) -> None:
    call.registry.associations.unbind(
        AssociationFilter(id=id, type=type or TOPIC, kinds=tuple(kinds)),
        is_cascading=is_cascading or call.is_true("cascadeLifecycle"),
        is_dry_run=call.is_true("dryRun"),
    )


def find_many(call: Call) -> object:
    """List the associations of several resources."""
    return _answer_each(call, _find_one)


def _find_one(call: Call, body: Mapping[str, Any]) -> object:
    texts = [body.get(n) or "" for n in ("resourceName", "resourceNamespace", "resourceId", "resourceType")]
    kinds, lifecycle = body.get("associationTypes") or (), body.get("lifecycle") or ""
    if not all(isinstance(text, str) for text in (*texts, lifecycle)) or not isinstance(kinds, Sequence):
        raise RefusedRequest(42212, "Invalid association: a part is of another type")
    name, namespace, id, type = texts
    if not id and not (name and namespace):
        raise RefusedRequest(42212, "Invalid association: resourceId, or name and namespace, must be there")
    wanted = AssociationFilter(name, namespace, id, type or TOPIC, tuple(kinds), parse_lifecycle(lifecycle))
    return build_bindings(None, [(*bound, None) for bound in call.registry.associations.list(wanted)])


def change_many(call: Call) -> object:
    """Create, change and remove associations of several resources; each one is done or refused by itself."""
    return _answer_each(call, _change_one)


def _change_one(call: Call, body: Mapping[str, Any]) -> object:
    operations = body.get("associations")
    if not isinstance(operations, list) or not all(isinstance(one, Mapping) for one in operations):
        raise RefusedRequest(42212, "Invalid association: associations is no list of objects")
    kinds = {one.get("opType") for one in operations}
    if len(kinds) != 1 or not kinds <= set(_OPERATIONS):
        words = f"the associations of a resource have one opType: {', '.join(_OPERATIONS)}"
        raise RefusedRequest(42212, f"Invalid association: {words}")
    (kind,) = kinds
    if kind != "DELETE":
        return _bind(call, body, is_upsert=kind == "UPSERT")
    chosen = [one.get("associationType") or "" for one in operations]
    id, type = body.get("resourceId"), body.get("resourceType") or ""
    if not isinstance(id, str) or not id or not isinstance(type, str) or not {*chosen} <= {"", *KINDS}:
        raise RefusedRequest(42212, "Invalid association: a deletion has a resourceId and associationTypes")
    is_cascading = all(one.get("cascadeLifecycle") is True for one in operations)
    _delete(call, id, () if "" in chosen else chosen, type, is_cascading=is_cascading)
    return {"resourceId": id, "resourceType": type or TOPIC}


def _answer_each(call: Call, answer: Any) -> object:
    requests = call.body.get("requests") if isinstance(call.body, Mapping) else None
    if not isinstance(requests, list) or not requests:
        raise RefusedRequest(42212, "Invalid association: requests cannot be empty")
    results: list[object] = []
    for request in requests:
        try:
            if not isinstance(request, Mapping):
                raise RefusedRequest(42212, "Invalid association: a request is no JSON object")
            results.append({"result": answer(call, request)})
        except RefusedRequest as error:
            results.append({"error": build_fault(error.code, error.message)})
    return ManyAnswers({"results": results})


_RESOURCE = "/associations/resources/{resource}"
ASSOCIATION_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/associations/resources/{namespace}/{name}", list_by_name),
    Endpoint("GET", _RESOURCE, list_by_id),
    Endpoint("GET", "/associations/subjects/{subject}", list_by_subject),
    Endpoint("POST", "/associations", create_associations, True),
    Endpoint("PUT", "/associations", update_associations, True, "the id is in the body, as before"),
    Endpoint("PUT", _RESOURCE, update_associations, True),
    Endpoint("DELETE", _RESOURCE, delete_associations, True),
    Endpoint("POST", "/associations:batchGet", find_many),
    Endpoint("POST", "/associations:batchMutate", change_many, True, "one opType a resource"),
)
