"""Parse Avro schemas as Avro's Java implementation does: what it refuses is refused.

Law: a text is refused here if and only if `org.apache.avro.Schema.Parser` of Avro 1.12.1 refuses it.
Source: `Schema.Parser`, `ParseContext`, `SchemaResolver` and `NameValidator` of that release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from schemaman.errors import UnreadableInput

NO_DEFAULT: Final = object()
"""The default of a field that has none; null is a default."""

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})

_RESERVED = frozenset({
    "type", "name", "namespace", "doc", "aliases", "fields", "items", "values", "size", "symbols",
})  # fmt: skip
_FIELD_RESERVED = frozenset({"type", "name", "doc", "aliases", "default", "order"})
_ORDERS = frozenset({"ASCENDING", "DESCENDING", "IGNORE"})
_LARGEST = {"int": 2**31, "long": 2**63}
_LARGEST_FIXED = 2**31 - 9
"""The size of the largest array of a JVM. Source: Avro `SystemLimitException`."""
_DOUBLE = re.compile(
    r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)"
    r"[pP][+-]?\d+)[fFdD]?)"
)
"""What Java's `Double.parseDouble` reads, without the blanks around it."""
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_CACHED = 4_096
_DEEPEST = 400
"""How deep types may be nested; deeper ones exhaust the stack of the interpreter."""


class InvalidAvroSchema(UnreadableInput):
    """A text is no valid Avro schema."""


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """A primitive type, also one with a logical type; `properties` are the members that Avro ignores."""

    kind: str
    properties: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayOf:
    """An array of items."""

    items: Node
    properties: Mapping[str, object] = field(default_factory=dict)
    kind: str = "array"


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """A map from strings to values."""

    values: Node
    properties: Mapping[str, object] = field(default_factory=dict)
    kind: str = "map"


@dataclass(frozen=True, slots=True, eq=False)
class UnionOf:
    """A union of branches, none of which is a union; a plain one has only primitives."""

    branches: tuple[Node, ...]
    is_plain: bool = False
    kind: str = "union"


@dataclass(frozen=True, slots=True, eq=False)
class FixedBytes:
    """A fixed: `size` bytes. Names are full names."""

    name: str
    aliases: tuple[str, ...]
    size: int
    properties: Mapping[str, object]
    kind: str = "fixed"
    doc: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Symbols:
    """An enum. Names are full names."""

    name: str
    aliases: tuple[str, ...]
    symbols: tuple[str, ...]
    default: str | None
    properties: Mapping[str, object]
    kind: str = "enum"
    doc: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RecordField:
    """A field of a record; `default` is the JSON value, or `NO_DEFAULT`."""

    name: str
    type: Node
    aliases: tuple[str, ...]
    default: object
    order: str
    properties: Mapping[str, object]
    doc: str | None = None
    is_shared: bool = False
    """Whether all schemas with such a field have this one: its type is plain, and it has nothing else."""

    @property
    def has_default(self) -> bool:
        """Whether a reader without a written value has one."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True, slots=True, eq=False)
class RecordOf:
    """A record, or an error. Names are full names.

    `plain` are the fields without aliases whose type is a primitive or a plain union, each with the kinds of
    its type; `others` are the positions of all other fields. `positions` are those of all fields, by name.
    """

    name: str
    aliases: tuple[str, ...]
    fields: tuple[RecordField, ...]
    by_name: Mapping[str, RecordField]
    properties: Mapping[str, object]
    is_error: bool
    plain: frozenset[tuple[str, str]]
    others: tuple[int, ...]
    positions: Mapping[str, int]
    kind: str = "record"
    doc: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The name of a type that another place of the schema defines."""

    name: str
    kind: str = "reference"


