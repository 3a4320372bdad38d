"""The key of a data event: which columns make it, in key order."""

from __future__ import annotations

from schemaman.decode.body import Body
from schemaman.errors import UnreadableInput
from schemaman.languages.connect import fields_of

ROUTING_FIELDS = frozenset({"__dbz__physicalTableIdentifier", "__dbz__sourceIdentifier"})
"""Fields that topic routing adds to keep keys of merged tables apart; they are no columns.
Source: Debezium AbstractRegexTopicNamingStrategy, ByLogicalTableRouter."""


def key_fields(key: Body | None) -> tuple[str, ...]:
    """The field names of a key as they travel; empty for a null key.

    A key without a schema tells the names by its payload.

    Raises:
        UnreadableInput: the key is neither a struct nor a JSON object.
    """
    if key is None or key.payload is None:
        return ()
    if key.schema is not None:
        names = tuple(f["field"] for f in fields_of(key.schema))
    elif isinstance(key.payload, dict):
        names = tuple(key.payload)
    else:
        raise UnreadableInput("the key is a bare value; which column it is of cannot be told")
    return tuple(n for n in names if n not in ROUTING_FIELDS)
