"""Write a commented schemaman.toml from what is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from shlex import quote

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.initial_settings import (
    DEFAULT_LAKE,
    InitialSettings,
    choose_address,
    list_patterns,
    write_settings,
)
from schemaman.api.lake_survey import SurveyedCatalog, survey_lake
from schemaman.api.record_survey import RecordSurvey, survey_files, survey_store, survey_topics
from schemaman.api.settings_files import find_settings_file
from schemaman.api.workspace import Workspace
from schemaman.errors import BadConfiguration, UsageError
from schemaman.migration.policy import DEFAULT_PROFILE, PROFILES, Profile
from schemaman.migration.settings import read_patterns
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId
from schemaman.model.table_patterns import is_matched
from schemaman.report.json.init import FileState, Initialized
from schemaman.report.views.init import build_init_report
from schemaman.report.views.words import format_count
from schemaman.settings import Settings
from schemaman_cli.asking import at_terminal
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace
from schemaman_cli.options import CommandContext, format_option, with_one_stream

FILE = "schemaman.toml"
_SESSION_CATALOG = "spark_catalog"
_NAMED = 10
"""The largest number of lake tables that a note names."""


@command(
    "init",
    "schemaman init --kafka broker:9092",
    "schemaman init recordings --profile autopilot --yes",
)
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option("--kafka", metavar="HOST:PORT", help="Read the first records of each topic of this cluster.")
@click.option(
    "--kafka-config",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Option of librdkafka; put secrets in a FILE. Repeatable.",
)
@click.option(
    "--registry", metavar="URL|FILE", help="Schema registry, or a file exported from one, for Avro records."
)
@click.option("--spark", "with_spark", is_flag=True, help="Start Spark, and list the tables of the lake.")
@click.option("--lake", "lake", metavar="FORMAT", help="Format of the lake tables: delta or iceberg.")
@click.option("--catalog", metavar="NAME", help="Name of the Iceberg catalogue in Spark (default: ice).")
@click.option("--tables", multiple=True, metavar="PATTERN", help="Source tables to follow. Repeatable.")
@click.option("--profile", type=click.Choice(tuple(PROFILES)), help="Who decides about changes.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing; take what was found, or the default.")
@format_option("text", "json", "markdown")
@with_one_stream
def init(
    context: CommandContext,
    folder: str | None,
    kafka: str | None,
    with_spark: bool,
    lake: str | None,
    tables: tuple[str, ...],
    yes: bool,
    format: str,
    profile: Profile | None = None,
    **_: object,
) -> int:
    """Write schemaman.toml into the working folder: the settings for a lake that follows its sources.

    FOLDER has recordings: files of kcat -J lines, also in folders in it. Their first records, or those of
    each topic, show tables and connectors; without both, the store does. On a terminal, the command asks at
    most three questions: format of the lake, tables, and profile. An option answers its question.

    A file that is there is never changed: the command prints how it differs, with exit code 1.
    """
    workspace = make_workspace(context)
    if lake is not None:
        TARGETS.get(lake)
    survey = _survey_records(workspace, folder, kafka)
    catalogs = survey_lake(workspace) if with_spark else ()
    asks = at_terminal() and not yes
    chosen = _choose(context.settings, survey, catalogs, lake, tables, profile, asks)
    text = write_settings(chosen)
    path = Path.cwd() / FILE
    before = _read_before(path)
    if before is None:
        write_text(path, text)
    state: FileState = "written" if before is None else "same" if before == text else "differs"
    done = Initialized(
        FILE,
        state,
        text,
        survey.records,
        survey.rejected,
        len(survey.topics),
        tuple((str(each.table), each.connector) for each in survey.tables),
        tuple((each.name, len(each.tables)) for each in catalogs),
        () if before is None else _list_differences(before, text),
        tuple(_list_notes(context.settings, survey, catalogs, chosen.tables)),
        tuple(_list_next(survey)),
    )
    context.console.show(build_init_report(done), format)
    return 1 if state == "differs" else 0


def _survey_records(workspace: Workspace, folder: str | None, kafka: str | None) -> RecordSurvey:
    if folder is not None and kafka is not None:
        raise UsageError("init reads a FOLDER or a cluster, not both", hint="omit FOLDER or --kafka")
    if kafka is not None:
        return survey_topics(workspace, kafka)
    return survey_store(workspace) if folder is None else survey_files(workspace, folder)


def _choose(
    settings: Settings,
    survey: RecordSurvey,
    catalogs: Sequence[SurveyedCatalog],
    lake: str | None,
    tables: tuple[str, ...],
    profile: Profile | None,
    asks: bool,
) -> InitialSettings:
    """Take the answers of options, then of the user, then what was found."""
    found = tuple(each.table for each in survey.tables)
    catalog = _choose_catalog(settings, catalogs)
    format = lake or DEFAULT_LAKE
    if asks and lake is None:
        format = _ask("Format of the lake tables", TARGETS.names(), DEFAULT_LAKE)
    patterns = list_patterns(found)
    if tables:
        patterns = read_patterns(",".join(tables))
    elif asks:
        words = click.prompt("Source tables to follow", default=", ".join(patterns), err=True)
        patterns = patterns if words == ", ".join(patterns) else read_patterns(words)
    own = profile or (_ask("Profile", tuple(PROFILES), DEFAULT_PROFILE) if asks else settings.profile.value)
    folder = str(Path.cwd() / settings.warehouse.value / format)
    return InitialSettings(
        settings.store.value,
        next(name for name in PROFILES if name == own),
        format,
        patterns,
        choose_address(_select(found, patterns), format, catalog, folder),
        catalog,
        settings.warehouse.value,
        settings.stream.value,
        settings.registry.value,
        settings.kafka_config.value,
    )


def _choose_catalog(settings: Settings, catalogs: Sequence[SurveyedCatalog]) -> str:
    """The catalogue of the settings, or the only other one of a session that lacks it."""
    names = [each.name for each in catalogs if each.name != _SESSION_CATALOG]
    default = settings.catalog.value
    return names[0] if len(names) == 1 and settings.catalog.origin == "default" else default


def _ask(question: str, choices: Sequence[str], default: str) -> str:
    answer: str = click.prompt(question, type=click.Choice(tuple(choices)), default=default, err=True)
    return answer


def _select(tables: Sequence[TableId], patterns: tuple[str, ...]) -> tuple[TableId, ...]:
    """Select the tables that patterns match."""
    return tuple(table for table in tables if any(is_matched(table, pattern) for pattern in patterns))


def _read_before(path: Path) -> str | None:
    """Read the file that is there; None if there is none.

    Raises:
        BadConfiguration: other settings count for this folder, and the new file would hide them.
    """
    if path.exists():
        return read_text(path)
    other = find_settings_file(path.parent)
    if other is not None:
        raise BadConfiguration(
            f"{other.path} has the settings of this folder, and a new file would hide them",
            hint="add to that file, or run init in a folder outside of that project",
        )
    return None


def _list_differences(before: str, after: str) -> tuple[str, ...]:
    lines = unified_diff(before.splitlines(), after.splitlines(), FILE, "init", lineterm="", n=1)
    return tuple(lines)


def _list_notes(
    settings: Settings,
    survey: RecordSurvey,
    catalogs: Sequence[SurveyedCatalog],
    patterns: tuple[str, ...],
) -> Iterator[str]:
    if survey.is_framed and survey.rejected and not settings.registry.value:
        yield "values name schemas of a registry: run init with --registry, or add registry to the file"
    if survey.rejected:
        yield f"{format_count(survey.rejected, 'record')} of the sample could not be decoded"
    if survey.records and not survey.tables:
        yield "the sample shows no table: the target follows all tables"
    for pattern in patterns if survey.tables else ():
        if not any(is_matched(each.table, pattern) for each in survey.tables):
            yield f"{pattern} names none of the tables that were found: check its spelling"
    for each in catalogs:
        if each.fault:
            yield f"the tables of catalogue {each.name} could not be listed: {each.fault}"
    known = {each.table.table.lower() for each in survey.tables}
    there = [t for each in catalogs for t in each.tables if t.rpartition(".")[2].lower() in known]
    if there:
        yield f"{format_count(len(there), 'lake table')} of such a name: {', '.join(there[:_NAMED])}"


def _list_next(survey: RecordSurvey) -> Iterator[str]:
    """The commands that follow: what was surveyed is read into the history, then into the lake."""
    names = " ".join(quote(name) for name in survey.sources)
    once = "" if names.startswith(("kafka://", "'kafka://")) else " --once"
    if names:
        yield f"schemaman stream {names}{once}"
        yield f"schemaman sync {names}{once}"


COMMAND = init
