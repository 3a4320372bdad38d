"""Statements that alter several columns of a table, and the same as one statement for each column.

Spark 4 takes a list of columns after ALTER COLUMN, Spark 3.5 takes one. Source: Spark `SqlBaseParser.g4`,
`alterColumnSpecList` since 4.0. Law: the statements of `split_alteration` change what the one statement does.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Step
from schemaman.migration.sql_reader import SqlReader
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Path

_ALTERATIONS = frozenset({"change-type", "drop-not-null", "change-comment"})


def alters_at_once(lake: LakeTable) -> bool:
    """Whether the engine of a table alters several columns in one statement."""
    return lake.spark_major >= 4


def split_alteration(step: Step) -> tuple[str, ...]:
    """Split the statement of a step into one for each altered column; any other statement stays whole.

    Raises:
        UnreadableSql: the statement is none of such a step.
    """
    reader = SqlReader(step.statement)
    if step.kind not in _ALTERATIONS or reader.has("COMMENT ON TABLE "):
        return (step.statement,)
    reader.take("ALTER TABLE ")
    name = sql.quote_table_name(reader.path())
    reader.take(" ALTER COLUMN ")
    return tuple(sql.alter_columns(name, [each]) for each in reader.list_of(lambda: _read_action(reader)))


def _read_action(reader: SqlReader) -> tuple[Path, str]:
    path = reader.path()
    if reader.has(" TYPE "):
        return path, f"TYPE {sql.type_name(reader.type())}"
    if reader.has(" COMMENT "):
        return path, f"COMMENT {sql.literal(reader.literal())}"
    reader.take(" DROP NOT NULL")
    return path, "DROP NOT NULL"


def split_step(step: Step) -> tuple[Step, ...]:
    """Split a step as `split_alteration` does, with its undo; each part has the conditions of the whole.

    Raises:
        UnreadableSql: the statement or its undo is none of such a step.
    """
    statements = split_alteration(step)
    if len(statements) == 1:
        return (step,)
    undos = split_alteration(replace(step, statement=step.undo)) if step.undo else (None,) * len(statements)
    pairs = zip(statements, undos, strict=True)
    return tuple(replace(step, statement=statement, undo=undo) for statement, undo in pairs)
