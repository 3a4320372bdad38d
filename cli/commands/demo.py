"""Run everything on recorded streams, up to ALTERs on real Delta and Iceberg tables."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from schemaman.api.spark_session import open_executor
from schemaman.errors import CouldNotDo, UsageError
from schemaman.migration.target import TARGETS, Executor
from schemaman.model.shell import quote_word
from schemaman.plugins import install_hint
from schemaman.report.document import Report
from schemaman.report.json.answers import build_demo
from schemaman.subjects.schema_registry import SchemaRegistry
from schemaman_cli.group import command
from schemaman_cli.lakefiles import delta_columns, iceberg_columns
from schemaman_cli.library import make_workspace, open_store
from schemaman_cli.main import main
from schemaman_cli.options import CommandContext, format_option, reopen_context, with_context
from schemaman_cli.rows import Rows

RECORDINGS = Path(__file__).parent.parent / "demo"
MARKER = ".schemaman-demo"
TABLE = "customers"
LAST = 7
"""The last version of the demo: the next one needs more decisions than a name."""

SETTINGS = """\
# Two lake tables follow the table `customers` of the shop.
[[target]]
name = "delta-lake"
format = "delta"
tables = "shop.customers"
path = {path}

[[target]]
name = "iceberg-lake"
format = "iceberg"
tables = "shop.customers"
table = "ice.shop.{{table}}"
"""

CLIENT = """
import sys
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

client = SchemaRegistryClient({"url": sys.argv[1]})
text = '{"type": "record", "name": "Customer", "fields": [{"name": "id", "type": "%s"}]}'
number = client.register_schema("customers-value", Schema(text % "int", "AVRO"))
print(f"   customers-value, id an int:     registered, id {number} ✓")
try:
    client.register_schema("customers-value", Schema(text % "string", "AVRO"))
except SchemaRegistryError as error:
    _, _, words = error.error_message.partition("description:")
    print(f"   customers-value, id a string:   refused, {error.http_status_code} ✓")
    print(f"         why: {words.split('additionalInfo')[0].strip(' ,')}")
"""
"""What a user of Confluent's client writes; the client is another process."""


@command("demo", "schemaman demo", "schemaman demo --dir /tmp/demo --open")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), default=Path("schemaman-demo"), show_default=True,
    help="Folder for all files of the demo; replaces an earlier demo.",
)  # fmt: skip
@click.option("--open", "show", is_flag=True, help="Open the report in the browser.")
@format_option("text", "json")
@with_context
def demo(context: CommandContext, folder: Path, show: bool, format: str) -> None:
    """Read recorded Debezium streams on Spark, check the changes, and migrate a Delta and an Iceberg table.

    Every step prints the command that you would type. The demo takes one or two minutes.
    """
    started = time.monotonic()
    hint = describe_command(Path(sys.executable), Path.cwd(), shutil.which("schemaman"))
    demo_folder = _prepare_folder(folder.absolute())
    with contextlib.chdir(demo_folder), reopen_context(context) as inner:
        script = _DemoScript(inner)
        script.line(f"All files are real and are in {folder}; the commands run in that folder.")
        spark = open_executor(make_workspace(inner))
        script.ingest()
        script.show_history()
        script.check()
        script.migrate(spark)
        script.serve_registry()
        report = script.write_report()
        script.line(
            f"\nDone in {time.monotonic() - started:.0f} s. Delete {folder} when you no longer need it."
        )
        if hint:
            script.line(hint)
    if format == "json":
        document = build_demo(str(folder), str(report), script.number)
        context.console.show(Report("", (), document), format)
    if show:
        webbrowser.open(report.as_uri())


def describe_command(python: Path, folder: Path, found: str | None) -> str:
    """Describe how to run `schemaman` from a folder; empty if the PATH finds this Python's command."""
    own = python.with_name("schemaman")
    if (found is not None and Path(found).absolute() == own) or not own.exists():
        return ""
    path = own.relative_to(folder) if own.is_relative_to(folder) else own
    activate = path.with_name("activate")
    if not own.with_name("activate").exists():
        return f"To continue, type {quote_word(str(path))}: schemaman is not on the PATH."
    return (
        f"To continue, type `. {quote_word(str(activate))}`, then `schemaman …`; or {quote_word(str(path))} …"
    )


def _prepare_folder(folder: Path) -> Path:
    """Make the folder with recordings and settings; delete only the folder of an earlier demo."""
    if folder.exists():
        if not (folder / MARKER).exists() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} exists and is not the folder of a demo", hint="schemaman demo --dir ANOTHER"
            )
        shutil.rmtree(folder)
    shutil.copytree(RECORDINGS, folder / "recordings")
    (folder / MARKER).touch()
    path = json.dumps(str(folder / "lake" / "{table}"))
    (folder / "schemaman.toml").write_text(SETTINGS.format(path=path), encoding="utf-8")
    return folder


