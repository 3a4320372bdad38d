"""Serve a schema registry that Kafka clients use unchanged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from schemaman.errors import EngineUnavailable, UsageError
from schemaman.plugins import install_hint
from schemaman.report.document import Report
from schemaman.report.json.answers import build_served
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_store
from schemaman_cli.options import CommandContext, format_option, with_context


@command("serve", "schemaman serve", "schemaman serve --port 8081 --users users.txt --host 0.0.0.0")
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option(
    "--port", default=8081, show_default=True, type=click.IntRange(0, 65535), help="Listen on this port."
)
@click.option(
    "--users",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Require a name and a password of this file.",
)
@click.option("--add-user", metavar="NAME", help="Add a user to the file of users, and exit.")
@click.option("--read-only", is_flag=True, help="The added user may only read.")
@click.option("--certificate", type=click.Path(dir_okay=False, path_type=Path), help="TLS certificate (PEM).")
@click.option("--key", type=click.Path(dir_okay=False, path_type=Path), help="Key of the certificate (PEM).")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without users.")
@click.option(
    "--max-request-bytes",
    default=4 << 20,
    show_default=True,
    type=click.IntRange(1024),
    help="Refuse larger requests.",
)
@click.option(
    "--conflict-code",
    default="409",
    show_default=True,
    type=click.Choice(["409", "40901"]),
    help="The code of an incompatible schema.",
)
@click.option("--no-access-log", is_flag=True, help="Write no line for each request to standard error.")
@format_option("text", "json")
@with_context
def serve(
    context: CommandContext,
    host: str,
    port: int,
    users: Path | None,
    add_user: str | None,
    read_only: bool,
    certificate: Path | None,
    key: Path | None,
    insecure: bool,
    max_request_bytes: int,
    conflict_code: str,
    no_access_log: bool,
    format: str,
) -> None:
    """Serve the Confluent Schema Registry REST API over the store. A missing store is created.

    Any number of servers may share a store in PostgreSQL. The schemas are those of Avro, with Avro's own
    compatibility levels; JSON Schema and Protobuf are kept without a check.
    """
    try:
        from schemaman.server import running
        from schemaman.server import users as user_files
        from schemaman.server.application import ServerOptions
    except ModuleNotFoundError as error:
        raise EngineUnavailable(f"the server needs {error.name}", hint=install_hint("server")) from error
    if add_user is not None:
        if users is None:
            raise UsageError("--add-user needs the file of users", hint="add --users FILE")
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        role: Literal["read", "write"] = "read" if read_only else "write"
        user_files.add_line(users, user_files.format_user(add_user, role, password))
        if format == "json":
            context.console.show(Report("", (), build_served(None, add_user, role)), format)
        context.console.inform(f"{add_user} may {role}; the hash is in {users}")
        return
    authenticator = None if users is None else user_files.Authenticator(user_files.read_users(users))
    options = ServerOptions(
        authenticator, max_request_bytes, int(conflict_code), None if no_access_log else _write_line
    )
    if key is not None and certificate is None:
        raise UsageError("--key needs the certificate of that key", hint="add --certificate FILE")
    listener = running.Listener(host, port, certificate, key)
    running.require_protected(listener, options, insecure)
    from schemaman.api.schema_registries import make_served_registry

    def announce(url: str) -> None:
        if format == "json":
            context.console.show(Report("", (), build_served(url, None, None)), format)
        elif not sys.stdout.isatty():
            context.console.write(f"{url}\n")
        context.console.inform(f"serving {url}; Ctrl-C stops it")

    with running.listen(listener) as bound:  # before a store is created: a fault leaves none behind
        registry = make_served_registry(make_workspace(context), open_store(context, create=True))
        end = running.run_server(registry, listener, bound, options, announce)
    if end.cut_off:
        context.console.inform(f"stopped; {end.cut_off} requests took too long and were answered with 503")
    elif end.signal:
        context.console.inform("stopped; every request that had begun was answered")
    if end.signal:
        raise click.exceptions.Exit(128 + end.signal)


def _write_line(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


COMMAND = serve
