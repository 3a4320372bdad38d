"""The gate for SQL migrations: their statements are applied to the accepted state, and nothing is executed.

Law: a statement is applied, known to change no table, or a finding. Only a baseline of the registry needs a
store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from schemaman.api.files import read_text
from schemaman.api.gate_settings import add_waivers, is_branch, make_policy
from schemaman.api.migration_scripts import (
    MigrationFiles,
    Tables,
    apply_files,
    choose_grammar,
    place_finding,
    read_commit,
    read_script,
    read_tree,
    replay_files,
)
from schemaman.api.readership import build_relation
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat.gate import CheckResult, judge_files
from schemaman.compat.impact.relations import Relation
from schemaman.compat.judge import Finding, Severity
from schemaman.compat.proposed_changes import count_changed, judge_proposal, list_tables
from schemaman.compat.snapshots import from_text, is_snapshot_text, remove_ids
from schemaman.debezium.ddl.migrations.grammar import SqlGrammar, find_grammar
from schemaman.debezium.ddl.migrations.migration_files import is_script
from schemaman.debezium.ddl.migrations.script import has_table_statement
from schemaman.debezium.ddl.migrations.statement_applier import StatementApplier
from schemaman.errors import CouldNotDo, UnreadableInput, UsageError
from schemaman.history.references import FileRef, GitRef, parse
from schemaman.io import git
from schemaman.languages.read import read_schema
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.settings import Setting


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted tables, the words that name them, and the commit of git that has them, or None."""

    tables: Tables
    name: str
    commit: str | None = None


def check_migrations(
    workspace: Workspace,
    paths: Sequence[str],
    *,
    word: str | None = None,
    against: str | None = None,
    base: str | None = None,
    level: str | None = None,
    fail_on: Severity | None = None,
    open_registry: Callable[[], Registry] | None = None,
) -> CheckResult:
    """Check what scripts of SQL change in the accepted state.

    `paths` are scripts and folders. Of a folder in git, only what is new or changed since the merge base is
    applied. `word` names the connector or the dialect of the SQL. `against` is `git:REV`, `file:PATH`
    (snapshots, schemas or a script that creates tables) or None: the snapshots at the merge base, else in the
    working tree, else the newest versions in the store.

    Raises:
        UsageError: the dialect or the baseline is missing.
        UnreadableInput: a file cannot be read.
    """
    grammar = choose_grammar(workspace, paths, word)
    baseline = _find_baseline(workspace, grammar, against, base, open_registry)
    commit = baseline.commit
    folders = [path for path in map(Path, paths) if path.is_dir() and commit is not None]
    before = {path: read_commit(commit or "", path) for path in folders}
    accepted = baseline.tables
    for files in before.values():
        accepted = add_replayed(grammar, accepted, files)
    if not accepted:
        raise UsageError(f"there is no baseline: {baseline.name}", hint=_NO_BASELINE)
    applier = StatementApplier(grammar, accepted)
    for path in map(Path, paths):
        earlier = before.get(path, MigrationFiles({}))
        apply_files(applier, read_tree(path), earlier.scripts, earlier.unread)
    findings = judge_proposal(applier, baseline.name)
    again = [word for path in paths for word in ("--sql", path)]
    again += ["--dialect", word] if word else []
    again += [
        part for flag, value in (("--against", against), ("--base", base)) if value for part in (flag, value)
    ]
    placed = [replace(place_finding(f), arguments=tuple(again)) for f in findings]
    relations = list_relations(workspace, applier)
    policy = make_policy(workspace, level, fail_on, lambda _: relations)
    return add_waivers(workspace, judge_files(list_tables(applier), count_changed(applier), placed, policy))


@dataclass(frozen=True, slots=True)
class BranchProposals:
    """What the migrations of a branch propose: findings, the tables that they change, and their number.

    `relations` are the tables under the names that the SQL of consumers may use.
    """

    findings: tuple[Finding, ...] = ()
    tables: tuple[TableId, ...] = ()
    changed: int = 0
    relations: tuple[Relation, ...] = ()


def list_relations(workspace: Workspace, applier: StatementApplier) -> tuple[Relation, ...]:
    """List the relations of the tables before and after the statements."""
    gone = [dropped.table for dropped in applier.dropped]
    return tuple(
        build_relation(
            table.accepted_id or table.id, table.schema, [table.accepted or table.schema], workspace
        )
        for table in (*applier.tables.values(), *gone)
    )


