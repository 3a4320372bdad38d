"""Surveys the lake of a Spark session: its catalogues, and the tables in each."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.api.spark_session import open_executor
from schemaman.api.workspace import Workspace
from schemaman.errors import StatementFailed
from schemaman.migration.spark_sql import quote_table_name
from schemaman.migration.target import Executor

_SETTING = "spark.sql.catalog."
_NAMESPACES = 100
"""The largest number of namespaces of a catalogue that a survey lists."""


@dataclass(frozen=True, slots=True)
class SurveyedCatalog:
    """A catalogue of the session with the names of its tables; `fault` is why they could not be listed."""

    name: str
    tables: tuple[str, ...] = ()
    fault: str = ""


def survey_lake(workspace: Workspace) -> tuple[SurveyedCatalog, ...]:
    """List the catalogues that the session has settings for, with their tables; nothing is changed.

    Raises:
        EngineUnavailable: Spark does not start.
    """
    executor = open_executor(workspace)
    settings = {str(row[0]) for row in executor.query("SET")}
    names = {name.removeprefix(_SETTING) for name in settings if name.startswith(_SETTING)}
    return tuple(_survey_catalog(executor, name) for name in sorted(names) if "." not in name)


def _survey_catalog(executor: Executor, name: str) -> SurveyedCatalog:
    try:
        found = executor.query(f"SHOW NAMESPACES IN {quote_table_name((name,))}")
        tables: list[str] = []
        for (namespace,) in found[:_NAMESPACES]:
            spaces = (name, *str(namespace).split("."))
            rows = executor.query(f"SHOW TABLES IN {quote_table_name(spaces)}")
            tables += (f"{name}.{namespace}.{row[1]}" for row in rows if not row[2])
    except StatementFailed as error:
        return SurveyedCatalog(name, fault=error.message)
    return SurveyedCatalog(name, tuple(tables))
