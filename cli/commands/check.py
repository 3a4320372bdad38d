"""Check every change since the accepted state (the gate in CI)."""

from __future__ import annotations

import json
import sys

import click

from schemaman.api.avro_checks import answer_batch
from schemaman.api.checking import check_tables
from schemaman.api.checking_branch import check_branch
from schemaman.api.checking_files import check_schemas, is_branch, is_outside_history, is_table
from schemaman.api.files import read_text
from schemaman.errors import UsageError
from schemaman.report.views.findings import build_check_report, sort_by_severity
from schemaman.report.views.table_changes import JudgedFinding
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("check", "schemaman check", "schemaman check orders --against 1 --format github")
@click.argument("tables", nargs=-1, metavar="[TABLE|PATH]...", shell_complete=offer("references"))
@click.option(
    "--against",
    shell_complete=offer("references"),
    metavar="REF",
    help="Baseline: a REF of one TABLE, or git:REV (default: the snapshots in git).",
)
@click.option("--level", metavar="LEVEL", help="Avro compatibility level: BACKWARD, FULL_TRANSITIVE, ...")
@click.option(
    "--fail-on",
    type=click.Choice(["break", "danger", "note", "off"]),
    help="Lowest severity that fails the check (default: break).",
)
@format_option("text", "json", "github", "markdown")
@click.option(
    "--batch",
    metavar="FILE",
    help='Answer JSON lines {"old": [SCHEMA, ...], "new": SCHEMA, "level": LEVEL} about Avro; - is stdin.',
)
@click.option("--source", is_flag=True, help="Check what the source did since the accepted state (store).")
@click.option(
    "--base", metavar="BRANCH", help="Branch that the files are compared with (default: that of the CI job)."
)
@with_context
def check(
    context: CommandContext,
    tables: tuple[str, ...],
    against: str | None,
    level: str | None,
    batch: str | None,
    source: bool,
    base: str | None,
    format: str,
    **_: object,
) -> int:
    """Check what a branch changes, or what the source did, against the accepted state.

    Without a TABLE, the schema files of the branch are checked against those at the merge base: the folder of
    snapshots, or each PATH. No store is needed. With --source, or for a TABLE, every revision in the store
    since the snapshots at the merge base is checked.

    orders@3 is checked up to version 3. orders@1..3 is checked against version 1, as with --against.

    The exit code is 1 if a finding at or above --fail-on is not waived, 2 without a baseline, and 3 if a
    TABLE has no history.
    """
    if batch is not None:
        return _answer_batch(context, batch, tables, against)
    if source and base is not None:
        raise UsageError("--base is for the files of a branch, not for --source", hint="omit one of them")
    workspace = make_workspace(context)
    is_files = not source and not any(map(is_table, tables))
    if len(tables) == 1 and against is not None and is_outside_history(tables[0]):
        result = check_schemas(workspace, tables[0], against, level=level)
    elif is_files and (against is None or is_branch(against)):
        branch = base if against is None else against.removeprefix("git:")
        result = check_branch(workspace, tables, base=branch, level=level)
    else:
        result = check_tables(workspace, open_registry(context), tables, against=against, level=level)
    judged = sort_by_severity(JudgedFinding(f, s) for f, s in result.findings)
    context.console.show(build_check_report(judged, result, result.fail_on, result.waivers), format)
    return 0 if result.passed else 1


def _answer_batch(context: CommandContext, source: str, tables: tuple[str, ...], against: str | None) -> int:
    """Write an answer a line; the exit code is 1 if a schema is incompatible or a line has no answer."""
    if tables or against is not None:
        raise UsageError("--batch takes all schemas from its lines", hint="omit TABLE and --against")
    lines = sys.stdin if source == "-" else read_text(source).splitlines()
    passed = True
    for answer in answer_batch(lines):
        passed &= answer.get("compatible") is True
        context.console.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0 if passed else 1


COMMAND = check
