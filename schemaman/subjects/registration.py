"""Register a content under a subject: it gets an id of its context and the next number of its subject.

Laws: one content has one id in a context; numbers have no gap but what was deleted; a content that is live
under the subject is registered no second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schemaman.store.subjects import (
    JsonObject,
    QuarantinedVersion,
    RegisteredSchema,
    SchemaContent,
    SubjectName,
    SubjectRows,
    SubjectVersion,
)
from schemaman.subjects.compatibility import check_content
from schemaman.subjects.contents import compute_fingerprint, compute_guid, make_content, restore_content
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema, fix_references, list_referenced_texts, load_version
from schemaman.subjects.policies import (
    RegisteredText,
    RegistrationGate,
    describe_level,
    format_refusal,
    select_accepted,
)
from schemaman.subjects.requests import LARGEST_VERSION, SchemaRequest
from schemaman.subjects.scopes import DEFAULT_POLICY, require_writable


@dataclass(frozen=True, slots=True)
class Registration:
    """A request that is ready to be registered; `known_id` is the id of its content, 0 for a new one.

    `existing` is the live version that has the content already. `accepted` are the live versions that are not
    quarantined: only they decide about the next one.
    """

    subject: SubjectName
    request: SchemaRequest
    content: SchemaContent
    fingerprint: str
    referenced: tuple[str, ...]
    versions: tuple[SubjectVersion, ...]
    config: JsonObject
    is_import: bool
    known_id: int
    existing: SubjectVersion | None
    policy: str = DEFAULT_POLICY
    accepted: tuple[SubjectVersion, ...] = ()

    @property
    def content_key(self) -> tuple[str, str]:
        """The context and the fingerprint by which its content is found."""
        return self.subject.context, self.fingerprint

    @property
    def is_new(self) -> bool:
        """Whether a client brings a new version now; an import repeats what happened elsewhere."""
        return self.existing is None and not self.is_import


def prepare_registration(
    rows: SubjectRows, subject: SubjectName, request: SchemaRequest, *, normalize: bool
) -> Registration:
    """Parse a request, and find what is registered of it; writes nothing.

    Raises as `parse_registration` and `find_registered`.
    """
    return find_registered(rows, parse_registration(rows, subject, request, normalize=normalize))


def parse_registration(
    rows: SubjectRows, subject: SubjectName, request: SchemaRequest, *, normalize: bool
) -> Registration:
    """Parse a request under the settings of its subject; `known_id` and `existing` are not yet looked for.

    Raises:
        RefusedRequest: 42201 for an invalid schema, 42205 if the mode does not allow it.
    """
    scope = require_writable(rows, subject)
    is_import, config = scope.mode == "IMPORT", scope.config
    if request.id and not is_import:
        raise RefusedRequest(42205, f"Subject {subject} is not in import mode")
    if is_import and not request.id:
        raise RefusedRequest(
            42205, f"Subject {subject} is in import mode: a request needs the id of its schema"
        )
    versions = rows.list_versions(subject)
    live = [version for version in versions if not version.is_deleted]
    if not is_import:
        request = _complete(rows, request, live, config)
    request = fix_references(rows, request, subject.context)
    referenced = list_referenced_texts(rows, request.references, subject.context, deleted=is_import)
    normal = not is_import and (normalize or config.get("normalize") is True)
    if is_import and request.text:
        content = restore_content(request, referenced)
    else:
        content = make_content(request, referenced, normalize=normal)
    fingerprint = compute_fingerprint(content)
    return Registration(
        subject, request, content, fingerprint, referenced, versions, config, is_import, 0, None,
        scope.policy, select_accepted(versions, scope.quarantine),
    )  # fmt: skip


def find_registered(rows: SubjectRows, parsed: Registration) -> Registration:
    """Find the id of a content and the live version that has it.

    Raises:
        RefusedRequest: 42207 for a content that has another id.
    """
    wanted = parsed.request.id
    ids = rows.list_ids(parsed.subject.context, parsed.fingerprint)
    known_id = wanted if wanted in ids else next(iter(ids), 0)
    if wanted and known_id and wanted != known_id:
        raise RefusedRequest(42207, f"The id of the schema is {known_id}, not {wanted}")
    fitting = [id for id in ids if wanted in (0, id)]
    existing = next((v for v in parsed.versions if not v.is_deleted and v.schema_id in fitting), None)
    return replace(parsed, known_id=known_id, existing=existing)


def register_schema(
    rows: SubjectRows, prepared: Registration, actor: str, gate: RegistrationGate | None = None
) -> VersionedSchema:
    """Write a registration in the transaction in which it was prepared; one that is refused writes nothing.

    `gate` judges for the policies CDC and QUARANTINE.

    Raises:
        RefusedRequest: 409 for an incompatible content, or one that the policy refuses, 42201 for a number
            that is not the next one, 42205 for an id or a number that is taken.
    """
    if prepared.existing is not None:
        return load_version(rows, prepared.existing)
    number = _choose_number(prepared)
    failures = () if prepared.is_import else _list_failures(rows, prepared, gate or RegistrationGate())
    subject = prepared.subject
    at_ms = (prepared.request.at_ms if prepared.is_import else 0) or rows.now_ms()
    known = SubjectVersion(subject, number, prepared.known_id, at_ms, actor=actor)
    schema = load_version(rows, known).schema if prepared.known_id else _add_schema(rows, prepared)
    version = replace(known, schema_id=schema.id)
    _drop_former(rows, prepared, schema.id)
    rows.add_version(version)
    found = VersionedSchema(version, schema)
    if not failures:
        return found
    mark = QuarantinedVersion(number, schema.id, at_ms, failures)
    settings = rows.read_settings(str(subject))
    rows.write_settings(str(subject), replace(settings, quarantine=(*settings.quarantine, mark)))
    return replace(found, quarantine=mark)


def _complete(
    rows: SubjectRows, request: SchemaRequest, live: list[SubjectVersion], config: JsonObject
) -> SchemaRequest:
    """Take what a request leaves out from the latest version, and what the settings add to every version."""
    if request.text is None and not live:
        raise RefusedRequest(42201, "Invalid schema: the request has no schema")
    metadata, rule_set = request.metadata, request.rule_set
    if live and (request.text is None or metadata is None or rule_set is None):
        latest = load_version(rows, live[-1]).schema.content
        metadata = latest.metadata if metadata is None else metadata
        rule_set = latest.rule_set if rule_set is None else rule_set
        if request.text is None:
            request = replace(request, text=latest.sent, type=latest.type, references=latest.references)
    metadata = _merge_metadata(config.get("defaultMetadata"), metadata, config.get("overrideMetadata"))
    rule_set = _merge_rules(config.get("defaultRuleSet"), rule_set, config.get("overrideRuleSet"))
    if metadata is request.metadata and rule_set is request.rule_set:
        return request
    return replace(request, metadata=metadata, rule_set=rule_set)


def _merge_metadata(*parts: object) -> JsonObject | None:
    """Merge metadata; a later one has precedence for each tag and property."""
    merged: dict[str, object] = {}
    for part in parts:
        for name, value in part.items() if isinstance(part, Mapping) else ():
            before = merged.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                value = {**before, **value}
            elif isinstance(before, list) and isinstance(value, list):
                value = list(dict.fromkeys([*before, *value]))
            if value:
                merged[name] = value
    return merged or None


def _merge_rules(*parts: object) -> JsonObject | None:
    """Merge rule sets; a later rule replaces an earlier one with its name."""
    merged: dict[str, object] = {}
    for part in parts:
        for name, value in part.items() if isinstance(part, Mapping) else ():
            before = merged.get(name)
            if isinstance(before, list) and isinstance(value, list):
                names = {rule.get("name") for rule in value}
                value = [*(rule for rule in before if rule.get("name") not in names), *value]
            if value:
                merged[name] = value
    return merged or None


def _choose_number(prepared: Registration) -> int:
    numbers = [version.number for version in prepared.versions]
    following = max(numbers, default=0) + 1
    wanted = prepared.request.version or following
    if prepared.is_import and wanted in numbers:
        raise RefusedRequest(42205, f"Version {wanted} of subject {prepared.subject} has another schema")
    if wanted != following and not prepared.is_import:
        raise RefusedRequest(
            42201, f"Invalid schema: version {wanted} does not follow version {following - 1}"
        )
    if wanted > LARGEST_VERSION:
        raise RefusedRequest(42205, f"Subject {prepared.subject} has all versions that there are")
    return wanted


def _list_failures(
    rows: SubjectRows, prepared: Registration, gate: RegistrationGate
) -> tuple[JsonObject, ...]:
    """List why a version is to be quarantined; empty for one that passes.

    Raises:
        RefusedRequest: 409 for what level or policy refuse, 42203 without a verdict at the level.
    """
    text = RegisteredText(prepared.content, prepared.referenced)
    if prepared.policy != "QUARANTINE":
        _require_compatible(rows, prepared)
    if prepared.policy == DEFAULT_POLICY:
        return ()
    failures = gate.list_failures(rows, prepared.subject, prepared.accepted, text)
    if prepared.policy == "CDC" and failures:
        raise RefusedRequest(409, format_refusal(prepared.subject, failures))
    if prepared.policy == "QUARANTINE":
        try:
            _require_compatible(rows, prepared)
        except RefusedRequest as error:
            return (*failures, describe_level((error.message,)))
    return failures


def _require_compatible(rows: SubjectRows, prepared: Registration) -> None:
    if prepared.config.get("compatibilityLevel") == "NONE":
        return
    verdict = check_content(rows, prepared.content, prepared.referenced, prepared.accepted, prepared.config)
    if not verdict.is_compatible:
        raise RefusedRequest(
            409,
            f"The schema is incompatible with version {verdict.failed} of subject '{prepared.subject}', "
            f"details: [{', '.join(verdict.messages)}]",
        )


def _add_schema(rows: SubjectRows, prepared: Registration) -> RegisteredSchema:
    context = prepared.subject.context
    largest = rows.find_largest_id(context)
    id = prepared.request.id or largest + 1
    if prepared.request.id and rows.find_schema(context, id) is not None:
        raise RefusedRequest(42205, f"Overwriting the schema with id {id} is not permitted")
    if id > LARGEST_VERSION:
        raise RefusedRequest(42205, f"Context {context} has all ids that there are")
    rows.set_largest_id(context, max(largest, id))
    guid = (prepared.request.guid if prepared.is_import else "") or compute_guid(prepared.content)
    schema = RegisteredSchema(context, id, guid, prepared.content)
    rows.add_schema(schema, prepared.fingerprint)
    return schema


def _drop_former(rows: SubjectRows, prepared: Registration, id: int) -> None:
    """Remove the soft-deleted versions that have this content, unless another schema refers to them."""
    former = tuple(
        version.number
        for version in prepared.versions
        if version.is_deleted
        and version.schema_id == id
        and not rows.list_referrers(prepared.subject, version.number, deleted=True)
    )
    if former:
        rows.remove_versions(prepared.subject, former)