Named = RecordOf | Symbols | FixedBytes
Node = Primitive | ArrayOf | MapOf | UnionOf | RecordOf | Symbols | FixedBytes | Reference


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A valid schema: its root, and its named types by full name."""

    root: Node
    types: Mapping[str, Named]

    def resolve(self, node: Node) -> Node:
        """Return the definition of a reference, and any other node as it is."""
        return self.types[node.name] if isinstance(node, Reference) else node


def parse_schema(
    schema: str | Mapping[str, Any] | Sequence[Any], referenced: tuple[str, ...] = ()
) -> AvroSchema:
    """Parse a schema: a JSON text, or JSON as Python values; a text such as `int` without quotes is no JSON.

    The types of the referenced texts are known, of the earlier ones to the later ones too.

    Raises:
        InvalidAvroSchema: Avro's Java implementation refuses the schema; the message says why.
    """
    if not isinstance(schema, str):
        return _parse_json(schema)
    return _parse_text(schema, referenced)


def find_short_name(full_name: str) -> str:
    """Return the name without its namespace."""
    return full_name.rpartition(".")[2]


@lru_cache(_CACHED)
def _parse_text(text: str, referenced: tuple[str, ...]) -> AvroSchema:
    known = _parse_text(referenced[-1], referenced[:-1]).types if referenced else {}
    try:
        return _parse_json(_load_json(text), known)
    except RecursionError:
        raise InvalidAvroSchema("the schema is nested too deeply") from None


def _load_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        # Avro's parser allows comments, but nothing behind the end; texts with comments are rare.
        stripped = _COMMENT.sub(lambda found: found[1] or " ", text)
        if stripped != text and text.rstrip()[-1:] == stripped.rstrip()[-1:]:
            try:
                return json.loads(stripped, parse_constant=_refuse_constant)
            except ValueError:
                pass
        raise InvalidAvroSchema(f"the schema is no JSON: {error}") from None


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _parse_json(schema: Any, referenced: Mapping[str, Named] = MappingProxyType({})) -> AvroSchema:
    parser = _Parser(dict(referenced))
    root = parser.parse(schema, None, 0)
    # A name may be used before its definition, so references and unions are checked at the end.
    known = AvroSchema(root, parser.types)
    _check_references(root, known)
    for node in parser.types.values():
        _check_references(node, known)
    for record in (node for node in parser.types.values() if isinstance(node, RecordOf)):
        for each in record.fields:
            if isinstance(each.default, dict):
                _check_recursive_default(record, each, parser)
    return known


class _Parser:
    """Parses one schema; `types` are the named types that are complete so far."""

    def __init__(self, types: dict[str, Named]) -> None:
        self.types = types

    def parse(self, schema: Any, namespace: str | None, depth: int) -> Node:
        if depth > _DEEPEST:
            raise InvalidAvroSchema(f"the schema is nested more than {_DEEPEST} levels deep")
        if isinstance(schema, str):
            return self.find(schema, namespace)
        if isinstance(schema, list):
            branches = tuple(self.parse(branch, namespace, depth + 1) for branch in schema)
            return UnionOf(branches, all(isinstance(branch, Primitive) for branch in branches))
        if not isinstance(schema, dict):
            raise InvalidAvroSchema(f"a schema is a name, a list or an object, not {json.dumps(schema)}")
        kind = schema.get("type")
        if not isinstance(kind, str):
            raise InvalidAvroSchema(f"the schema has no type: {_abbreviate(schema)}")
        if kind in PRIMITIVES:
            return Primitive(kind, _find_properties(schema))
        match kind:
            case "record" | "error":
                return self.parse_record(schema, namespace, depth)
            case "enum":
                return self.parse_enum(schema, namespace)
            case "fixed":
                return self.parse_fixed(schema, namespace)
            case "array":
                items = self.parse(_get_part(schema, "items", "the array"), namespace, depth + 1)
                return ArrayOf(items, _find_copied_properties(schema))
            case "map":
                values = self.parse(_get_part(schema, "values", "the map"), namespace, depth + 1)
                return MapOf(values, _find_copied_properties(schema))
            case _:
                return self.find(kind, namespace)

    def find(self, name: str, namespace: str | None) -> Node:
        """Find a type by a name: in the namespace, else without a namespace, else it must follow later."""
        if name in PRIMITIVES:
            return Primitive(name)
        full = f"{namespace}.{name}" if namespace is not None and "." not in name else name
        return Reference(name if full not in self.types and name in self.types else full)

    def parse_record(self, schema: dict[str, Any], namespace: str | None, depth: int) -> RecordOf:
        name = _parse_name(schema, namespace)
        field_list = schema.get("fields")
        if not isinstance(field_list, list):
            raise InvalidAvroSchema(f"the record {name} has no fields")
        own = name.rpartition(".")[0] or None
        fields = tuple(self.parse_field(part, own, name, depth) for part in field_list)
        by_name = {field.name: field for field in fields}
        if len(by_name) < len(fields):
            names = [field.name for field in fields]
            twice = next(n for n in names if names.count(n) > 1)
            raise InvalidAvroSchema(f"the record {name} has the field {twice} twice")
        properties = _find_copied_properties(schema)
        aliases = _parse_aliases(schema, name)
        kinds = [_find_shared_kinds(f) if f.is_shared else _find_field_kinds(f) for f in fields]
        plain = frozenset(_share_pair(f.name, k) for f, k in zip(fields, kinds, strict=True) if k)
        others = tuple(number for number, k in enumerate(kinds) if not k)
        positions = {f.name: number for number, f in enumerate(fields)}
        is_error = schema["type"] == "error"
        record = RecordOf(
            name, aliases, fields, by_name, properties, is_error, plain, others, positions,
            doc=_find_doc(schema),
        )  # fmt: skip
        self.define(record)
        return record

    def parse_field(self, part: Any, namespace: str | None, record: str, depth: int) -> RecordField:
        shared = _find_shared_field(part)
        if shared is not None:
            return shared
        if not isinstance(part, dict) or not isinstance(part.get("name"), str):
            raise InvalidAvroSchema(f"a field of {record} has no name")
        name = _check_name(part["name"])
        type = self.parse(_get_part(part, "type", f"the field {record}.{name}"), namespace, depth + 1)
        order = part.get("order", "ascending")
        if not isinstance(order, str) or order.upper() not in _ORDERS:
            raise InvalidAvroSchema(f"the field {record}.{name} has the order {json.dumps(order)}")
        default = part.get("default", NO_DEFAULT)
        if isinstance(default, str) and type.kind in ("float", "double"):
            if not _DOUBLE.fullmatch(default.strip()):
                raise InvalidAvroSchema(f"the default {default!r} of {record}.{name} is no number")
            default = _read_double(default.strip())
        if default is not NO_DEFAULT and not self.is_default(type, default):
            raise InvalidAvroSchema(
                f"the default {json.dumps(default)} of {record}.{name} does not fit its type"
            )
        aliases = tuple(dict.fromkeys(_list_aliases(part)))
        properties = _find_properties(part, _FIELD_RESERVED)
        return RecordField(name, type, aliases, default, order.upper(), properties, _find_doc(part))

    def parse_enum(self, schema: dict[str, Any], namespace: str | None) -> Symbols:
        name = _parse_name(schema, namespace)
        symbols = schema.get("symbols")
        if not isinstance(symbols, list):
            raise InvalidAvroSchema(f"the enum {name} has no symbols")
        for symbol in symbols:
            if not isinstance(symbol, str):
                raise InvalidAvroSchema(f"a symbol of the enum {name} is no text")
            _check_name(symbol)
        if len(set(symbols)) < len(symbols):
            raise InvalidAvroSchema(f"the enum {name} has a symbol twice")
        default = schema.get("default")
        default = default if isinstance(default, str) else None
        if default is not None and default not in symbols:
            raise InvalidAvroSchema(f"the default {default!r} is no symbol of the enum {name}")
        properties = _find_properties(schema)
        properties.pop("default", None)
        aliases = _parse_aliases(schema, name)
        found = Symbols(name, aliases, tuple(symbols), default, properties, doc=_find_doc(schema))
        self.define(found)
        return found

    def parse_fixed(self, schema: dict[str, Any], namespace: str | None) -> FixedBytes:
        name = _parse_name(schema, namespace)
        size = schema.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _LARGEST_FIXED:
            raise InvalidAvroSchema(f"the fixed {name} has no valid size")
        aliases = _parse_aliases(schema, name)
        found = FixedBytes(name, aliases, size, _find_properties(schema), doc=_find_doc(schema))
        self.define(found)
        return found

    def define(self, node: Named) -> None:
        """Add a named type; the same definition may be repeated."""
        for part in node.name.split("."):
            _check_name(part)
        before = self.types.setdefault(node.name, node)
        if before is not node and not _is_equal(before, node):
            raise InvalidAvroSchema(f"{node.name} is defined twice, and differently")

    def is_default(self, type: Node, value: object) -> bool:
        """Whether a JSON value is a default of a type; of a union, it is one of any branch."""
        match type:
            case Reference():
                defined = self.types.get(type.name)
                # Java validates against an empty record as long as the name has no definition.
                return isinstance(value, dict) if defined is None else self.is_default(defined, value)
            case UnionOf():
                return any(self.is_default(branch, value) for branch in type.branches)
            case ArrayOf():
                return isinstance(value, list) and all(self.is_default(type.items, item) for item in value)
            case MapOf():
                return isinstance(value, dict) and all(
                    self.is_default(type.values, item) for item in value.values()
                )
            case RecordOf():
                return isinstance(value, dict) and all(
                    self.is_field_default(each, value) for each in type.fields
                )
            case Symbols() | FixedBytes():
                return isinstance(value, str)
            case Primitive():
                return _is_primitive(type.kind, value)

    def is_field_default(self, field: RecordField, values: Mapping[str, object]) -> bool:
        """Whether the default of a record has a value for a field, or the field has a default itself."""
        given = values.get(field.name, field.default)
        return given is not NO_DEFAULT and self.is_default(field.type, given)


def _find_shared_field(part: Any) -> RecordField | None:
    """Find the field that all schemas share; None for one that is not plain, or that may be refused.

    Most fields of tables are plain, and each version of a schema repeats them.
    """
    if not isinstance(part, dict):
        return None
    type, count = part.get("type"), 2
    if "default" in part:
        if part["default"] is not None:
            return None
        count = 3
    if len(part) != count or not isinstance(name := part.get("name"), str):
        return None
    if isinstance(type, str):
        return _share_field(name, type, count == 3)
    if isinstance(type, list) and len(type) < 4 and all(isinstance(branch, str) for branch in type):
        return _share_field(name, tuple(type), count == 3)
    return None


@lru_cache(1 << 16)
def _share_field(name: str, kinds: str | tuple[str, ...], has_null: bool) -> RecordField | None:
    branches = (kinds,) if isinstance(kinds, str) else kinds
    if not PRIMITIVES.issuperset(branches) or len(set(branches)) < len(branches):
        return None
    if has_null and "null" not in branches:
        return None
    try:
        _check_name(name)
    except InvalidAvroSchema:
        return None
    nodes = tuple(Primitive(branch) for branch in branches)
    type = nodes[0] if isinstance(kinds, str) else UnionOf(nodes, True)
    return RecordField(name, type, (), None if has_null else NO_DEFAULT, "ASCENDING", {}, is_shared=True)


@lru_cache(1 << 16)
def _find_shared_kinds(field: RecordField) -> str:
    return _find_plain_kinds(field.type)


def _find_field_kinds(field: RecordField) -> str:
    return "" if field.aliases else _find_plain_kinds(field.type)


def _find_plain_kinds(type: Node) -> str:
    """Find the kinds of a primitive or of a plain union, in order; empty for other types."""
    if isinstance(type, UnionOf):
        return f"[{' '.join(branch.kind for branch in type.branches)}]" if type.is_plain else ""
    return type.kind if isinstance(type, Primitive) else ""


@lru_cache(1 << 16)
def _share_pair(name: str, kinds: str) -> tuple[str, str]:
    """Return one pair for equal ones: sets compare identical members fastest."""
    return name, kinds


def _is_primitive(kind: str, value: object) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            largest = _LARGEST[kind]
            return isinstance(value, int) and not isinstance(value, bool) and -largest <= value < largest
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return isinstance(value, str)


def _check_references(node: Node, schema: AvroSchema) -> None:
    """Check that every name has a definition, and that no union has a branch twice."""
    match node:
        case Reference():
            if node.name not in schema.types:
                raise InvalidAvroSchema(f"no type {node.name} is defined")
        case UnionOf():
            names: set[str] = set()
            for branch in node.branches:
                if branch.kind == "union":
                    raise InvalidAvroSchema("a union has a union as a branch")
                name = branch.name if isinstance(branch, Reference | Named) else branch.kind
                if name in names:
                    raise InvalidAvroSchema(f"a union has the branch {name} twice")
                names.add(name)
                _check_references(branch, schema)
        case ArrayOf():
            _check_references(node.items, schema)
        case MapOf():
            _check_references(node.values, schema)
        case RecordOf():
            for each in node.fields:
                if not each.is_shared:
                    _check_references(each.type, schema)
        case _:
            return


def _check_recursive_default(record: RecordOf, field: RecordField, parser: _Parser) -> None:
    """Refuse an object as default of a record that contains the field: Java raises for it.

    Java copies a record while it resolves names, and validates a default before the copy is complete.
    """
    schema = AvroSchema(record, parser.types)
    branches = field.type.branches if isinstance(field.type, UnionOf) else (field.type,)
    for branch in branches:
        type = schema.resolve(branch)
        is_inside = isinstance(branch, Reference) and record.name in _collect_names(type, schema, set())
        if isinstance(type, RecordOf) and is_inside:
            raise InvalidAvroSchema(
                f"the default of {record.name}.{field.name} is an object of a recursive type"
            )
        if parser.is_default(type, field.default):
            return


def _collect_names(node: Node, schema: AvroSchema, found: set[str]) -> set[str]:
    """Collect the names of all records that a node contains, itself included."""
    match schema.resolve(node):
        case RecordOf() as record if record.name not in found:
            found.add(record.name)
            for each in record.fields:
                _collect_names(each.type, schema, found)
        case ArrayOf() as array:
            _collect_names(array.items, schema, found)
        case MapOf() as map:
            _collect_names(map.values, schema, found)
        case UnionOf() as union:
            for branch in union.branches:
                _collect_names(branch, schema, found)
        case _:
            pass
    return found


def _is_equal(one: Node, other: Node) -> bool:
    """Whether Java calls two schemas equal: names, types, defaults and properties, without aliases."""
    match one, other:
        case (Reference(), Reference()):
            return one.name == other.name
        case (Primitive(), Primitive()):
            return one.kind == other.kind and one.properties == other.properties
        case (ArrayOf(), ArrayOf()):
            return _is_equal(one.items, other.items) and one.properties == other.properties
        case (MapOf(), MapOf()):
            return _is_equal(one.values, other.values) and one.properties == other.properties
        case (UnionOf(), UnionOf()):
            return _are_equal(one.branches, other.branches)
        case (FixedBytes(), FixedBytes()):
            return (one.name, one.size, one.properties) == (other.name, other.size, other.properties)
        case (Symbols(), Symbols()):
            return (one.name, one.symbols, one.properties) == (other.name, other.symbols, other.properties)
        case (RecordOf(), RecordOf()):
            if (one.name, one.properties) != (other.name, other.properties):
                return False
            described = [
                [(f.name, f.default, f.order, f.properties) for f in node.fields] for node in (one, other)
            ]
            return described[0] == described[1] and _are_equal(
                [f.type for f in one.fields], [f.type for f in other.fields]
            )
        case _:
            return False


def _are_equal(some: Sequence[Node], others: Sequence[Node]) -> bool:
    return len(some) == len(others) and all(map(_is_equal, some, others))


def _parse_name(schema: Mapping[str, Any], namespace: str | None) -> str:
    """Return the full name: a name with dots has its own namespace."""
    name = schema.get("name")
    if not isinstance(name, str):
        raise InvalidAvroSchema(f"a named type has no name: {_abbreviate(schema)}")
    given = schema.get("namespace")
    full = _qualify(name, given if isinstance(given, str) else namespace)
    if full in PRIMITIVES:
        raise InvalidAvroSchema(f"a type may not have the name of a primitive: {full}")
    return full


def _qualify(name: str, namespace: str | None) -> str:
    own, dot, short = name.rpartition(".")
    _check_name(short)
    space = own if dot else namespace
    return f"{space}.{short}" if space else short


def _parse_aliases(schema: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the full names of the aliases; one without dots is in the namespace of the type."""
    namespace = name.rpartition(".")[0] or None
    return tuple(dict.fromkeys(_qualify(alias, namespace) for alias in _list_aliases(schema)))


