"""Measures rows per second from change events, compared to parsing their JSON: `python -m bench.rows`.

The events are those of one recording, repeated; Avro events are from another recording. The ratio compares
times: 1.0 is as fast as `json.loads` of the whole record.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

from bench.made_events import events
from schemaman.debezium.records import Record
from schemaman.migration.targets import delta
from schemaman.model.types import Type
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange
from schemaman.sink.values.to_lake import make_fitter
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.records import records, registry

RECORDS = 40_000
AVRO = "postgres/shop-busy"
JSON = "postgres/shop-json"


def main() -> None:
    """Print the figures."""
    read = events(RECORDS)
    floor = _best(lambda: [json.loads(r.value or b"") for r in read])
    _print("json.loads of each record", len(read), floor, floor)
    histories = {h.table: h for h in chain.histories(JSON)}
    alone = _best(lambda: _changes(RowReader(), read))
    _print("rows of JSON, each with its own schema", len(read), alone, floor)
    typed = _best(lambda: _changes(RowReader(histories), read))
    _print("rows of JSON, typed by a history", len(read), typed, floor)
    fitted = _best(lambda: _fitted(RowReader(histories), read))
    _print("rows of JSON, converted to types of Delta", len(read), fitted, floor)
    folder = CAPTURES / AVRO
    bodies = [r for _ in range(8) for r in records(folder)]
    known = {h.table: h for h in chain.histories(AVRO)}
    avro = _best(lambda: _changes(RowReader(known, registry(folder)), bodies))
    _print("rows of Avro, typed by a history", len(bodies), avro, floor * len(bodies) / len(read))


def _changes(reader: RowReader, read: Iterable[Record]) -> int:
    return sum(isinstance(outcome, RowChange) for outcome in reader.read_all(read))


def _fitted(reader: RowReader, read: Iterable[Record]) -> int:
    """Convert every value to the type of its lake column, as a writer does."""
    made: dict[Type, Callable[[object], object]] = {}
    known: dict[int, dict[str, Callable[[object], object]]] = {}
    count = 0
    for outcome in reader.read_all(read):
        if isinstance(outcome, RowChange) and outcome.after is not None:
            fitters = known.get(id(outcome.schema))
            if fitters is None:
                fitters = known[id(outcome.schema)] = {
                    c.name: made.setdefault(c.type, make_fitter(c.type, _find_lake_type(c.type)))
                    for c in outcome.schema.columns
                }
            row = {n: None if v is None else fitters[n](v) for n, v in outcome.after.items()}
            count += len(row)
    return count


def _find_lake_type(type: Type) -> Type:
    lake_type = delta.TARGET.hold_type(type)
    return getattr(lake_type, "type", type)


def _best(work: Callable[[], object]) -> float:
    """Return the shortest of three CPU times, in seconds."""
    times = []
    for _ in range(3):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def _print(what: str, count: int, seconds: float, floor: float) -> None:
    print(f"{count / seconds:10,.0f} rows/s  {seconds / floor:5.2f}  {what}")


if __name__ == "__main__":
    main()
