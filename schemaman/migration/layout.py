"""The layout of a table: partitions, sort order, keys and constraints, which can prevent changes of columns.

Law: an entry that one of two layouts lacks is no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from schemaman.migration.spark_sql import format_identifiers
from schemaman.migration.target import LakeTable, LayoutField, Target
from schemaman.model.ddl import quote_name
from schemaman.model.diff import Change, RenameColumn
from schemaman.model.schema import Path, TableSchema

IDENTIFIERS = "identifier-fields"
"""The property in which an executor returns the identifier fields of an Iceberg table."""

_WORDS = {
    "partitions": "partitions",
    "clustering": "clustering",
    "sort": "sort fields",
    "former": "columns of former partition specs and sort orders",
    "identifiers": "identifier fields",
    "generated": "generated columns",
    "checks": "CHECK constraints",
    "format-version": "format version",
    "features": "table features",
}
IDENTITY = "identity"
"""The entry with the table's own id, under which the ids of columns hold."""
_COLUMNS = "columns"
_SNAPSHOTS = "snapshots"
_PLURALS = {*_WORDS.keys() - {"clustering", "format-version"}, _COLUMNS}
_PROPERTIES = "properties"
_OTHER_WORDS = {IDENTITY: "id of the table", _COLUMNS: "ids of columns"}


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """A difference between two recorded layouts: an entry or property before and after, empty for none."""

    name: str
    before: str
    after: str

    @property
    def label(self) -> str:
        """Returns the words for the entry; a property has its own name."""
        return (_WORDS | _OTHER_WORDS).get(self.name, self.name)


def layout_of(lake: LakeTable | None) -> Mapping[str, str]:
    """List partitions, clustering, sort orders, identifiers, generated columns and CHECKs, each as a text."""
    if lake is None:
        return {}
    known = lake.former_layout
    return {
        "partitions": _format_fields(lake.partitions),
        "clustering": ", ".join(map(_format_path, lake.clustering)),
        "sort": _format_fields(lake.sort),
        **({} if known is None else {"former": ", ".join(map(_format_path, known))}),
        "identifiers": ", ".join(map(_format_path, lake.identifiers)),
        "generated": _format_expressions(lake.generated),
        "checks": _format_expressions(lake.checks),
    }


def record_layout(target: Target, lake: LakeTable) -> dict[str, str]:
    """List the layout with format version, table features and settings, to compare it later.

    Former partition specs and sort orders are left out: maintenance removes them. `properties` are the
    settings as a JSON object; `columns` has the ids of columns, as `record_columns` says.
    """
    layout = {name: text for name, text in layout_of(lake).items() if name != "former"}
    settings = {key: lake.properties[key] for key in sorted(lake.properties) if target.is_setting(key)}
    return layout | {
        "format-version": "" if lake.format_version is None else str(lake.format_version),
        "features": ", ".join(sorted(lake.features)),
        _PROPERTIES: json.dumps(settings, ensure_ascii=False),
        **record_columns(lake),
    }


def record_columns(lake: LakeTable) -> dict[str, str]:
    """List the ids of columns and nested fields, with the table's own id and its snapshots.

    It is empty if the table was read without its own id.
    """
    if not lake.column_ids:
        return {}
    ids = [[list(path), id] for path, id in sorted(lake.field_ids.items())]
    return {
        IDENTITY: lake.identity,
        _COLUMNS: json.dumps(ids, ensure_ascii=False),
        _SNAPSHOTS: " ".join(map(str, lake.snapshots)),
    }


def read_column_ids(layout: Mapping[str, str]) -> dict[Path, str]:
    """Read the ids of a recorded layout; empty if it has none."""
    return {tuple(path): id for path, id in json.loads(layout.get(_COLUMNS, "[]"))}


