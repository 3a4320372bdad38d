"""The gate for SQL migrations: their statements are applied to the accepted state, and nothing is executed.

Law: a statement is applied, known to change no table, or a finding. Only a baseline of the registry needs a
store.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from schemaman.api.checking_files import add_waivers, make_policy
from schemaman.api.files import read_text
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat.gate import CheckResult, judge_files
from schemaman.compat.judge import Finding, Severity
from schemaman.compat.proposed_changes import count_changed, judge_proposal, list_tables
from schemaman.compat.snapshots import from_text, is_snapshot_text, remove_ids
from schemaman.debezium.ddl.grammar import SQL_NAMES, SqlGrammar, find_grammar
from schemaman.debezium.ddl.migration_files import (
    UnreadFile,
    find_unread_file,
    is_script,
    prepare_script,
    sort_files,
)
from schemaman.debezium.ddl.script import has_table_statement, split_script
from schemaman.debezium.ddl.table_statements import ScriptPlace, StatementApplier, UnreadStatement
from schemaman.errors import CouldNotDo, SchemamanError, UnreadableInput, UsageError
from schemaman.history.references import FileRef, GitRef, parse
from schemaman.io import git
from schemaman.languages.read import read_schema
from schemaman.model.schema import TableId, TableSchema
from schemaman.registry import Registry
from schemaman.settings import Setting

Tables = tuple[tuple[TableId, TableSchema], ...]
_BYTES = 32 * 2**20
"""The largest script that is read."""


@dataclass(frozen=True, slots=True)
class MigrationFiles:
    """The scripts of migrations in the order in which they run, by name, and the files that are not read."""

    scripts: Mapping[str, str]
    unread: tuple[UnreadFile, ...] = ()


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
    findings: list[Finding] = []
    applier = StatementApplier(grammar, baseline.tables)
    for path in map(Path, paths):
        files = read_tree(path)
        before = read_commit(baseline.commit, path).scripts if baseline.commit and path.is_dir() else {}
        apply_files(applier, files, before)
    findings += judge_proposal(applier, baseline.name)
    again = [word for path in paths for word in ("--sql", path)]
    again += ["--dialect", word] if word else []
    again += [
        part for flag, value in (("--against", against), ("--base", base)) if value for part in (flag, value)
    ]
    placed = [replace(f, file=place_file(f.file), arguments=tuple(again)) for f in findings]
    policy = make_policy(workspace, level, fail_on)
    return add_waivers(workspace, judge_files(list_tables(applier), count_changed(applier), placed, policy))


def find_branch_proposals(
    workspace: Workspace, commit: str, snapshots: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Judge the migrations of the settings that are new or changed since a commit.

    `snapshots` are the texts of the snapshots at the commit. A table without one has the structure that the
    migrations of the commit give it.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    setting = workspace.settings.migrations
    found: list[Finding] = []
    accepted = _read_snapshots(snapshots)
    for folder, word in setting.value:
        grammar = find_grammar(word)
        if grammar is None:
            continue
        path = resolve_path(Setting(folder, setting.origin))
        before, after = read_commit(commit, path), read_tree(path)
        if before == after:
            continue
        known = {_name_levels(id) for id, _ in accepted}
        earlier = [t for t in replay_files(grammar, before) if _name_levels(t[0]) not in known]
        applier = StatementApplier(grammar, (*accepted, *earlier))
        apply_files(applier, after, before.scripts, before.unread)
        found += judge_proposal(applier, commit[:12])
    return tuple(replace(f, file=place_file(f.file)) for f in found)


def choose_grammar(workspace: Workspace, paths: Sequence[str], word: str | None) -> SqlGrammar:
    """Choose the grammar by its word, else by the folder of the settings that has the paths.

    Raises:
        UsageError: nothing decides.
    """
    setting = workspace.settings.migrations
    words = {word} if word else set()
    for folder, own in setting.value if not word else ():
        place = resolve_path(Setting(folder, setting.origin)).resolve()
        words |= {own for path in paths if Path(path).resolve().is_relative_to(place)}
    if not words:
        words = {own for _, own in setting.value}
    grammar = find_grammar(next(iter(words))) if len(words) == 1 else None
    if grammar is None:
        raise UsageError(
            f"which database the SQL is for is not known: one of {', '.join(SQL_NAMES)}",
            hint='name it with --dialect, or in schemaman.toml: [migrations] "db/migration" = "postgresql"',
        )
    return grammar


def read_tree(path: Path) -> MigrationFiles:
    """Read the scripts of a file or a folder. Raises `UnreadableInput`."""
    if not path.is_dir():
        return _collect({str(path): read_script(path)}, is_named=True)
    files = [file for file in path.rglob("*") if file.is_file() and _is_of_interest(file.name)]
    return _collect({f"{path}/{file.relative_to(path).as_posix()}": read_script(file) for file in files})


def read_commit(commit: str, path: Path) -> MigrationFiles:
    """Read the scripts of a folder at a commit. Raises `UnreadableInput`."""
    texts = git.read_folder(commit, os.path.relpath(path))
    named = {f"{path}/{name}": text for name, text in texts.items() if _is_of_interest(PurePath(name).name)}
    return _collect(named)


def read_script(path: Path) -> str:
    """Read the text of a script. Raises `UnreadableInput` if it is too large or no text."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    if size > _BYTES:
        raise UnreadableInput(
            f"{path} has {size} bytes; a script has at most {_BYTES}",
            hint="keep rows in files of their own, and check the statements about tables",
        )
    return read_text(path).removeprefix("\ufeff")


