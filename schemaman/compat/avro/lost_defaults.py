"""Fields of Avro records that lost a default which no structure of a table shows."""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.avro.schema import ArrayOf, AvroSchema, MapOf, Node, RecordOf, UnionOf


def list_lost_defaults(old: AvroSchema, new: AvroSchema) -> list[str]:
    """List the dotted paths of optional fields that lost the default null, and of nested ones that lost any.

    Other defaults of columns are part of the structure of a table.
    """
    return list(_list_lost((old, new), old.root, new.root, (), frozenset()))


def _list_lost(
    schemas: tuple[AvroSchema, AvroSchema],
    old: Node,
    new: Node,
    path: tuple[str, ...],
    above: frozenset[str],
) -> Iterator[str]:
    old, new = _strip_null(schemas[0], old), _strip_null(schemas[1], new)
    match old, new:
        case RecordOf(), RecordOf() if new.name not in above:
            for field in new.fields:
                before, here = old.by_name.get(field.name), (*path, field.name)
                if before is None:
                    continue
                if before.has_default and not field.has_default and (path or before.default is None):
                    yield ".".join(here)
                yield from _list_lost(schemas, before.type, field.type, here, above | {new.name})
        case ArrayOf(), ArrayOf():
            yield from _list_lost(schemas, old.items, new.items, (*path, "element"), above)
        case MapOf(), MapOf():
            yield from _list_lost(schemas, old.values, new.values, (*path, "value"), above)
        case _:
            return


def _strip_null(schema: AvroSchema, node: Node) -> Node:
    """Return the only branch beside null of an optional type, and any other type as it is."""
    node = schema.resolve(node)
    if not isinstance(node, UnionOf):
        return node
    others = [branch for branch in node.branches if branch.kind != "null"]
    return schema.resolve(others[0]) if len(others) == 1 else node
