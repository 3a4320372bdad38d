"""End the lease of a migration that died."""

from __future__ import annotations

import os
import re
import socket

import click

from schemaman.errors import UnknownName
from schemaman.report.views import words
from schemaman.store.log import Lease
from schemaman_cli.asking import confirm
from schemaman_cli.group import command
from schemaman_cli.library import open_store
from schemaman_cli.options import CommandContext, with_context


@command("unlock", "schemaman unlock 5f0c31d2ab905f0c", "schemaman unlock 5f0c31d2ab905f0c --yes")
@click.argument("lease", metavar="LEASE")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@with_context
def unlock(context: CommandContext, lease: str, yes: bool) -> None:
    """Let others migrate the target that LEASE holds; its id stands in schemaman status.

    A lease ends by itself a minute after its process died. One that still runs notices and stops.
    """
    store = open_store(context)
    found = next((held for held in store.leases() if held.token == lease), None)
    if found is None:
        raise UnknownName(f"no lease is called {lease!r}", hint="schemaman status lists them")
    told = (
        f"{found.target} is held by {found.owner} until {words.format_time(found.expires_ms)}{_alive(found)}."
    )
    context.console.inform(told)
    if confirm("Let others migrate it?", yes, f"schemaman unlock {lease}"):
        store.release(found.target, found.token)
        context.console.inform(f"{found.target} is free; next: schemaman resume RUN, or apply the plan again")


def _alive(lease: Lease) -> str:
    """What can be known here of the process that holds it."""
    told = re.fullmatch(r".*@(.+) \((\d+)\)", lease.owner)
    if told is None or told[1] != socket.gethostname():
        return ""
    try:
        os.kill(int(told[2]), 0)
    except ProcessLookupError:
        return "; that process is gone"
    except OSError:
        return ""
    return "; a process of that number runs on this machine"


COMMAND = unlock
