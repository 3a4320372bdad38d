"""Reads scripts of SQL from the working tree or from git, and applies their statements to known tables."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from schemaman.api.files import read_text
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat.judge import Finding
from schemaman.compat.proposed_changes import judge_schemas
from schemaman.compat.snapshots import remove_ids
from schemaman.debezium.ddl.migrations.grammar import ALIASES, SqlGrammar, find_grammar, list_sql_names
from schemaman.debezium.ddl.migrations.known_tables import ScriptPlace, UnreadStatement
from schemaman.debezium.ddl.migrations.migration_files import (
    UnreadFile,
    find_unread_file,
    is_script,
    prepare_script,
    sort_files,
)
from schemaman.debezium.ddl.migrations.script import split_script
from schemaman.debezium.ddl.migrations.statement_applier import StatementApplier
from schemaman.errors import SchemamanError, UnreadableInput, UsageError
from schemaman.io import git
from schemaman.model.schema import TableId, TableSchema
from schemaman.settings import Setting

Tables = tuple[tuple[TableId, TableSchema], ...]
_BYTES = 32 * 2**20
"""The largest script that is read."""

_STATEMENT_LINE = re.compile(
    r"^\s*(?:ALTER|CREATE|DROP|RENAME)\s+(?:\w+\s+){0,2}?TABLE\b", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class MigrationFiles:
    """The scripts of migrations in the order in which they run, by name, and the files that are not read."""

    scripts: Mapping[str, str]
    unread: tuple[UnreadFile, ...] = ()


def has_statements(name: str, text: str | None) -> bool:
    """Return whether a file is a script with statements about tables, and no column list."""
    return is_script(name) and text is not None and _STATEMENT_LINE.search(text) is not None


def judge_script(
    grammar: SqlGrammar, names: tuple[str, str], texts: tuple[str | None, str | None]
) -> tuple[Finding, ...]:
    """Judge the tables that a script creates against those that an earlier version of it creates.

    `names` and `texts` are those of the earlier and of the present version; None for none.
    """
    appliers = [StatementApplier(grammar, ()) for _ in names]
    for applier, name, text in zip(appliers, names, texts, strict=True):
        apply_files(applier, MigrationFiles({name: text or ""}))
    return judge_schemas(appliers[0], appliers[1], names)


def choose_grammar(workspace: Workspace, paths: Sequence[str], word: str | None) -> SqlGrammar:
    """Choose the grammar by its word, else by the folder of the settings that has the paths.

    Raises:
        UsageError: nothing decides.
    """
    setting = workspace.settings.migrations
    words = {ALIASES.get(word, word)} if word else set()
    for folder, own in setting.value if not word else ():
        place = resolve_path(Setting(folder, setting.origin)).resolve()
        words |= {ALIASES.get(own, own) for path in paths if Path(path).resolve().is_relative_to(place)}
    if not words:
        words = {ALIASES.get(own, own) for _, own in setting.value}
    grammar = find_grammar(next(iter(words))) if len(words) == 1 else None
    if grammar is None:
        raise UsageError(
            f"which database the SQL is for is not known: one of {', '.join(list_sql_names())}",
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
    texts = git.read_folder(commit, os.path.relpath(path), keep=lambda n: _is_of_interest(PurePath(n).name))
    named = {f"{path}/{name}": text.removeprefix("\ufeff") for name, text in texts.items()}
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


def place_finding(finding: Finding) -> Finding:
    """Return a finding with the path of its file in the repository; outside of one it stays as it is."""
    try:
        prefix = git.find_prefix()
    except SchemamanError:
        return finding
    path = PurePath(os.path.normpath(PurePath(prefix) / os.path.relpath(finding.file))).as_posix()
    return replace(finding, file=path, new_ref=f"{path}:{finding.line}")


def is_in_migrations(workspace: Workspace, path: str) -> bool:
    """Return whether a path is in a folder of migrations of the settings."""
    setting = workspace.settings.migrations
    folders = [resolve_path(Setting(folder, setting.origin)).resolve() for folder, _ in setting.value]
    return any(Path(path).resolve().is_relative_to(folder) for folder in folders)


def _is_of_interest(name: str) -> bool:
    return is_script(name) or PurePath(name).suffix.lower() in _OTHERS


def _collect(texts: Mapping[str, str], *, is_named: bool = False) -> MigrationFiles:
    """Sort the texts of files into scripts in order and files that are not read."""
    scripts = [name for name in texts if is_script(name) or is_named]
    unread = [u for name in sorted(texts) if (u := find_unread_file(name, texts[name])) is not None]
    if any(PurePath(file.name).name == "dbt_project.yml" for file in unread):
        scripts = []
    refused = {file.name for file in unread}
    ordered = scripts if is_named else sort_files(scripts)
    return MigrationFiles({n: texts[n] for n in ordered if n not in refused}, tuple(unread))


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
