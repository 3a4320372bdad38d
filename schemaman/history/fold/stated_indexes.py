"""Finds the indexes in statements that make or unmake a key: a declared structure may keep a dropped one.

Source: MySQL and MariaDB manuals, ALTER TABLE, CREATE INDEX, DROP INDEX; a unique index without a name takes
that of its first column.
"""

from __future__ import annotations

import re

from schemaman.debezium.observation import Observation
from schemaman.model.schema import TableSchema

KEY_INDEX_DROPPED = "key-index-dropped"

_TEXT = re.compile(r"'(?:[^'\\]|''|\\.)*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = r"(?:`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"|([\w$]+))"
_UNIQUE = re.compile(
    rf"\bUNIQUE\b(?:\s+(?:KEY|INDEX)\b)?(?:\s+(?!USING\b|KEY\b|INDEX\b){_NAME})?"
    rf"(?:\s+ON\s+[^(]+)?(?:\s+USING\s+\w+)?\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)",
    re.IGNORECASE,
)
_OTHER = re.compile(rf"(?<!UNIQUE )\b(?:KEY|INDEX)\s+{_NAME}\s*(?:ON\s+[^(]+)?\(", re.IGNORECASE)
_DROPPED = re.compile(rf"\bDROP\s+(?:INDEX|KEY|CONSTRAINT)\s+(?:IF\s+EXISTS\s+)?{_NAME}", re.IGNORECASE)
_PRIMARY = re.compile(r"(?<!DROP )\bPRIMARY\s+KEY\b", re.IGNORECASE)
_WORD = re.compile(_NAME)


class StatedIndexes:
    """The indexes of a table that statements named so far: unique ones with their columns, and others.

    `doubted_key` is the key that the table may have lost since; empty if there is none. `is_unstated`: that
    is in doubt since a structure named no key, so that one with the key settles it. `is_key_from_snapshot`:
    the newest key was read from the table itself.
    """

    def __init__(self) -> None:
        self._unique: dict[str, tuple[str, ...]] = {}
        self._others: set[str] = set()
        self._has_primary_key = False
        self.doubted_key: tuple[str, ...] = ()
        self.is_unstated = False
        self.is_key_from_snapshot = False

    def begin_table(self, observation: Observation, key: tuple[str, ...]) -> None:
        """Forget all, because another table begins under the name; its statement names its first indexes."""
        self._unique, self._others, self._has_primary_key, self.doubted_key = {}, set(), False, ()
        self.find_dropped_key(observation, key)

    def find_dropped_key(self, observation: Observation, key: tuple[str, ...]) -> str | None:
        """Learn the indexes of a statement; return the one that it drops and that may have made the key.

        An index that no statement named may have made it, unless a statement declared a primary key.
        """
        text = _TEXT.sub("''", observation.ddl or "")
        dropped = [_read_name(found.groups()) for found in _DROPPED.finditer(text)]
        columns = tuple(name.lower() for name in key)
        suspect = None
        for name in dropped if key and not self._has_primary_key else ():
            if self._unique.get(name, columns) == columns and name not in self._others:
                suspect = name
        for name in dropped:
            self._unique.pop(name, None)
            self._others.discard(name)
        self._learn_indexes(text)
        settled = self.is_unstated or self._has_primary_key or columns in self._unique.values()
        if settled or key != self.doubted_key:
            self.doubted_key, self.is_unstated = (), False
        # another index of the same columns makes the same key
        return None if suspect is None or columns in self._unique.values() else suspect

    def _learn_indexes(self, text: str) -> None:
        self._has_primary_key |= _PRIMARY.search(text) is not None
        for found in _UNIQUE.finditer(text):
            columns = tuple(_read_name(m.groups()) for part in _split(found[4]) if (m := _WORD.search(part)))
            name = _read_name(found.groups()[:3]) or (columns[0] if columns else "")
            self._unique[name] = columns
        for found in _OTHER.finditer(text):
            name = _read_name(found.groups())
            if name not in self._unique:
                self._others.add(name)


def _split(columns: str) -> list[str]:
    return [part for part in columns.split(",") if part.strip()]


def _read_name(parts: tuple[str | None, ...]) -> str:
    return next((part.lower() for part in parts if part), "")


def describe_dropped_key(index: str, schema: TableSchema) -> str:
    """What a statement and the structure beside it mean together."""
    return (
        f"the statement drops the index {index}, and the structure beside it still has the key "
        f"({', '.join(schema.key)}): the table may have no key since"
    )
