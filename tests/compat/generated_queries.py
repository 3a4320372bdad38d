"""Random queries for PostgreSQL over the tables of the marked statements: nested, joined, correlated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

Columns = Mapping[str, str]
"""Column names and the kind of their values: `i` and `n` are numbers, `t` text, `d` dates."""
Sources = Sequence[tuple[str, Columns]]
"""Aliases and their columns."""

TABLES: Mapping[str, Columns] = {
    "orders": {"id": "i", "customer_id": "i", "status": "t", "total": "n", "placed_at": "d", "address": "t"},
    "customers": {"id": "i", "name": "t", "email": "t", "region": "t"},
    "lines": {"order_id": "i", "sku": "t", "qty": "i", "price": "n"},
}


class QueryMaker:
    """Makes queries from a seed; each name that it gives is new."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.count = 0

    def make(self, depth: int = 3) -> str:
        """Make a query of some depth."""
        return self._query(depth, {}, ())[0]

    def _name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def _is(self, share: float) -> bool:
        return self.random.random() < share

    def _source(self, depth: int, ctes: Mapping[str, Columns]) -> tuple[str, tuple[str, Columns]]:
        alias = self._name("a")
        if depth and self._is(0.35):
            query, columns = self._query(depth - 1, ctes, ())
            if self._is(0.3):
                renamed = {self._name("z"): kind for kind in columns.values()}
                return f"({query}) as {alias} ({', '.join(renamed)})", (alias, renamed)
            return f"({query}) as {alias}", (alias, columns)
        if ctes and self._is(0.4):
            cte = self.random.choice(list(ctes))
            return f"{cte} as {alias}", (alias, ctes[cte])
        table = self.random.choice(list(TABLES))
        return f"{self.random.choice(['', 'public.'])}{table} as {alias}", (alias, TABLES[table])

    def _column(self, kinds: str, sources: Sources, outer: Sources) -> str | None:
        """A column of the kinds, sometimes without its qualifier where that is clear."""
        found = [(a, c) for a, columns in (*sources, *outer) for c, kind in columns.items() if kind in kinds]
        if not found:
            return None
        alias, column = self.random.choice(found)
        is_clear = sum(column in columns for _, columns in sources) == 1
        return column if is_clear and alias in dict(sources) and self._is(0.4) else f"{alias}.{column}"

    def _number(self, sources: Sources, outer: Sources = ()) -> str:
        return self._column("in", sources, outer) or "1"

    def _condition(self, depth: int, ctes: Mapping[str, Columns], sources: Sources, outer: Sources) -> str:
        choice = self.random.random()
        if depth and choice < 0.2:
            inner = self._query(depth - 1, ctes, sources, is_single=True)[0]
            return f"{self._number(sources, outer)} in ({inner})"
        if depth and choice < 0.35:
            return f"exists ({self._query(depth - 1, ctes, sources)[0]})"
        text = self._column("t", sources, outer)
        if text is not None and choice < 0.6:
            return f"upper({text}) = 'x'"
        return f"{self._number(sources, outer)} > {self._number(sources, outer)}"

    def _query(
        self, depth: int, ctes: Mapping[str, Columns], outer: Sources, *, is_single: bool = False
    ) -> tuple[str, Columns]:
        """A query and its columns; a single one is a whole number."""
        before = ""
        if depth and not is_single and self._is(0.3):
            query, columns = self._query(depth - 1, ctes, ())
            cte = self._name("c")
            before, ctes = f"with {cte} as ({query}) ", {**ctes, cte: columns}
        if depth and not is_single and self._is(0.15):
            left, columns = self._query(depth - 1, ctes, outer, is_single=True)
            right, _ = self._query(depth - 1, ctes, outer, is_single=True)
            word = self.random.choice(["union", "union all", "except", "intersect"])
            return f"{before}({left}) {word} ({right}) order by {next(iter(columns))}", columns
        tables, sources = self._tables(depth, ctes, outer)
        where = f" where {self._condition(depth, ctes, sources, outer)}" if self._is(0.6) else ""
        items, columns, tail = self._items(depth, ctes, sources, outer, is_single)
        return f"{before}select {', '.join(items)} from {tables}{where}{tail}", columns

    def _tables(self, depth: int, ctes: Mapping[str, Columns], outer: Sources) -> tuple[str, Sources]:
        text, first = self._source(depth, ctes)
        sources = [first]
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            if depth and self._is(0.2):
                query, columns = self._query(depth - 1, ctes, sources)
                alias = self._name("a")
                text, sources = (
                    f"{text} cross join lateral ({query}) as {alias}",
                    [*sources, (alias, columns)],
                )
                continue
            more, source = self._source(depth, ctes)
            common = [c for c, kind in source[1].items() if [cs[c] for _, cs in sources if c in cs] == [kind]]
            both = [*sources, source]
            if common and self._is(0.4):
                side = self.random.choice(["", "left ", "right ", "full "])
                text += f" {side}join {more} using ({self.random.choice(common)})"
            else:
                side = self.random.choice(["", "left "])
                text += f" {side}join {more} on {self._number(both, outer)} = {self._number(both, outer)}"
            sources = both
        return text, sources

    def _items(
        self, depth: int, ctes: Mapping[str, Columns], sources: Sources, outer: Sources, is_single: bool
    ) -> tuple[list[str], Columns, str]:
        key = self._column("i", sources, ())
        name = self._name("n")
        if key is not None and self._is(0.25):
            tail = f" group by {self.random.choice(['1', key])} having sum({self._number(sources)}) > 1"
            if is_single:
                return [f"{key} as {name}"], {name: "i"}, tail
            top = f"max({self._number(sources)}) filter (where {self._number(sources)} > 1) as m{name}"
            return [f"{key} as {name}", top], {name: "i", f"m{name}": "n"}, f"{tail} order by {name}"
        if is_single:
            return [f"{self._column('i', sources, outer) or '1'} as {name}"], {name: "i"}, ""
        if self._is(0.25):
            alias, columns = self.random.choice(list(sources))
            return ["*" if len(sources) == 1 else f"{alias}.*"], columns, ""
        values = {
            name: f"sum({self._number(sources)}) over "
            f"(partition by {self._number(sources)} order by {self._number(sources)})",
            self._name("n"): f"case when {self._condition(0, ctes, sources, outer)} "
            f"then {self._number(sources, outer)} end",
        }
        if depth and self._is(0.4):
            inner, columns = self._query(depth - 1, ctes, sources, is_single=True)
            values[self._name("n")] = f"(select max(q.{next(iter(columns))}) from ({inner}) as q)"
        last = self.random.choice([name, "1", self._number(sources)])
        return (
            [f"{value} as {n}" for n, value in values.items()],
            dict.fromkeys(values, "n"),
            f" order by {last}",
        )
