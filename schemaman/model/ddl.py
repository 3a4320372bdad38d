"""Types as text: Spark's words, and words for the types that Spark does not have.

Law: `parse_type(format_type(t)) == t` for every type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from schemaman.errors import BadReference
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
    Field,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Union,
    Unknown,
    Uuid,
    Xml,
    list_members,
    widens,
)

_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_PLAIN: dict[Type, str] = {
    Boolean(): "BOOLEAN",
    Floating(32): "FLOAT",
    Floating(64): "DOUBLE",
    Numeric(): "NUMERIC",
    String(): "STRING",
    Binary(): "BINARY",
    Bits(): "BITS",
    Date(): "DATE",
    Interval(): "INTERVAL",
    Interval("YEAR TO MONTH"): "INTERVAL YEAR TO MONTH",
    Interval("DAY TO SECOND"): "INTERVAL DAY TO SECOND",
    Uuid(): "UUID",
    Json(): "JSON",
    Xml(): "XML",
    Enum(): "ENUM",
    EnumSet(): "SET",
}
_PLAIN |= {Integer(bits): word for bits, word in _INTEGERS.items()}
_PLAIN |= {Integer(bits, signed=False): f"{word} UNSIGNED" for bits, word in _INTEGERS.items()}


def format_type(type: Type) -> str:
    """Format a type: `DECIMAL(10,2)`, `TIMESTAMP_NTZ(3)`, `ARRAY<INT>`, `UNKNOWN('box')`."""
    plain = _PLAIN.get(type)
    if plain is not None:
        return plain
    match type:
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case String(length, fixed):
            return f"{'CHAR' if fixed else 'VARCHAR'}({'' if length is None else length})"
        case Binary(length):
            return f"BINARY({length})"
        case Bits(length):
            return f"BITS({length})"
        case Time(precision, zoned):
            return f"{'TIMETZ' if zoned else 'TIME'}({precision})"
        case Timestamp(precision, zoned):
            return f"{'TIMESTAMP' if zoned else 'TIMESTAMP_NTZ'}({precision})"
        case Enum(values):
            return f"ENUM({_format_labels(values)})"
        case EnumSet(values):
            return f"SET({_format_labels(values)})"
        case Unknown(name):
            return f"UNKNOWN({quote_text(name)})"
        case Array(element, nullable):
            return f"ARRAY<{format_type(element)}{_format_nullability(nullable)}>"
        case Map(key, value, nullable):
            return f"MAP<{format_type(key)}, {format_type(value)}{_format_nullability(nullable)}>"
        case Union(members):
            return f"UNION<{', '.join(format_type(m) for m in members)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(_format_field(f) for f in fields)}>"
        case _:
            raise AssertionError(f"a plain type without a word: {type!r}")


def find_common_type(types: Iterable[Type]) -> Type:
    """Find the narrowest type that holds the values of all types: one of them, or their union.

    Raises:
        ValueError: `types` is empty.
    """
    single = {member for type in types for member in list_members(type)}
    if not single:
        raise ValueError("no type at all")
    # Two types may hold each other's values, as enums with labels in another order: keep the first by name.
    ordered = sorted(single, key=format_type)
    kept = [
        type
        for i, type in enumerate(ordered)
        if not any(_is_covered_by(other, type, j < i) for j, other in enumerate(ordered) if i != j)
    ]
    return kept[0] if len(kept) == 1 else Union(tuple(kept))


def _is_covered_by(other: Type, type: Type, before: bool) -> bool:
    return widens(type, other) and (before or not widens(other, type))


def quote_name(name: str) -> str:
    """Quote an identifier in back-ticks, and double each back-tick inside."""
    return "`" + name.replace("`", "``") + "`"


def quote_text(text: str) -> str:
    r"""Quote a text in single quotes; quotes and backslashes get a backslash, a line end becomes `\n`."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def parse_type(text: str) -> Type:
    """Parse the text of a type.

    Raises:
        BadReference: the text is no type; the message names the character where parsing failed.
    """
    reader = _TypeReader(text)
    type = reader.read_type()
    reader.require_end()
    return type


def _format_nullability(nullable: bool) -> str:
    return "" if nullable else " NOT NULL"


def _format_labels(values: tuple[str, ...]) -> str:
    return ",".join(quote_text(v) for v in values)


def _format_field(field: Field) -> str:
    comment = "" if field.comment is None else f" COMMENT {quote_text(field.comment)}"
    name = field.name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", field.name) else quote_name(field.name)
    return f"{name}: {format_type(field.type)}{_format_nullability(field.nullable)}{comment}"


