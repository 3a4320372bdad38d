"""A decoder that keeps what it has decoded gives what the decoding of each run alone gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.debezium import decoded_runs
from schemaman.debezium.decode import decode
from schemaman.debezium.decoded_runs import RunDecoder
from schemaman.debezium.observation import SchemaRun
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from tests.support.checkout import CAPTURES
from tests.support.recordings import recorded, registry

RUNS = sorted(str(path.parent.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*/records.*"))


@pytest.mark.parametrize("recording", RUNS)
def test_runs_of_pieces(recording: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pieces make many runs of one shape, whose samples differ; each is of a partition of its own."""
    monkeypatch.setattr(decoded_runs, "_KEPT", 20)
    schemas, records = registry(recording), sorted(recorded(recording), key=lambda r: (r.topic, r.offset))
    reading, decoder = build_reading(schemas), RunDecoder("s", schemas)
    for begin in range(0, len(records), 7):
        piece = [replace(record, partition=begin) for record in records[begin : begin + 7]]
        for run in scan(piece, reading):
            for one in (run, replace(run, interrupted=True)):
                assert decoder.decode(one) == decode(one, "s", schemas)


def test_a_shape_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = "postgres/shop-json"
    schemas = registry(recording)
    records = [r for r in recorded(recording) if r.topic == "shopdb.shop.orders"]
    runs = [
        run
        for partition in range(9)
        for run in scan([replace(r, partition=partition) for r in records], build_reading(schemas))
        if run.sample.value is not None
    ]
    decoded: list[str] = []

    def count(run: SchemaRun, *others: object) -> object:
        decoded.append(run.shape)
        return decode(run, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(decoded_runs, "decode", count)
    decoder = RunDecoder("s", schemas)
    for run in runs:
        decoder.decode(run)
    assert sorted(decoded) == sorted({run.shape for run in runs})
