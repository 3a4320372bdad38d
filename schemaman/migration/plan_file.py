"""The plan file: one JSON document that is reviewed, approved and applied exactly as it is.

Laws: `from_text(to_text(plan)) == plan`; the hash is that of the canonical form (sorted keys, no spaces, no
floats), so another layout is the same plan and another word is not.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from schemaman.errors import BadConfiguration, BadReference, SchemamanError, StalePlan
from schemaman.history.past_versions import CurrentField
from schemaman.migration.alterations import split_alteration
from schemaman.migration.conditions import list_unknown_conditions
from schemaman.migration.plan import (
    MigrationSource,
    Phase,
    Plan,
    PolicyDecision,
    PreviousVersion,
    Refusal,
    Reversible,
    Step,
    StepClass,
    StepKind,
)
from schemaman.model.column_list import format_columns, parse_columns
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.schema import Column, Path, TableSchema

SCHEMA_VERSION = 1
_HOW_TO_WRITE = "`schemaman plan TABLE -o FILE` writes one"
_EDITED = "make the plan again with `schemaman plan`; a plan is applied exactly as it was made"
_Json = dict[str, Any]


def to_text(plan: Plan, key: bytes | None = None) -> str:
    """Format a plan as the text of its file; a key signs it."""
    document = to_document(plan)
    signature = {} if key is None else {"signature": _sign(document, key)}
    return json.dumps(document | signature, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def from_text(text: str, key: bytes | None = None) -> Plan:
    """Read the plan of a file; a file with an unknown member is refused.

    With a key, the file must be signed with it; without a key, a signature is ignored.

    Raises:
        BadConfiguration: this is no plan file, or it has another layout or is of a newer version.
        StalePlan: the file was changed after it was made, or is not signed with the key.
    """
    try:
        document = json.loads(text, object_pairs_hook=_require_unique)
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(f"this is no plan file: {error}", hint=_HOW_TO_WRITE) from error
    if not isinstance(document, dict) or "steps" not in document or "hash" not in document:
        raise BadConfiguration("this is no plan file: it has no steps or no hash", hint=_HOW_TO_WRITE)
    if document.get("schema_version") != SCHEMA_VERSION:
        raise BadConfiguration(
            f"the plan file has layout {document.get('schema_version')!r}; "
            f"this schemaman reads {SCHEMA_VERSION}",
            hint="make the plan again with this version",
        )
    signature = document.pop("signature", None)
    if key is not None and not hmac.compare_digest(str(signature).encode(), _sign(document, key).encode()):
        raise StalePlan(
            f"the plan for {document.get('table')} is not signed with this key: it was made without the key, "
            "or edited after it was made",
            hint="make the plan again with `schemaman plan` and the same plan_key_file",
        )
    if document["hash"] != _hash(document):
        raise StalePlan(f"the plan for {document.get('table')} was edited after it was made", hint=_EDITED)
    try:
        plan = msgspec.convert(document, _PlanFile).value()
        if spoilt := _check_point_of_no_return(plan):
            raise ValueError(spoilt)
        strange = next(
            chain(_find_unknown(document, to_document(plan)), _find_unknown_conditions(plan)), None
        )
    except (ValueError, RecursionError, BadReference) as error:
        raise BadConfiguration(f"the plan file has a field that cannot be read: {error}") from error
    if strange is not None:
        raise BadConfiguration(
            f"the plan for {plan.table} contains {strange}, which this schemaman does not know",
            hint="apply the plan with the version that made it, or make it again with `schemaman plan`",
        )
    return plan


def read_known_plan(text: str) -> Plan | None:
    """Read the plan of a line of the journal; None if this release does not know its layout."""
    try:
        return from_text(text)
    except SchemamanError:
        return None


def _check_point_of_no_return(plan: Plan) -> str:
    first = plan.point_of_no_return
    there = first is None or 1 <= first <= len(plan.steps)
    return "" if there else f"point_of_no_return is {first}, and there are {len(plan.steps)} steps"


def _find_unknown(document: object, known: object, path: str = "") -> Iterator[str]:
    """Find the paths of members that the plan read from a file does not have; empty members do not count."""
    if isinstance(document, dict) and isinstance(known, dict):
        for name, each in document.items():
            here = f"{path}.{name}" if path else name
            if name in known:
                yield from _find_unknown(each, known[name], here)
            elif each:
                yield here
    elif isinstance(document, list) and isinstance(known, list):
        for number, (each, other) in enumerate(zip(document, known, strict=False)):
            yield from _find_unknown(each, other, f"{path}[{number}]")


def _find_unknown_conditions(plan: Plan) -> Iterator[str]:
    """Find unknown conditions before the first step runs: a later step could not check them."""
    for number, step in enumerate(plan.steps):
        for kind, asked in (("precondition", step.precondition), ("postcondition", step.postcondition)):
            yield from (f"steps[{number}].{kind}.{name}" for name in list_unknown_conditions(asked))


def plan_hash(plan: Plan) -> str:
    """Return the SHA-256 of a plan in hexadecimal, its name in journals and approvals."""
    return str(to_document(plan)["hash"])


def to_document(plan: Plan) -> dict[str, object]:
    """Convert a plan to a JSON document with its own hash, as `plan --format json` prints it."""
    document: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "target": plan.target,
        "format": plan.format,
        "table": plan.table,
        "base": _base(plan),
        "source": _source_document(plan.source),
        "wanted": _schema_document(plan.wanted),
        "steps": [_step_document(step) for step in plan.steps],
        "refusals": [{"change": r.change, "reason": r.reason, "instead": r.instead} for r in plan.refusals],
        "notes": list(plan.notes),
        "approvals_needed": list(plan.approvals_needed),
        "expires": None if plan.expires_ms is None else format_moment(plan.expires_ms),
        "rulings": [_decision_document(ruled) for ruled in plan.rulings],
        # Plans from before these members existed keep their hash.
        **({"phase": _phase_document(plan.phase)} if plan.phase else {}),
        **({"point_of_no_return": plan.point_of_no_return} if plan.point_of_no_return else {}),
    }
    return document | {"hash": _hash(document)}


def to_sql(plan: Plan) -> str:
    """Format the statements for people to read; comments describe each one, and the refusals."""
    return "\n".join(_sql_lines(plan)) + "\n"


def _sql_lines(plan: Plan) -> Iterator[str]:
    version = f"{plan.source.version}.{plan.source.revision}" if plan.source.revision else plan.source.version
    yield _comment_lines(
        f"{plan.table} ({plan.format}) follows {plan.source.table}@{version}, plan {plan_hash(plan)[:12]}"
    )
    yield "-- for reading: `schemaman apply` runs the plan file, checks each step and keeps a journal"
    if plan.expires_ms is not None:
        yield f"-- expires {format_moment(plan.expires_ms)}"
    if plan.phase:
        phase = plan.phase
        yield _comment_lines(f"phase {phase.number} of {phase.of}, {phase.name}; gate: {phase.gate}")
    for number, step in enumerate(plan.steps, 1):
        yield ""
        yield f"-- {number}. {step.kind} ({step.step_class}, {step.reversible})"
        if number == plan.point_of_no_return:
            yield "-- the point of no return: no statement undoes this"
        yield from (_comment_lines(f"hurts {who}") for who in step.hurts)
        # One statement for each column, so that a script runs on Spark 3.5, too.
        yield from (f"{statement};" for statement in split_alteration(step))
    for refusal in plan.refusals:
        yield ""
        yield _comment_lines(f"refused: {refusal.change}: {refusal.reason}\ninstead: {refusal.instead}")
    for note in plan.notes:
        yield _comment_lines(f"note: {note}")
    for needed in plan.approvals_needed:
        yield _comment_lines(f"needs approval: {needed}")


def _comment_lines(text: str) -> str:
    return "\n".join(f"-- {line}" for line in text.splitlines())


def _require_unique(pairs: list[tuple[str, Any]]) -> _Json:
    """Refuse an object with one name twice: JSON takes the last one, and a reader may see the first."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise StalePlan(f"the plan was edited after it was made: it contains {twice!r} twice", hint=_EDITED)
    return dict(pairs)


