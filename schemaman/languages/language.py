"""Writes structures in schema languages, and reports what such a text cannot express.

Law: nothing is lost in silence. The written text is read back, and every difference to the structure becomes
a remark. A column whose type the language does not have is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from schemaman.errors import UsageError
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.column_list import format_name
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type
from schemaman.plugins import Plugins


class SchemaLanguage(Protocol):
    """A schema language. One file each in `languages/exporters/`."""

    name: str

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns the language's type for a logical type, or a refusal."""

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Returns the columns that the language cannot express because of their names."""

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes a structure whose types the language has; `name` names the rows. No final line end."""

    def read(self, text: str) -> TableSchema:
        """Reads the structure from such a text, columns in order; raises `UnreadableInput`."""


@dataclass(frozen=True, slots=True)
class WrittenSchema:
    """A structure in a language.

    `remarks` are sentences: how the text differs from the structure, and what it does not express.
    `omitted_columns` names the columns that the language cannot express.
    """

    text: str
    remarks: tuple[str, ...]
    omitted_columns: tuple[str, ...] = ()


def write_schema(
    language: SchemaLanguage, schema: TableSchema, name: str, where: str, *, partial: bool = False
) -> WrittenSchema:
    """Writes a structure in a language; `where` names the structure in messages.

    `partial` omits the columns that the language cannot express.

    Raises:
        UsageError: there are such columns and `partial` is False, or no other column remains.
    """
    refused = dict(language.refuse_names(schema))
    held: dict[str, LakeType] = {}
    for column in schema.columns:
        lake_type = language.hold_type(column.type)
        if isinstance(lake_type, Refusal):
            refused.setdefault(column.name, lake_type)
        elif column.name not in refused:
            held[column.name] = lake_type
    if refused and not partial:
        raise UsageError(
            f"{language.name} cannot express {where}: {_list_refused(schema, refused)}",
            hint="--partial omits these columns; --as columns and --as json express everything",
        )
    if not held:
        raise UsageError(f"{where} has no column that {language.name} can express", hint="try --as json")
    kept = tuple(c for c in schema.columns if c.name in held)
    key = tuple(k for k in schema.key if k in held)
    mapped = replace(schema, columns=tuple(replace(c, type=held[c.name].type) for c in kept), key=key)
    text = language.write(mapped, name)
    remarks = [f"left out: {_list_refused(schema, refused)}"] if refused else []
    remarks += _find_differences(replace(schema, columns=kept), language.read(text), held)
    return WrittenSchema(text, tuple(remarks), tuple(refused))


def extract_key(schema: TableSchema) -> TableSchema:
    """Extracts the structure of a table's key: its columns in key order.

    Raises:
        UsageError: the table has no key.
    """
    columns = tuple(c for name in schema.key if (c := schema.column(name)) is not None)
    if not columns:
        raise UsageError("the table has no key", hint="omit --key")
    return TableSchema(columns, schema.key)


def _list_refused(schema: TableSchema, refused: Mapping[str, Refusal]) -> str:
    return "; ".join(
        f"{format_name(c.name)} {format_type(c.type)} ({refused[c.name].reason})"
        for c in schema.columns
        if c.name in refused
    )


def _find_differences(schema: TableSchema, read_back: TableSchema, held: Mapping[str, LakeType]) -> list[str]:
    """Describes how the read-back structure differs; columns are compared in order."""
    pairs = tuple(zip(schema.columns, read_back.columns, strict=True))
    remarks = [
        f"{format_name(wanted.name)} is called {format_name(column.name)}"
        for wanted, column in pairs
        if column.name != wanted.name
    ]
    remarks += _describe_types(pairs, held)
    for what, value in _ATTRIBUTES.items():
        unlike = [format_name(wanted.name) for wanted, column in pairs if value(wanted) != value(column)]
        remarks += [f"not expressed: {what} {', '.join(unlike)}"] if unlike else []
    own = {column.name: wanted.name for wanted, column in pairs}
    if schema.key != tuple(own.get(name, name) for name in read_back.key):
        remarks.append(f"not expressed: the key ({', '.join(map(format_name, schema.key))})")
    if (schema.comment or None) != (read_back.comment or None):
        remarks.append("not expressed: the comment of the table")
    return remarks


def _describe_types(pairs: Iterable[tuple[Column, Column]], held: Mapping[str, LakeType]) -> list[str]:
    """Writes a sentence for each type that replaces other types."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for wanted, read_back in pairs:
        if wanted.type != read_back.type:
            group_key = (format_type(read_back.type), held[wanted.name].note)
            groups.setdefault(group_key, []).append(f"{format_name(wanted.name)} {format_type(wanted.type)}")
    return [
        f"written as {type}{f' ({note})' if note else ''}: {', '.join(columns)}"
        for (type, note), columns in groups.items()
    ]


_ATTRIBUTES: dict[str, Callable[[Column], object]] = {
    "whether NULL is allowed in": lambda c: c.nullable,
    "the default of": lambda c: None if c.default is None else str(c.default),
    "the comment of": lambda c: c.comment or None,
}


SCHEMA_LANGUAGES: Plugins[SchemaLanguage] = Plugins(
    "schemaman.languages.exporters", "LANGUAGE", ("schemaman.notations",)
)
"""The schema languages, by name."""
