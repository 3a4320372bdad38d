"""Pairs of schemas, before and after: the whole matrix of types, and all other kinds of change.

A pair is a few columns with names that no other pair has, so that one table holds the pairs of a whole batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from schemaman.model.schema import Column, Path, TableSchema
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
    Uuid,
    Xml,
)

INT, LONG = Integer(32), Integer(64)

FLAT: tuple[Type, ...] = (
    Boolean(), Integer(8), Integer(16), INT, LONG, Integer(8, False), Integer(16, False), Integer(32, False),
    Integer(64, False), Floating(32), Floating(64), Decimal(3, 0), Decimal(5, 2), Decimal(12, 2),
    Decimal(12, 4), Decimal(20, 0), Decimal(38, 10), Decimal(60, 2), Numeric(), String(), String(9),
    String(3, fixed=True), Binary(), Bits(5), Date(), Time(3), Timestamp(3, zoned=False),
    Timestamp(6, zoned=False), Timestamp(6), Interval(), Uuid(), Json(), Xml(), Enum(("a", "b")),
    EnumSet(("a", "b")),
)  # fmt: skip


def _member(*types: Type) -> Struct:
    return Struct(tuple(Field(name, type) for name, type in zip("xyz", types, strict=False)))


NESTED: tuple[Type, ...] = (
    Array(INT), Array(LONG), Array(String()), Map(String(), INT), Map(String(), LONG), _member(INT),
    _member(LONG), _member(INT, String()), _member(String()), Array(_member(INT)),
    Array(_member(LONG, Date())), Map(String(), _member(INT)), Map(String(), _member(INT, INT)),
    _member(_member(INT)), _member(_member(LONG)), _member(Decimal(5, 2), Array(INT)),
    _member(Decimal(8, 2), Array(LONG)),
)  # fmt: skip
TYPES = (*FLAT, *NESTED)


@dataclass(frozen=True, slots=True)
class Pair:
    """Columns before and after a change; their names begin with `mark`. `members` have other names."""

    kind: str
    mark: str
    old: tuple[Column, ...]
    new: tuple[Column, ...]
    members: tuple[tuple[Path, Path], ...] = ()


def _columns(mark: str, types: Sequence[Type], first_id: int) -> tuple[Column, ...]:
    return tuple(
        Column(f"{mark}{letter}", type, True, id=first_id + n)
        for n, (letter, type) in enumerate(zip("abcd", types, strict=False))
    )


def pairs(seed: int, count: int) -> Iterator[Pair]:
    """So many pairs: the types in an order of chance, each matrix cell once, and other changes in between."""
    chance = random.Random(seed)
    matrix = list(product(TYPES, repeat=2))
    chance.shuffle(matrix)
    for number in range(count):
        mark, first_id = f"p{number:04}_", 10 + number * 10
        if number % 8 == 4:
            yield _members(chance, mark, first_id)
        elif number % 4 and matrix:
            before, after = matrix.pop()
            old = _columns(mark, (before,), first_id)
            yield Pair("type", mark, old, (replace(old[0], type=after),))
        else:
            old = _columns(mark, [chance.choice(TYPES) for _ in range(3)], first_id)
            yield _other(chance, mark, old, first_id)


def _members(chance: random.Random, mark: str, first_id: int) -> Pair:
    """A change of what a struct holds, wherever the struct is."""
    types = (INT, String(), Date(), Decimal(5, 2), _member(INT))
    x, y, z = _member(*(chance.choice(types) for _ in "xyz")).fields
    wider = Field("w", LONG if x.type == INT else x.type)
    changes: dict[str, tuple[Field, ...]] = {
        "drop a member": (x, z),
        "rename a member": (replace(x, name="w"), y, z),
        "rename and widen a member": (wider, y, z),
        "rename, drop and add members": (replace(x, name="w"), z, Field("x", Date())),
    }
    kind = chance.choice(sorted(changes))
    inside, wrapped = chance.choice(_WRAPPED)
    name = f"{mark}a"
    old, new = (Column(name, wrapped(Struct(f)), id=first_id) for f in ((x, y, z), changes[kind]))
    at = (name, *inside)
    renamed = (((*at, "x"), (*at, "w")),) if "rename" in kind else ()
    return Pair(kind, mark, (old,), (new,), renamed)


_WRAPPED: tuple[tuple[Path, Callable[[Struct], Type]], ...] = (
    ((), lambda s: s),
    (("element",), Array),
    (("value",), lambda s: Map(String(), s)),
    (("n",), lambda s: Struct((Field("n", s), Field("o", INT)))),
)


def _other(chance: random.Random, mark: str, old: tuple[Column, ...], first_id: int) -> Pair:
    """Some other change than that of a type alone."""
    a, b, c = old
    type = chance.choice(TYPES)
    fresh = Column(f"{mark}d", type, True, id=first_id + 5)
    changes: dict[str, tuple[Column, ...]] = {
        "add": (*old, fresh),
        "add in the middle": (a, fresh, b, c),
        "drop": (a, c),
        "rename": (replace(a, name=f"{mark}new"), b, c),
        "swap": (replace(a, name=b.name), replace(b, name=a.name), c),
        "cycle": (replace(a, name=b.name), replace(b, name=c.name), replace(c, name=a.name)),
        "reuse of a name": (replace(fresh, name=a.name), b, c),
        "rename and reuse": (replace(a, name=f"{mark}new"), replace(fresh, name=a.name), b, c),
        "rename and type": (replace(a, name=f"{mark}new", type=type), b, c),
        "comment": (replace(a, comment="it's \\ new"), b, c),
        "reorder": (c, a, b),
        "not null": (replace(a, nullable=False), b, c),
        "drop all": (),
    }
    kind = chance.choice(sorted(changes))
    return Pair(kind, mark, old, changes[kind])


def tables(of: Sequence[Pair]) -> tuple[TableSchema, TableSchema]:
    """One table with all the pairs, before and after, and a key that stays."""
    key = Column("id", INT, False, id=1)
    before = TableSchema((key, *(c for pair in of for c in pair.old)), ("id",))
    after = TableSchema((key, *(c for pair in of for c in pair.new)), ("id",))
    return before, after
