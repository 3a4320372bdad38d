"""Proofs of read files as rows of `meta`: each layout has that table, so no store needs an upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select

from schemaman.store.file_proofs import FileProof, format_proof, parse_proof
from schemaman.store.sql.tables import META, split_batches

_PREFIX = "file:"


def find_proofs(connection: Connection, keys: Iterable[str]) -> Mapping[str, FileProof]:
    """Return the proofs with these keys, by key; a row that cannot be parsed proves nothing."""
    found = {}
    for names in split_batches(_PREFIX + key for key in keys):
        for row in connection.execute(select(META.c.name, META.c.value).where(META.c.name.in_(names))):
            proof = parse_proof(row.name.removeprefix(_PREFIX), row.value)
            if proof is not None:
                found[proof.key] = proof
    return found


def put_proofs(connection: Connection, proofs: Iterable[FileProof]) -> None:
    """Keep proofs, each instead of an earlier one with its key."""
    rows = {_PREFIX + proof.key: format_proof(proof) for proof in proofs}
    for names in split_batches(rows):
        connection.execute(delete(META).where(META.c.name.in_(names)))
        connection.execute(insert(META), [{"name": name, "value": rows[name]} for name in names])
