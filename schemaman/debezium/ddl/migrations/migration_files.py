"""The files of migration tools: their order, and the part of a file that migrates forwards.

Sources: Flyway, "Migrations" (V, U, B and R files); Liquibase, "Formatted SQL changelogs"; golang-migrate,
MIGRATIONS.md; goose, dbmate, sql-migrate, node-pg-migrate and Play Evolutions, their markers; Alembic,
"Offline Mode"; Diesel and Prisma, folders of migrations; dbt, "Models".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from schemaman.debezium.ddl.migrations.grammar import GRAMMARS

_SCRIPT = re.compile(r"\.(sql|ddl|psql|pgsql)$", re.IGNORECASE)
_BACKWARDS = re.compile(r"(^|[._-])(down|undo|rollback|revert)\.\w+$", re.IGNORECASE)
_FLYWAY = re.compile(r"([VUBR])(\d[\d._]*)?__.*", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d+(?:[._]\d+)*)(?:[._-]|$)")
_PROGRAM = re.compile(r"\.(java|kt|groovy|py|rb|js|ts|exs|go|php|cs)$", re.IGNORECASE)
_CHANGELOG = re.compile(r"\.(xml|ya?ml|json)$", re.IGNORECASE)
_MARKS = (
    (re.compile(r"\s*--\s*\+(?:goose|migrate|micrate)\s+(up|down)\b", re.IGNORECASE)),
    (re.compile(r"\s*--\s*migrate:(up|down)\b", re.IGNORECASE)),
    (re.compile(r"\s*--\s*(up|down) migration\s*$", re.IGNORECASE)),
    (re.compile(r"\s*(?:--|#)\s*(?:---\s*)?!(up|down)s\b", re.IGNORECASE)),
    (re.compile(r"\s*--\s*//\s*@(un)do\b", re.IGNORECASE)),
)
_BLOCK = re.compile(r"\s*--\s*\+(?:goose|migrate|micrate)\s+Statement(Begin|End)\b", re.IGNORECASE)
_LIQUIBASE = re.compile(r"\s*--\s*liquibase formatted sql", re.IGNORECASE)
_CHANGESET = re.compile(r"\s*--\s*changeset\s+(.*)", re.IGNORECASE)
_IGNORED_LINES = re.compile(r"\s*--\s*ignoreLines:(start|end|\d+)\b", re.IGNORECASE)
_DELIMITER = re.compile(r"endDelimiter:(\S+)", re.IGNORECASE)
_DATABASES = re.compile(r"dbms:\"?([\w,!]+)", re.IGNORECASE)
_UNSPLIT = re.compile(r"splitStatements:\"?false", re.IGNORECASE)
SEPARATOR = "\x02DELIMITER"
"""The word that sets another end of statements in a prepared text; it cannot occur in a script."""


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file of migrations that is not read, and why."""

    name: str
    reason: str


def sort_files(names: Iterable[str]) -> tuple[str, ...]:
    """Sort the files of migrations as their tools run them; files that go backwards are left out.

    Versions come in the order of their numbers, then files without one by their paths, then repeatable ones.
    """
    return tuple(sorted((name for name in names if not is_backwards(name)), key=_sort_key))


def is_backwards(name: str) -> bool:
    """Return whether a file undoes a migration, or repeats earlier ones for new databases."""
    base = name.rpartition("/")[2]
    flyway = _FLYWAY.fullmatch(base)
    return bool(_BACKWARDS.search(base)) or (flyway is not None and flyway[1].upper() in "UB")


def is_script(name: str) -> bool:
    """Return whether a file is a script of SQL by its suffix."""
    return _SCRIPT.search(name) is not None


def find_unread_file(name: str, text: str) -> UnreadFile | None:
    """Find out whether a file beside the scripts is a migration in another language, which is not read."""
    base = name.rpartition("/")[2]
    if _CHANGELOG.search(base) and "databaseChangeLog" in text:
        return UnreadFile(
            name,
            "a Liquibase changelog in XML, YAML or JSON is not read; check what liquibase update-sql prints",
        )
    if base == "dbt_project.yml":
        return UnreadFile(
            name, "dbt models are queries, no statements about tables; check the contract of the result"
        )
    is_numbered = _FLYWAY.fullmatch(base) or _NUMBERED.match(base) or re.match(r"[0-9a-f]{12}_", base)
    if _PROGRAM.search(base) and (is_numbered or "alembic" in text[:4000] or "op." in text[:20000]):
        return UnreadFile(
            name,
            "a migration in a programming language is not read; check the SQL that it prints (alembic --sql)",
        )
    return None


def prepare_script(text: str, connector: str) -> str:
    """Return the part of a script that migrates forwards; other lines are empty, so that numbers stay.

    Lines that set the end of statements become lines that the splitter knows.
    """
    lines = text.split("\n")
    is_liquibase = any(_LIQUIBASE.match(line) for line in lines[:5])
    kept: list[str] = []
    is_forwards = True
    for line in lines:
        if not line.lstrip().startswith(("--", "#")):
            kept.append(line if is_forwards else "")
            continue
        direction = next((found[1] for mark in _MARKS if (found := mark.match(line))), None)
        if direction is not None:
            is_forwards = direction.lower() == "up"
            kept.append("")
        elif block := _BLOCK.match(line):
            kept.append(
                f"{SEPARATOR} {SEPARATOR if block[1].lower() == 'begin' else ';'}" if is_forwards else ""
            )
        elif is_liquibase and (changeset := _CHANGESET.match(line)):
            is_forwards = _is_for(changeset[1], connector)
            kept.append(f"{SEPARATOR} {_find_delimiter(changeset[1])}")
        elif is_liquibase and (ignored := _IGNORED_LINES.match(line)) and ignored[1] in ("start", "end"):
            is_forwards = ignored[1] == "end"
            kept.append("")
        else:
            kept.append(line if is_forwards else "")
    return "\n".join(kept)


def _find_delimiter(attributes: str) -> str:
    if _UNSPLIT.search(attributes):
        return SEPARATOR
    found = _DELIMITER.search(attributes)
    delimiter = found[1].strip("\"'") if found else ";"
    return ";" if delimiter.lower() in ("go", "\\ngo", "\\n/", "/") else delimiter


def _is_for(attributes: str, connector: str) -> bool:
    """Return whether a changeset is for the database of a connector."""
    found = _DATABASES.search(attributes)
    if found is None:
        return True
    grammar = GRAMMARS.get(connector)
    own = {connector} if grammar is None else set(grammar.databases)
    named = {word.lower() for word in found[1].split(",") if word}
    excluded = {word[1:] for word in named if word.startswith("!")}
    included = {word for word in named if not word.startswith("!")}
    return not own & excluded and (not included or bool(own & included) or "all" in included)


def _sort_key(name: str) -> tuple[int, tuple[int, ...], str]:
    parts = name.split("/")
    flyway = _FLYWAY.fullmatch(parts[-1])
    if flyway is not None and flyway[1].upper() == "R":
        return 2, (), name
    version = flyway[2] if flyway is not None else None
    for part in reversed(parts[-2:]):
        if version is None and (numbered := _NUMBERED.match(part)):
            version = numbered[1]
    if version is None:
        return 1, (), name
    return 0, tuple(int(number) for number in re.split(r"[._]", version) if number), name