def is_replaced(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether the first snapshot of a table is younger than the newest one of an earlier layout."""
    if not before.get(_SNAPSHOTS) or not after.get(_SNAPSHOTS):
        return False
    newest, first = before[_SNAPSHOTS].split(" ")[1], after[_SNAPSHOTS].split(" ")[0]
    # The first snapshot of a table that had none has the number 1.
    return max(int(newest), 1) < int(first)


def find_layout_changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[LayoutChange, ...]:
    """Find the differences of two layouts, recorded or not: entries in order, then properties by name."""
    changes = [
        LayoutChange(name, before[name], after[name])
        for name in _WORDS
        if name in before and name in after and before[name] != after[name]
    ]
    if _PROPERTIES in before and _PROPERTIES in after:
        old, new = json.loads(before[_PROPERTIES]), json.loads(after[_PROPERTIES])
        changes += (
            LayoutChange(name, old.get(name, ""), new.get(name, ""))
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        )
    return (*changes, *_find_id_changes(before, after))


def _find_id_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[LayoutChange]:
    """Find columns that have another id than before, or a table that has another one."""
    if IDENTITY not in before or IDENTITY not in after:
        return []
    if before[IDENTITY] != after[IDENTITY]:
        return [LayoutChange(IDENTITY, before[IDENTITY], after[IDENTITY])]
    old, new = read_column_ids(before), read_column_ids(after)
    other = [path for path, id in new.items() if old.get(path, id) != id]
    if not other:
        return []
    texts = (", ".join(f"{_format_path(path)} {ids[path]}" for path in other) for ids in (old, new))
    return [LayoutChange(_COLUMNS, *texts)]


def describe_layout_change(change: LayoutChange) -> str:
    """Describe one difference of two layouts in words."""
    before, after = change.before or "none", change.after or "none"
    if change.name in _PLURALS:
        return f"{change.label} were {before}, and are {after} now"
    return f"{change.label} was {before}, and is {after} now"


def describe_layout_changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Describe the differences of two layouts in words; empty if there are none."""
    return "; ".join(map(describe_layout_change, find_layout_changes(before, after)))


def apply_changes(lake: LakeTable, schema: TableSchema, changes: Iterable[Change]) -> LakeTable:
    """Return a lake table after changes, which give it this schema.

    The layout and the identifier fields follow their renamed columns.
    """
    renames = {c.path: (*c.path[:-1], c.name) for c in changes if isinstance(c, RenameColumn)}

    def rename_path(path: Path) -> Path:
        found = ((*new, *path[len(old) :]) for old, new in renames.items() if path[: len(old)] == old)
        return next(found, path)

    def rename_fields(fields: tuple[LayoutField, ...]) -> tuple[LayoutField, ...]:
        return tuple(replace(field, path=rename_path(field.path)) for field in fields)

    former = lake.former_layout
    whole = {path[0]: new[0] for path, new in renames.items() if len(path) == 1}
    return replace(
        lake,
        schema=schema,
        properties=_rename_identifiers(lake, whole),
        layout=tuple(whole.get(name, name) for name in lake.layout),
        partitions=rename_fields(lake.partitions),
        clustering=tuple(map(rename_path, lake.clustering)),
        sort=rename_fields(lake.sort),
        former_layout=None if former is None else tuple(map(rename_path, former)),
        partition_names={name: rename_path(path) for name, path in lake.partition_names.items()},
        field_ids={rename_path(path): id for path, id in lake.field_ids.items()},
        equality_deletes=tuple(map(rename_path, lake.equality_deletes)),
    )


def _rename_identifiers(lake: LakeTable, names: Mapping[str, str]) -> Mapping[str, str]:
    """Return the properties of a table after renames; `names` maps old names to new ones.

    An identifier field stays one. Source: Iceberg table spec, "Identifier Field IDs": they are kept by id.
    """
    identifiers = lake.properties.get(IDENTIFIERS)
    if identifiers is None:
        return lake.properties
    fields = format_identifiers(names.get(name, name) for name in json.loads(identifiers))
    return {**lake.properties, IDENTIFIERS: fields}


def _format_fields(fields: Iterable[LayoutField]) -> str:
    return ", ".join(f"{_format_path(field.path)} {field.transform}" for field in fields)


def _format_expressions(expressions: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_name(name)}: {expressions[name]}" for name in sorted(expressions))


def _format_path(path: Path) -> str:
    return ".".join(map(quote_name, path))
