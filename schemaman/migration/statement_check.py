"""Checks that the statements of a plan are those that its steps can have, before any of them runs.

A plan file is text: anybody can edit it and compute its hash again. Laws: the statements of every plan that
the planner, a recipe or a rollback makes pass. A statement on another table, of another kind than its step,
or with another effect on the structure than its step promises does not pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from schemaman.errors import BadReference, StalePlan
from schemaman.migration import spark_sql as sql
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.linked_tables import find_misplaced_property
from schemaman.migration.plan import Plan, Step, StepKind
from schemaman.migration.properties.names import (
    BATCH_PROPERTY,
    FENCE_PROPERTY,
    PLAN_PROPERTY,
    READ_PROPERTY,
    SOURCE_PROPERTY,
    STORE_PROPERTY,
    TRUNCATED_PROPERTY,
    VERSION_PROPERTY,
    VIEW_PROPERTY,
)
from schemaman.migration.returned_rows import is_returning_rows
from schemaman.migration.sql_reader import SqlReader, UnreadableSql
from schemaman.migration.step_order import place_at_end
from schemaman.migration.successor_rows import is_filling_successor
from schemaman.migration.target import TARGETS, Target
from schemaman.migration.view_steps import list_view_names
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeComment,
    ChangeNullable,
    ChangeType,
    Diff,
    DropColumn,
    RenameColumn,
    patch,
)
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Field, Struct, Type, Unknown

_OWN_PROPERTY = "schemaman."
_OF_RUNS = frozenset({
    BATCH_PROPERTY, FENCE_PROPERTY, PLAN_PROPERTY, READ_PROPERTY, STORE_PROPERTY, TRUNCATED_PROPERTY,
})  # fmt: skip
"""The own properties that runs and the sink set, and no step of a plan."""
_OWN_CONSTRAINT = "schemaman_"
_QUERY_WORDS = (
    "SELECT", "WHERE", "GROUP", "BY", "HAVING", "count", "count_if", "twice", "LEFT", "ANTI", "JOIN", "ON",
    "o", "n", "min", "SEMI", "EXCEPT", "older", "newer", "filled",
)  # fmt: skip
_FROM_ONE_TABLE = re.compile(rf" FROM {sql.TABLE_PATTERN}(?: WHERE false)?$")
_TAKES_ROWS = re.compile(
    rf"INSERT INTO (?P<here>{sql.TABLE_PATTERN}) \({sql.NAMES_PATTERN}\) "
    rf"SELECT .* FROM {sql.TABLE_PATTERN} AS o "
    r"LEFT ANTI JOIN (?P=here) AS n ON o\.`.*",
    re.DOTALL,
)
"""The statement that takes over rows of another table: it adds rows whose key the table lacks."""
_STRUCTURAL: frozenset[StepKind] = frozenset({
    "add-columns", "drop-columns", "rename-column", "change-type", "drop-not-null", "change-comment",
})  # fmt: skip
"""The kinds of steps that change the structure of a table that exists."""
_EDITED = "make the plan again with `schemaman plan`; a plan is applied exactly as it was made"


def is_taking_rows(statement: str) -> bool:
    """Whether a statement adds rows of one other table whose key its own table lacks."""
    return _TAKES_ROWS.fullmatch(statement) is not None


def require_own_statements(plan: Plan) -> None:
    """Require that each statement and each query of a plan follows from its step.

    Raises:
        StalePlan: a statement is not the one of its step; the message names the step.
    """
    target = TARGETS.get(plan.format)
    schema = plan.base_schema
    for number, step in enumerate(plan.steps, 1):
        try:
            schema = _check_step(plan, target, step, schema)
        except (UnreadableSql, KeyError, ValueError, BadReference) as error:
            raise StalePlan(
                f"the plan for {plan.table} was edited after it was made: "
                f"step {number}, {step.kind}: {error}",
                hint=_EDITED,
            ) from error


def _check_step(plan: Plan, target: Target, step: Step, schema: TableSchema | None) -> TableSchema | None:
    """Check a step, and return the structure after it. Raises `UnreadableSql`, `KeyError`, `ValueError`."""
    name = target.table_name(plan.table)
    for query in (*_list_queries(step.precondition), *_list_queries(step.postcondition)):
        _check_query(query)
    _require_structure(step.precondition, schema, "before")
    reader = SqlReader(step.statement)
    match step.kind:
        case "create-namespace":
            namespace = target.create_namespace(plan.table)
            own = namespace.statement if namespace else ""
            of_views = {
                sql.create_namespace(sql.split_table_name(n)[:-1]) for n in list_view_names(plan.steps)
            }
            _require_equal(step.statement, step.statement if step.statement in of_views else own)
        case "create-table":
            properties = _read_properties(step)
            # A table that takes the rows of another one from some point on keeps what ended older rows.
            _require_known(target, {k: v for k, v in properties.items() if k != TRUNCATED_PROPERTY})
            _require_own_stamp(plan, properties)
            _require_own_links(plan, properties, new=True)
            made = target.create_table(plan.table, plan.wanted, properties)
            _require_equal(step.statement, made.statement)
            schema = plan.wanted
        case "set-properties":
            written = _check_properties(reader, name, step)
            _require_known(target, written)
            _require_own_links(plan, written, new=False)
            if plan.phase is None or plan.phase.name != "rollback":
                _require_own_stamp(plan, written)
        case "set-key" | "drop-key":
            reader.take(f"ALTER TABLE {name} {step.kind.removesuffix('-key').upper()} IDENTIFIER FIELDS ")
            reader.list_of(reader.path)
        case "add-constraint" | "drop-constraint":
            _check_constraint(reader, name, step.kind)
        case "backfill":
            _check_backfill(reader, name, may_return=plan.phase is not None and plan.phase.name == "rollback")
        case "restore":
            reader.take(f"RESTORE TABLE {name} TO VERSION AS OF ")
            reader.match(r"\d+")
            schema = plan.wanted
        case "replace-view" | "drop-view":
            _check_view(reader, name, step)
        case "rename-table":
            _check_move(reader, target, plan)
            schema = plan.wanted
        case "drop-table":
            raise ValueError("no plan drops a table")
        case _:
            if schema is None:
                raise ValueError("there is no table yet")
            schema = _apply_changes(schema, _read_changes(reader, step.kind, name, schema))
            if "structure" not in step.postcondition:
                raise ValueError("its postcondition has no structure")
    if step.kind not in ("create-namespace", "create-table"):
        reader.end()
    _require_structure(step.postcondition, schema, "after")
    return schema


def read_step_changes(plan: Plan, step: Step, schema: TableSchema) -> Diff:
    """Read from its statement what a step of a plan changes in a table of this structure.

    The changes come one after the other. They are empty for a step that keeps the structure.

    Raises:
        ValueError: the table lacks a column that the step changes.
    """
    if step.kind not in _STRUCTURAL:
        return ()
    name = TARGETS.get(plan.format).table_name(plan.table)
    try:
        return tuple(_read_changes(SqlReader(step.statement), step.kind, name, schema))
    except KeyError as error:
        raise ValueError(f"the table lacks what this changes: {step.statement}") from error


def read_moved_table(step: Step) -> str:
    """Read from its statement the address of the table that a step of the kind `rename-table` moves."""
    reader = SqlReader(step.statement)
    reader.take("ALTER TABLE ")
    return sql.format_table_name(reader.path())


def _check_move(reader: SqlReader, target: Target, plan: Plan) -> None:
    """Check that a table gets the name of the plan, within its catalogue, where no table is."""
    if plan.base_schema is not None or len(plan.steps) != 1:
        raise ValueError("a table takes the place of another one")
    reader.take("ALTER TABLE ")
    moved = sql.quote_table_name(reader.path())
    reader.take(" RENAME TO ")
    reader.path()
    _require_equal(plan.steps[0].statement, target.rename_table(moved, plan.table) or "")


def find_structure_after(plan: Plan, step: Step, schema: TableSchema) -> TableSchema:
    """Find the structure that a step of a plan leaves in a table of this structure, from its statement.

    Raises:
        ValueError: the table lacks a column that the step changes, or has one of the name that it gives.
    """
    changes = read_step_changes(plan, step, schema)
    try:
        after = _apply_changes(schema, changes)
    except KeyError as error:
        raise ValueError(f"the table lacks what this changes: {step.statement}") from error
    lowered = [column.lower() for column in after.names]
    if changes and len(set(lowered)) < len(lowered):
        raise ValueError(f"another column has the name that this gives: {step.statement}")
    return after


def _require_structure(condition: Mapping[str, object], schema: TableSchema | None, place: str) -> None:
    if "structure" in condition and condition["structure"] != fingerprint_structure(schema):
        raise ValueError(f"the structure {place} it is not the one that the steps lead to")


def _require_equal(statement: str, wanted: str) -> None:
    if statement != wanted:
        raise ValueError(f"its statement is {statement!r} instead of {wanted!r}")


def _require_known(target: Target, properties: Mapping[str, object]) -> None:
    strange = [
        key
        for key in properties
        if key in _OF_RUNS or not (key.startswith(_OWN_PROPERTY) or key in target.feature_properties)
    ]
    if strange:
        raise ValueError(f"no plan sets the property {strange[0]!r}")


def _require_own_stamp(plan: Plan, properties: Mapping[str, object]) -> None:
    """Require that a stamp names the source and the version that the plan follows."""
    for key, own in ((SOURCE_PROPERTY, plan.source.table), (VERSION_PROPERTY, plan.source.id)):
        if properties.get(key, own) != own:
            raise ValueError(f"it sets {key} to another value than that of the plan, {own!r}")


def _require_own_links(plan: Plan, properties: Mapping[str, object], *, new: bool) -> None:
    """Require that links between tables and columns are set by the phase that makes them."""
    misplaced = find_misplaced_property(plan, properties, new=new)
    if misplaced is not None:
        raise ValueError(f"no step of such a plan sets the property {misplaced!r}")


def _read_properties(step: Step) -> dict[str, str]:
    properties = step.postcondition.get("properties", {})
    found = properties.items() if isinstance(properties, Mapping) else ()
    return {str(key): str(value) for key, value in found if value is not None}


def _check_properties(reader: SqlReader, name: str, step: Step) -> Mapping[str, object]:
    """Read the properties that a statement sets or unsets; the step's condition must have the same."""
    if reader.has(f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ("):
        properties: dict[str, object] = dict.fromkeys(reader.list_of(reader.literal))
    else:
        reader.take(f"ALTER TABLE {name} SET TBLPROPERTIES (")
        properties = dict(reader.list_of(reader.assignment))
    reader.take(")")
    if properties != step.postcondition.get("properties"):
        raise ValueError("its statement sets other properties than its postcondition has")
    return properties


def _check_constraint(reader: SqlReader, name: str, kind: StepKind) -> None:
    reader.take(f"ALTER TABLE {name} {'ADD' if kind == 'add-constraint' else 'DROP'} CONSTRAINT ")
    constraint = reader.name()
    if not constraint.startswith(_OWN_CONSTRAINT):
        raise ValueError(f"no plan has a constraint {constraint!r}")
    if kind == "add-constraint":
        reader.take(" CHECK (")
        reader.expression()
        reader.take(")")


def _check_backfill(reader: SqlReader, name: str, *, may_return: bool) -> None:
    """Check an `UPDATE` of the table's own rows, or an `INSERT` of another table's rows into it.

    `may_return`: it may as well take the rows of another table out again.
    """
    if reader.has(f"UPDATE {name} SET "):
        reader.expression(("WHERE",))
        return
    if may_return and is_returning_rows(reader.text):
        reader.take(f"MERGE INTO {name} AS n USING ")
        reader.path()
        reader.take(" AS o ON ")
        reader.expression(("o", "n", "WHEN", "MATCHED", "THEN", "DELETE"))
        return
    reader.take(f"INSERT INTO {name} (")
    reader.list_of(reader.name)
    reader.take(") SELECT ")
    reader.expression(("WHERE", "LEFT", "ANTI", "JOIN", "ON", "o", "n", "SEMI", "older", "newer", "filled"))
    takes_rows = is_taking_rows(reader.text) or is_filling_successor(reader.text)
    if not (_FROM_ONE_TABLE.search(reader.text) or takes_rows):
        raise ValueError("it reads more than one table")


def _check_view(reader: SqlReader, table: str, step: Step) -> None:
    """Check a view of the table alone; its step says which one, and replaces none without a mark."""
    (view,) = list_view_names([step])
    _require_equal(view, sql.quote_table_name(sql.split_table_name(view)))
    views, before = step.postcondition.get("views"), step.precondition.get("views")
    marks = [each[view] for each in (views, before) if isinstance(each, Mapping)]
    if len(marks) != 2 or "" in marks:
        raise ValueError("it would replace a view that others made")
    if step.kind == "drop-view":
        reader.take(f"DROP VIEW {view}")
        return
    reader.take("CREATE " if marks[1] is None else "CREATE OR REPLACE ")
    reader.take(f"VIEW {view} TBLPROPERTIES (")
    if reader.assignment() != (VIEW_PROPERTY, marks[0]):
        raise ValueError("its statement has another mark than its postcondition")
    reader.take(") AS SELECT ")
    reader.expression(("WHERE", "TRUE"))
    if not reader.text.endswith((f" FROM {table}", f" FROM {table} WHERE `_row_deleted` IS NOT TRUE")):
        raise ValueError("it does not read the table alone")


def _list_queries(condition: Mapping[str, object]) -> Iterator[str]:
    counts = condition.get("counts")
    yield from map(str, counts) if isinstance(counts, Mapping) else ()


def _check_query(query: str) -> None:
    """Check a query that counts rows; it only reads, from any table."""
    reader = SqlReader(query)
    reader.take("SELECT ")
    reader.expression(_QUERY_WORDS)
    reader.end()


def _apply_changes(schema: TableSchema, changes: Iterable[Change]) -> TableSchema:
    for change in changes:
        schema = patch(schema, [place_at_end(schema, change)])
    return schema


def _read_changes(reader: SqlReader, kind: StepKind, name: str, schema: TableSchema) -> Iterator[Change]:
    """Read the changes of the structure that a statement makes, each on the table after the one before."""
    match kind:
        case "add-columns":
            reader.take(f"ALTER TABLE {name} ADD COLUMNS (")
            for path, type, comment in reader.list_of(reader.column):
                yield _make_addition(path, type, comment)
            reader.take(")")
        case "drop-columns":
            reader.take(f"ALTER TABLE {name} DROP COLUMNS (")
            for path in reader.list_of(reader.path):
                yield DropColumn(path, _find_field(schema, path))
            reader.take(")")
        case "rename-column":
            reader.take(f"ALTER TABLE {name} RENAME COLUMN ")
            path = reader.path()
            reader.take(" TO ")
            yield RenameColumn(path, reader.name())
        case "change-comment" if reader.has(f"COMMENT ON TABLE {name} IS "):
            yield ChangeComment((), None, None if reader.has("NULL") else reader.literal())
        case "change-type" | "drop-not-null" | "change-comment":
            reader.take(f"ALTER TABLE {name} ALTER COLUMN ")
            yield from reader.list_of(lambda: _read_alteration(reader, kind))
        case _:
            raise ValueError("no step is of this kind")


def _read_alteration(reader: SqlReader, kind: StepKind) -> Change:
    path = reader.path()
    if kind == "change-type":
        reader.take(" TYPE ")
        return ChangeType(path, Unknown(""), reader.type())
    if kind == "drop-not-null":
        reader.take(" DROP NOT NULL")
        return ChangeNullable(path, False, True)
    reader.take(" COMMENT ")
    return ChangeComment(path, None, reader.literal() or None)


def _make_addition(path: Path, type: Type, comment: str | None) -> AddColumn:
    made = Column(path[-1], type, comment=comment) if len(path) == 1 else Field(path[-1], type, True, comment)
    return AddColumn(path, made, None)


def _find_field(schema: TableSchema, path: Path) -> Column | Field:
    fields: tuple[Column | Field, ...] = schema.columns
    if len(path) > 1:
        parent = next((type for at, type, _ in walk_fields(schema) if at == path[:-1]), None)
        fields = parent.fields if isinstance(parent, Struct) else ()
    found = next((field for field in fields if field.name == path[-1]), None)
    if found is None:
        raise KeyError(f"the table has no column {sql.path_name(path)}")
    return found