def _list_aliases(schema: Mapping[str, Any]) -> Iterable[str]:
    aliases = schema.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidAvroSchema(f"aliases are a list of names, not {json.dumps(aliases)}")
    return aliases


@lru_cache(_CACHED)
def _check_name(name: str) -> str:
    """Check letters, digits and underscores, of any script, with no digit first."""
    head, rest = name[:1], name[1:]
    if not (head.isalpha() or head == "_") or not all(c.isalpha() or c.isdecimal() or c == "_" for c in rest):
        raise InvalidAvroSchema(f"{name!r} is no name for Avro")
    return name


def _get_part(schema: Mapping[str, Any], part: str, owner: str) -> Any:
    if part not in schema:
        raise InvalidAvroSchema(f"{owner} has no {part}")
    return schema[part]


def _find_doc(schema: Mapping[str, Any]) -> str | None:
    doc = schema.get("doc")
    return doc if isinstance(doc, str) else None


def _read_double(text: str) -> float:
    """Read what `_DOUBLE` matches, as Java's `Double.parseDouble` does."""
    if "x" in text.lower():
        return float.fromhex(text.rstrip("fFdD") if "p" in text.lower() else text)
    return float(text.rstrip("fFdD") if text[-1:] in "fFdD" else text)


def _find_properties(schema: Mapping[str, Any], reserved: frozenset[str] = _RESERVED) -> dict[str, object]:
    return {key: value for key, value in schema.items() if key not in reserved}


def _find_copied_properties(schema: Mapping[str, Any]) -> dict[str, object]:
    """Find the properties of a type that Java copies while it resolves names: of a record, an array or a map.

    Java refuses an integer in them that no long holds. Source: `JacksonUtils.toObject` of Avro 1.12.1.
    """
    found = _find_properties(schema)
    for key, value in found.items():
        if _has_long_integer(value):
            raise InvalidAvroSchema(f"the property {key!r} has an integer of more than 64 bits")
    return found


def _has_long_integer(value: object) -> bool:
    """Whether a JSON value contains an integer that no Java long holds."""
    match value:
        case int():
            return not -_LARGEST["long"] <= value < _LARGEST["long"]
        case list():
            return any(map(_has_long_integer, value))
        case dict():
            return any(map(_has_long_integer, value.values()))
        case _:
            return False


def _abbreviate(schema: object) -> str:
    text = json.dumps(schema)
    return text if len(text) <= 60 else f"{text[:59]}…"
