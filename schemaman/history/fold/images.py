"""What a declared structure leaves open, and what cannot be true of it.

A connector declares what its parser or the database's catalogue told it: attributes that it never tells are
filled in from the statement, and a structure that no table of this kind can have got is called so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemaman.evidence import Attribute, Observation
from schemaman.schema import Column, TableId, TableSchema

Renames = tuple[tuple[str, str], ...]


def completed(schema: TableSchema, said: Observation, known: TableSchema | None) -> TableSchema:
    """The structure with the attributes that it is silent on: as its statement says, else as they were.

    `known` is the declared structure before, None if there is none.
    """
    open_ones = tuple(a for a in said.silent if a != "key")
    if not open_ones:
        return schema
    stated = {(name.lower(), attribute): text for name, attribute, text in said.stated}
    before = {c.name.lower(): c for c in known.columns} if known is not None else {}
    former = {new.lower(): old.lower() for old, new in said.renames}
    fresh = remade(said)

    def filled(column: Column) -> Column:
        name = column.name.lower()
        old = None if name in fresh else before.get(former.get(name, name))
        for attribute in open_ones:
            if getattr(column, attribute) is None:
                kept = None if old is None else getattr(old, attribute)
                column = _with(column, attribute, stated.get((name, attribute), kept))
        return column

    comment = schema.comment
    if "comment" in open_ones and comment is None:
        comment = stated.get(("", "comment"), known.comment if known is not None else None)
    return replace(schema, columns=tuple(filled(c) for c in schema.columns), comment=comment)


def _with(column: Column, attribute: Attribute, text: str | None) -> Column:
    return replace(column, default=text) if attribute == "default" else replace(column, comment=text)


def inserted(known: TableSchema, schema: TableSchema) -> tuple[str, ...]:
    """New columns in front of one that stayed, where none has left; a table that only appends gains no such.

    Such a structure is of a table that was made anew, or mixes the columns of two tables.
    """
    names = set(known.names)
    if not names <= set(schema.names):
        return ()
    last = max(i for i, name in enumerate(schema.names) if name in names)
    return tuple(name for name in schema.names[:last] if name not in names)


def of_another(names: tuple[str, ...], table: TableId) -> str:
    """What such columns mean."""
    told = f"{', '.join(names)} stand in front of columns that were there, where this database only appends"
    if "_" in table.table:
        return f"{told}: they may be another table's, since an underscore can stand for any letter"
    return f"{told}: the table was made anew, or they are another table's"


def effective(renames: Iterable[tuple[str, str]], schema: TableSchema) -> Renames:
    """The renames of earlier statements that a structure bears out: the new name is there, the old is not.

    An old name may be there if another column has got it: names that are exchanged or handed on.
    """
    names = {name.lower() for name in schema.names}
    kept = [(old, new) for old, new in renames if new.lower() in names]
    while True:
        given = {new.lower() for _, new in kept}
        borne = [(old, new) for old, new in kept if old.lower() not in names or old.lower() in given]
        if borne == kept:
            return tuple(kept)
        kept = borne


def composed(renames: Renames, following: Renames) -> Renames:
    """Renames one after the other, as from the first names to the last."""
    step = dict(following)
    return (*((old, step.pop(new, new)) for old, new in renames), *step.items())


def remade(said: Observation) -> frozenset[str]:
    """The columns that a statement drops and adds again, in lower case, by their names in the end."""
    return frozenset(name.lower() for name, attribute, _ in said.stated if attribute == "anew")


def exchanged(renames: Renames) -> bool:
    """Whether a column gets a name that another one gives up: the names may be the same ones as before."""
    return not {old.lower() for old, _ in renames}.isdisjoint(new.lower() for _, new in renames)
