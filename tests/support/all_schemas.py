"""Every structure that the recordings taught, as tests ask for it: those of a few, or of all for a proof."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from schemaman.errors import UsageError
from schemaman.languages.language import SCHEMA_LANGUAGES, WrittenSchema, write_schema
from schemaman.model.schema import TableSchema
from tests.support import chain
from tests.support.checkout import CAPTURES, PROOF

FEW = (
    "db2/shop-3.4.1-json",
    "mariadb/bookshop-mariadb-3.5.0-json",
    "mongodb/inventory-2.5.4-pre-image",
    "postgres/shop-json",
    "postgres/shop-names-none",
)
WITHOUT_SCHEMA = ("db2/documented-plain",)
"""Recordings of which some records cannot be understood."""


def runs() -> tuple[str, ...]:
    """The recordings that a test looks at."""
    if not PROOF:
        return FEW
    folders = sorted({file.parent for file in CAPTURES.glob("*/*/records.*")})
    found = (str(folder.relative_to(CAPTURES)) for folder in folders)
    return tuple(run for run in found if run not in WITHOUT_SCHEMA)


@cache
def structures() -> tuple[tuple[str, TableSchema], ...]:
    """Each structure once, with the name of one table that had it."""
    found = (
        (revision.schema, f"{run} {history.table}@{version.number}.{revision.number}")
        for run in runs()
        for history in chain.histories(run)
        for version in history.versions
        for revision in version.revisions
    )
    return tuple((where, schema) for schema, where in dict(found).items())


def written_in(language: str) -> Iterator[tuple[str, TableSchema, WrittenSchema]]:
    """Each structure in a schema language, without the columns that it cannot say; none where that is all."""
    notation = SCHEMA_LANGUAGES.get(language)
    for where, schema in structures():
        try:
            done = write_schema(notation, schema, "shop.public.orders.Value", where, partial=True)
        except UsageError:
            continue
        yield where, schema, done
