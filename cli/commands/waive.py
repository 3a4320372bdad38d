"""Waive a finding for a limited time in schemaman.waivers.toml."""

from __future__ import annotations

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.settings_files import resolve_path
from schemaman.compat.waivers import Waiver, parse_waivers, to_text
from schemaman.errors import UsageError
from schemaman.report.json.answers import build_written_waiver
from schemaman_cli.days import parse_last_day
from schemaman_cli.findings import find_finding
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, offer, with_context
from schemaman_cli.sql_options import sql_options


@command(
    "waive",
    "schemaman waive 18d38a2fd54fcc28 --reason unread --owner ann --expires 2027-01-31",
    "schemaman waive 18d38a --reason TICKET-12 --owner ann --expires 30d",
)
@click.argument("finding", metavar="FINDING")
@click.argument("places", nargs=-1, metavar="[TABLE|PATH]...", shell_complete=offer("references"))
@click.option("--against", metavar="REF", help="Baseline of the check that found it.")
@click.option("--base", metavar="BRANCH", help="Branch of the check that found it.")
@click.option("--reason", required=True, metavar="TEXT", help="Why the finding is acceptable.")
@click.option("--owner", required=True, metavar="NAME", help="Who is responsible for the waiver.")
@click.option("--expires", required=True, metavar="WHEN", help="Last day: a date, or 14d.")
@sql_options
@format_option("text", "json")
@with_context
def waive(
    context: CommandContext,
    finding: str,
    places: tuple[str, ...],
    against: str | None,
    base: str | None,
    sql: tuple[str, ...],
    word: str | None,
    reason: str,
    owner: str,
    expires: str,
    **_: object,
) -> None:
    """Waive the finding with the fingerprint FINDING; it then fails no check. The first digits are enough.

    schemaman check still shows the finding, as waived. The waiver is added to schemaman.waivers.toml. Commit
    that file. A finding of files is found again by the arguments of its check: PATH, --against, --base, --sql
    and --dialect.
    """
    if not reason.strip() or not owner.strip():
        raise UsageError("a waiver needs a reason and an owner", hint='--reason "no reader left" --owner ann')
    found = find_finding(context, finding, places, against, base, sql, word).finding
    until = parse_last_day(expires, "a waiver")
    waiver = Waiver(found.fingerprint, found.rule, str(found.table), reason, owner, until)
    path = resolve_path(context.settings.waivers)
    before = read_text(path) if path.exists() else ""
    if waiver in parse_waivers(before, str(path)):
        document = build_written_waiver(waiver, str(path), written=False)
        context.console.answer(f"{path} already contains this waiver", document)
        return
    write_text(path, before + to_text(waiver))
    context.console.answer(f"written to {path}", build_written_waiver(waiver, str(path), written=True))


COMMAND = waive