def apply_files(
    applier: StatementApplier,
    files: MigrationFiles,
    before: Mapping[str, str] | None = None,
    before_unread: Sequence[UnreadFile] = (),
) -> None:
    """Apply the statements of scripts that earlier versions of them, `before`, do not have."""
    earlier = before or {}
    grammar = applier.grammar
    for name, text in files.scripts.items():
        if earlier.get(name) == text:
            continue
        old = prepare_script(earlier.get(name, ""), grammar.connector)
        applied = Counter(statement.text for statement in split_script(old, grammar))
        for statement in split_script(prepare_script(text, grammar.connector), grammar):
            if applied[statement.text]:
                applied[statement.text] -= 1
            else:
                applier.apply(statement, name)
    for file in files.unread:
        if file not in before_unread:
            beginning = PurePath(file.name).name
            applier.unread.append(
                UnreadStatement(ScriptPlace(file.name, 1), beginning, file.reason, None, file.name)
            )


def replay_files(grammar: SqlGrammar, files: MigrationFiles) -> Tables:
    """Apply all scripts to an empty database; tables about which a statement was not read are left out."""
    applier = StatementApplier(grammar, ())
    apply_files(applier, files)
    unsure = {unread.table for unread in applier.unread}
    return tuple((t.id, remove_ids(t.schema)) for t in applier.tables.values() if t.id not in unsure)


def place_file(name: str) -> str:
    """Return the path of a file in its repository; outside of one the path itself."""
    try:
        prefix = git.find_prefix()
    except SchemamanError:
        return name
    return PurePath(os.path.normpath(PurePath(prefix) / os.path.relpath(name))).as_posix()


def _is_of_interest(name: str) -> bool:
    return is_script(name) or PurePath(name).suffix.lower() in _OTHERS


_OTHERS = {
    ".xml",
    ".yml",
    ".yaml",
    ".json",
    ".java",
    ".kt",
    ".groovy",
    ".py",
    ".rb",
    ".js",
    ".ts",
    ".exs",
    ".go",
}


def _collect(texts: Mapping[str, str], *, is_named: bool = False) -> MigrationFiles:
    """Sort the texts of files into scripts in order and files that are not read."""
    scripts = [name for name in texts if is_script(name) or is_named]
    unread = [u for name in sorted(texts) if (u := find_unread_file(name, texts[name])) is not None]
    if any(PurePath(file.name).name == "dbt_project.yml" for file in unread):
        scripts = []
    refused = {file.name for file in unread}
    ordered = scripts if is_named else sort_files(scripts)
    return MigrationFiles({n: texts[n] for n in ordered if n not in refused}, tuple(unread))


def _find_baseline(
    workspace: Workspace,
    grammar: SqlGrammar,
    against: str | None,
    base: str | None,
    open_registry: Callable[[], Registry] | None,
) -> Baseline:
    if against is not None and not _is_revision(against):
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
    raise UsageError(
        f"there is no baseline: no snapshots in {folder}, and no store",
        hint="schemaman snapshot writes snapshots; or name a schema: --against file:schema.sql",
    )


def _is_revision(against: str) -> bool:
    return against.startswith("git:") and ":" not in against.removeprefix("git:")


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
