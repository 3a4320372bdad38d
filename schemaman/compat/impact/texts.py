"""Finds the SQL in the files of consumers: SQL files, dbt manifests, and Python programs.

Nothing of these files is run: a program is read as a syntax tree, a manifest as JSON.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schemaman.compat.impact.data_frames import find_frame_uses
from schemaman.compat.impact.graph import Place

_READ_RESOURCES = ("model", "snapshot", "analysis", "test")
"""The nodes of a manifest with SQL that reads. Source: dbt, manifest.json v12, `resource_type`."""

_LANGUAGES: Mapping[str, str] = {
    "sqlserver": "tsql",
    "fabric": "tsql",
    "postgresql": "postgres",
    "glue": "spark",
}
"""The dialects of dbt adapters that are called otherwise."""

_REFERENCE = re.compile(
    r"""\{\{-?\s*(ref|source)\(\s*['"]([\w.$-]+)['"]\s*(?:,\s*['"]([\w.$-]+)['"]\s*)?\)\s*-?\}\}"""
)
_TABLE_METHODS = ("table", "saveAsTable", "insertInto", "forName", "writeTo")
_NO_COLUMNS = "a data frame: the columns that it uses are not known"
_VIEW_METHODS = ("createOrReplaceTempView", "createTempView", "createOrReplaceGlobalTempView")


@dataclass(frozen=True, slots=True)
class SqlText:
    """A text with statements of one dialect. `line` of its place is the line of its beginning.

    `defined` are the parts of the name of the relation that its query makes, empty for none. It is visible
    only in its file if `is_temporary`.
    """

    place: Place
    text: str
    language: str = ""
    defined: tuple[str, ...] = ()
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class UnreadText:
    """A text that is no SQL that can be read: why, and what words it has."""

    place: Place
    reason: str
    text: str = ""


FoundText = SqlText | UnreadText


def find_texts(place: Place, text: str, language: str) -> tuple[FoundText, ...]:
    """Find the SQL of a file by its suffix: `.json` a dbt manifest, `.py` a program, any other SQL."""
    if place.file.endswith(".json"):
        return tuple(_find_in_manifest(place, text, language))
    if place.file.endswith(".py"):
        return tuple(_find_in_program(place, text, language or "spark"))
    return (_resolve_templates(SqlText(place, text, language)),)


def _resolve_templates(text: SqlText) -> SqlText:
    """Replace `ref` and `source` of dbt by names; a statement with another template is not read."""
    named = _REFERENCE.sub(lambda found: ".".join(p for p in found.groups()[1:] if p), text.text)
    return replace(text, text=named)


def _find_in_manifest(place: Place, text: str, language: str) -> Iterator[FoundText]:
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        yield UnreadText(place, "not JSON", text)
        return
    nodes = manifest.get("nodes") if isinstance(manifest, dict) else None
    if not isinstance(nodes, dict):
        yield UnreadText(place, "no manifest of dbt: it has no nodes", text)
        return
    adapter = _get(manifest, "metadata", "adapter_type")
    language = language or _LANGUAGES.get(str(adapter), str(adapter or ""))
    known: dict[str, dict[str, Any]] = {
        key: node
        for part in ("sources", "nodes")
        for key, node in (manifest.get(part) or {}).items()
        if isinstance(node, dict)
    }
    for key, node in known.items():
        if node.get("resource_type") in _READ_RESOURCES:
            yield _read_node(place, key, node, known, language)
    for key, exposure in (manifest.get("exposures") or {}).items():
        if isinstance(exposure, dict):
            yield from _read_exposure(place, key, exposure, known, language)


def _read_node(
    place: Place, key: str, node: dict[str, Any], known: Mapping[str, dict[str, Any]], language: str
) -> FoundText:
    """Read a model: its compiled SQL, or why it is not there and what it depends on."""
    owner = _get(node, "meta", "owner") or _get(node, "config", "meta", "owner")
    here = replace(
        place,
        file=_text(node.get("original_file_path")) or place.file,
        name=key,
        owner=_text(owner) or place.owner,
        contact=place.contact if not _text(owner) else "",
    )
    compiled = node.get("compiled_code", node.get("compiled_sql"))
    if not isinstance(compiled, str) or node.get("language", "sql") != "sql":
        needs = [known[k] for k in _list_needs(node) if k in known]
        words = " ".join(part for one in needs for part in _name_node(one))
        reason = "Python model" if node.get("language") == "python" else "not compiled: run dbt compile"
        return UnreadText(here, reason, words)
    is_relation = node.get("resource_type") in ("model", "snapshot")
    return SqlText(here, compiled, language, _name_node(node) if is_relation else ())


def _read_exposure(
    place: Place, key: str, exposure: dict[str, Any], known: Mapping[str, dict[str, Any]], language: str
) -> Iterator[FoundText]:
    """Read an exposure, such as a dashboard: it may read all columns of what it depends on."""
    owner = _text(_get(exposure, "owner", "name")) or place.owner
    contact = _text(_get(exposure, "owner", "email")) or place.contact
    here = replace(
        place,
        file=_text(exposure.get("original_file_path")) or place.file,
        name=key,
        owner=owner,
        contact=contact,
    )
    for need in _list_needs(exposure):
        if need in known and (name := _name_node(known[need])):
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name)
            yield SqlText(here, f"SELECT * FROM {quoted}", "postgres")


def _list_needs(node: dict[str, Any]) -> list[str]:
    needs = _get(node, "depends_on", "nodes")
    return [need for need in needs if isinstance(need, str)] if isinstance(needs, list) else []


def _name_node(node: dict[str, Any]) -> tuple[str, ...]:
    """Name the relation of a node: database, schema, and alias or identifier."""
    last = node.get("identifier") or node.get("alias") or node.get("name")
    return tuple(p for p in (node.get("database"), node.get("schema"), last) if isinstance(p, str) and p)


def _find_in_program(place: Place, text: str, language: str) -> Iterator[FoundText]:
    """Find the texts of calls of `sql` in a program, and the tables that its data frames read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield UnreadText(place, f"no Python program: {type(error).__name__}", text)
        return
    constants = _list_constants(tree)
    uses, followed = find_frame_uses(tree, lambda node: _fold_text(node, constants), constants)
    for use in uses:
        here, words = replace(place, line=use.line), " ".join(use.tables)
        yield SqlText(here, use.sql, "spark") if use.sql else UnreadText(here, _NO_COLUMNS, words)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    views = _list_views(tree, calls)
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        if not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        written = call.args[0]
        if isinstance(written, ast.Name):
            written = constants.get(written.id, written)
        here = replace(place, line=written.lineno)
        argument = _fold_text(call.args[0], constants)
        if call.func.attr == "sql":
            if argument is None:
                words = " ".join(
                    n.value
                    for n in ast.walk(call)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                )
                yield UnreadText(here, "SQL that the program builds when it runs", words)
            else:
                view = views.get(id(call), "")
                yield SqlText(here, argument, language, (view,) if view else (), bool(view))
        elif call.func.attr in _TABLE_METHODS and argument is not None:
            if call.func.attr == "table" and argument in followed:
                continue  # what the program does with it is known
            yield UnreadText(here, _NO_COLUMNS, argument)


def _join_texts(call: ast.Call) -> str:
    constants = (node.value for node in ast.walk(call) if isinstance(node, ast.Constant))
    return " ".join(value for value in constants if isinstance(value, str))


def _list_views(tree: ast.Module, calls: list[ast.Call]) -> dict[int, str]:
    """List the calls of `sql` whose result becomes a view, directly or through a variable."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    found: dict[int, str] = {}
    for call in calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _VIEW_METHODS or not call.args:
            continue
        name, made = call.args[0], call.func.value
        if isinstance(made, ast.Name) and len(assigned.get(made.id, ())) == 1:
            made = assigned[made.id][0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and isinstance(made, ast.Call):
            found[id(made)] = name.value
    return found


def _list_constants(tree: ast.Module) -> dict[str, ast.expr]:
    """List the variables that a program assigns once."""
    assigned: dict[str, ast.expr] = {}
    counts: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                assigned[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                assigned[name] = value
            case _:
                pass
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                counts[name] += 1
            case _:
                pass
    return {name: value for name, value in assigned.items() if counts[name] == 1}


def _fold_text(node: ast.expr, constants: Mapping[str, ast.expr], depth: int = 0) -> str | None:
    """Fold an expression into a text: a literal, a sum of texts, or a variable assigned once."""
    if depth > 50:
        return None
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first = _fold_text(left, constants, depth + 1)
            second = _fold_text(right, constants, depth + 1)
            return None if first is None or second is None else first + second
        case ast.JoinedStr(values=values) if all(isinstance(v, ast.Constant) for v in values):
            return "".join(str(v.value) for v in values if isinstance(v, ast.Constant))
        case ast.JoinedStr(values=values):
            parts = [
                _fold_text(v.value if isinstance(v, ast.FormattedValue) else v, constants, depth + 1)
                if not isinstance(v, ast.FormattedValue) or (v.conversion == -1 and v.format_spec is None)
                else None
                for v in values
            ]
            known = [part for part in parts if part is not None]
            return "".join(known) if len(known) == len(parts) else None
        case ast.Name(id=name) if name in constants:
            return _fold_text(constants[name], constants, depth + 1)
        case _:
            return None


def _get(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
