"""Finds the table of a name among the tables that a store has."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from schemaman.errors import AmbiguousName, NoHistory, UsageError
from schemaman.history.references import TableName, name_distinctly, parse_name
from schemaman.model.printable import escape_invisible
from schemaman.model.schema import DEFAULT_STREAM, TableId
from schemaman.store.log import Projections


def find_table(name: str | TableName, store: Projections, stream: str | None) -> TableId:
    """Find a table by its whole name, its last parts, or an alias, as `Registry.find` explains.

    A name without a stream means `stream`, or without one the stream `main` first.

    Raises:
        BadReference: the text is not a name.
        AmbiguousName: several tables have the name; the message lists them.
        NoHistory: no table has the name; the hint lists similar names.
    """
    wanted = parse_name(name) if isinstance(name, str) else name
    if not isinstance(wanted, TableName):
        raise UsageError(
            f"the name of a table is a text, not of type {type(name).__name__}",
            hint="use 'public.orders'",
        )
    if wanted.stream is None and stream is not None:
        wanted = TableName(wanted.parts, stream)
    named = store.find_by_name(wanted.parts[-1])
    candidates = _narrow_candidates(wanted, [t for t in named if _is_named(t, wanted)])
    if not candidates:
        candidates = _narrow_candidates(wanted, _find_aliased(wanted, store))
    if not candidates and any("\\" in part for part in wanted.parts):
        candidates = [t for t in store.tables() if _is_named(_escape_parts(t), wanted)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        listed = ", ".join(str(name) for name in name_distinctly(candidates).values())
        raise AmbiguousName(f"{wanted} may be any of: {listed}", hint="give more parts of the name")
    raise NoHistory(f"there is no table {wanted} in the history", hint=_hint_nearest(wanted, store.tables()))


def _find_aliased(wanted: TableName, store: Projections) -> list[TableId]:
    found = store.find_by_alias(".".join(wanted.parts))
    return [table for table in found if wanted.stream in (None, table.stream)]


def _is_named(table: TableId, wanted: TableName) -> bool:
    count = len(wanted.parts)
    named = wanted.parts in (table.parts[-count:], table.levels[-count:])
    return named and wanted.stream in (None, table.stream)


def _escape_parts(table: TableId) -> TableId:
    """The table with its name as reports print it: without control characters."""
    server, database, schema, name = map(
        escape_invisible, (table.server, table.database, table.schema, table.table)
    )
    return TableId(server, database, schema, name, table.stream)


def _narrow_candidates(wanted: TableName, candidates: Sequence[TableId]) -> Sequence[TableId]:
    """Narrows candidates to the default stream, if any is in it, then to full names, if any matches."""
    if wanted.stream is None:
        candidates = [t for t in candidates if t.stream == DEFAULT_STREAM] or candidates
    return [t for t in candidates if wanted.parts in (t.parts, t.levels)] or candidates


def _hint_nearest(wanted: TableName, tables: Sequence[TableId]) -> str:
    if not tables:
        return "the history is empty: run `schemaman ingest SOURCE` first"
    names = {t.table: t for t in tables} | {str(t): t for t in tables}
    near = get_close_matches(wanted.parts[-1], names, n=3, cutoff=0.6)
    near += get_close_matches(str(wanted), names, n=3, cutoff=0.6)
    listed = dict.fromkeys(str(names[n]) for n in near)
    if not listed:
        return f"`schemaman tables` lists the {len(tables)} known tables"
    return f"similar names: {', '.join(listed)}"
