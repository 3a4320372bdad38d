"""Probes one record: its table, the bytes that prove its shape, and its position.

Law: a probe is a function of the record and the reading. Earlier probes only make it faster.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace

from schemaman.debezium.cloud_event import SPECVERSION, CloudEvent, read_cloud_event, wrap_schema
from schemaman.debezium.converters.registered import to_connect
from schemaman.debezium.decode import classify_without_value
from schemaman.debezium.document import is_document_schema
from schemaman.debezium.event_shapes import names_table, restore_event
from schemaman.debezium.flattened_fields import (
    NO_KEY_NAMES,
    PHYSICAL_TABLE_FIELD,
    KeyNames,
    is_document,
    is_flattened,
    mark_as_document,
    read_additions,
    read_physical_table,
)
from schemaman.debezium.inference import FieldKind
from schemaman.debezium.key import parse_struct_text
from schemaman.debezium.observation import UNKNOWN_SCHEMA, is_awaiting_schema
from schemaman.debezium.raw_record import (
    TOMBSTONE,
    DecodeContext,
    JsonObject,
    RecordFacts,
    find_source,
    parse_json,
    parse_schema,
    prove_schema,
    read_facts,
    read_payload_after,
    read_tail_after,
    read_writer,
)
from schemaman.debezium.records import (
    NO_POSITION,
    Position,
    Rank,
    Record,
)
from schemaman.debezium.table_identity import identify_parts
from schemaman.debezium.wire_format import FRAMING_HEADERS, Framing, SchemaId, read_framing
from schemaman.errors import UnreadableInput
from schemaman.ingest.probe_json import (
    encode_json,
    encode_names,
    encode_schema_block,
    list_fields_without_schema,
    list_shown_fields,
    read_position,
    read_registered,
    read_registered_name,
    split_schema,
)
from schemaman.ingest.probe_patterns import (
    QUOTED,
    Outline,
    TailPatterns,
    Texts,
    learn_outline,
    learn_payload_pattern,
    quote_json,
)

_KEPT_FORMS = 64
_KEPT_OUTLINES = 16
_NEIGHBOURS = 4
_PROBES_BEFORE_TRY = 2
"""Looks before an outline with a known pattern is learned, which costs as much as a look."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of probing one record; `fault` is the reason if it cannot be read.

    `table` and `shape` are those of `observation.SchemaRun`. `layout` and `texts` are the position in a form
    that is cheap to compare: in one layout, positions go back only if texts do. An unknown `layout` is None.
    `shown_fields` are the paths and kinds of a record whose schema does not have its structure; else None.
    """

    table: tuple[str, ...]
    shape: str
    position: Position = NO_POSITION
    rank: Rank = ()
    ts_ms: int | None = None
    read_ms: int | None = None
    fault: str | None = None
    layout: bytes | None = None
    texts: Texts = ()
    shown_fields: frozenset[FieldKind] | None = None


class ProbeForm:
    """Leading bytes that prove a schema, and the patterns of the records that begin with them."""

    __slots__ = (
        "behind",
        "behind_quoted",
        "document",
        "looks",
        "name",
        "outlines",
        "prefix",
        "proof",
        "quoted",
        "size",
    )

    def __init__(self, prefix: bytes, schema: JsonObject) -> None:
        self.prefix = prefix
        self.size = len(prefix)
        self.proof = _digest(prefix)
        self.name = str(schema.get("name") or "")
        self.document = is_document_schema(schema)
        self.looks = 0
        self.outlines: list[Outline] = []
        self.behind: re.Pattern[bytes] | None = None
        self.behind_quoted: re.Pattern[bytes] | None = None
        self.quoted: bytes | None = None

    def quote_prefix(self) -> bytes:
        """Quotes the prefix as the content of a JSON string; all lines that begin with it share the bytes."""
        if self.quoted is None:
            self.quoted = quote_json(self.prefix)
        return self.quoted


KnownForms = tuple[ProbeForm, ProbeForm | None, bytes]
"""The forms of a value and of its key, if there is one, and the proof of the key."""


@dataclass(slots=True)
class _TopicForms:
    """The forms of a topic, the most recent one first."""

    values: list[ProbeForm] = field(default_factory=list)
    keys: list[ProbeForm] = field(default_factory=list)


class Prober:
    """Probes records, and keeps what their bytes have proven; with `quick=False` it keeps nothing."""

    def __init__(self, reading: DecodeContext, *, quick: bool = True) -> None:
        self._reading = reading
        self._quick = quick
        self._topics: dict[str, _TopicForms] = {}
        self._shapes: dict[tuple[bytes, bytes, tuple[str, ...]], str] = {}
        self._layouts: dict[bytes, bytes] = {}
        self._patterns = TailPatterns()
        self._names: dict[SchemaId, tuple[str, bool]] = {}

    def match_outline(self, record: Record) -> tuple[Outline, str, Texts] | None:
        """Matches a record with known outlines: outline, shape and texts of the position, or None."""
        forms, value, key = self._topics.get(record.topic), record.value, record.key
        if forms is None or value is None or not forms.values or _has_framing_headers(record):
            return None
        proof = _find_absence(record) if key is None else _match_key(forms.keys, key)
        return None if proof is None else _match_value(forms.values, value, proof)

    def match_parts(
        self, topic: str, key: bytes | None, value: bytes | None, is_key_known: bool
    ) -> tuple[Outline, str, Texts] | None:
        """Matches the parts of a record without headers, as `match_outline` does."""
        forms = self._topics.get(topic)
        if forms is None or value is None:
            return None
        if key is None:
            proof: bytes | None = NO_KEY if is_key_known else UNKNOWN_KEY
        else:
            proof = _match_key(forms.keys, key)
        return None if proof is None else _match_value(forms.values, value, proof)

    def match_value(self, topic: str, value: bytes) -> tuple[Outline, str, Texts] | None:
        """Matches a bare value, whose key is unknown, as `match_outline` does."""
        forms = self._topics.get(topic)
        return None if forms is None else _match_value(forms.values, value, UNKNOWN_KEY)

    def match_form(
        self, topic: str, key: bytes | None, value: bytes | None, is_key_known: bool
    ) -> tuple[ProbeForm, ProbeForm | None, tuple[Outline, str, Texts]] | None:
        """Matches a record without headers as `match_parts` does; returns the forms of value and key, too."""
        forms, outlined = self._topics.get(topic), self.match_parts(topic, key, value, is_key_known)
        if forms is None or value is None or outlined is None:
            return None
        form, key_form = _find_form(forms.values, value), None if key is None else _find_form(forms.keys, key)
        if form is None or (key is not None and key_form is None):
            return None
        return form, key_form, outlined

    def find_forms(self, record: Record) -> KnownForms | None:
        """Finds the forms of a probed record; None if bytes alone do not prove records like this one."""
        forms, value, key = self._topics.get(record.topic), record.value, record.key
        if forms is None or value is None or _has_framing_headers(record):
            return None
        value_form = _find_form(forms.values, value)
        if value_form is None or not value_form.outlines:
            return None
        if key is None:
            return value_form, None, _find_absence(record)
        key_form = _find_form(forms.keys, key)
        if key_form is None or key_form.behind_quoted is None:
            return None
        return value_form, key_form, key_form.proof

    def probe_record(self, record: Record) -> Probe:
        """Probes a record by parsing it."""
        value = record.value
        kind = classify_without_value(record)
        if kind is not None or value is None:
            return Probe((kind or TOMBSTONE,), kind or TOMBSTONE)
        forms = self._topics.setdefault(record.topic, _TopicForms())
        try:
            key = self._key(forms, record)
            if value == b"":
                raise ValueError("the value is empty")
            framing = read_framing(value, record.headers, "value", self._reading.forms.value)
            if framing is not None:
                facts, shown = self._framed(record, value, framing)
                return self._seen(record, _digest(framing.build_proof(value)), key, facts, shown)
            event = read_cloud_event(parse_json(value)) if SPECVERSION in value else None
            if event is not None:
                return self._wrapped(record, event, key)
            return self._json(forms, record, value, key)
        except RecursionError:
            return Probe((), _hash_coordinates(record), fault="nested too deeply to be read")
        except (ValueError, UnreadableInput) as error:
            return Probe((), _hash_coordinates(record), fault=str(error))

    def probe_last(self, record: Record, first: Probe) -> Probe:
        """Probes the last record of a run with this `first` probe, as its bytes have proven.

        Only the position and times may differ, so that nothing else is read.
        """
        forms, value = self._topics.get(record.topic), record.value
        form = None if forms is None or value is None else _find_form(forms.values, value)
        found = None if form is None or value is None else read_tail_after(value, form.size)
        if form is None or found is None:
            return self.probe_record(record)
        facts = read_facts(found[1], form.name)
        try:
            position, rank = read_position(self._reading, facts)
        except ValueError:
            return self.probe_record(record)
        return Probe(first.table, first.shape, position, rank, facts.ts_ms, facts.read_ms)

    def _json(self, forms: _TopicForms, record: Record, value: bytes, key: bytes) -> Probe:
        form = self._form(forms.values, value)
        if form is None:
            return self._whole(record, value, key)
        # The schema of a document does not prove its structure: each document is parsed.
        found = read_tail_after(value, form.size) if self._quick and not form.document else None
        if found is not None:
            at, tail = found
            facts = read_facts(tail, form.name)
            if not facts.bare and names_table(facts.source):
                outline, texts = self._learn(forms.values, form, value[at:], facts)
                layout = None if outline is None else outline.layout
                probe = self._seen(record, form.proof, key, facts, layout=layout, texts=texts)
                if outline is not None:
                    outline.shapes[key] = probe.shape
                return probe
        payload = read_payload_after(value, form.size)
        if payload is not None:
            event = self._restored(record, payload[0], form.name)
            facts = self._facts(record, event, form.name)
            schema = parse_schema(form.prefix) if facts.document else None
            shown = list_shown_fields(event, schema, facts, events=form.document)
            return self._seen(record, form.proof, key, facts, shown)
        # a damaged row is not probed, however much of it can be parsed
        found = None if form.document else read_tail_after(value, form.size)
        if found is not None:
            event = self._restored(record, found[1], form.name)
            return self._seen(record, form.proof, key, read_facts(event, form.name))
        return self._whole(record, value, key)

    def _whole(self, record: Record, value: bytes, key: bytes) -> Probe:
        """Probes a JSON value that has no schema, or whose JSON fields are in an unusual order."""
        schema, payload = split_schema(parse_json(value))
        name = None if schema is None else str(schema.get("name") or "")
        payload = self._restored(record, payload, name)
        facts = self._facts(record, payload, name)
        if schema is None and not facts.document:
            row, shown = list_fields_without_schema(payload, facts)
            proof = _digest(encode_names(payload) + encode_names(row) + encode_schema_block(payload))
            return self._seen(record, proof, key, facts, shown)
        shown = list_shown_fields(
            payload, schema, facts, events=schema is not None and is_document_schema(schema)
        )
        return self._seen(record, _digest(encode_json(schema)), key, facts, shown)

    def _restored(self, record: Record, payload: object, name: str | None) -> object:
        """Returns the payload in the shape of Debezium's envelope, if it is an event of another shape."""
        found = restore_event(payload, record.topic, name, lambda: self._key_names(record))
        return payload if found is None else found.payload

    def _facts(self, record: Record, payload: object, name: str | None) -> RecordFacts:
        """Reads the facts of a payload; a flattened row has them in added fields and in its key."""
        facts = read_facts(payload, name or "")
        if not facts.bare or not isinstance(payload, dict):
            return facts
        added = read_additions(payload, record.headers, self._reading.forms.added)
        document = is_document(payload, self._key_of(record) if "_id" in payload else None, added)
        if document:
            added = mark_as_document(added)
        key_names = self._key_names(record)
        if not document and not is_flattened(
            record.topic, name, payload, added, key_names, self._reading.forms.flattened
        ):
            return facts
        table, proven = identify_parts(record.topic, name or "", added, key_names)
        "".join(table).encode()  # half a surrogate pair is no name
        version = added.source.get("version")
        proof = (
            version if isinstance(version, str) else "",
            added.connector,
            "read" if added.is_snapshot else "streamed",
            "source" if proven else "weak",
            *(() if document else added.names),
        )
        ts_ms = added.source.get("ts_ms")
        return RecordFacts(
            (*table, *read_writer(added.source)),
            proof,
            added.position_connector,
            added.source,
            ts_ms if isinstance(ts_ms, int) else None,
            added.read_ms,
            document=document,
            added=added.names,
        )

    def _key_names(self, record: Record) -> KeyNames:
        """Returns the table name that routing wrote into a key, and the name of the key's schema."""
        key = record.key
        if key is None:
            return NO_KEY_NAMES
        try:
            framing = read_framing(key, record.headers, "key", self._reading.forms.key)
            if framing is not None:
                text = self._registered(framing)
                routed, name = PHYSICAL_TABLE_FIELD.decode() in text, read_registered_name(text)[0]
            else:
                routed, name = PHYSICAL_TABLE_FIELD in key, self._read_key_name(record.topic, key)
        except (ValueError, UnreadableInput):
            return NO_KEY_NAMES
        return KeyNames(read_physical_table(self._key_of(record)) if routed else None, name)

    def _read_key_name(self, topic: str, key: bytes) -> str:
        """Returns the name of the schema of a key in JSON; empty if it has none."""
        forms = self._topics.get(topic)
        form = None if forms is None else _find_form(forms.keys, key)
        if form is not None:
            return form.name
        schema, _ = split_schema(parse_json(key))
        return str((schema or {}).get("name") or "")

    def _key_of(self, record: Record) -> object:
        """Decodes the key of a record; None for a key that cannot be read."""
        key = record.key
        if key is None:
            return None
        try:
            framing = read_framing(key, record.headers, "key", self._reading.forms.key)
            if framing is None:
                return split_schema(parse_json(key))[1]
            return self._reading.decode_body(self._registered(framing), key, framing)
        except (ValueError, UnreadableInput):
            return parse_struct_text(key)

    def _form(self, forms: list[ProbeForm], data: bytes) -> ProbeForm | None:
        form = _find_form(forms, data) if self._quick else None
        if form is not None:
            return form
        proven = prove_schema(data)
        if proven is None:
            return None
        form = ProbeForm(*proven)
        if self._quick:
            forms.insert(0, form)
            del forms[_KEPT_FORMS:]
        return form

    def _learn(
        self, forms: list[ProbeForm], form: ProbeForm, tail: bytes, facts: RecordFacts
    ) -> tuple[Outline | None, Texts]:
        """Finds the outline of a tail, which is kept for later records, and the texts of its position."""
        form.looks += 1
        for known in form.outlines:
            match = known.match(tail, 0)
            if match is not None:
                return known, known.texts(match)
        outline = _copy_outline(forms, tail, facts.table) or self._learn_outline(form, tail, facts)
        match = None if outline is None else outline.match(tail, 0)
        if outline is None or match is None:
            return None, ()
        form.outlines.insert(0, outline)
        del form.outlines[_KEPT_OUTLINES:]
        return outline, outline.texts(match)

    def _learn_outline(self, form: ProbeForm, tail: bytes, facts: RecordFacts) -> Outline | None:
        """Learns the outline of a tail, which other tables may have, too."""
        order = self._reading.order_of(facts.connector)
        known = self._patterns.find_outline(tail, facts.table, order)
        if known is None and form.looks % _PROBES_BEFORE_TRY == 0:
            known = learn_outline(tail, facts.table, order, self._patterns)
        if known is not None and known.layout is not None:
            known.layout = self._layouts.setdefault(known.layout, known.layout)
        return known

    def _wrapped(self, record: Record, event: CloudEvent, key: bytes) -> Probe:
        """Probes a change event that is wrapped in a CloudEvent."""
        if event.data is None:
            proof, payload, schema = b"", event.build_payload(event.row), event.schema
        else:
            framing = read_framing(event.data, (), "value")
            if framing is None:
                raise ValueError("the data of the CloudEvent is base64, but not framed as Avro")
            text = self._registered(framing)
            payload = event.build_payload(self._reading.decode_body(text, event.data, framing))
            proof, schema = b"data " + framing.build_proof(event.data), read_registered(text)
        if schema is None:
            facts = read_facts(payload, "")
            row, shown = list_fields_without_schema(payload, facts)
            proof = _digest(encode_names(payload) + encode_names(row) + encode_schema_block(payload))
            return self._seen(record, proof, key, facts, shown)
        facts = read_facts(payload, "")
        shown = list_shown_fields(payload, None, facts, events=is_document_schema(wrap_schema(schema)))
        return self._seen(record, _digest(proof or encode_json(schema)), key, facts, shown)

    def _framed(
        self, record: Record, value: bytes, framing: Framing
    ) -> tuple[RecordFacts, frozenset[FieldKind] | None]:
        text = self._registered(framing)
        named = self._names.get(framing.schema)
        if named is None:
            named = self._names[framing.schema] = read_registered_name(text)
        name, document = named
        payload = self._restored(record, self._reading.decode_body(text, value, framing), name)
        facts = self._facts(record, payload, name)
        schema = to_connect(text) if facts.document else None
        return facts, list_shown_fields(payload, schema, facts, events=document)

    def _registered(self, framing: Framing) -> str:
        text = self._reading.schemas(framing.schema)
        if text is None:
            raise ValueError(f"{UNKNOWN_SCHEMA} {framing.schema}")
        return text

    def _key(self, forms: _TopicForms, record: Record) -> bytes:
        """Returns the proof of a key's schema, or of a key that cannot be read.

        Raises ValueError for a key that waits for its schema or for a configured form.
        """
        key = record.key
        if key is None:
            return _find_absence(record)
        try:
            if key == b"":
                raise ValueError("empty")
            framing = read_framing(key, record.headers, "key", self._reading.forms.key)
            if framing is not None:
                self._registered(framing)
                return _digest(framing.build_proof(key))
            form = self._form(forms.keys, key)
            if form is None or read_payload_after(key, form.size) is None:
                return _prove_whole_key(key, None if form is None else form.proof)
        except (ValueError, UnreadableInput) as error:
            if is_awaiting_schema(str(error)):
                raise ValueError(f"key: {error}") from None
            fields = parse_struct_text(key)
            return _UNREAD_KEY if fields is None else _digest(b"text of " + encode_names(fields))
        form.looks += 1
        if form.behind is None and form.looks % _PROBES_BEFORE_TRY == 0:
            form.behind = learn_payload_pattern(key[form.size :])
            form.behind_quoted = learn_payload_pattern(key[form.size :], QUOTED)
        return form.proof

    def _seen(
        self,
        record: Record,
        proof: bytes,
        key: bytes,
        facts: RecordFacts,
        shown: frozenset[FieldKind] | None = None,
        *,
        layout: bytes | None = None,
        texts: Texts = (),
    ) -> Probe:
        position, rank = read_position(self._reading, facts)
        if facts.document:
            proof = key = _DOCUMENT
        shape = self._shape(proof, key, facts.proof) if facts.table else _hash_coordinates(record)
        return Probe(
            facts.table, shape, position, rank, facts.ts_ms, facts.read_ms, None, layout, texts, shown
        )

    def _shape(self, value: bytes, key: bytes, proof: tuple[str, ...]) -> str:
        known = self._shapes.get((value, key, proof))
        if known is None:
            known = hashlib.sha256(b"\0".join([value, key, *(p.encode() for p in proof)])).hexdigest()[:32]
            self._shapes[value, key, proof] = known
        return known


