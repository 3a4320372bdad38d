"""The gate for a pull request: the schema files of a branch against those at its merge base.

It needs no store and no network. What the source did meanwhile does not count here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath

from schemaman.api.checking_files import list_side_relations, read_side
from schemaman.api.checking_migrations import BranchProposals, find_branch_proposals
from schemaman.api.files import read_text
from schemaman.api.finding_places import find_line, place_in_repository
from schemaman.api.gate_settings import add_waivers, make_policy, order_arguments
from schemaman.api.merge_base import find_base
from schemaman.api.migration_scripts import choose_grammar, has_statements, judge_script
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat.affected_consumers import SchemaReader
from schemaman.compat.gate import CheckResult, judge_files
from schemaman.compat.impact.relations import Relation
from schemaman.compat.judge import Finding, Severity
from schemaman.compat.schema_pair import SchemaSide, judge_sides
from schemaman.errors import UnreadableInput, UsageError
from schemaman.io import git
from schemaman.model.schema import TableId, TableSchema

SUFFIXES = (".json", ".avsc", ".ddl", ".sql")
"""The suffixes of files that have a schema: snapshots, Avro, Connect, Spark, Delta, Iceberg, column lists."""


def check_branch(
    workspace: Workspace,
    paths: Sequence[str] = (),
    *,
    base: str | None = None,
    level: str | None = None,
    fail_on: Severity | None = None,
    word: str | None = None,
) -> CheckResult:
    """Check the schema files of the working tree against those at the merge base with `base`.

    Without paths, the migrations of the settings that are new or changed since then are checked, too.

    `paths` are files and folders, by default the folder of snapshots. `base` is a branch or another revision,
    by default the target branch of the pull request, else the default branch. `word` names the connector or
    the dialect of scripts that create tables.

    Raises:
        UsageError: there is no git repository, no base, or no schema file on either side.
        UnreadableInput: a changed file has no schema.
        UnknownName: there is no such level.
    """
    is_default = not paths
    chosen = [Path(path) for path in paths] or [resolve_path(workspace.settings.snapshots)]
    commit = find_base(base)
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for path in chosen:
        before |= _read_base(commit, path)
        after |= _read_tree(path)
    has_migrations = is_default and bool(workspace.settings.migrations.value)
    if not before and (is_default or not after) and not has_migrations:
        places = ", ".join(map(str, chosen))
        raise UsageError(
            f"there is no baseline: git has no schema files in {places} at {commit[:12]}",
            hint="schemaman snapshot writes snapshots; commit them, or use --against orders@1",
        )
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    prefix = git.find_prefix()
    based = ("--base", base) if base else ()
    again = (*based, *(("--dialect", word) if word else ()))
    judged = {
        name: (*_judge(workspace, word, name, (before.get(name), after.get(name)), commit),)
        for name in changed
    }
    found = [
        replace(
            f,
            file=place_in_repository(name, prefix),
            line=f.line or find_line(after.get(name, ""), f),
            arguments=based if is_default and not word else order_arguments([name], *again),
        )
        for name, findings in judged.items()
        for f in findings
    ]
    proposed = find_branch_proposals(workspace, commit, before) if has_migrations else BranchProposals()
    known = {finding.fingerprint for finding in proposed.findings}
    found = [
        *(replace(finding, arguments=based) for finding in proposed.findings),
        *(finding for finding in found if finding.fingerprint not in known),
    ]
    tables = _list_tables({*before, *after}, judged, proposed)

    def find_relations(_: object) -> Iterator[Relation]:
        yield from _list_relations(workspace, before, after, commit)
        yield from proposed.relations

    policy = make_policy(workspace, level, fail_on, find_relations)
    result = judge_files(tables, len(changed) + proposed.changed, found, policy)
    if not is_default:
        return add_waivers(workspace, result)
    schemas: dict[TableId, SchemaReader] = {}
    for table, name in zip(tables, sorted({*before, *after}), strict=False):
        id = table if table.server or table.schema else _guess_table(name)
        schemas[id] = partial(_list_schemas, name, before.get(name), after.get(name), commit)
    schemas |= dict.fromkeys(proposed.tables, tuple)
    return add_waivers(workspace, result, whole="files", schemas=schemas)


def _guess_table(name: str) -> TableId:
    """Guess the table of a file from its name, which for a snapshot has all parts of the table's name."""
    server, database, schema, table = ("", "", "", *PurePath(name).stem.split("."))[-4:]
    return TableId(server, database, schema, table)


def _list_schemas(name: str, before: str | None, after: str | None, commit: str) -> tuple[TableSchema, ...]:
    """List the schemas of a file before and after; none if it has statements, or is no schema."""
    if has_statements(name, before) or has_statements(name, after):
        return ()
    try:
        _, old, new = _read_sides(name, before, after, commit)
    except UnreadableInput:
        return ()
    return tuple(side.table for side in (old, new) if side.table is not None)


def _list_tables(
    files: Iterable[str], judged: Mapping[str, Sequence[Finding]], proposed: BranchProposals
) -> list[TableId]:
    """List the tables of all files, and those that only migrations propose."""
    names = {name: findings[0].table for name, findings in judged.items() if findings}
    tables = [names.get(name) or TableId("", "", "", PurePath(name).stem) for name in sorted(files)]
    stems = {table.table for table in tables}
    return [*tables, *(t for t in proposed.tables if str(t) not in stems and t not in tables)]


def _read_base(commit: str, path: Path) -> Mapping[str, str]:
    relative = os.path.relpath(path)
    texts = git.read_folder(commit, relative, keep=lambda name: name.endswith(SUFFIXES))
    if texts:
        return {f"{path}/{name}": text for name, text in texts.items()}
    text = git.find_file(commit, relative)
    return {} if text is None else {str(path): text}


def _read_tree(path: Path) -> Mapping[str, str]:
    if path.is_file():
        return {str(path): read_text(path)}
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.endswith(SUFFIXES))
    return {f"{path}/{file.relative_to(path).as_posix()}": read_text(file) for file in files}


def _list_relations(
    workspace: Workspace, before: Mapping[str, str], after: Mapping[str, str], commit: str
) -> Iterator[Relation]:
    """List the tables of all files; a file that did not change may be no schema."""
    for name in sorted({*before, *after}):
        if has_statements(name, before.get(name)) or has_statements(name, after.get(name)):
            continue
        try:
            table, old, new = _read_sides(name, before.get(name), after.get(name), commit)
        except UnreadableInput:
            continue
        yield from list_side_relations(workspace, table, old, new)


def _read_sides(
    name: str, before: str | None, after: str | None, commit: str
) -> tuple[TableId, SchemaSide, SchemaSide]:
    old = SchemaSide() if before is None else read_side(before, f"{name} at {commit[:12]}")
    new = SchemaSide() if after is None else read_side(after, name)
    return new.table_id or old.table_id or TableId("", "", "", PurePath(name).stem), old, new


def _judge(
    workspace: Workspace, word: str | None, name: str, texts: tuple[str | None, str | None], commit: str
) -> Iterator[Finding]:
    before, after = texts
    if any(has_statements(name, text) for text in texts):
        grammar = choose_grammar(workspace, [name], word)
        yield from judge_script(grammar, (f"{commit[:12]}:{name}", name), texts)
        return
    table, old, new = _read_sides(name, before, after, commit)
    yield from judge_sides(table, old, new, f"{commit[:12]}:{name}", name)
