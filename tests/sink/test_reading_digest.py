"""The digest of a history that lake tables carry: the same text whatever classes are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.ingest.ingest import ingest
from schemaman.io import files
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.sink.reread import hash_reading
from schemaman.store.sql.store import SqlStore
from tests.support.checkout import CAPTURES

DIGESTS = {
    "postgres/shop-downtime": {
        "shopdb.shop.shop.reviews": "f5edddc5048c4c97",
        "shopdb.shop.shop.vouchers": "28f0a874872865f6",
    },
    "postgres/shop-modes": {
        "shopdb.shop.shop.page_views_2024": "9b4f191349cf56ec",
        "shopdb.shop.shop.page_views_2025": "a664fb1b9ac3ba8a",
        "shopdb.shop.shop.suppliers": "5292c0a0ba4b542f",
    },
    "mariadb/bookshop-mariadb-3.5.0-json": {
        "books.bookshop.uq": "bef50613a70a4e43",
        "books.bookshop.writer_list": "2dc3f56bd676ea4b",
        "books.tmpdb.t1": "69d6d8e643521533",
    },
}
"""By recording: digests that the first release wrote into the property `schemaman.read`."""


@pytest.mark.parametrize("recording", DIGESTS)
def test_digest_is_that_of_the_first_release(recording: str, tmp_path: Path) -> None:
    file = files.find_file(str(CAPTURES / recording))
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        ingest(files.read_records(file), Registry(store, lambda: 0), "main", NO_REGISTRY)
        histories = {str(table): store.history(table) for table in store.tables()}
    found = {table: hash_reading(history) for table, history in histories.items() if history is not None}
    assert {table: found.get(table) for table in DIGESTS[recording]} == DIGESTS[recording]
