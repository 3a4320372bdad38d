"""A run is decoded as `decode` does, whether another one of its shape was decoded before or not."""

from __future__ import annotations

import pytest

from schemaman.debezium.decode import decode
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.run_decoding import RunDecoder
from schemaman.ingest.scan import scan
from tests.ingest.test_line_forms import RUNS
from tests.support.checkout import PROOF
from tests.support.recordings import recorded, registry

SOME = ("postgres/shop-json", "postgres/shop-avro", "db2/shop-3.4.1-json",
        "mariadb/bookshop-mariadb-3.5.0-json", "mongodb/inventory-2.5.4-pre-image")  # fmt: skip


@pytest.mark.parametrize("recording", RUNS if PROOF else SOME)
def test_runs_of_one_shape_are_decoded_as_each_alone(recording: str) -> None:
    records, schemas = recorded(recording), registry(recording)
    decoder = RunDecoder("main", schemas)
    for step in (7, 1):
        for begin in range(0, len(records), step):
            for run in scan(records[begin : begin + step], build_reading(schemas)):
                assert decoder.decode(run) == decode(run, "main", schemas)
