"""Avro's compatibility levels over the text of schemas, one question at a time or a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from schemaman.compat.avro.levels import AvroVerdict, check_level
from schemaman.compat.avro.schema import PRIMITIVES, AvroSchema, InvalidAvroSchema, parse_schema
from schemaman.errors import SchemamanError, UsageError

AvroText = str | Mapping[str, Any] | Sequence[Any]
"""An Avro schema: its JSON text, the name of a primitive, or JSON as Python values."""

_QUESTION = ("old", "new", "level")


def check_avro(old: Sequence[AvroText], new: AvroText, level: str = "BACKWARD") -> AvroVerdict:
    """Check an Avro schema against earlier ones at a compatibility level, as a schema registry does.

    The verdict is that of Avro's Java implementation, release 1.12.1.

    Args:
        old: the earlier schemas, oldest first.
        new: the new schema.
        level: one of the seven levels, such as `FULL_TRANSITIVE`.

    Raises:
        UnreadableInput: a schema is no valid Avro schema; the message says why.
        UnknownName: there is no such level.
    """
    return check_level([read_avro(text) for text in old], read_avro(new), level)


def answer_batch(lines: Iterable[str | bytes]) -> Iterator[dict[str, object]]:
    """Answer each line of JSON `{"old": [schema, …oldest first], "new": schema, "level": "FULL"}`, in order.

    An answer is `{"compatible": true|false, "reasons": […]}`, or `{"error": …}` for a line that cannot be
    answered. Empty lines have no answer. A line of bytes is UTF-8 text.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            text = line if isinstance(line, str) else line.decode("utf-8")
        except UnicodeDecodeError as error:
            yield {"error": f"line {number} is not UTF-8 text ({error.reason} at byte {error.start})"}
        else:
            yield _answer(text)


def read_avro(schema: AvroText) -> AvroSchema:
    """Read an Avro schema. Raises `InvalidAvroSchema`, which names another schema language if it is one."""
    if isinstance(schema, str):
        return _read_text(schema)
    return _refuse_json_schema(schema) if _is_json_schema(schema) else parse_schema(schema)


@lru_cache(4_096)
def _read_text(schema: str) -> AvroSchema:
    text = schema.strip()
    if text in PRIMITIVES:
        return parse_schema(json.dumps(text))
    if text.startswith(("syntax ", "syntax=", "message ", "package ")):
        raise InvalidAvroSchema("this is a Protobuf schema; Avro is read")
    found = parse_schema if not _is_json_schema(load_json(text)) else _refuse_json_schema
    return found(schema)


def _answer(line: str) -> dict[str, object]:
    try:
        question = json.loads(line)
        if not isinstance(question, dict) or any(name not in question for name in _QUESTION):
            raise UsageError(f"a line is an object with {', '.join(_QUESTION)}")
        if not isinstance(question["old"], list) or not isinstance(question["level"], str):
            raise UsageError("old is a list of schemas, and level is a text")
        verdict = check_avro(question["old"], question["new"], question["level"])
    except SchemamanError as error:
        return {"error": error.message}
    except (ValueError, RecursionError) as error:
        return {"error": f"the line is no JSON: {error}"}
    return {"compatible": verdict.compatible, "reasons": list(verdict.reasons)}


def load_json(text: str) -> Any:
    """Load JSON; None for a text that is none, which the parser then refuses with its own words."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_json_schema(document: Any) -> bool:
    if not isinstance(document, Mapping):
        return False
    return "$schema" in document or (document.get("type") == "object" or "properties" in document)


def _refuse_json_schema(_: AvroText) -> AvroSchema:
    raise InvalidAvroSchema("this is a JSON Schema; Avro is read")