_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^'\\]|\\.)*')|(\w+)|([<>(),:]))", re.DOTALL)
_WORDS: dict[str, Type] = {word: type for type, word in _PLAIN.items() if " " not in word}
_WORDS |= {"INTEGER": Integer(32), "LONG": Integer(64), "SHORT": Integer(16), "BYTE": Integer(8)}
_WORDS |= {"TEXT": String(), "VARCHAR": String(), "REAL": Floating(32), "BOOL": Boolean()}
_WORDS |= {"TIMESTAMP_LTZ": Timestamp(), "TIMESTAMP": Timestamp(), "TIME": Time(), "DECIMAL": Decimal(10, 0)}
_WORDS |= {"TIMESTAMP_NTZ": Timestamp(zoned=False), "TIMETZ": Time(zoned=True), "DEC": Decimal(10, 0)}
_SIZED: dict[str, Callable[..., Type]] = {
    "DECIMAL": lambda precision, scale=0: Decimal(precision, scale),
    "CHAR": lambda length=None: String(length, fixed=True),
    "VARCHAR": lambda length: String(length),
    "BINARY": lambda length: Binary(length),
    "BITS": lambda length: Bits(length),
    "TIME": lambda precision: Time(precision),
    "TIMETZ": lambda precision: Time(precision, zoned=True),
    "TIMESTAMP": lambda precision: Timestamp(precision),
    "TIMESTAMP_NTZ": lambda precision: Timestamp(precision, zoned=False),
}


class _TypeReader:
    """A recursive-descent reader of types; `at` is the position of the next token in `text`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match[0].strip() if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self.make_error("a type")
        self.at = match.end()
        return match[0].strip()

    def expect(self, wanted: str) -> None:
        if self.peek().upper() != wanted:
            raise self.make_error(repr(wanted))
        self.take()

    def accept(self, wanted: str) -> bool:
        if self.peek().upper() != wanted:
            return False
        self.take()
        return True

    def require_end(self) -> None:
        if self.text[self.at :].strip():
            raise self.make_error("the end")

    def make_error(self, wanted: str) -> BadReference:
        return BadReference(f"{self.text!r}: expected {wanted} at character {self.at}")

    def read_type(self) -> Type:
        start, word = self.at, self.take().upper()
        if word in ("ARRAY", "MAP", "STRUCT", "UNION"):
            return self.read_nested_type(word)
        if word in ("ENUM", "SET", "UNKNOWN") and self.peek() == "(":
            return self.read_labelled_type(word)
        if word in _SIZED and self.peek() == "(":
            try:
                return _SIZED[word](*self.read_numbers())
            except TypeError:
                raise self.make_error("another count of numbers") from None
        if word not in _WORDS:
            self.at = start
            raise self.make_error("a type")
        found = _WORDS[word]
        if isinstance(found, Integer) and self.accept("UNSIGNED"):
            return Integer(found.bits, signed=False)
        return self.read_interval() if found == Interval() else found

    def read_interval(self) -> Type:
        for parts in (Interval("YEAR TO MONTH"), Interval("DAY TO SECOND")):
            first, to, last = parts.parts.split()
            if self.accept(first):
                self.expect(to)
                self.expect(last)
                return parts
        return Interval()

    def read_labelled_type(self, word: str) -> Type:
        labels = self.read_labels()
        if word == "ENUM":
            return Enum(labels)
        if word == "SET":
            return EnumSet(labels)
        if len(labels) != 1:
            raise self.make_error("one quoted name in UNKNOWN('…')")
        return Unknown(labels[0])

    def read_nested_type(self, word: str) -> Type:
        self.expect("<")
        found: Type
        if word == "ARRAY":
            found = Array(self.read_type(), self.read_nullability())
        elif word == "MAP":
            key = self.read_type()
            self.expect(",")
            found = Map(key, self.read_type(), self.read_nullability())
        elif word == "UNION":
            members = [self.read_type()]
            while self.accept(","):
                members.append(self.read_type())
            found = find_common_type(members)
        else:
            fields: list[Field] = []
            while self.peek() != ">":
                fields.append(self.read_field())
                if not self.accept(","):
                    break
            if len({f.name for f in fields}) < len(fields):
                raise self.make_error("a nested field with a name of its own")
            found = Struct(tuple(fields))
        self.expect(">")
        return found

    def read_field(self) -> Field:
        name = self.take()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        self.accept(":")
        type, nullable = self.read_type(), self.read_nullability()
        comment = unquote_text(self.take()) if self.accept("COMMENT") else None
        return Field(name, type, nullable, comment)

    def read_nullability(self) -> bool:
        if not self.accept("NOT"):
            return True
        self.expect("NULL")
        return False

    def read_numbers(self) -> list[int]:
        self.expect("(")
        found: list[int] = []
        while self.peek() != ")":
            token = self.take()
            if not token.isdecimal():
                raise self.make_error("a number")
            found.append(int(token))
            if not self.accept(","):
                break
        self.expect(")")
        return found

    def read_labels(self) -> tuple[str, ...]:
        self.expect("(")
        found: list[str] = []
        while self.peek().startswith("'"):
            found.append(unquote_text(self.take()))
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(found)


_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def unquote_text(token: str) -> str:
    """Read the text inside quotes, as `quote_text` writes it or as a literal of Spark SQL."""
    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|(.))", _unescape, token[1:-1], flags=re.DOTALL)


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2])