def find_branch_proposals(workspace: Workspace, commit: str, snapshots: Mapping[str, str]) -> BranchProposals:
    """Judge the migrations of the settings that are new or changed since a commit.

    `snapshots` are the texts of the snapshots at the commit. A table without one has the structure that the
    migrations of the commit give it.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    setting = workspace.settings.migrations
    found = BranchProposals()
    accepted = _read_snapshots(snapshots)
    for folder, word in setting.value:
        grammar = find_grammar(word)
        if grammar is None:
            continue
        path = Path(os.path.relpath(resolve_path(Setting(folder, setting.origin))))
        before, after = read_commit(commit, path), read_tree(path)
        if before == after:
            continue
        applier = StatementApplier(grammar, add_replayed(grammar, accepted, before))
        apply_files(applier, after, before.scripts, before.unread)
        judged = tuple(map(place_finding, judge_proposal(applier, commit[:12])))
        tables = tuple(id for id in list_tables(applier) if id not in found.tables)
        found = BranchProposals(
            (*found.findings, *judged),
            (*found.tables, *tables),
            found.changed + count_changed(applier),
            (*found.relations, *list_relations(workspace, applier)),
        )
    return found


def add_replayed(grammar: SqlGrammar, accepted: Tables, before: MigrationFiles) -> Tables:
    """Add the tables that earlier migrations create, where the accepted state has none of that name."""
    known = {_name_levels(id) for id, _ in accepted}
    return (*accepted, *(t for t in replay_files(grammar, before) if _name_levels(t[0]) not in known))


_NO_BASELINE = "schemaman snapshot writes snapshots; or name a schema: --against file:schema.sql"


def _find_baseline(
    workspace: Workspace,
    grammar: SqlGrammar,
    against: str | None,
    base: str | None,
    open_registry: Callable[[], Registry] | None,
) -> Baseline:
    if against is not None and not is_branch(against):
        return _read_reference(grammar, against)
    folder = resolve_path(workspace.settings.snapshots)
    branch = base if against is None else against.removeprefix("git:")
    try:
        commit = git.find_merge_base(branch=branch)
    except UsageError:
        if branch is not None:
            raise
        commit = None
    if commit is not None:
        texts = git.read_folder(commit, os.path.relpath(folder))
        if tables := _read_snapshots({f"{folder}/{name}": text for name, text in texts.items()}):
            return Baseline(tables, commit[:12], commit)
    if branch is None and folder.is_dir():
        files = sorted(folder.rglob("*.json"))
        if tables := _read_snapshots({str(file): read_text(file) for file in files}):
            return Baseline(tables, str(folder), commit)
    if branch is None and open_registry is not None:
        try:
            histories = [history for history in open_registry().select() if not history.has_ended]
        except CouldNotDo:
            histories = []
        latest = [(h.table, remove_ids(h.latest.revisions[-1].schema)) for h in histories]
        if latest:
            return Baseline(tuple(latest), "the store", commit)
    return Baseline((), f"no snapshots in {folder}, and no store", commit)


def _read_reference(grammar: SqlGrammar, against: str) -> Baseline:
    match parse(against):
        case FileRef(path) if Path(path).is_dir():
            files = sorted(f for f in Path(path).rglob("*") if f.suffix in (".json", ".avsc", ".ddl", ".sql"))
            found = [t for f in files for t in read_tables(grammar, read_script(f), str(f))]
        case FileRef(path):
            found = list(read_tables(grammar, read_script(Path(path)), path))
        case GitRef(revision, path):
            found = list(read_tables(grammar, git.read_file(revision, path), path))
        case _:
            raise UsageError(
                f"{against} is no baseline of migrations",
                hint="--against git:main, or --against file:schema.sql",
            )
    if not found:
        raise UsageError(
            f"{against} has no table", hint="name snapshots, a schema or a script that creates tables"
        )
    return Baseline(tuple(found), against)


def read_tables(grammar: SqlGrammar, text: str, where: str) -> Tables:
    """Read the tables of a file: of a snapshot, of a script that creates them, or of any schema.

    Raises:
        UnreadableInput: it is none of them, or a statement of the script was not read.
    """
    if is_snapshot_text(text):
        return _read_snapshots({where: text})
    if is_script(where) and has_table_statement(text):
        applier = StatementApplier(grammar, ())
        apply_files(applier, MigrationFiles({where: text}))
        if applier.unread:
            first = applier.unread[0]
            raise UnreadableInput(
                f"{where}:{first.place.line}: not read: {first.beginning}: {first.reason}",
                hint="a baseline needs every statement; remove those that change no table",
            )
        return tuple((t.id, remove_ids(t.schema)) for t in applier.tables.values())
    return ((TableId("", "", "", PurePath(where).stem), remove_ids(read_schema(text, where))),)


def _read_snapshots(texts: Mapping[str, str]) -> Tables:
    read = [from_text(text, name) for name, text in texts.items() if is_snapshot_text(text)]
    return tuple((snapshot.table, snapshot.schema) for snapshot in read)


def _name_levels(id: TableId) -> tuple[str, str]:
    return (id.schema or id.database).lower(), id.table.lower()
