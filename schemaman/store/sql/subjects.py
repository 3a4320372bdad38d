"""Subjects as rows of a SQL database: each call runs inside the transaction that its caller holds.

Law: an id has one content and a version one id, as the unique indexes of the tables require.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from schemaman.store.log import RegistrationEntry
from schemaman.store.sql.kept_subjects import KeptSubjects, read_revision
from schemaman.store.sql.quick_statements import QuickStatement
from schemaman.store.sql.subject_tables import REFERENCE, SCHEMA, SCHEMA_ID, SETTINGS, SUBJECT, VERSION
from schemaman.store.sql.tables import BATCH, make_damaged_error
from schemaman.store.subject_names import parse_subject
from schemaman.store.subjects import (
    Association,
    QuarantinedVersion,
    RegisteredSchema,
    SchemaContent,
    SchemaReference,
    SubjectFilter,
    SubjectName,
    SubjectSettings,
    SubjectVersion,
)

_LAST = "\U0010ffff"
_UNLIMITED = 1 << 62


# The queries of each request: building them costs more than running them.
_SCHEMA_OF_ID = QuickStatement(
    select(SCHEMA).where(SCHEMA.c.context == bindparam("here"), SCHEMA.c.id == bindparam("wanted"))
)
# One context at a time: SQLite reads the whole table for a list of pairs.
_SCHEMAS_OF_IDS = select(SCHEMA).where(
    SCHEMA.c.context == bindparam("here"), SCHEMA.c.id.in_(bindparam("wanted", expanding=True))
)
# A fingerprint is of hexadecimal digits; that of a further id of one content goes on with an x.
_IDS_OF_CONTENT = QuickStatement(
    select(SCHEMA.c.id)
    .where(
        SCHEMA.c.context == bindparam("here"),
        SCHEMA.c.fingerprint >= bindparam("first"),
        SCHEMA.c.fingerprint <= bindparam("last"),
    )
    .order_by(SCHEMA.c.fingerprint, SCHEMA.c.id)
)
_VERSIONS_OF_SUBJECT = QuickStatement(
    select(VERSION)
    .where(VERSION.c.context == bindparam("here"), VERSION.c.subject == bindparam("wanted"))
    .order_by(VERSION.c.number)
)
# Without an order: for one, SQLite would read the whole context along its primary key.
_USES_OF_SCHEMA = QuickStatement(
    select(VERSION).where(VERSION.c.context == bindparam("here"), VERSION.c.schema_id == bindparam("wanted"))
)
_LARGEST_ID = QuickStatement(select(SCHEMA_ID.c.largest_id).where(SCHEMA_ID.c.context == bindparam("here")))
_SET_LARGEST_ID = QuickStatement(
    update(SCHEMA_ID).where(SCHEMA_ID.c.context == bindparam("here")).values(largest_id=bindparam("id"))
)
_ADD_SCHEMA, _ADD_REFERENCE, _ADD_VERSION, _ADD_SUBJECT = (
    QuickStatement(insert(table)) for table in (SCHEMA, REFERENCE, VERSION, SUBJECT)
)
_COUNT_VERSIONS = QuickStatement(
    update(SUBJECT)
    .where(SUBJECT.c.context == bindparam("here"), SUBJECT.c.name == bindparam("wanted"))
    .values(live=SUBJECT.c.live + bindparam("more_live"), total=SUBJECT.c.total + bindparam("more"))
)
_SETTINGS_OF_THREE_SCOPES = QuickStatement(
    select(SETTINGS).where(SETTINGS.c.scope.in_([bindparam("one"), bindparam("two"), bindparam("three")]))
)
_SETTINGS_OF_SCOPES = select(SETTINGS).where(SETTINGS.c.scope.in_(bindparam("wanted", expanding=True)))


AppendRegistrations = Callable[[Sequence[RegistrationEntry]], bool]
"""Appends registrations to the log in the transaction of the rows; False if the log takes none now."""


class SqlSubjectRows:
    """The rows of one transaction; `now_ms` is the clock of the store.

    `kept` has what was read before; a transaction that writes has none. `append` writes into the log, and
    `former` is the revision before the transaction wrote; None if that is unknown.
    """

    def __init__(
        self,
        connection: Connection,
        now_ms: Callable[[], int],
        kept: KeptSubjects | None = None,
        append: AppendRegistrations | None = None,
        former: str | None = None,
    ) -> None:
        self._connection = connection
        self._former = former
        self._kept = kept
        self._append = append
        self.now_ms = now_ms

    def read_ahead(
        self, subjects: Collection[SubjectName], contents: Collection[tuple[str, str]] = ()
    ) -> None:
        """Nothing: a file answers each question at once."""

    def send(self) -> None:
        """Nothing: each write has been sent."""

    def find_revision(self) -> str | None:
        """The revision of all subjects as this transaction found it; None if it is unknown."""
        return self._former if self._kept is None else read_revision(self._connection)

    def append_registrations(self, entries: Sequence[RegistrationEntry]) -> bool:
        """Append registrations to the log; False if it takes none now, and then none is there."""
        return self._append is not None and self._append(entries)

    def find_schema(self, context: str, id: int) -> RegisteredSchema | None:
        """Find a schema by its id."""
        rows = _SCHEMA_OF_ID.list_rows(self._connection, {"here": context, "wanted": id})
        return read_schema(rows[0]) if rows else None

    def list_ids(self, context: str, fingerprint: str) -> tuple[int, ...]:
        """List the ids of a content, the one that it was given first in front."""
        wanted = {"here": context, "first": fingerprint, "last": f"{fingerprint}z"}
        return tuple(id for (id,) in _IDS_OF_CONTENT.list_rows(self._connection, wanted))

    def list_by_guid(self, guid: str) -> tuple[RegisteredSchema, ...]:
        """List the schemas with a guid, one a context."""
        query = select(SCHEMA).where(SCHEMA.c.guid == guid).order_by(SCHEMA.c.context, SCHEMA.c.id)
        return tuple(map(read_schema, self._connection.execute(query)))

    def add_schema(self, schema: RegisteredSchema, fingerprint: str) -> None:
        """Add a schema with an id that is free, and its references."""
        _ADD_SCHEMA.write_rows(self._connection, [format_schema(schema, fingerprint)])
        references = format_references(schema)
        if references:
            _ADD_REFERENCE.write_rows(self._connection, references)

    def remove_schema(self, context: str, id: int) -> None:
        """Remove a schema and its references."""
        origin = (REFERENCE.c.from_context == context) & (REFERENCE.c.from_id == id)
        self._connection.execute(delete(REFERENCE).where(origin))
        self._connection.execute(delete(SCHEMA).where((SCHEMA.c.context == context) & (SCHEMA.c.id == id)))

    def find_largest_id(self, context: str) -> int:
        """The largest id that was ever given in a context; 0 for none."""
        return _LARGEST_ID.find_value(self._connection, {"here": context}) or 0

    def set_largest_id(self, context: str, id: int) -> None:
        """Remember the largest id of a context."""
        if not _SET_LARGEST_ID.write_rows(self._connection, [{"here": context, "id": id}]):
            self._connection.execute(insert(SCHEMA_ID).values(context=context, largest_id=id))

    def list_versions(self, subject: SubjectName) -> tuple[SubjectVersion, ...]:
        """List the versions of a subject by number, also soft-deleted ones."""
        wanted = {"here": subject.context, "wanted": subject.name}
        found = _VERSIONS_OF_SUBJECT.list_rows(self._connection, wanted)
        return tuple(map(read_version, found))

    def list_uses(self, context: str, id: int) -> tuple[SubjectVersion, ...]:
        """List the versions that have a schema, also soft-deleted ones, by subject and number."""
        found = _USES_OF_SCHEMA.list_rows(self._connection, {"here": context, "wanted": id})
        return tuple(sorted(map(read_version, found), key=lambda version: (version.subject, version.number)))

    def add_version(self, version: SubjectVersion) -> None:
        """Add a version whose number is free."""
        _ADD_VERSION.write_rows(self._connection, [format_version(version)])
        self._count(version.subject, live=0 if version.is_deleted else 1, total=1)

    def mark_deleted(self, subject: SubjectName, numbers: tuple[int, ...]) -> None:
        """Soft-delete live versions."""
        chosen = _is_of(subject) & VERSION.c.number.in_(numbers)
        self._connection.execute(update(VERSION).where(chosen).values(is_deleted=True))
        self._count(subject, live=-len(numbers), total=0)

    def remove_versions(self, subject: SubjectName, numbers: tuple[int, ...]) -> None:
        """Remove soft-deleted versions."""
        self._connection.execute(delete(VERSION).where(_is_of(subject) & VERSION.c.number.in_(numbers)))
        self._count(subject, live=0, total=-len(numbers))

    def list_subjects(self, wanted: SubjectFilter) -> tuple[SubjectName, ...]:
        """List subjects by context and name."""
        order = None if self._kept is None else self._kept.find_order(self._connection, wanted)
        if order is not None:
            return order.list_subjects(wanted)
        c = SUBJECT.c
        query = select(c.context, c.name).where(*_choose(wanted, c.context, c.name))
        if wanted.deleted_only:
            query = query.where(c.live < c.total)
        elif not wanted.deleted:
            query = query.where(c.live > 0)
        query = query.order_by(c.context, c.name).limit(_limit(wanted)).offset(wanted.offset)
        return tuple(SubjectName(*row) for row in self._connection.execute(query))

    def list_schemas(
        self, wanted: SubjectFilter, latest_only: bool
    ) -> tuple[tuple[SubjectVersion, RegisteredSchema], ...]:
        """List versions with their schemas by subject and number; offset and limit count versions."""
        c = VERSION.c
        query = select(VERSION).where(*_choose(wanted, c.context, c.subject))
        order = None if self._kept is None else self._kept.find_order(self._connection, wanted)
        if order is not None:
            moved = order.move_start(wanted, latest_only)
            if moved is None:
                return ()
            start, wanted = moved
            # A pair beside an equal context would make SQLite read the whole context.
            query = query.where(
                tuple_(c.context, c.subject) >= (start.context, start.name)
                if wanted.context is None
                else c.subject >= start.name
            )
        if not wanted.deleted:
            query = query.where(~c.is_deleted)
        if latest_only:
            later = VERSION.alias()
            is_later = (later.c.context == c.context) & (later.c.subject == c.subject)
            if not wanted.deleted:
                is_later &= ~later.c.is_deleted
            query = query.where(
                c.number == select(func.max(later.c.number)).where(is_later).scalar_subquery()
            )
        query = query.order_by(c.context, c.subject, c.number).limit(_limit(wanted)).offset(wanted.offset)
        versions = tuple(map(read_version, self._connection.execute(query)))
        schemas = self._find_schemas({(v.subject.context, v.schema_id) for v in versions})
        return tuple((v, schemas[v.subject.context, v.schema_id]) for v in versions)

    def list_contexts(self) -> tuple[str, ...]:
        """List the contexts that have a version or an id, in order."""
        query = select(SCHEMA_ID.c.context).order_by(SCHEMA_ID.c.context)
        return tuple(self._connection.scalars(query))

    def list_referrers(self, subject: SubjectName, number: int, deleted: bool) -> tuple[int, ...]:
        """List the ids of the schemas that refer to a version and are themselves in use, by id."""
        r, v = REFERENCE.c, VERSION.c
        is_used = (v.context == r.from_context) & (v.schema_id == r.from_id)
        if not deleted:
            is_used &= ~v.is_deleted
        here = (r.context == subject.context) & (r.subject == subject.name) & (r.number == number)
        query = select(r.from_id).where(here, select(VERSION).where(is_used).exists()).order_by(r.from_id)
        return tuple(dict.fromkeys(self._connection.scalars(query)))

    def read_settings(self, scope: str) -> SubjectSettings:
        """Read the settings of a scope: a subject, or a context as `:.context:`."""
        return self.list_settings((scope,)).get(scope, SubjectSettings())

    def list_settings(self, scopes: Iterable[str]) -> Mapping[str, SubjectSettings]:
        """Read the settings of several scopes; one without settings is left out."""
        wanted = tuple(scopes)
        if not wanted:
            return {}
        rows: Iterable[Sequence[Any]]
        if len(wanted) > 3:
            rows = self._connection.execute(_SETTINGS_OF_SCOPES, {"wanted": wanted})
        else:
            one, two, three = (*wanted, wanted[-1], wanted[-1])[:3]
            rows = _SETTINGS_OF_THREE_SCOPES.list_rows(
                self._connection, {"one": one, "two": two, "three": three}
            )
        return {row[0]: read_settings(row) for row in rows}

    def list_all_settings(self) -> Mapping[str, SubjectSettings]:
        """Read the settings of every scope that has some, in order."""
        rows = self._connection.execute(select(SETTINGS).order_by(SETTINGS.c.scope))
        return {row.scope: read_settings(row) for row in rows}

    def write_settings(self, scope: str, settings: SubjectSettings) -> None:
        """Replace the settings of a scope."""
        self._connection.execute(delete(SETTINGS).where(SETTINGS.c.scope == scope))
        if settings != SubjectSettings():
            row = {
                "scope": scope,
                "context": parse_subject(scope).context,
                "config": _format_settings(settings),
                "mode": settings.mode,
            }
            self._connection.execute(insert(SETTINGS).values(row))

    def list_quarantining(self) -> tuple[SubjectName, ...]:
        """List the subjects that have a quarantined version, by context and name."""
        return tuple(subject for subject, settings in self._list_own("quarantine") if settings.quarantine)

    def list_associations(self) -> Sequence[tuple[SubjectName, Association]]:
        """List all associations with their subjects, by context and name."""
        if self._kept is None:
            return self._read_associations()
        return self._kept.find_associations(self._connection, self._read_associations)

    def _read_associations(self) -> tuple[tuple[SubjectName, Association], ...]:
        found = self._list_own("associations")
        return tuple((subject, each) for subject, settings in found for each in settings.associations)

    def _list_own(self, part: str) -> list[tuple[SubjectName, SubjectSettings]]:
        query = select(SETTINGS).where(SETTINGS.c.config.contains(f'"{part}":', autoescape=True))
        found = [(parse_subject(row.scope), read_settings(row)) for row in self._connection.execute(query)]
        return sorted(found, key=lambda pair: pair[0])

    def clear_modes(self, context: str) -> None:
        """Take the mode of each subject of a context away."""
        here = (SETTINGS.c.context == context) & (SETTINGS.c.scope != f":{context}:")
        self._connection.execute(update(SETTINGS).where(here).values(mode=""))

    def add_copied(
        self,
        schemas: Sequence[tuple[RegisteredSchema, str]],
        versions: Sequence[SubjectVersion],
    ) -> None:
        """Add schemas with their fingerprints, and then versions; none of them is there yet."""
        wanted = {fingerprint for _, fingerprint in schemas}
        known = select(SCHEMA.c.context, SCHEMA.c.fingerprint).where(
            SCHEMA.c.context.in_({schema.context for schema, _ in schemas}), SCHEMA.c.fingerprint.in_(wanted)
        )
        used = {(row.context, row.fingerprint) for row in self._connection.execute(known)}
        rows: list[dict[str, object]] = []
        for schema, fingerprint in schemas:
            key = schema.context, fingerprint
            is_further = key in used
            used.add(key)
            rows.append(format_schema(schema, f"{fingerprint}x{schema.id}" if is_further else fingerprint))
        references = [row for schema, _ in schemas for row in format_references(schema)]
        counted: dict[SubjectName, tuple[int, int]] = {}
        for version in versions:
            live, total = counted.get(version.subject, (0, 0))
            counted[version.subject] = live + (not version.is_deleted), total + 1
        for statement, added in (
            (_ADD_SCHEMA, rows),
            (_ADD_REFERENCE, references),
            (_ADD_VERSION, [format_version(version) for version in versions]),
        ):
            if added:
                statement.write_rows(self._connection, added)
        for subject, (live, total) in counted.items():
            self._count(subject, live, total)

    def remove_context(self, context: str) -> None:
        """Forget the largest id of a context without versions."""
        self._connection.execute(delete(SCHEMA_ID).where(SCHEMA_ID.c.context == context))
        self._connection.execute(delete(SETTINGS).where(SETTINGS.c.context == context))

    def _find_schemas(self, keys: set[tuple[str, int]]) -> dict[tuple[str, int], RegisteredSchema]:
        by_context: dict[str, list[int]] = {}
        for context, id in sorted(keys):
            by_context.setdefault(context, []).append(id)
        found: dict[tuple[str, int], RegisteredSchema] = {}
        for context, ids in by_context.items():
            for first in range(0, len(ids), BATCH):
                wanted = {"here": context, "wanted": ids[first : first + BATCH]}
                for row in self._connection.execute(_SCHEMAS_OF_IDS, wanted):
                    found[row.context, row.id] = read_schema(row)
        return found

    def _count(self, subject: SubjectName, live: int, total: int) -> None:
        """Add to the numbers of versions; a subject without versions has no row."""
        key = {"here": subject.context, "wanted": subject.name}
        if not _COUNT_VERSIONS.write_rows(self._connection, [{**key, "more_live": live, "more": total}]):
            row = {"context": subject.context, "name": subject.name, "live": live, "total": total}
            _ADD_SUBJECT.write_rows(self._connection, [row])
        elif total < 0:
            c = SUBJECT.c
            here = (c.context == subject.context) & (c.name == subject.name)
            self._connection.execute(delete(SUBJECT).where(here, c.total == 0))


def _is_of(subject: SubjectName) -> ColumnElement[bool]:
    return (VERSION.c.context == subject.context) & (VERSION.c.subject == subject.name)


def _choose(wanted: SubjectFilter, context: Any, name: Any) -> Sequence[ColumnElement[bool]]:
    chosen = [] if wanted.context is None else [context == wanted.context]
    if wanted.prefix:
        chosen += [name >= wanted.prefix, name < wanted.prefix + _LAST]
    return chosen


def _limit(wanted: SubjectFilter) -> int:
    # SQLite knows no offset without a limit.
    return _UNLIMITED if wanted.limit is None else wanted.limit


def list_referenced(schema: RegisteredSchema) -> list[tuple[SubjectName, int]]:
    """List the versions that a schema refers to."""
    return [(parse_subject(r.subject, schema.context), r.version) for r in schema.content.references]


def format_schema(schema: RegisteredSchema, fingerprint: str) -> dict[str, object]:
    """Make the row of a schema."""
    return {
        "context": schema.context,
        "id": schema.id,
        "fingerprint": fingerprint,
        "guid": schema.guid,
        "body": _format_content(schema.content),
    }


def format_references(schema: RegisteredSchema) -> list[dict[str, object]]:
    """Make the rows of the references of a schema."""
    return [
        {
            "context": subject.context,
            "subject": subject.name,
            "number": number,
            "from_context": schema.context,
            "from_id": schema.id,
        }
        for subject, number in dict.fromkeys(list_referenced(schema))
    ]


def format_version(version: SubjectVersion) -> dict[str, object]:
    """Make the row of a version."""
    return {
        "context": version.subject.context,
        "subject": version.subject.name,
        "number": version.number,
        "schema_id": version.schema_id,
        "at_ms": version.at_ms,
        "is_deleted": version.is_deleted,
        "actor": version.actor,
    }


def _format_content(content: SchemaContent) -> str:
    body: dict[str, object] = {"type": content.type, "text": content.text}
    if content.references:
        body["references"] = [[r.name, r.subject, r.version] for r in content.references]
    if content.metadata is not None:
        body["metadata"] = content.metadata
    if content.rule_set is not None:
        body["rule_set"] = content.rule_set
    if content.sent != content.text:
        body["sent"] = content.sent
    return _dump(body)


def read_schema(row: Sequence[Any]) -> RegisteredSchema:
    """Read a row of a schema. Raises `StoreUnavailable` for a malformed one."""
    context, id, _, guid, stored = row
    body: Any = _load(stored)
    try:
        references = tuple(SchemaReference(*one) for one in body.get("references", ()))
        text = body["text"]
        sent = body.get("sent", text)
        content = SchemaContent(
            body["type"], text, references, body.get("metadata"), body.get("rule_set"), sent
        )
    except (KeyError, TypeError) as error:
        raise make_damaged_error(f"schema {id} of context {context} is malformed") from error
    return RegisteredSchema(context, id, guid, content)


_OWN = "schemaman"
"""The member of the settings that clients neither write nor see."""


def _format_settings(settings: SubjectSettings) -> str | None:
    own: dict[str, object] = {}
    if settings.policy:
        own["policy"] = settings.policy
    if settings.quarantine:
        own["quarantine"] = [
            [one.number, one.schema_id, one.at_ms, list(one.failures)] for one in settings.quarantine
        ]
    if settings.associations:
        own["associations"] = [list(astuple(one)) for one in settings.associations]
    config = {**(settings.config or {}), **({_OWN: own} if own else {})}
    return _dump(config) if config or settings.config is not None else None


def read_settings(row: Sequence[Any]) -> SubjectSettings:
    """Read a row of settings. Raises `StoreUnavailable` for a malformed one."""
    scope, _, stored, mode = row
    if stored is None:
        return SubjectSettings(None, mode)
    config = _load(stored)
    own: Any = config.pop(_OWN, None)
    if own is None:
        return SubjectSettings(config, mode)
    try:
        quarantine = tuple(
            QuarantinedVersion(number, schema_id, at_ms, tuple(failures))
            for number, schema_id, at_ms, failures in own.get("quarantine", ())
        )
        associations = tuple(Association(*one) for one in own.get("associations", ()))
        return SubjectSettings(config or None, mode, own.get("policy", ""), quarantine, associations)
    except (AttributeError, TypeError, ValueError) as error:
        raise make_damaged_error(f"the settings of {scope} are malformed") from error


def read_version(row: Sequence[Any]) -> SubjectVersion:
    """Read a row of a version."""
    context, subject, number, schema_id, at_ms, is_deleted, actor = row
    return SubjectVersion(SubjectName(context, subject), number, schema_id, at_ms, bool(is_deleted), actor)


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _load(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise make_damaged_error(f"a row of a subject is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise make_damaged_error("a row of a subject is no JSON object")
    return value
