"""Check every change since the accepted state (the gate in CI)."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from schemaman.api.files import read_lines, write_text
from schemaman.compat.gate import EXIT_CODES
from schemaman.errors import UsageError
from schemaman.model.printable import format_json
from schemaman.model.shell import build_command
from schemaman.report.document import FORMATS as REPORT_FORMATS
from schemaman.report.views.findings import (
    build_check_report,
    list_judged,
    sort_by_severity,
    summarize_report,
)
from schemaman_cli.checking import run_check
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace
from schemaman_cli.options import (
    CommandContext,
    format_option,
    offer,
    outputs_option,
    with_context,
)
from schemaman_cli.printed_commands import complete_commands
from schemaman_cli.sql_options import sql_options

FORMATS = (
    "text", "concise", "json", "jsonl", "sarif", "junit", "github", "gitlab", "azure", "markdown", "html"
)  # fmt: skip
_WITHOUT_VERDICT = ("concise", "jsonl", "sarif", "junit", "gitlab")
"""Formats without a line for people; the verdict is then a line on stderr."""


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
@format_option(*FORMATS)
@outputs_option("sarif=check.sarif")
@click.option(
    "--batch",
    metavar="FILE",
    help='Answer JSON lines {"old": [SCHEMA, ...], "new": SCHEMA, "level": LEVEL} about Avro; - is stdin.',
)
@click.option("--source", is_flag=True, help="Check what the source did since the accepted state (store).")
@click.option(
    "--base", metavar="BRANCH", help="Branch that the files are compared with (default: that of the CI job)."
)
@sql_options
@with_context
def check(
    context: CommandContext,
    tables: tuple[str, ...],
    against: str | None,
    level: str | None,
    batch: str | None,
    source: bool,
    base: str | None,
    sql: tuple[str, ...],
    word: str | None,
    format: str,
    outputs: tuple[tuple[str, Path], ...],
    **_: object,
) -> int:
    """Check what a branch changes, or what the source did, against the accepted state.

    Without a TABLE, the schema files of the branch are checked against those at the merge base: the folder of
    snapshots, or each PATH. No store is needed. With --source, or for a TABLE, every revision in the store
    since the snapshots at the merge base is checked.

    --sql applies the statements of SQL migrations to the accepted state, and executes nothing. That state is
    the snapshots at the merge base or in the working tree, --against file:schema.sql, or the newest versions
    in the store.

    orders@3 is checked up to version 3. orders@1..3 is checked against version 1, as with --against.

    concise and jsonl write a line for each finding. With these and other formats for programs, the verdict is
    a line on stderr.

    The exit code is 0 if nothing fails, 1 if a finding at or above --fail-on is not waived, 2 without a
    baseline or with wrong arguments, and 3 if a file, the store or records of a table could not be read, or a
    TABLE has no history. Unread records give 3 only if nothing fails.
    """
    if batch is not None:
        if tables or source or sql or any(option is not None for option in (against, base, level, word)):
            raise UsageError(
                "--batch takes everything from its lines", hint="omit TABLE and the other options"
            )
        return _answer_batch(context, batch)
    result = run_check(
        context, tables, against=against, base=base, level=level, source=source, sql=sql, word=word
    )
    judged = sort_by_severity(list_judged(result))
    options = {"--against": against, "--base": base, "--level": level, "--dialect": word}
    given = [part for name, value in options.items() if value is not None for part in (name, value)]
    given += [part for script in sql for part in ("--sql", script)]
    again = build_command(("check",), tables, *given, *(["--source"] if source else []))
    report = build_check_report(judged, result, result.fail_on, result.waivers, again)
    report = complete_commands(report, context.console.options)
    for name, path in outputs:
        write_text(path, REPORT_FORMATS.get(name).render(report))
    context.console.show(report, format)
    if context.settings.notify.value:
        from schemaman.api.notifying import notify_of_check  # loads a client for HTTP

        notify_of_check(make_workspace(context), result)
    if format in _WITHOUT_VERDICT:
        context.console.inform(summarize_report(report))
    return EXIT_CODES[result.verdict]


def _answer_batch(context: CommandContext, source: str) -> int:
    """Write an answer a line; the exit code is 1 if a schema is incompatible or a line has no answer."""
    from schemaman.api.avro_checks import answer_batch  # a check of tables reads no Avro

    # as bytes: a line that is no text must not hide the others
    lines = getattr(sys.stdin, "buffer", sys.stdin) if source == "-" else read_lines(source)
    passed = True
    for answer in answer_batch(lines):
        passed &= answer.get("compatible") is True
        context.console.write(format_json(answer, None) + "\n")
    return 0 if passed else 1


COMMAND = check