class _DemoScript:
    """Runs commands as a user types them, and prints a summary of each."""

    def __init__(self, context: CommandContext) -> None:
        self.context = context
        self.number = 0

    def line(self, text: str) -> None:
        if not self.context.console.json:
            self.context.console.write(f"{text}\n")

    def step(self, title: str) -> None:
        self.number += 1
        self.line(f"\n{self.number}  {title}")

    def run(self, *words: str, expect: Sequence[int] = (0,), show: bool = True) -> Any:
        """Run a command and return its JSON output; `show` prints the command line first."""
        if show:
            self.line(f"   $ schemaman {' '.join(words)}")
        self.context.console.progress(f"schemaman {' '.join(words)}")
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(output):
            code = main([*words, "-q", *([] if words[0] in ("approve", "report") else ["--format", "json"])])
        self.context.console.end_progress()
        if code not in expect:
            raise CouldNotDo(f"schemaman {' '.join(words)} ended with exit code {code}")
        output.flush()
        printed = output.buffer.getvalue()
        return json.loads(printed) if printed.startswith(b"{") else None

    def ingest(self) -> None:
        self.step("Read three recorded streams on Spark: PostgreSQL, MariaDB, Db2")
        sources = ("recordings/postgresql-shop", "recordings/mariadb-bookshop", "recordings/db2-shop")
        done = self.run("ingest", *sources, "--engine", "spark")
        versions = sum(t["versions"] for t in done["tables"])
        records = done["records"]
        self.line(
            f"   {records['read']} records, {len(done['tables'])} tables, {versions} versions, "
            f"{records['rejected']} rejected"
        )

    def show_history(self) -> None:
        self.step("The history of one table")
        found = self.run("history", TABLE)
        for version in found["versions"]:
            self.line(
                f"   v{version['version']:<3} {_format_begin(version)}  {self.describe_changes(version)}"
            )

    def describe_changes(self, version: Mapping[str, Any]) -> str:
        number = version["version"]
        if number == 1:
            return f"{len(version['columns'])} columns, key ({', '.join(version['key'])})"
        found = self.run("diff", f"{TABLE}@{number - 1}", f"{TABLE}@{number}", show=False)
        signs = {"add-column": "+", "drop-column": "-", "rename-column": "→"}
        words = [f"{signs.get(c['change'], '~')} {'.'.join(c['path'])}" for c in found["changes"]]
        return "  ".join(dict.fromkeys(words))

    def check(self) -> None:
        self.step("Breaking changes: the gate, as it runs in CI")
        found = self.run("check", TABLE, "--against", f"{TABLE}@1", expect=(1,))
        for finding in found["findings"]:
            if finding["severity"] == "break":
                self.line(f"   ✗ {finding['rule']:24} {finding['message']}")
        others = sum(f["severity"] != "break" for f in found["findings"])
        self.line(f"   {found['verdict']}, exit code 1; the report lists {others} less severe findings")

    def migrate(self, spark: Executor) -> None:
        self.step("Migrate a Delta and an Iceberg table version by version, and write rows in between")
        self.line(f"   $ schemaman plan {TABLE}@N -o plans/N          $ schemaman apply plans/N/PLAN")
        lakes: dict[str, Rows] = {}
        wanted: dict[str, Any] = {}
        for number in range(1, LAST + 1):
            plans = self.make_plans(number)
            self.approve(number, [p for p in plans if p["approvals_needed"]])
            if any(p["refusals"] for p in plans):
                self.show_refusal(number, plans)
                continue
            self.line(f"   v{number:<3} {' '.join(f'{self.apply(p, number):38}' for p in plans)}".rstrip())
            for plan in plans:
                wanted[plan["format"]] = plan
                self.write_row(spark, lakes, plan)
        self.verify(lakes, wanted)

    def approve(self, number: int, plans: Sequence[Mapping[str, Any]]) -> None:
        """Approve the plans that need an approval."""
        if not plans:
            return
        self.line(f"   v{number:<3} needs an approval: {plans[0]['approvals_needed'][0]}")
        self.line("         the approval is valid for exactly this plan, and is kept in a file for git:")
        for plan in plans:
            self.run("approve", str(self.find_plan_file(plan, number)), "--yes")

    def find_plan_file(self, plan: Mapping[str, Any], number: int) -> Path:
        return next(Path(f"plans/{number}").glob(f"{plan['target']}.*.plan.json"))

    def make_plans(self, number: int) -> list[dict[str, Any]]:
        shutil.rmtree(f"plans/{number}", ignore_errors=True)
        words = ("plan", f"{TABLE}@{number}", "-o", f"plans/{number}")
        found: list[dict[str, Any]] = self.run(*words, expect=(0, 1), show=False)["plans"]
        return found

    def show_refusal(self, number: int, plans: Sequence[Mapping[str, Any]]) -> None:
        refusal = next(r for p in plans for r in p["refusals"])
        self.line(f"   v{number:<3} refused, nothing was changed: {refusal['change']}")
        self.line(f"         why: {refusal['reason']}")
        self.line(f"         instead: {refusal['instead']}")

    def apply(self, plan: Mapping[str, Any], number: int) -> str:
        if not plan["steps"]:
            return (
                f"{plan['format']}: no change, column kept ✓"
                if plan["notes"]
                else f"{plan['format']}: no change ✓"
            )
        file = self.find_plan_file(plan, number)
        done = self.run("apply", str(file), show=False)
        kinds = [s["kind"] for s in plan["steps"] if s["kind"] not in ("set-properties", "create-namespace")]
        if done["state"] != "applied" or done["differences"]:
            raise CouldNotDo(f"{file} was applied, but the table differs from the plan")
        return f"{plan['format']}: {', '.join(dict.fromkeys(kinds))} ✓"

    def write_row(self, spark: Executor, lakes: dict[str, Rows], plan: Mapping[str, Any]) -> None:
        """Insert a row with the current columns; apply renames to the expected earlier rows."""
        format = plan["format"]
        rows = lakes.setdefault(format, Rows(spark, TARGETS.get(format).table_name(plan["table"])))
        for step in plan["steps"]:
            if step["kind"] == "rename-column":
                columns = step["postcondition"]["columns"]
                (old,) = (name for name, type in columns.items() if type is None)
                (new,) = (name for name, type in columns.items() if type is not None)
                rows.rename(old, new)
        rows.insert(plan["wanted"]["columns"])

    def verify(self, lakes: Mapping[str, Rows], wanted: Mapping[str, Any]) -> None:
        self.step("Check the schema of both tables, and the rows written before each migration")
        found = self.run("drift")
        self.line(f"   no drift in {len(found['tables'])} tables since the last migration")
        for format, rows in lakes.items():
            columns = wanted[format]["wanted"]["columns"]
            reader, seen = _METADATA_READERS[format](rows)
            if not rows.read_right(columns) or seen != tuple((c["name"], c["type"]) for c in columns):
                raise CouldNotDo(f"the {format} table differs from what was planned and written")
            self.line(
                f"   {format:8} {len(columns)} columns, {len(rows.written)} rows: Spark reads the rows as "
                f"written, and {reader} has the same columns ✓"
            )

    def serve_registry(self) -> None:
        """Let the unmodified client register two schemas; the server refuses the second one."""
        self.step("Serve the schema registry, and register with Confluent's own client")
        try:
            from schemaman.server.running import serve_in_thread
        except ModuleNotFoundError as error:
            self.line(f"   left out: the server needs {error.name}; {install_hint('server')}")
            return
        self.line("   $ schemaman serve")
        registry = SchemaRegistry(open_store(self.context))
        with serve_in_thread(registry) as url:
            environment = os.environ | {"NO_PROXY": "127.0.0.1"}
            done = subprocess.run(
                [sys.executable, "-c", CLIENT, url], capture_output=True, text=True, env=environment
            )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            self.line(f"   left out: the client does not run ({last}); {install_hint('kafka')}")
            return
        self.line(done.stdout.rstrip())
        found = registry.list_versions(f"{TABLE}-value")
        if [version.number for version in found] != [1]:
            raise CouldNotDo(f"{TABLE}-value has other versions than the one that was accepted")

    def write_report(self) -> Path:
        self.step("The report")
        path = Path("report.html").absolute()
        self.run("report", "--format", "html", "-o", path.name)
        self.line(f"   {path.as_uri()}")
        return path


def _read_delta_metadata(rows: Rows) -> tuple[str, tuple[tuple[str, str], ...]]:
    return "Delta's log", delta_columns(Path("lake") / TABLE)


def _read_iceberg_metadata(rows: Rows) -> tuple[str, tuple[tuple[str, str], ...]]:
    newest = f"SELECT file FROM {rows.table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
    file = str(rows.executor.query(newest)[0][0]).removeprefix("file:")
    return "Iceberg's metadata file", iceberg_columns(Path(file))


_METADATA_READERS = {"delta": _read_delta_metadata, "iceberg": _read_iceberg_metadata}
"""Read the metadata files of a lake table without Spark: their name, and the columns in them."""


def _format_begin(version: Mapping[str, Any]) -> str:
    at = version["from"]["at"]["ts_ms"]
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at / 1000)) if at else "time unknown"


COMMAND = demo
