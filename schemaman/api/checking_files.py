"""The gate for two schemas of files, git or a registry: it needs no store and no history."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from schemaman.api.avro_checks import load_json, read_avro
from schemaman.api.files import read_text
from schemaman.api.finding_places import find_folder_prefix, find_line, place_in_repository
from schemaman.api.gate_settings import add_waivers, make_policy, order_arguments
from schemaman.api.migration_scripts import choose_grammar, has_statements, judge_script
from schemaman.api.readership import build_relation
from schemaman.api.references import read_outside_history
from schemaman.api.workspace import Workspace
from schemaman.compat.avro.schema import AvroSchema, InvalidAvroSchema
from schemaman.compat.gate import CheckResult, judge_files
from schemaman.compat.impact.relations import Relation
from schemaman.compat.judge import (
    Severity,
)
from schemaman.compat.schema_pair import SchemaSide, judge_sides
from schemaman.compat.snapshots import from_text, is_snapshot, remove_ids
from schemaman.errors import UnreadableInput
from schemaman.history.references import FileRef, GitRef, Reference, parse
from schemaman.io import git
from schemaman.languages.read import read_field_ids, read_schema
from schemaman.model.schema import TableId


def check_schemas(
    workspace: Workspace,
    new: str,
    old: str,
    *,
    level: str | None = None,
    fail_on: Severity | None = None,
    word: str | None = None,
) -> CheckResult:
    """Check the schema of one REF against that of another; both are outside the history.

    Two Avro schemas are compared as they are, of any root; Avro's verdict then comes from their text. All
    other schemas are compared as tables, and scripts that create tables by the tables that they create.
    `word` names the connector or the dialect of their SQL.

    Raises:
        UnreadableInput: a REF has no schema, or no valid one.
        UnknownName: there is no such level.
    """
    table = TableId("", "", "", PurePath(new.rpartition(":")[2]).stem or new)
    again = order_arguments([new], "--against", old, *(("--dialect", word) if word else ()))
    texts = (_find_text(parse(old)), _find_text(parse(new)))
    relations: tuple[Relation, ...] = ()
    if all(
        text is not None and has_statements(ref, text) for ref, text in zip((old, new), texts, strict=True)
    ):
        grammar = choose_grammar(workspace, [new.rpartition(":")[2]], word)
        judged = judge_script(grammar, (old.removeprefix("file:"), new.removeprefix("file:")), texts)
    else:
        sides = [_read_reference(workspace, parse(text)) for text in (old, new)]
        judged = judge_sides(table, sides[0], sides[1], old, new)
        relations = tuple(list_side_relations(workspace, table, sides[0], sides[1]))
    policy = make_policy(workspace, level, fail_on, lambda _: relations)
    findings = [replace(finding, arguments=again) for finding in judged]
    reference = parse(new)
    if isinstance(reference, FileRef):
        file, text = place_in_repository(reference.path, find_folder_prefix()), read_text(reference.path)
        findings = [replace(f, file=file, line=f.line or find_line(text, f)) for f in findings]
    return add_waivers(workspace, judge_files((table,), 1, findings, policy))


def list_side_relations(
    workspace: Workspace, table: TableId, old: SchemaSide, new: SchemaSide
) -> Iterator[Relation]:
    """List the relation of a table of two schemas; none if neither is a table."""
    schema = new.table or old.table
    if schema is not None:
        yield build_relation(table, schema, [old.table] if old.table else [], workspace)


def read_side(text: str, where: str) -> SchemaSide:
    """Read the schema in the text of a file: a snapshot, Avro of any root, or another language of tables.

    Raises:
        UnreadableInput: it is neither a table nor Avro.
        BadConfiguration: it is a damaged snapshot.
    """
    document = load_json(text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    if is_snapshot(document):
        snapshot = from_text(text, where)
        return SchemaSide(snapshot.schema, table_id=snapshot.table)
    avro: AvroSchema | None = None
    if where.partition(" at ")[0].endswith(".avsc"):
        try:
            avro = read_avro(text)
        except InvalidAvroSchema as error:
            raise UnreadableInput(f"{where}: {error.message}") from error
    try:
        return SchemaSide(remove_ids(read_schema(text, where)), avro, digest=digest, ids=read_field_ids(text))
    except UnreadableInput:
        if avro is None:
            raise
        return SchemaSide(avro=avro, digest=digest)


def _find_text(reference: Reference) -> str | None:
    """Find the text of a file or of a file in git; None for any other REF."""
    match reference:
        case FileRef(path):
            return read_text(path)
        case GitRef(revision, path):
            return git.read_file(revision, path)
        case _:
            return None


def _read_reference(workspace: Workspace, reference: Reference) -> SchemaSide:
    match reference:
        case FileRef(path):
            return read_side(read_text(path), path)
        case GitRef(revision, path):
            return read_side(git.read_file(revision, path), path)
        case _:
            return SchemaSide(remove_ids(read_outside_history(workspace, reference).schema))
