"""Structures in the schema languages of others: what is written, and what such a text cannot say.

Law: nothing is lost in silence. What is written is read back, and every difference to the structure becomes a
remark; a column whose type the language has no word for is refused.
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

    def hold(self, type: Type) -> LakeType | Refusal:
        """How the language says a logical type, or why it cannot."""

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """The columns that cannot stand in it because of their names."""

    def write(self, schema: TableSchema, name: str) -> str:
        """The text for a structure of types that it holds; `name` is what the rows are called.

        It ends without a line end.
        """

    def read(self, text: str) -> TableSchema:
        """The structure that such a text tells, columns in order; raises `UnreadableInput`."""


@dataclass(frozen=True, slots=True)
class WrittenSchema:
    """A structure in a language, and in sentences what the text says otherwise or not at all.

    `omitted_columns` names the columns that the language cannot say.
    """

    text: str
    remarks: tuple[str, ...]
    omitted_columns: tuple[str, ...] = ()


def write_schema(
    notation: SchemaLanguage, schema: TableSchema, name: str, where: str, *, partial: bool = False
) -> WrittenSchema:
    """A structure in a language; `where` names the structure in messages.

    `partial` leaves out the columns that the language cannot say.

    Raises:
        UsageError: there are such columns, and `partial` was not asked for; or none is left.
    """
    refused = dict(notation.refuse(schema))
    held: dict[str, LakeType] = {}
    for column in schema.columns:
        answer = notation.hold(column.type)
        if isinstance(answer, Refusal):
            refused.setdefault(column.name, answer)
        elif column.name not in refused:
            held[column.name] = answer
    if refused and not partial:
        raise UsageError(
            f"{notation.name} cannot say {where}: {_list_refused(schema, refused)}",
            hint="--partial leaves these columns out; --as columns and --as json can say everything",
        )
    if not held:
        raise UsageError(f"{where} has no column that {notation.name} can say", hint="try --as json")
    kept = tuple(c for c in schema.columns if c.name in held)
    key = tuple(k for k in schema.key if k in held)
    said = replace(schema, columns=tuple(replace(c, type=held[c.name].type) for c in kept), key=key)
    text = notation.write(said, name)
    remarks = [f"left out: {_list_refused(schema, refused)}"] if refused else []
    remarks += _find_differences(replace(schema, columns=kept), notation.read(text), held)
    return WrittenSchema(text, tuple(remarks), tuple(refused))


def extract_key(schema: TableSchema) -> TableSchema:
    """The structure of a table's key: its columns in key order.

    Raises:
        UsageError: the table has no key.
    """
    columns = tuple(c for name in schema.key if (c := schema.column(name)) is not None)
    if not columns:
        raise UsageError("the table has no key", hint="leave --key out")
    return TableSchema(columns, schema.key)


def _list_refused(schema: TableSchema, refused: Mapping[str, Refusal]) -> str:
    return "; ".join(
        f"{format_name(c.name)} {format_type(c.type)} ({refused[c.name].reason})"
        for c in schema.columns
        if c.name in refused
    )


def _find_differences(wanted: TableSchema, told: TableSchema, held: Mapping[str, LakeType]) -> list[str]:
    """What the read-back text says otherwise; columns are compared by their places."""
    pairs = tuple(zip(wanted.columns, told.columns, strict=True))
    remarks = [f"{format_name(w.name)} is called {format_name(t.name)}" for w, t in pairs if t.name != w.name]
    remarks += _describe_types(pairs, held)
    for what, value in _ATTRIBUTES.items():
        unlike = [format_name(w.name) for w, t in pairs if value(w) != value(t)]
        remarks += [f"not said: {what} {', '.join(unlike)}"] if unlike else []
    own = {t.name: w.name for w, t in pairs}
    if wanted.key != tuple(own.get(name, name) for name in told.key):
        remarks.append(f"not said: the key ({', '.join(map(format_name, wanted.key))})")
    if (wanted.comment or None) != (told.comment or None):
        remarks.append("not said: the comment of the table")
    return remarks


def _describe_types(pairs: Iterable[tuple[Column, Column]], held: Mapping[str, LakeType]) -> list[str]:
    """A sentence for each type that stands for others."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for wanted, told in pairs:
        if wanted.type != told.type:
            place = (format_type(told.type), held[wanted.name].note)
            groups.setdefault(place, []).append(f"{format_name(wanted.name)} {format_type(wanted.type)}")
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
