"""What the catalogue may no longer have had when the rows of a version were read: it tells nothing of that.

Of a column that it does not know a connector says that it may be null; of a key it tells only those columns
that the row has; under a name that was given away it finds another column.
Source: Debezium PgOutputMessageDecoder.handleRelationMessage, which asks the catalogue by names: columns that
it does not find are optional, key columns that the relation does not have are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemaman.fold.points import Point
from schemaman.schema import TableSchema

_Column = tuple[str, int | None]
NEVER = math.inf
"""The moment at which the catalogue lost what it still has."""


@dataclass(frozen=True, slots=True)
class Absences:
    """Of one version: since when a later structure shows that the catalogue had changed, by commit times.

    `gone` has the columns whose names the table no longer had; `replaced` those whose name another one had;
    `cut` is when it had columns of a later key that the version lacks.
    """

    gone: Mapping[_Column, float] = field(default_factory=dict)
    replaced: Mapping[_Column, float] = field(default_factory=dict)
    cut: float = NEVER

    def since(self, name: str, told: object) -> float:
        """The moment from which on a reading tells nothing of a fact, named as in `unconfirmed`."""
        if not isinstance(told, tuple):
            return NEVER
        if name == "key":
            return min((self.cut, *(self.replaced.get(column, NEVER) for column in told)))
        id, nullable = told
        column = (name.removeprefix("nullable:"), id)
        absent = self.gone.get(column, NEVER) if nullable else NEVER
        return min(absent, self.replaced.get(column, NEVER))


def absences(versions: Sequence[tuple[TableSchema, int, Sequence[Point]]]) -> tuple[Absences, ...]:
    """What the versions behind each one tell of the catalogue at its readings, in order."""
    result: list[Absences] = []
    gone: dict[_Column, float] = {}
    replaced: dict[_Column, float] = {}
    arrived: dict[str, float] = {}
    keys: set[str] = set()
    ids: dict[str, int | None] = {}
    begun, life = NEVER, None
    for schema, incarnation, points in reversed(versions):
        own = {c.name: c.id for c in schema.columns}
        if incarnation != life:
            gone, replaced, arrived, keys, ids, begun = {}, {}, {}, set(), own, NEVER
        life = incarnation
        gone = {c: gone.get(c, NEVER) if c[0] in ids else begun for c in own.items()}
        replaced = {
            c: begun if ids.get(c[0], c[1]) != c[1] else replaced.get(c, NEVER) for c in own.items()
        }
        missing = (arrived[name] for name in keys if name not in own and name in arrived)
        result.append(Absences(gone, replaced, min(missing, default=NEVER)))
        begun = min((NEVER if p.mark.ts_ms is None else p.mark.ts_ms for p in points), default=NEVER)
        arrived |= dict.fromkeys(own, begun)
        keys |= {*schema.key}
        ids = own
    return tuple(reversed(result))
