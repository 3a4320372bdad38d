"""Release the lease of a migration that died."""

from __future__ import annotations

import os
import re
import socket

import click

from schemaman.errors import UnknownName
from schemaman.report.json.answers import build_release
from schemaman.report.views import words
from schemaman.store.log import Lease
from schemaman_cli.asking import confirm
from schemaman_cli.group import command
from schemaman_cli.library import open_store
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("unlock", "schemaman unlock 5f0c31d2ab905f0c", "schemaman unlock 5f0c31d2ab905f0c --yes")
@click.argument("lease", metavar="LEASE", shell_complete=offer("leases"))
@click.option("-y", "--yes", is_flag=True, help="Release without a question.")
@format_option("text", "json")
@with_context
def unlock(context: CommandContext, lease: str, yes: bool, format: str) -> None:
    """Release LEASE, so that another process can migrate its target. schemaman status lists the leases.

    A lease expires by itself a minute after its process died. A process that still runs notices the release
    and stops.
    """
    store = open_store(context)
    found = next((held for held in store.leases() if held.token == lease), None)
    if found is None:
        raise UnknownName(f"there is no lease {lease!r}", hint="schemaman status lists the leases")
    until = words.format_time(found.expires_ms)
    context.console.inform(
        f"{found.owner} holds the lease of {found.target} until {until}{_describe_process(found)}."
    )
    released = confirm("Release the lease?", yes, f"schemaman unlock {lease}")
    if released:
        store.release(found.target, found.token)
    done = f"{found.target} is {'released' if released else 'still locked'}"
    context.console.answer(
        f"{done}; next: schemaman resume RUN, or apply the plan again" if released else done,
        build_release(found, released),
    )


def _describe_process(lease: Lease) -> str:
    """Describe the process of a lease if it runs on this machine."""
    owner = re.fullmatch(r".*@(.+) \((\d+)\)", lease.owner)
    if owner is None or owner[1] != socket.gethostname():
        return ""
    try:
        os.kill(int(owner[2]), 0)
    except ProcessLookupError:
        return "; that process has ended"
    except OSError:
        return ""
    return "; a process with that id runs on this machine"


COMMAND = unlock
