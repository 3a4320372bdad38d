"""Turns UPDATE, DELETE and MERGE into a query that reads the same columns in the same roles.

sqlglot resolves names only in queries. What a statement writes is wrapped in the function `WRITTEN`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

WRITTEN = "schemaman_written"
"""The function that marks the columns that a statement writes."""


def mark_written(column: exp.Expr) -> exp.Expr:
    """Mark a column as written."""
    return exp.Anonymous(this=WRITTEN, expressions=[column])


def build_update_query(tree: exp.Update) -> exp.Select:
    """Build the query of an UPDATE: the new values and the written columns of the joined tables."""
    target, sources = _split_target(tree.this, tree.args.get("from_"))
    alias = _alias_of(tree.this)
    values: list[exp.Expr] = []
    for pair in tree.expressions:
        values += _list_assignment(pair, alias)
    return _build_query(tree, target, sources, values)


def build_delete_query(tree: exp.Delete) -> exp.Select:
    """Build the query of a DELETE: it returns no column."""
    using = tree.args.get("using") or []
    sources = [one.copy() for one in using] if isinstance(using, list) else []
    return _build_query(tree, tree.this.copy(), sources, [exp.Literal.number(1)])


def build_merge_query(tree: exp.Merge) -> exp.Select:
    """Build the query of a MERGE: target joined with source, conditions as filters, values and written."""
    target, source = tree.this, tree.args["using"]
    values: list[exp.Expr] = []
    conditions: list[exp.Expr] = []
    for when in tree.args["whens"].expressions:
        if (condition := when.args.get("condition")) is not None:
            conditions.append(condition.copy())
        then = when.args.get("then")
        if isinstance(then, exp.Update):
            values += _list_merge_update(then, target, source)
        elif isinstance(then, exp.Insert):
            values += _list_merge_insert(then, target, source)
    query = exp.Select(expressions=values or [exp.Literal.number(1)])
    query.set("from_", exp.From(this=target.copy()))
    join = exp.Join(this=source.copy(), on=tree.args["on"].copy())
    query.set("joins", [join])
    if conditions:
        query.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    return _keep_ctes(query, tree)


def _list_merge_update(then: exp.Update, target: exp.Expr, source: exp.Expr) -> list[exp.Expr]:
    values: list[exp.Expr] = []
    for pair in then.expressions:
        if isinstance(pair, exp.Star):
            values += _list_whole_row(target, source)
        else:
            values += _list_assignment(pair, _alias_of(target))
    return values


def _list_merge_insert(then: exp.Insert, target: exp.Expr, source: exp.Expr) -> list[exp.Expr]:
    if isinstance(then.this, exp.Star) or (then.this is None and then.args.get("expression") is None):
        return _list_whole_row(target, source)
    columns = then.this.expressions if isinstance(then.this, exp.Tuple) else []
    written: Iterable[exp.Expr] = [
        mark_written(exp.column(c.this.copy() if isinstance(c, exp.Column) else c.copy(), _alias_of(target)))
        for c in columns
    ] or [mark_written(_star_of(target))]
    given = then.args.get("expression")
    listed = given.expressions if isinstance(given, exp.Tuple) else [given] if given is not None else []
    return [*written, *(value.copy() for value in listed)]


def _list_whole_row(target: exp.Expr, source: exp.Expr) -> list[exp.Expr]:
    return [mark_written(_star_of(target)), _star_of(source)]


def _star_of(table: exp.Expr) -> exp.Expr:
    return exp.Column(this=exp.Star(), table=_alias_of(table))


def _list_assignment(pair: exp.Expr, alias: exp.Identifier | None) -> list[exp.Expr]:
    """List the written columns and the value of an assignment; a tuple assigns several columns."""
    if not isinstance(pair, exp.EQ):
        return [pair.copy()]
    assigned = pair.this.unnest()
    columns = assigned.expressions if isinstance(assigned, exp.Tuple) else [assigned]
    written: list[exp.Expr] = []
    for column in columns:
        one = column.copy()
        if isinstance(one, exp.Column) and not one.args.get("table") and alias is not None:
            one.set("table", alias.copy())
        written.append(mark_written(one))
    return [*written, pair.expression.copy()]


def _split_target(target: exp.Expr, from_: exp.From | None) -> tuple[exp.Expr, list[exp.Expr]]:
    """Split the tables of an UPDATE; in T-SQL the target may be an alias of a table behind FROM."""
    if from_ is None:
        return target.copy(), []
    source = from_.this.copy()
    names = {one.alias_or_name.lower() for one in (source, *source.find_all(exp.Table))}
    alias = target.alias_or_name.lower()
    if alias in names and not target.args.get("db"):
        return source, []
    return target.copy(), [source]


def _build_query(
    tree: exp.Expr, target: exp.Expr, sources: Iterable[exp.Expr], values: list[exp.Expr]
) -> exp.Select:
    query = exp.Select(expressions=values or [exp.Literal.number(1)])
    query.set("from_", exp.From(this=target))
    joins = list(target.args.get("joins") or [])
    target.set("joins", None)
    for source in sources:
        joins.append(exp.Join(this=source, kind="CROSS"))
        joins += source.args.get("joins") or []
        source.set("joins", None)
    query.set("joins", joins)
    if (where := tree.args.get("where")) is not None:
        query.set("where", where.copy())
    if (returning := tree.args.get("returning")) is not None:
        query.set("expressions", [*query.expressions, *(one.copy() for one in returning.expressions)])
    return _keep_ctes(query, tree)


def _keep_ctes(query: exp.Select, tree: exp.Expr) -> exp.Select:
    if (ctes := tree.args.get("with_")) is not None:
        query.set("with_", ctes.copy())
    return query


def _alias_of(table: exp.Expr) -> exp.Identifier | None:
    """Find the name under which a statement uses a table."""
    alias = table.args.get("alias")
    if alias is not None and isinstance(alias.this, exp.Identifier):
        return alias.this.copy()
    return table.this.copy() if isinstance(table.this, exp.Identifier) else None
