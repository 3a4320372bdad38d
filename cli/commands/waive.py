"""Accept a finding for a while, in a file for git."""

from __future__ import annotations

import click

from schemaman.compat.waivers import Waiver, parse_waivers, to_text
from schemaman.errors import UsageError
from schemaman_cli.days import last_day
from schemaman_cli.findings import finding_of
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door
from schemaman_cli.wiring import read_file, write_file


@verb(
    "waive",
    "schemaman waive 18d38a2fd54fcc28 --reason unread --owner ann --expires 2027-01-31",
    "schemaman waive 18d38a --reason TICKET-12 --owner ann --expires 30d",
)
@click.argument("finding", metavar="FINDING")
@click.option("--reason", required=True, metavar="TEXT", help="Why it hurts nobody, or may.")
@click.option("--owner", required=True, metavar="NAME", help="Who answers for it.")
@click.option("--expires", required=True, metavar="WHEN", help="Its last day, or 14d.")
@door
def waive(door: Door, finding: str, reason: str, owner: str, expires: str) -> None:
    """Let the finding with the fingerprint FINDING (its beginning is enough) fail no check for a while.

    It is still shown, as waived. The waiver is added to schemaman.waivers.toml: commit it.
    """
    if not reason.strip() or not owner.strip():
        raise UsageError("a waiver needs a reason and an owner", hint='--reason "no reader left" --owner ann')
    found = finding_of(door, finding).finding
    until = last_day(expires, "a waiver")
    waiver = Waiver(found.fingerprint, found.rule, str(found.table), reason, owner, until)
    path = door.path(door.settings.waivers)
    before = read_file(str(path)) if path.exists() else ""
    if waiver in parse_waivers(before, str(path)):
        door.console.say(f"{path} says so already")
        return
    write_file(path, before + to_text(waiver))
    door.console.say(f"written to {path}")


COMMAND = waive