def _sign(document: Mapping[str, object], key: bytes) -> str:
    """The HMAC of a plan's hash; the hash is computed from the rest of the document."""
    return f"hmac-sha256:{hmac.new(key, _hash(document).encode(), hashlib.sha256).hexdigest()}"


def _hash(document: Mapping[str, object]) -> str:
    rest = {key: value for key, value in document.items() if key != "hash"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


def _base(plan: Plan) -> _Json | None:
    if plan.base_schema is None:
        return None
    return {
        "identity": plan.base_identity,
        "version": plan.base_version,
        "schema": _schema_document(plan.base_schema),
        **({"column_ids": plan.base_column_ids} if plan.base_column_ids else {}),
        **({"layout": dict(plan.base_layout)} if plan.base_layout else {}),
    }


def _schema_document(schema: TableSchema) -> _Json:
    columns = [
        {"name": c.name, "type": format_type(c.type), "nullable": c.nullable, "comment": c.comment}
        for c in schema.columns
    ]
    return {"columns": columns, "key": list(schema.key), "comment": schema.comment}


class _ColumnFile(Struct):
    name: str
    type: str
    nullable: bool
    comment: str | None


class _SchemaFile(Struct):
    columns: tuple[_ColumnFile, ...]
    key: tuple[str, ...]
    comment: str | None

    def value(self) -> TableSchema:
        columns = (Column(c.name, parse_type(c.type), c.nullable, comment=c.comment) for c in self.columns)
        return TableSchema(tuple(columns), self.key, self.comment)


def _source_document(source: MigrationSource) -> _Json:
    return {
        "table": source.table,
        "version": source.version,
        "id": source.id,
        "revision": source.revision,
        "columns": format_columns(source.schema),
        "began": dict(source.began),
        "former_names": {name: list(formers) for name, formers in source.former_names.items()},
        "unanswered": [list(pair) for pair in source.unanswered],
        "past": [_past_document(past) for past in source.past],
        "ended": [_past_document(past) for past in source.ended],
        **({"newer": [_past_document(past) for past in source.newer]} if source.newer else {}),
        **({"inferred": True} if source.inferred else {}),
        **({"untyped": True} if source.untyped else {}),
        **({"phantom": True} if source.phantom else {}),
        **({"proven": list(source.proven)} if source.proven else {}),
        **({"unsure_types": list(source.unsure_types)} if source.unsure_types else {}),
    }


def _past_document(past: PreviousVersion) -> _Json:
    known_as = {"known_as": list(past.previous_ids)} if past.previous_ids else {}
    fields = [
        [
            list(path),
            now.name,
            now.is_sure,
            *(part for part in (now.question, now.version) if part is not None),
        ]
        for path, now in past.nested_fields.items()
    ]
    parts = {"members": fields} if fields else {}
    types = {"types": {name: format_type(type) for name, type in past.types.items()}} if past.types else {}
    return {"id": past.id, "began": dict(past.began), "names": dict(past.names), **known_as, **parts, **types}


class _FieldFile(Struct, array_like=True, forbid_unknown_fields=True):
    path: Path
    name: str | None
    is_sure: bool
    question: tuple[Path, Path] | None = None
    version: int | None = None


class _PastFile(Struct, rename={"fields": "members"}):
    id: str
    began: dict[str, object]
    names: dict[str, str | None]
    known_as: tuple[str, ...] = ()
    fields: tuple[_FieldFile, ...] = ()
    types: dict[str, str] = {}

    def value(self) -> PreviousVersion:
        fields = {f.path: CurrentField(f.name, f.is_sure, f.question, f.version) for f in self.fields}
        types = {name: parse_type(text) for name, text in self.types.items()}
        return PreviousVersion(self.id, self.began, self.names, self.known_as, fields, types)


class _SourceFile(Struct):
    table: str
    version: int
    id: str
    revision: int
    columns: str
    began: dict[str, object]
    former_names: dict[str, tuple[str, ...]]
    unanswered: tuple[tuple[str, str], ...]
    past: tuple[_PastFile, ...]
    ended: tuple[_PastFile, ...]
    newer: tuple[_PastFile, ...] = ()
    inferred: bool = False
    untyped: bool = False
    phantom: bool = False
    proven: tuple[str, ...] = ()
    unsure_types: tuple[str, ...] = ()

    def value(self) -> MigrationSource:
        values: dict[str, Any] = asdict(self)
        for name in ("past", "ended", "newer"):
            values[name] = tuple(each.value() for each in values[name])
        return MigrationSource(schema=parse_columns(values.pop("columns")), **values)


def _step_document(step: Step) -> _Json:
    return {
        "kind": step.kind,
        "statement": step.statement,
        "class": step.step_class,
        "reversible": step.reversible,
        "precondition": dict(step.precondition),
        "postcondition": dict(step.postcondition),
        "undo": step.undo,
        "hurts": list(step.hurts),
    }


class _StepFile(Struct, rename={"step_class": "class"}):
    kind: StepKind
    statement: str
    step_class: StepClass
    reversible: Reversible
    precondition: dict[str, object]
    postcondition: dict[str, object]
    undo: str | None
    hurts: tuple[str, ...]


def _phase_document(phase: Phase) -> _Json:
    return {
        "name": phase.name,
        "number": phase.number,
        "of": phase.of,
        "gate": phase.gate,
        "follows": phase.follows,
    }


def _decision_document(ruled: PolicyDecision) -> _Json:
    return {
        "change": ruled.change,
        "path": list(ruled.path),
        "kind": ruled.kind,
        "level": ruled.level,
        "why": ruled.why,
    }


class _BaseFile(Struct):
    identity: str | None
    version: str | None
    schema: _SchemaFile
    column_ids: str = ""
    layout: dict[str, str] = {}


class _PlanFile(Struct):
    """The members of a plan file by their names there; older files lack those with a default."""

    target: str
    format: str
    table: str
    base: _BaseFile | None
    source: _SourceFile
    wanted: _SchemaFile
    steps: tuple[_StepFile, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]
    approvals_needed: tuple[str, ...]
    expires: str | None
    rulings: tuple[PolicyDecision, ...] = ()
    phase: Phase | None = None
    point_of_no_return: int | None = None

    def value(self) -> Plan:
        base = self.base
        return Plan(
            self.target,
            self.format,
            self.table,
            self.source.value(),
            base.identity if base else None,
            base.version if base else None,
            base.schema.value() if base else None,
            self.wanted.value(),
            tuple(Step(**asdict(step)) for step in self.steps),
            self.refusals,
            self.notes,
            self.approvals_needed,
            None if self.expires is None else parse_moment(self.expires),
            self.rulings,
            self.phase,
            self.point_of_no_return,
            base.column_ids if base else "",
            base.layout if base else {},
        )


def parse_expiry(text: str, now_ms: int) -> int | None:
    """Parse the expiry of a plan (epoch ms): `30d`, `12h`, a day, a moment with its zone; None for `never`.

    Days last to their end in UTC, so that equal plans of one day have the same hash.

    Raises:
        BadConfiguration: the text is none of these, or a moment beyond the year 9999.
    """
    if text == "never":
        return None
    try:
        until = _parse_expiry(text, now_ms)
        if until is not None and format_moment(until):
            return until
    except (ValueError, OverflowError):
        pass
    raise BadConfiguration(f"{text!r} is no expiry time", hint="write 30d, 12h, 2027-01-31 or never")


def _parse_expiry(text: str, now_ms: int) -> int | None:
    span = re.fullmatch(r"([0-9]{1,5})([dh])", text)
    if span and span[2] == "h":
        return (now_ms // 1000 + int(span[1]) * 3600) * 1000
    if span:
        return _end_of((datetime.fromtimestamp(now_ms // 1000, UTC) + timedelta(int(span[1]))).date())
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return _end_of(date.fromisoformat(text))
    at = datetime.fromisoformat(text)
    return int(at.timestamp() * 1000) if at.tzinfo is not None else None


def _end_of(day: date) -> int:
    return int(datetime.combine(day, time.min, UTC).timestamp()) * 1000 + 86_399_999


def format_moment(ms: int) -> str:
    """Format a moment by RFC 3339 in UTC, to the millisecond.

    Raises:
        ValueError, OverflowError: the moment is beyond the years 1 to 9999.
    """
    at = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_moment(moment: str) -> int:
    """Return the epoch milliseconds of such a moment. Raises ValueError if it is none."""
    at = datetime.fromisoformat(moment)
    return int(at.replace(microsecond=0).timestamp()) * 1000 + at.microsecond // 1000
