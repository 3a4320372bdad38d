"""Runs the gate that the arguments of a command name: of schemas, of a branch, or of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schemaman.api.checking import check_tables
from schemaman.api.gate_settings import is_branch, is_outside_history, is_table
from schemaman.compat.gate import CheckResult
from schemaman.errors import UsageError
from schemaman.model.shell import quote_word
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext
from schemaman_cli.store_options import list_options


def run_check(
    context: CommandContext,
    places: Sequence[str],
    *,
    against: str | None = None,
    base: str | None = None,
    level: str | None = None,
    source: bool = False,
    sql: Sequence[str] = (),
    word: str | None = None,
) -> CheckResult:
    """Check tables, files or the snapshots of a branch; only a check of tables opens the store.

    Raises:
        UsageError: the arguments belong to several gates, or there is no baseline.
        CouldNotDo: a schema or the store cannot be read.
    """
    if source and base is not None:
        raise UsageError("--base is for the files of a branch, not for --source", hint="omit one of them")
    workspace = make_workspace(context)
    is_files = not source and not any(map(is_table, places))
    is_pair = len(places) == 1 and against is not None and is_outside_history(places[0])
    if sql or is_pair or (is_files and (against is None or is_branch(against))):
        return _check_files(
            context, places, against=against, base=base, level=level, source=source, sql=sql, word=word
        )
    if word is not None:
        raise UsageError("--dialect is for SQL in files", hint="omit it, or name a script: --sql V12.sql")
    result = check_tables(workspace, open_registry(context), places, against=against, level=level)
    flags = list_options(context.settings)
    rated = tuple((replace(f, arguments=(*flags, *f.arguments)), s) for f, s in result.findings)
    return replace(result, findings=rated) if flags else result


def _check_files(
    context: CommandContext,
    places: Sequence[str],
    *,
    against: str | None,
    base: str | None,
    level: str | None,
    source: bool,
    sql: Sequence[str],
    word: str | None,
) -> CheckResult:
    """Check files: of a branch, of migrations, or a pair of them."""
    from schemaman.api.checking_branch import check_branch  # a check of tables reads no files
    from schemaman.api.checking_files import check_schemas
    from schemaman.api.checking_migrations import check_migrations
    from schemaman.api.migration_scripts import is_in_migrations

    workspace = make_workspace(context)
    if sql:
        if places or source:
            raise UsageError("--sql names what is checked", hint="omit TABLE, PATH and --source")
        return check_migrations(
            workspace, sql, word=word, against=against, base=base, level=level,
            open_registry=lambda: open_registry(context),
        )  # fmt: skip
    if against is not None and len(places) == 1 and is_outside_history(places[0]):
        if not is_outside_history(against):
            raise UsageError(
                f"{places[0]} is checked without the history, and {against} is of the history",
                hint=f"`schemaman diff {quote_word(against)} {quote_word(places[0])}` compares the two",
            )
        return check_schemas(workspace, places[0], against, level=level, word=word)
    branch = base if against is None else against.removeprefix("git:")
    if places and all(is_in_migrations(workspace, place) for place in places):
        return check_migrations(workspace, places, word=word, base=branch, level=level)
    return check_branch(workspace, places, base=branch, level=level, word=word)
