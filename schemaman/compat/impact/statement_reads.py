"""Reads which columns a parsed statement uses, and in which role, through sqlglot's scopes.

A column of a subquery has the role that it has there, and the roles in which outer queries use it. A use in a
window has the role `window`, one in an aggregate function `aggregated`, any other the role of its clause.
sqlglot's own `lineage` sees projections alone, so this module walks every clause of every scope.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import Scope, traverse_scope

from schemaman.compat.impact.changes_as_queries import (
    WRITTEN,
    build_delete_query,
    build_merge_query,
    build_update_query,
)
from schemaman.compat.impact.column_roles import Origin, Output, Role, StatementReads
from schemaman.compat.impact.parsing import find_folding, name_table, read_name
from schemaman.compat.impact.relations import (
    Folding,
    Relation,
    Relations,
    SqlName,
    choose_name,
    grade_parts,
    is_same_name,
)

Origins = frozenset[Origin]
NOTHING: Origins = frozenset()
Link = tuple[exp.Expr, exp.Expr]
"""A node of the tree and its parent, which is of a kind that decides a role."""

_UNITS = frozenset(
    [
        "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond",
        "dayofweek", "dayofyear", "isoweek", "date", "epoch", "rownum", "rowid", "sysdate", "level", "value",
        "null",
    ]
)  # fmt: skip
"""Words that some functions take, and that parsers read as columns; also columns that every row has."""

_DECIDING = (
    exp.Query, exp.Window, exp.Anonymous, exp.WithinGroup, exp.AggFunc, exp.AnonymousAggFunc, exp.Where,
    exp.PreWhere, exp.Connect, exp.Having, exp.Qualify, exp.Join, exp.Group, exp.Order, exp.Sort,
    exp.Cluster, exp.Distribute, exp.Distinct, exp.Pivot, exp.Star,
)  # fmt: skip
"""The kinds of nodes around a column that decide its role."""


@dataclass
class Source:
    """A table, subquery or function behind FROM, under the name by which the query calls it.

    `outputs` are its columns; with `is_open` it may have more. `relation` is there for a known table.
    `anything` are the origins of any other column, of a function over columns. The columns of a source with
    `is_hidden` are seen by the conditions of its join alone. One that `is_pending` has not been read yet, so
    that nothing inside it can refer to it.
    """

    alias: SqlName
    parts: tuple[SqlName, ...] = ()
    relation: Relation | None = None
    outputs: tuple[Output, ...] = ()
    is_open: bool = False
    anything: Origins | None = None
    is_hidden: bool = False
    is_pending: bool = False

    def find(self, name: SqlName, folding: Folding, rest: tuple[str, ...] = ()) -> Origins | None:
        """Find the origins of a column by its name; None if the source has no such column."""
        output = choose_name(name, self.outputs, folding, lambda one: one.name)
        if output is not None:
            if not rest or self.anything is not None or not output.is_plain:
                return output.origins  # the path inside an element of an array is not the path of a field
            return frozenset((key, (*path, *rest)) for key, path in output.origins)
        return self.anything

    def find_former(self, name: SqlName, folding: Folding, rest: tuple[str, ...] = ()) -> Origins | None:
        """Find a column of an earlier version, or one that the lake adds; None if there is none."""
        if self.relation is None:
            return None
        known = {**{c: c for c in self.relation.former}, **dict(self.relation.aliases)}
        former = choose_name(name, known, folding, str)
        if former is not None:
            return frozenset([(self.relation.key, (known[former], *rest))])
        return NOTHING if choose_name(name, self.relation.row_columns, folding, str) else None


@dataclass
class Context:
    """The sources of one query, and the query around it.

    `merged` are the columns that USING joins. `returned` are the columns of the query by name, for ORDER BY;
    `aliases` are those with a name of their own, for other clauses.
    """

    sources: list[Source] = field(default_factory=list)
    merged: dict[str, Origins] = field(default_factory=dict)
    returned: dict[str, Origins] = field(default_factory=dict)
    aliases: dict[str, Origins] = field(default_factory=dict)
    outer: Context | None = None

    @property
    def is_open(self) -> bool:
        """Whether a column that is not found may belong to a source with unknown columns."""
        return any(source.is_open for source in self.sources)


def read_statement(tree: exp.Expr, relations: Relations, language: str) -> StatementReads:
    """Read what a statement uses. A name that cannot be resolved is counted, not guessed.

    Raises:
        SqlglotError, RecursionError: sqlglot cannot build the scopes of the statement.
    """
    reader = _StatementReader(relations, language)
    outputs, is_open = reader.read(tree)
    found = reader.found
    return StatementReads(
        uses={origin: frozenset(roles) for origin, roles in sorted(found.uses.items())},
        relations=frozenset(found.relations_read),
        outputs=outputs,
        is_open=is_open,
        unresolved=tuple(found.unresolved.items()),
        columns=found.resolved,
        outside=frozenset(found.outside),
        rows=found.rows,
        former=tuple(found.former),
    )


@dataclass(slots=True)
class FoundReads:
    """What a reader has found so far; `StatementReads` holds it in the end."""

    uses: dict[Origin, set[Role]] = field(default_factory=lambda: defaultdict(set))
    relations_read: dict[str, None] = field(default_factory=dict)
    unresolved: dict[str, str] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    rows: dict[str, Role] = field(default_factory=dict)
    former: dict[str, None] = field(default_factory=dict)
    resolved: int = 0


class _StatementReader:
    def __init__(self, relations: Relations, language: str) -> None:
        self.relations = relations
        self.language = language
        self.folding = find_folding(language)
        self.found = FoundReads()
        self.links: dict[int, Link | None] = {}
        self.trees: list[exp.Expr] = []
        self.returned: dict[int, tuple[tuple[Output, ...], bool]] = {}

    def read(self, tree: exp.Expr) -> tuple[tuple[Output, ...], bool]:
        """Read a statement; return its columns, and whether it may return more."""
        match tree:
            case exp.Create() | exp.Cache():
                return self._read_definition(tree)
            case exp.Insert():
                return self._read_insert(tree)
            case exp.Update():
                self._read_query(build_update_query(tree))
            case exp.Delete():
                self._read_query(build_delete_query(tree))
            case exp.Merge():
                self._read_query(build_merge_query(tree))
            case exp.Query():
                return self._read_query(tree)
            case exp.TruncateTable() | exp.Copy():
                for table in tree.find_all(exp.Table):
                    self._find_relation(table)
                if (inner := tree.find(exp.Query)) is not None:
                    self._read_query(inner)
            case exp.MultitableInserts():
                self._read_query(tree.args["source"])
                self.found.unresolved["the columns that INSERT ALL writes"] = ""
            case _:
                if (inner := tree.find(exp.Query)) is not None:
                    self._read_query(inner)
        return (), True

    def _read_definition(self, tree: exp.Create | exp.Cache) -> tuple[tuple[Output, ...], bool]:
        query = tree.args.get("expression")
        if not isinstance(query, exp.Query):
            if tree.args.get("kind") in ("FUNCTION", "PROCEDURE"):
                self.found.unresolved[f"the body of a {tree.args['kind'].lower()}"] = ""
            return (), True
        outputs, is_open = self._read_query(_with_ctes(query, tree))
        columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        return self._rename(outputs, columns), is_open

    def _read_insert(self, tree: exp.Insert) -> tuple[tuple[Output, ...], bool]:
        table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        relation = self._find_relation(table) if isinstance(table, exp.Table) else None
        query = tree.args.get("expression")
        outputs, is_open = (
            self._read_query(_with_ctes(query, tree)) if isinstance(query, exp.Query) else ((), True)
        )
        names = [
            self._read_name(c) for c in columns if isinstance(c, exp.Identifier | exp.Column | exp.ColumnDef)
        ]
        if not names and tree.args.get("by_name"):
            names = [SqlName(output.name) for output in outputs]
        if relation is not None:
            self._record_written(relation, names)
            self._read_partition(relation, table)
            self._read_conflict(relation, tree)
        if names and len(names) == len(outputs):
            outputs = tuple(
                Output(name.text, o.origins, o.is_starred) for name, o in zip(names, outputs, strict=True)
            )
        elif relation is not None and relation.outputs is None:
            positions = zip(relation.columns, outputs, strict=False)
            outputs = tuple(Output(name, o.origins, o.is_starred) for name, o in positions)
        return outputs, is_open

    def _record_written(self, relation: Relation, names: Sequence[SqlName]) -> None:
        """Record the written columns; without names, all columns by their position."""
        source = _build_source(SqlName(""), (), relation)
        if not names:
            self.found.rows[relation.key] = "written"
            for output in source.outputs:
                self._record(output.origins, "written")
        for name in names:
            self._record_found(source, name, "written")

    def _read_partition(self, relation: Relation, table: exp.Expr) -> None:
        partition = table.args.get("partition")
        source = _build_source(SqlName(""), (), relation)
        for pair in partition.expressions if partition is not None else ():
            column = pair.this if isinstance(pair, exp.EQ) else pair
            if isinstance(column, exp.Column | exp.Identifier):
                self._record_found(source, self._read_name(column), "written")

    def _read_conflict(self, relation: Relation, tree: exp.Insert) -> None:
        """Read ON CONFLICT: its key, its assignments, and its conditions over the row that is there."""
        source = _build_source(SqlName(""), (), relation)
        conflict = tree.args.get("conflict")
        written: set[int] = set()
        for key in (conflict.args.get("conflict_keys") or []) if conflict is not None else []:
            for column in key.find_all(exp.Column, exp.Identifier):
                if not isinstance(column.parent, exp.Column):
                    self._record_found(source, self._read_name(column), "join-key")
        for pair in conflict.expressions if conflict is not None else ():
            if isinstance(pair, exp.EQ):
                written.add(id(pair.this))
                self._record_found(source, self._read_name(pair.this), "written")
        places = [*(conflict.expressions if conflict is not None else ()), tree.args.get("returning")]
        places += [conflict.args.get("where") if conflict is not None else None]
        for place in places:
            for column in place.find_all(exp.Column) if place is not None else ():
                if id(column) not in written and column.table.lower() not in ("excluded", "new"):
                    role: Role = "filter" if column.find_ancestor(exp.Where) else "projected"
                    self._record_found(source, self._read_name(column), role)

    def _record_found(self, source: Source, name: SqlName, role: Role) -> None:
        origins = source.find(name, self.folding)
        if origins is None:
            origins = source.find_former(name, self.folding)
        if origins is not None:
            self.found.resolved += 1
            self._record(origins, role)
        elif not source.is_open:
            self.found.unresolved[f"column {name.text}"] = name.text

    def _read_query(self, query: exp.Query) -> tuple[tuple[Output, ...], bool]:
        prepared = normalize_identifiers(query.copy(), dialect=self.language)
        for number, subquery in enumerate(list(prepared.find_all(exp.Subquery))):
            is_table = isinstance(subquery.parent, exp.From | exp.Join)
            if is_table and not subquery.alias and isinstance(subquery.unnest(), exp.Query):
                subquery.set("alias", exp.TableAlias(this=exp.to_identifier(f"_schemaman_{number}")))
        for cte in list(prepared.find_all(exp.CTE)):
            self._replace_change(cte)
        self.trees.append(prepared)  # an id belongs to one node as long as the node is there
        for scope in traverse_scope(prepared):
            if isinstance(scope.expression, exp.Select):
                self.returned[id(scope.expression)] = self._read_select(scope)
            elif isinstance(scope.expression, exp.SetOperation):
                self.returned[id(scope.expression)] = self._read_set_operation(scope)
        return self._find_returned(prepared)

    def _replace_change(self, cte: exp.CTE) -> None:
        """Replace a change inside a CTE by a query that returns what it returns."""
        change = cte.this
        match change:
            case exp.Update():
                cte.set("this", build_update_query(change))
            case exp.Delete():
                cte.set("this", build_delete_query(change))
            case exp.Merge():
                cte.set("this", build_merge_query(change))
            case exp.Insert():
                self._read_insert(change)
                table = change.this.this if isinstance(change.this, exp.Schema) else change.this
                returning = change.args.get("returning")
                values = returning.expressions if returning is not None else [exp.Literal.number(1)]
                query = exp.Select(expressions=[value.copy() for value in values])
                query.set("from_", exp.From(this=table.copy()))
                cte.set("this", query)

    def _find_returned(self, query: exp.Expr) -> tuple[tuple[Output, ...], bool]:
        while isinstance(query, exp.Subquery) and id(query) not in self.returned:
            query = query.this
        return self.returned.get(id(query), ((), True))

    def _read_set_operation(self, scope: Scope) -> tuple[tuple[Output, ...], bool]:
        """Merge the columns of both sides by position, or by name."""
        expression: Any = scope.expression
        left, left_open = self._find_returned(expression.left)
        right, right_open = self._find_returned(expression.right)
        if isinstance(expression, exp.Except):
            merged = left
        elif expression.args.get("by_name"):
            merged = (*(_merge_output(o, _find_output(right, o.name)) for o in left),
                      *(o for o in right if _find_output(left, o.name) is None))  # fmt: skip
        else:
            others: list[Output | None] = [*right, *[None] * len(left)]
            merged = tuple(_merge_output(o, others[i]) for i, o in enumerate(left)) or right
        names = {o.name.lower(): o.origins for o in merged}
        context = Context(returned=names, outer=self._find_outer(scope))
        order = expression.args.get("order")
        if order is not None:
            self._read_clauses(order, context, merged, expression)
        return merged, left_open or right_open

    def _read_select(self, scope: Scope) -> tuple[tuple[Output, ...], bool]:
        select = scope.expression
        context = self._build_context(scope)
        outputs: list[Output] = []
        is_open = False
        for item in select.expressions:
            if _is_star(item):
                starred, more = self._read_star(item, context)
                outputs += starred
                is_open |= more
            else:
                name = self._read_name(item) if isinstance(item, exp.Column) else SqlName(item.alias_or_name)
                is_plain = isinstance(item.unalias(), exp.Column)
                outputs.append(Output(name.text, self._find_value(item, context), is_plain=is_plain))
        context.returned = {o.name.lower(): o.origins for o in outputs if o.name}
        context.aliases = {
            item.alias.lower(): self._find_value(item, context)
            for item in select.expressions
            if isinstance(item, exp.Alias) and not _has_column(item, item.alias)
        }
        self._read_clauses(select, context, outputs, select)
        return tuple(outputs), is_open

    def _find_value(self, item: exp.Expr, context: Context) -> Origins:
        """Find the columns that a value comes from, also those that its subqueries return."""
        found: set[Origin] = set()
        for node in _walk(item):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                found |= self._resolve(node, context, is_counted=False) or NOTHING
            elif isinstance(node, exp.Query):
                for output in self._find_returned(node)[0]:
                    found |= output.origins
        return frozenset(found)

    def _read_star(self, item: exp.Expr, context: Context) -> tuple[list[Output], bool]:
        """Expand a star over the sources, and record the whole rows that it reads."""
        star = item if isinstance(item, exp.Star) else item.this
        names = item.parts[:-1] if isinstance(item, exp.Column) else []
        parts = [read_name(part, self.folding) for part in names]
        chosen = [s for s in context.sources if not s.is_hidden]
        if parts:
            chosen = [s for s in context.sources if self._is_called(s, parts)]
        if parts and not chosen:
            origins = self._find_name(parts, context)
            if origins is None:
                self.found.unresolved[f"the columns of {item.sql()}"] = ""
                return [], True
            self._record(origins, "whole-row")
            return [], True
        excluded = [self._read_name(c) for c in star.args.get("except_") or ()]
        replaced = [SqlName(one.alias_or_name) for one in star.args.get("replace") or ()]
        renamed = {
            self._read_name(one.this).text.lower(): one.alias for one in star.args.get("rename") or ()
            if isinstance(one, exp.Alias)
        }  # fmt: skip
        role_of_marked = _is_written(item)
        outputs: list[Output] = []
        for source in chosen:
            for output in source.outputs:
                left_out = any(is_same_name(n, output.name, self.folding) for n in (*excluded, *replaced))
                is_row = output.is_starred
                role: Role = "whole-row" if is_row else "projected"
                if role_of_marked:
                    role = "written"
                self._record(output.origins, "excluded" if left_out else role)
                if not any(is_same_name(n, output.name, self.folding) for n in excluded):
                    name = renamed.get(output.name.lower(), output.name)
                    origins = self._find_replacement(star, output, context)
                    outputs.append(Output(name, origins, is_row and not left_out))
            if source.anything is not None:
                self._record(source.anything, "projected")
            if source.relation is not None:
                self.found.rows[source.relation.key] = "written" if role_of_marked else "whole-row"
                self.found.former.update(dict.fromkeys(source.relation.former))
        self.found.resolved += 1
        return outputs, any(s.is_open for s in chosen)

    def _find_replacement(self, star: exp.Expr, output: Output, context: Context) -> Origins:
        for one in star.args.get("replace") or ():
            if is_same_name(SqlName(one.alias_or_name), output.name, self.folding):
                return self._find_value(one.this, context)
        return output.origins

    def _read_clauses(
        self, root: exp.Expr, context: Context, outputs: Sequence[Output], stop: exp.Expr
    ) -> None:
        """Record every column of a query with its role; nested queries have scopes of their own."""
        for node in _walk(root):
            if isinstance(node, exp.Column):
                if isinstance(node.this, exp.Star):
                    if _is_written(node) or not isinstance(node.parent, exp.Select | exp.Count):
                        self._read_star(node, context)
                    continue
                links = self._list_links(node)
                if _is_in_pivot(links) or _is_star_exception(links):
                    continue
                origins = self._resolve(node, context)
                if origins is not None:
                    self._record(origins, _find_role(links))
            elif isinstance(node, exp.Literal) and (role := _find_positional_role(node)) is not None:
                if node.is_int and 0 < int(node.this) <= len(outputs):
                    self._record(outputs[int(node.this) - 1].origins, role)
            elif isinstance(node, exp.Columns):
                self.found.unresolved["the columns of COLUMNS"] = ""
            elif isinstance(node, exp.Group) and node.args.get("all"):
                self._group_by_all(stop, context)
            elif isinstance(node, exp.Ordered) and _is_all(node.this):
                for output in outputs:
                    self._record(output.origins, "order")

    def _group_by_all(self, select: exp.Expr, context: Context) -> None:
        """Record the values without an aggregate function as group keys."""
        for item in select.expressions:
            if item.find(exp.AggFunc) is None and not _is_star(item):
                self._record(self._find_value(item, context), "group-key")

    def _build_context(self, scope: Scope) -> Context:
        """Build the sources of a query in the order of its tables."""
        context = Context(outer=self._find_outer(scope))
        select = scope.expression
        if not isinstance(select, exp.Select):
            return context
        if (start := select.args.get("from_")) is not None:
            self._add_tables(start.this, scope, context)
        for join in select.args.get("joins") or ():
            self._add_join(join, scope, context)
        for lateral in select.args.get("laterals") or ():
            self._add_tables(lateral, scope, context)
        return context

    def _find_outer(self, scope: Scope) -> Context | None:
        """Build the context around a subquery, for the columns of the outer query that it uses."""
        parent = scope.parent
        if parent is None or scope.is_cte:
            return None
        if isinstance(parent.expression, exp.Select):
            context = self._build_context(parent)
            context.sources = [source for source in context.sources if not source.is_pending]
            return context
        return self._find_outer(parent)

    def _add_join(self, join: exp.Join, scope: Scope, context: Context) -> None:
        before = len(context.sources)
        self._add_tables(join.this, scope, context)
        left, right = context.sources[:before], context.sources[before:]
        if join.kind in ("SEMI", "ANTI"):
            for source in right:
                source.is_hidden = True
        using = [self._read_name(one) for one in join.args.get("using") or ()]
        if join.method == "NATURAL":
            if any(s.is_open for s in (*left, *right)):
                self.found.unresolved["the columns of a NATURAL JOIN with a table of unknown columns"] = ""
            known = [o.name for s in right for o in s.outputs]
            using = [
                SqlName(n, True) for n in known if any(s.find(SqlName(n, True), self.folding) for s in left)
            ]
        for name in using:
            self._merge_column(name, left, right, join.side, context)

    def _merge_column(
        self, name: SqlName, left: Sequence[Source], right: Sequence[Source], side: str, context: Context
    ) -> None:
        """Record a column of USING as the key on both sides, and remember which side has its value."""
        first = context.merged.get(name.text.lower()) or self._find_in(left, name)
        second = self._find_in(right, name)
        for origins, sources in ((first, left), (second, right)):
            if origins is not None:
                self.found.resolved += 1
                self._record(origins, "join-key")
            elif not any(s.is_open for s in sources):
                self.found.unresolved[f"column {name.text} of USING"] = name.text
        value = {"RIGHT": second, "FULL": (first or NOTHING) | (second or NOTHING)}.get(side, first)
        context.merged[name.text.lower()] = value or NOTHING

    def _find_in(self, sources: Iterable[Source], name: SqlName) -> Origins | None:
        for source in sources:
            if (found := source.find(name, self.folding)) is not None:
                return found
        for source in sources:
            if (found := source.find_former(name, self.folding)) is not None:
                return found
        return None

    def _add_tables(self, node: exp.Expr, scope: Scope, context: Context) -> None:
        """Add the source of a table, subquery or function, and of what is joined inside parentheses."""
        if isinstance(node, exp.Subquery) and not isinstance(node.unnest(), exp.Query):
            self._add_tables(node.this, scope, context)
        elif isinstance(node, exp.Subquery):
            context.sources.append(self._pivot(node, self._build_subquery_source(node), context))
        elif isinstance(node, exp.Table):
            context.sources.append(self._pivot(node, self._build_table_source(node, scope, context), context))
        elif isinstance(node, exp.Final):
            self._add_tables(node.this, scope, context)
        elif isinstance(node, exp.UDTF):
            context.sources.append(self._build_function_source(node, context))
        for join in node.args.get("joins") or ():
            self._add_join(join, scope, context)

    def _build_subquery_source(self, node: exp.Expr) -> Source:
        outputs, is_open = self._find_returned(node)
        alias = node.args.get("alias")
        columns = alias.args.get("columns") if alias is not None else None
        return Source(
            self._read_alias(node),
            outputs=self._rename(outputs, columns or []),
            is_open=is_open,
            is_pending=id(node.unnest()) not in self.returned,
        )

    def _build_table_source(self, node: exp.Table, scope: Scope, context: Context) -> Source:
        alias = self._read_alias(node)
        columns = node.args["alias"].args.get("columns") if node.args.get("alias") else None
        cte = scope.cte_sources.get(node.name)
        if not node.args.get("db") and isinstance(cte, Scope):
            outputs, is_open = self._read_cte(cte)
            return Source(alias, outputs=self._rename(outputs, columns or []), is_open=is_open)
        if isinstance(node.this, exp.Anonymous) and node.this.name.upper() == "IDENTIFIER":
            self.found.unresolved["a table that the statement names when it runs"] = ""
        if not isinstance(node.this, exp.Identifier):
            return self._build_function_source(node, context)
        relation = self._find_relation(node)
        source = _build_source(alias, name_table(node, self.folding), relation)
        source.outputs = self._rename(source.outputs, columns or [])
        return source

    def _read_cte(self, source: Scope) -> tuple[tuple[Output, ...], bool]:
        """Return the columns of a CTE under the names of its column list; of a recursive one its start."""
        outputs, is_open = self._find_returned(source.expression)
        above = source.expression.parent
        while isinstance(above, exp.SetOperation | exp.Subquery):
            above = above.parent
        alias = above.args.get("alias") if isinstance(above, exp.CTE) else None
        columns = alias.args.get("columns") if alias is not None else None
        return self._rename(outputs, columns or []), is_open

    def _build_function_source(self, node: exp.Expr, context: Context) -> Source:
        """Build the source of a function over columns, such as explode: all its columns come from them."""
        alias = node.args.get("alias")
        columns = (alias.args.get("columns") if alias is not None else None) or []
        inner = node.this if isinstance(node, exp.Lateral) else None
        if isinstance(inner, exp.Subquery):
            outputs, is_open = self._find_returned(inner)
            return Source(self._read_alias(node), outputs=self._rename(outputs, columns), is_open=is_open)
        found: set[Origin] = set()
        for column in _walk(node):
            if isinstance(column, exp.Column):
                found |= self._resolve(column, context, is_counted=False) or NOTHING
        origins = frozenset(found)
        offset = node.args.get("offset")
        names = [self._read_name(c).text for c in columns if isinstance(c, exp.Identifier)]
        outputs = tuple(Output(name, origins) for name in names)
        if isinstance(offset, exp.Identifier):
            outputs = (*outputs, Output(offset.name))
        name = self._read_alias(node)
        if not name.text and names:
            name = SqlName(names[0])
        return Source(name, outputs=outputs, anything=origins)

    def _pivot(self, node: exp.Expr, source: Source, context: Context) -> Source:
        """Apply the PIVOT and UNPIVOT behind a table: they read columns and return others."""
        for pivot in node.args.get("pivots") or ():
            if pivot.args.get("unpivot"):
                source = self._unpivot(pivot, source)
                continue
            here = Context([source])
            used: set[Origin] = set()
            values: Origins = NOTHING
            for column in pivot.find_all(exp.Column):
                if isinstance(column.parent, exp.In) and column.arg_key != "this":
                    continue  # a value of the list without quotes, as T-SQL writes it
                origins = self._resolve(column, here) or NOTHING
                is_key = not column.find_ancestor(exp.AggFunc)
                self._record(origins, "group-key" if is_key else "aggregated")
                used |= origins
                values = values if is_key else values | origins
            names = [one.name for one in pivot.args.get("columns") or ()]
            if not names and not source.is_open:
                self.found.unresolved["the columns of a PIVOT"] = ""
            kept = [o for o in source.outputs if not o.origins & used]
            source = Source(
                self._read_alias(pivot) if pivot.alias else source.alias,
                outputs=(*kept, *(Output(name, values) for name in names)),
                is_open=source.is_open or not names,
            )
        return source

    def _unpivot(self, pivot: exp.Expr, source: Source) -> Source:
        here = Context([source])
        read: set[Origin] = set()
        for column in pivot.find_all(exp.Column):
            if column.find_ancestor(exp.In) is None and not isinstance(column.parent, exp.Tuple):
                continue  # the name of the column that UNPIVOT makes
            origins = self._resolve(column, here) or NOTHING
            self._record(origins, "projected")
            read |= origins
        made = [one.name for one in pivot.expressions]
        made += [one.this.name for one in pivot.args.get("fields") or () if isinstance(one, exp.In)]
        kept = [o for o in source.outputs if not o.origins & read]
        return Source(
            self._read_alias(pivot) if pivot.alias else source.alias,
            outputs=(*kept, *(Output(name, frozenset(read)) for name in made if name)),
            is_open=source.is_open,
        )

    def _find_relation(self, table: exp.Table) -> Relation | None:
        """Find the known relation that a table names. An ambiguous name is counted."""
        parts = name_table(table, self.folding)
        found = self.relations.find(parts, self.folding)
        name = ".".join(part.text for part in parts)
        for relation in found:
            self.found.relations_read[relation.key] = None
        if len(found) > 1:
            listed = " or ".join(sorted(r.key for r in found))
            self.found.unresolved[f"table {name} may be {listed}"] = ""
        if not found:
            self.found.outside.add(name)
        return found[0] if len(found) == 1 else None

    def _resolve(self, column: exp.Column, context: Context, *, is_counted: bool = True) -> Origins | None:
        """Find the origins of a column and its nested field; count it if it cannot be found."""
        parts = [read_name(part, self.folding) for part in column.parts]
        node: exp.Expr = column
        while isinstance(node.parent, exp.Dot | exp.Paren) and node.parent.this is node:
            if isinstance(node.parent, exp.Paren):
                node = node.parent
                continue
            if not isinstance(node.parent.expression, exp.Identifier):
                break
            node = node.parent
            parts.append(read_name(node.expression, self.folding))
        if len(parts) == 1 and _is_ordered(self._list_links(column)):
            returned = context.returned.get(parts[0].text.lower())
            if returned is not None:
                self.found.resolved += is_counted
                return returned
        origins = self._find_name(parts, context)
        if is_counted:
            if origins is not None:
                self.found.resolved += 1
            elif parts[-1].text.lower() not in _UNITS or len(parts) > 1:
                self.found.unresolved[f"column {'.'.join(part.text for part in parts)}"] = parts[-1].text
        return origins

    def _list_links(self, node: exp.Expr) -> list[Link]:
        """List what decides the role of a node, from the inside up to its query.

        The way up is remembered, since the tree of a long condition is as deep as it is long.
        """
        links: list[Link] = []
        while not links or not isinstance(links[-1][1], exp.Query):
            link = self._find_link(links[-1][1] if links else node)
            if link is None:
                break
            links.append(link)
        return links

    def _find_link(self, node: exp.Expr) -> Link | None:
        passed: list[int] = []
        found: Link | None = None
        child, parent = node, node.parent
        while parent is not None:
            if id(child) in self.links:
                found = self.links[id(child)]
                break
            passed.append(id(child))
            if isinstance(parent, _DECIDING):
                found = (child, parent)
                break
            child, parent = parent, parent.parent
        self.links.update(dict.fromkeys(passed, found))
        return found

    def _find_name(self, parts: Sequence[SqlName], context: Context) -> Origins | None:
        """Find a column in the query or in those around it; nothing if it may be one of an unknown table.

        A name without a qualifier that an unknown table may have, and an outer query has, is not decided.
        """
        here: Context | None = context
        is_open = False
        while here is not None:
            found = self._find_here(parts, here)
            if found is not None:
                return None if is_open and found and len(parts) == 1 else found
            is_open |= here.is_open
            here = here.outer
        return NOTHING if is_open else None

    def _find_here(self, parts: Sequence[SqlName], context: Context) -> Origins | None:
        """Find a column among the sources of one query; of a source with unknown columns it is nothing."""
        is_outside = False
        for length in range(min(3, len(parts) - 1), 0, -1):
            rest = tuple(part.text for part in parts[length + 1 :])
            for source in context.sources:
                if self._is_called(source, parts[:length]):
                    found = source.find(parts[length], self.folding, rest)
                    if found is None:
                        found = source.find_former(parts[length], self.folding, rest)
                    if found is not None:
                        return found
                    is_outside |= source.is_open
        if is_outside:
            return NOTHING
        rest = tuple(part.text for part in parts[1:])
        return self._find_unqualified(parts[0], rest, context)

    def _find_unqualified(self, name: SqlName, rest: tuple[str, ...], context: Context) -> Origins | None:
        merged = context.merged.get(name.text.lower())
        if merged is not None:
            return merged
        visible = [s for s in context.sources if not (s.is_hidden and len(context.sources) > 1)]
        for sources in (visible, context.sources):
            named = [s for s in sources if choose_name(name, s.outputs, self.folding, lambda o: o.name)]
            found = [s.find(name, self.folding, rest) for s in named]
            if found:
                return frozenset().union(*(one for one in found if one is not None))
        for source in context.sources:
            if (former := source.find_former(name, self.folding, rest)) is not None:
                return former
        if (alias := context.aliases.get(name.text.lower())) is not None:
            return alias
        for source in context.sources:
            is_whole = is_same_name(name, source.alias.text, self.folding)
            if source.anything is not None and (is_whole or not source.outputs):
                return source.anything
            if is_whole and rest:
                return source.find(SqlName(rest[0]), self.folding, rest[1:])
            if is_whole:
                if source.relation is not None:
                    self.found.rows[source.relation.key] = "whole-row"
                return frozenset().union(*(o.origins for o in source.outputs))
        return None

    def _is_called(self, source: Source, parts: Sequence[SqlName]) -> bool:
        """Whether a qualifier names a source: its alias, or the end of the name of its table."""
        if len(parts) == 1 and is_same_name(parts[0], source.alias.text, self.folding):
            return True
        full = [part.text for part in source.parts]
        is_plain = bool(full) and full[-1] == source.alias.text
        return is_plain and len(parts) <= len(full) and grade_parts(parts, full, self.folding) > 0

    def _record(self, origins: Iterable[Origin], role: Role) -> None:
        for origin in origins:
            self.found.uses[origin].add(role)

    def _rename(self, outputs: Sequence[Output], columns: Sequence[exp.Expr]) -> tuple[Output, ...]:
        """Give columns the names of a column list; the list may be shorter."""
        names = [self._read_name(c).text for c in columns]
        renamed = (Output(n, o.origins, o.is_starred) for n, o in zip(names, outputs, strict=False))
        return (*renamed, *outputs[len(names) :])

    def _read_name(self, node: exp.Expr) -> SqlName:
        if isinstance(node, exp.Column | exp.ColumnDef | exp.Ordered | exp.PivotAlias):
            node = node.this
        if isinstance(node, exp.Column):
            node = node.this
        return read_name(node, self.folding)

    def _read_alias(self, node: exp.Expr) -> SqlName:
        alias = node.args.get("alias")
        if alias is not None and isinstance(alias.this, exp.Identifier):
            return read_name(alias.this, self.folding)
        return read_name(node.this, self.folding) if isinstance(node.this, exp.Identifier) else SqlName("")


def _build_source(alias: SqlName, parts: tuple[SqlName, ...], relation: Relation | None) -> Source:
    if relation is None:
        return Source(alias, parts, is_open=True)
    names = relation.columns if relation.outputs is None else [o.name for o in relation.outputs]
    outputs = tuple(Output(name, frozenset([(relation.key, (name,))]), True) for name in names)
    return Source(alias, parts, relation, outputs, relation.is_open)


def _with_ctes(query: exp.Query, tree: exp.Expr) -> exp.Query:
    """Move the CTEs in front of a statement into its query."""
    before = tree.args.get("with_")
    if before is None:
        return query
    moved = query.copy()
    inner = moved.args.get("with_")
    ctes = [*before.copy().expressions, *(inner.expressions if inner is not None else ())]
    moved.set("with_", exp.With(expressions=ctes, recursive=before.args.get("recursive")))
    return moved


def _walk(root: exp.Expr) -> Iterator[exp.Expr]:
    """Walk a clause without what is inside its nested queries; these themselves are returned."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is not root and isinstance(node, exp.Query) and isinstance(node.unnest(), exp.Query):
            yield node
            continue
        if isinstance(node, exp.With):
            continue
        yield node
        waiting += reversed(list(node.iter_expressions()))


