"""Shows schema files in git as lines and as changes: the work of git's `textconv` and of a diff driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from schemaman.api.checking_files import read_side
from schemaman.api.judging import read_rule_overrides
from schemaman.api.workspace import Workspace
from schemaman.compat.judge import rate_finding
from schemaman.compat.schema_pair import SchemaSide, judge_sides
from schemaman.errors import SchemamanError
from schemaman.model.column_list import format_columns
from schemaman.model.schema import TableId, TableSchema
from schemaman.report.document import Report
from schemaman.report.views.findings import build_finding_notice, sort_by_severity
from schemaman.report.views.listings import build_diff_report
from schemaman.report.views.table_changes import JudgedFinding
from schemaman.resolve import ResolvedSchema

_ABSENT = "/dev/null"
"""The path that git gives for a file that one side does not have."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and its schema; None if the file is absent or has no schema."""

    text: str
    side: SchemaSide | None

    @property
    def lines(self) -> list[str]:
        """A line for the table, each column and the key; the text itself if it is no table."""
        schema = self.schema
        return self.text.splitlines() if schema is None else [*_format_schema(schema, self.side)]

    @property
    def schema(self) -> TableSchema | None:
        """The structure of the table; None if the file has none."""
        return None if self.side is None else self.side.table


def read_file_text(path: str) -> FileText:
    """Read a file for git, which accepts no error: one without a schema is shown as it is."""
    try:
        text = "" if path == _ABSENT else Path(path).read_text(encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        text = f"{path}: {error.strerror or error}"
    try:
        return FileText(text, read_side(text, path) if text else None)
    except SchemamanError:
        return FileText(text, None)


def build_file_diff(workspace: Workspace, path: str, old: FileText, new: FileText) -> Report | str:
    """Build the changes between two states of a file, with findings; plain lines if a side is no table."""
    before, after = old.schema, new.schema
    if before is None or after is None or old.side is None or new.side is None:
        shown = unified_diff(old.lines, new.lines, f"a/{path}", f"b/{path}", lineterm="")
        return "".join(f"{line}\n" for line in shown)
    table = new.side.table_id or TableId("", "", "", Path(path).stem)
    settings, overrides = workspace.settings, read_rule_overrides(workspace)
    judged = sort_by_severity(
        JudgedFinding(finding, rate_finding(finding, settings.readers.value, overrides))
        for finding in judge_sides(table, old.side, new.side, "before", "after")
    )
    sides = (ResolvedSchema(f"{path} before", before), ResolvedSchema("after", after))
    report = build_diff_report(*sides)
    return replace(report, blocks=(*report.blocks[:1], *map(build_finding_notice, judged)))


def _format_schema(schema: TableSchema, side: SchemaSide | None) -> Iterator[str]:
    if side is not None and side.table_id is not None:
        yield f"table {side.table_id}"
    for column in schema.columns:
        yield format_columns(TableSchema((column,)))
    if schema.key:
        yield f"key {', '.join(schema.key)}"
    if schema.comment is not None:
        yield f"comment {schema.comment!r}"