def _has_framing_headers(record: Record) -> bool:
    """Returns whether headers determine the form of a record, independent of its bytes."""
    return bool(record.headers) and not FRAMING_HEADERS.isdisjoint([name for name, _ in record.headers])


def _find_form(forms: list[ProbeForm], data: bytes) -> ProbeForm | None:
    for place, form in enumerate(forms):
        if data.startswith(form.prefix):
            if place:
                forms.remove(form)
                forms.insert(0, form)
            return form
    return None


def _match_value(forms: list[ProbeForm], value: bytes, key_proof: bytes) -> tuple[Outline, str, Texts] | None:
    form: ProbeForm | None = forms[0] if forms else None
    if form is not None and not value.startswith(form.prefix):
        form = _find_form(forms, value)
    if form is None:
        return None
    at = find_source(value, form.size)
    if at < 0:
        return None
    for known in form.outlines:
        match = known.match(value, at)
        if match is not None:
            shape = known.shapes.get(key_proof)
            return None if shape is None else (known, shape, known.texts(match))
    return None


def _copy_outline(forms: list[ProbeForm], tail: bytes, table: tuple[str, ...]) -> Outline | None:
    """Copies an outline of a neighbouring schema, without shapes: a new version seldom has another tail."""
    found = (
        o for form in forms[:_NEIGHBOURS] for o in form.outlines if o.table == table and o.match(tail, 0)
    )
    outline = next(found, None)
    return None if outline is None else replace(outline, shapes={})


def _match_key(forms: list[ProbeForm], key: bytes) -> bytes | None:
    for form in forms:
        if key.startswith(form.prefix):
            return form.proof if form.behind is not None and form.behind.match(key, form.size) else None
    return None


def _prove_whole_key(key: bytes, proof: bytes | None) -> bytes:
    """Returns the proof of a key by its parsed JSON, or that of its leading bytes if the rest is damaged."""
    try:
        schema, payload = split_schema(parse_json(key))
    except ValueError:
        if proof is None:
            raise
        return proof
    return _digest(encode_names(payload) if schema is None else encode_json(schema))


def _find_absence(record: Record) -> bytes:
    """Returns the proof of a record without a key: a null key, or a container without keys."""
    return NO_KEY if record.is_key_known else UNKNOWN_KEY


def _hash_coordinates(record: Record) -> str:
    return hashlib.sha256(f"{record.topic}\0{record.partition}\0{record.offset}".encode()).hexdigest()[:32]


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


NO_KEY = _digest(b"no key")
UNKNOWN_KEY = _digest(b"unknown key")
_UNREAD_KEY = _digest(b"unread key")
_DOCUMENT = _digest(b"a flattened document")
"""Replaces the schema of flattened documents and of their keys, which differs with the values of each."""