def _has_column(item: exp.Expr, name: str) -> bool:
    return any(c.name.lower() == name.lower() and not c.table for c in item.find_all(exp.Column))


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _is_all(node: exp.Expr) -> bool:
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def _is_ordered(links: Sequence[Link]) -> bool:
    """Whether a column stands in ORDER BY of a query, and not in that of a window or an aggregate."""
    parent = next((p for _, p in links if isinstance(p, exp.Order | exp.Query)), None)
    return isinstance(parent, exp.Order) and isinstance(parent.parent, exp.Query)


def _is_written(node: exp.Expr) -> bool:
    parent = node.parent
    return isinstance(parent, exp.Anonymous) and parent.name == WRITTEN


def _is_in_pivot(links: Sequence[Link]) -> bool:
    return any(isinstance(parent, exp.Pivot) for _, parent in links)


def _is_star_exception(links: Sequence[Link]) -> bool:
    """Whether a column is only named in EXCEPT or RENAME of a star."""
    return any(isinstance(p, exp.Star) and child.arg_key in ("except_", "rename") for child, p in links)


def _find_role(links: Sequence[Link]) -> Role:
    """Find the role of a column from what stands around it, up to its query."""
    role: Role | None = None
    for child, parent in links:
        match parent:
            case exp.Window():
                return "window"
            case exp.Anonymous() if parent.name == WRITTEN:
                return "written"
            case exp.WithinGroup() | exp.AggFunc() | exp.AnonymousAggFunc():
                is_kept = role in ("filter", "order") and not isinstance(parent, exp.WithinGroup)
                role = role if is_kept else "aggregated"
            case exp.Where() | exp.Having() | exp.Qualify() | exp.PreWhere() | exp.Connect():
                role = role or "filter"
            case exp.Join() if child.arg_key == "on":
                role = role or "join-key"
            case exp.Group():
                role = role or "group-key"
            case exp.Order() | exp.Sort() | exp.Cluster() | exp.Distribute() if child.arg_key != "this":
                role = role or "order"
            case exp.Distinct() if isinstance(parent.parent, exp.Select):
                role = role or "group-key"
            case _:
                pass
    return role or "projected"


def _find_positional_role(node: exp.Literal) -> Role | None:
    """Find the role of a number that stands for a column of the query."""
    if isinstance(node.parent, exp.Group):
        return "group-key"
    order = node.parent.parent if isinstance(node.parent, exp.Ordered) else None
    return "order" if isinstance(order, exp.Order) and isinstance(order.parent, exp.Query) else None


def _find_output(outputs: Iterable[Output], name: str) -> Output | None:
    return next((o for o in outputs if o.name.lower() == name.lower()), None)


def _merge_output(one: Output, other: Output | None) -> Output:
    if other is None:
        return one
    return Output(one.name, one.origins | other.origins, one.is_starred or other.is_starred)
