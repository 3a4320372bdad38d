"""Adjustment of database names for topics, Connect schemas and Avro, and the collisions that follow.

An adjustment has no inverse: several names may become one. `list_adjusted_forms` lists all field
names that a column may have in events, so that a field can be matched with its column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

Mode = Literal["none", "avro", "avro_unicode", "scrubbed"]
"""How names are made legal: Debezium's `schema.name.adjustment.mode` and
`field.name.adjustment.mode`, or Confluent's `scrub.invalid.names`."""

Release = tuple[int, int]
"""Major and minor version of Debezium."""

NEWEST: Release = (3, 7)
TOPIC_LENGTH = 249

DISPLACED_SUFFIX = "__old"
"""The suffix of a displaced column: a lake column whose name a later source column took over."""

TEMPORARY_PREFIX = "__schemaman_"
"""The prefix of the temporary name that a lake column has between two names while a plan runs."""

_TOPIC = re.compile(r"[A-Za-z0-9._-]")
_UNICODE_TOPIC = re.compile(r"[A-Za-z0-9.-]")
_FIRST = re.compile(r"[A-Za-z_]")
_FIRST_UNICODE = re.compile(r"[A-Za-z]")
_FIELD = re.compile(r"[A-Za-z0-9_]")
_FIELD_UNICODE = re.compile(r"[A-Za-z0-9]")
_SCHEMA = re.compile(r"[A-Za-z0-9_.]")
_SCHEMA_UNICODE = re.compile(r"[A-Za-z0-9.]")
_MISREAD = re.compile("[\uff80-\uffff]")


def make_topic_name(prefix: str, *parts: str | None, delimiter: str = ".", unicode: bool = False) -> str:
    """Make the topic name of a table: join prefix and non-empty parts, and make the name legal for Kafka.

    `unicode` selects the strategies that escape illegal characters instead of replacing them by `_`.
    Source: Debezium AbstractTopicNamingStrategy.sanitizedTopicName, DefaultUnicodeTopicNamingStrategy.
    """
    name = delimiter.join(p for p in (prefix, *parts) if p)
    legal = _UNICODE_TOPIC if unicode else _TOPIC
    clean = "".join(u if legal.match(u) else _escape(u) if unicode else "_" for u in _split_units(name))
    clean = clean[:TOPIC_LENGTH]
    return {".": "_", "..": "__"}.get(clean, clean)


def adjust_schema(name: str, mode: Mode, release: Release = NEWEST) -> str:
    """Adjust the name of a Connect schema; only its very first character may be no digit.

    Source: Debezium SchemaNameAdjuster; before 2.3 it replaced a leading digit instead of keeping it.
    """
    match mode:
        case "none":
            return name
        case "avro":
            return _adjust(name, _FIRST, _SCHEMA, keep_digit=release >= (2, 3))
        case "avro_unicode":
            return _adjust_unicode(name, _SCHEMA_UNICODE)
        case "scrubbed":
            return ".".join(_scrub(part) for part in name.split("."))


@lru_cache(1 << 14)
def adjust_field(name: str, mode: Mode, release: Release = NEWEST) -> str:
    """Adjust the name of a column to a field name.

    Source: Debezium FieldNameSelector (up to 2.1 `sanitize.field.names`, which does what `avro`
    does); 2.2 alone dropped a leading digit.
    """
    match mode:
        case "none":
            return name
        case "avro":
            if _is_avro_name(name):
                return name
            return _adjust(name, _FIRST, _FIELD, keep_digit=release[:2] != (2, 2))
        case "avro_unicode":
            return _adjust_unicode(name, _FIELD_UNICODE)
        case "scrubbed":
            return _scrub(name)


@lru_cache(1 << 14)
def list_adjusted_forms(name: str) -> frozenset[str]:
    """List every field name that a column may have in events, its own name included."""
    forms: set[str] = set()
    for form in (name, misread_name(name)):
        forms |= {adjust_field(form, mode) for mode in ("none", "avro", "avro_unicode", "scrubbed")}
        forms.add(adjust_field(form, "avro", release=(2, 2)))
    return frozenset(forms)


def misread_name(name: str) -> str:
    """Misread a name as PostgreSQL's stream did up to Debezium 3.4: UTF-8 read byte by byte.

    Each byte above 7F became the character U+FF00 + byte, since Java's bytes are signed.
    Source: recordings of Debezium 1.4 to 3.4 against PostgreSQL 15.
    """
    return "".join(chr(b if b < 0x80 else 0xFF00 | b) for b in name.encode("utf-8", "surrogatepass"))


def restore_misread_name(name: str) -> str:
    """Restore a misread name; return the name itself if it cannot be a misread one."""
    if not _MISREAD.search(name) or any("\x7f" < ch < "\uff80" or ch > "\uffff" for ch in name):
        return name
    try:
        return bytes(ord(ch) & 0xFF for ch in name).decode("utf-8")
    except UnicodeDecodeError:
        return name


def find_collisions(names: Iterable[str], mode: Mode) -> tuple[tuple[str, ...], ...]:
    """Group the column names that become one field name in that mode, in the order of `names`."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(adjust_field(name, mode), []).append(name)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _adjust(name: str, first: re.Pattern[str], later: re.Pattern[str], keep_digit: bool) -> str:
    units = _split_units(name)
    if not units:
        return name
    head = units[0]
    if not first.match(head):
        head = f"_{head}" if keep_digit and unicodedata.category(head) == "Nd" else "_"
    return head + "".join(u if later.match(u) else "_" for u in units[1:])


def _adjust_unicode(name: str, later: re.Pattern[str]) -> str:
    units = _split_units(name)
    return "".join(
        u if (later if i else _FIRST_UNICODE).match(u) else _escape(u) for i, u in enumerate(units)
    )


def _escape(unit: str) -> str:
    """Escape a character as `_u` and hexadecimal digits; one or two digits get two zeros in front.

    Source: Debezium UnicodeReplacementFunction.
    """
    digits = f"{ord(unit):x}"
    return f"_u{'00' if len(digits) <= 2 else ''}{digits}"


def _split_units(name: str) -> list[str]:
    """Split a name into UTF-16 units, as Java counts characters."""
    data = name.encode("utf-16-be", "surrogatepass")
    return [chr(int.from_bytes(data[i : i + 2])) for i in range(0, len(data), 2)]


def _scrub(part: str) -> str:
    """Source: Confluent AvroData.scrubName: URL-encode, `x` before a digit, then `_` for the rest."""
    if _is_avro_name(part):
        return part
    encoded = "".join(_url_encode(b) for b in part.encode("utf-8", "replace"))
    return f"x{encoded}" if encoded[:1].isdigit() else encoded


def _url_encode(byte: int) -> str:
    ch = chr(byte)
    if _FIELD.match(ch):
        return ch
    # URLEncoder keeps these characters and writes `+` for a space; the next step makes them `_` anyway
    return "_" if ch in ".-* " else f"_{byte:02X}"


def _is_avro_name(part: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part)) or not part


def explain_unusable_name(name: str) -> str:
    """Explain why no column or nested field of a Spark table can have this name; empty if it can.

    Source: Spark substitutes `${…}` in any statement (`spark.sql.variable.substitute`).
    """
    if not name:
        return "a column without a name cannot be read"
    if "${" in name:
        return "Spark would take ${…} for a variable inside any statement"
    own = name.lower().startswith(TEMPORARY_PREFIX)
    return f"names that begin with {TEMPORARY_PREFIX} are schemaman's own" if own else ""
