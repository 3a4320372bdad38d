"""A process that damages records, reads them, and says what it saw; memory and time are bound.

`python -m tests.support.read_damaged SEED RECORDS RUN…` writes one JSON object: counts by outcome and damage,
and the slowest record in milliseconds. Whatever a record raises ends it with a traceback that names the
record.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from types import FrameType

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import (
    Observation,
    Outcome,
    Reject,
    SchemaRun,
)
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.history.epochs import UNDECIDED
from schemaman.history.versions import TableHistory
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import Scanner, scan
from schemaman.io import files, schema_registry
from schemaman.model.schema import TableId
from schemaman.store.entry_json import from_bytes, to_bytes
from schemaman.store.folding import fold
from schemaman.store.log import Entry, ObservationEntry, RejectEntry
from tests.support.checkout import CAPTURES
from tests.support.damage import Mutator
from tests.support.records import alone

MEMORY = 2 << 30
"""Bytes of address space for the whole process."""

SECONDS = 5
"""What one record may take: about a thousand times what a sound one takes."""

GAP = 1 << 20
"""Between two sound records of a partition there is room for so many damaged ones."""

BATCH = 500

Histories = dict[TableId, TableHistory]


class TooSlow(Exception):
    """A record took longer than it may."""


@dataclass(slots=True)
class Told:
    """What came of all records."""

    records: int = 0
    slowest: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    histories: int = 0


@dataclass(frozen=True, slots=True)
class Sound:
    """The records of a recording, far enough from each other, and the histories that they teach."""

    records: tuple[Record, ...]
    schemas: schema_registry.RegistryExport
    histories: Histories


@cache
def sound(run: str) -> Sound:
    """A recording as it is."""
    file = files.find_file(str(CAPTURES / run))
    schemas = schema_registry.load_export(file.registry) if file.registry else schema_registry.NO_REGISTRY
    internal = CAPTURES / run / "schema_history_internal.ndjson.gz"
    sources = [file, *([files.find_file(str(internal))] if internal.exists() else ())]
    found = [r for source in sources for r in files.read_records(source) if isinstance(r, Record)]
    records = tuple(replace(r, offset=(r.offset + 1) * GAP) for r in found)
    return Sound(records, schemas, histories(told(scan(records, build_reading(schemas)), schemas)))


def told(runs: Iterable[SchemaRun], schemas: SchemaLookup) -> list[Outcome]:
    """What some runs say."""
    return [outcome for run in runs for outcome in decode(run, "main", schemas)]


def histories(outcomes: Iterable[Outcome]) -> Histories:
    """The history of every table that is spoken of."""
    said: dict[TableId, list[Observation]] = {}
    for one in outcomes:
        if isinstance(one, Observation):
            for table in {one.table, one.previous or one.table}:
                said.setdefault(table, []).append(one)
    folded = {table: fold(mine, table, UNDECIDED) for table, mine in said.items()}
    return {table: history for table, history in folded.items() if history is not None}


def batch(run: str, seed: int, count: int, seen: Told) -> None:
    """Damage so many records of a recording, read them, and look whether its histories still stand."""
    good = sound(run)
    mutator = Mutator(random.Random(seed), good.schemas)
    scanner = Scanner(build_reading(mutator.lookup))
    speaking: list[Record] = []
    silent: list[Record] = []
    for number in range(count):
        origin = mutator.chance.choice(good.records)
        kind, made = mutator.damaged(origin)
        side = mutator.chance.choice((1, -1))
        made = replace(made, offset=origin.offset + side * (number + 1))
        seen.kinds[kind] += 1
        outcomes = _one(scanner, made, mutator, seen)
        seen.outcomes.update({_word(o) for o in outcomes})
        (speaking if any(isinstance(o, Observation) for o in outcomes) else silent).append(made)
    scanner.runs()
    seen.records += count
    among(good, silent, mutator)
    behind(good, speaking, mutator)
    seen.histories += len(good.histories)


def among(good: Sound, silent: list[Record], mutator: Mutator) -> None:
    """Damaged records that say nothing lie among the sound ones, and nothing is another."""
    mixed = sorted((*good.records, *silent), key=lambda r: (r.topic, r.partition, r.offset))
    runs = scan(mixed, build_reading(mutator.lookup))
    assert runs == scan(mixed, build_reading(mutator.lookup), quick=False)
    outcomes = told(runs, mutator.lookup)
    now = histories(outcomes)
    assert {t: versions(h) for t, h in now.items()} == {t: versions(h) for t, h in good.histories.items()}


def behind(good: Sound, speaking: list[Record], mutator: Mutator) -> None:
    """Damaged records that still say something come later: every structure of the sound ones still stands.

    What is damaged may say another time or place, so that more versions lie between, or others come first;
    and what is inferred is what all documents show, these among them.
    """
    far = 1 + max(r.offset for r in good.records)
    later = [replace(r, offset=r.offset + far) for r in speaking]
    mixed = sorted((*good.records, *later), key=lambda r: (r.topic, r.partition, r.offset))
    now = histories(told(scan(mixed, build_reading(mutator.lookup)), mutator.lookup))
    for table, history in good.histories.items():
        mine = {v.id for v in history.versions if v.status != "inferred"}
        gone = mine - {v.id for v in now[table].versions}
        assert not gone, f"{table}: a version is gone"


def versions(history: TableHistory) -> list[tuple[object, ...]]:
    """What a history says of structure: a damaged row may count as a record more of the shape that it has."""
    return [(v.id, v.incarnation, *(r.schema for r in v.revisions)) for v in history.versions]


def _one(scanner: Scanner, record: Record, mutator: Mutator, seen: Told) -> tuple[Outcome, ...]:
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        scanner.add(record)
        outcomes = decode(alone(record), "main", mutator.lookup)
        for outcome in outcomes:
            _written(outcome)
    except BaseException as fault:
        fault.add_note(f"the record: {record!r:.3000}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    seen.slowest = max(seen.slowest, time.perf_counter() - began)
    return outcomes


def _written(outcome: Outcome) -> None:
    """An outcome can be written into a log, and read again."""
    entry: Entry
    match outcome:
        case Observation():
            entry = ObservationEntry(outcome)
        case Reject():
            entry = RejectEntry(outcome)
        case _:
            return
    assert from_bytes(to_bytes(entry)) == entry


def _word(outcome: Outcome) -> str:
    return type(outcome).__name__.lower()


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"a record took more than {SECONDS} s")


def main(seed: int, records: int, runs: list[str]) -> None:
    """Go through the recordings in turn until enough records were damaged."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    seen = Told()
    size = min(BATCH, max(1, records // len(runs)))
    while seen.records < records:
        number = seen.records // size
        run = runs[number % len(runs)]
        try:
            batch(run, seed + number, min(size, records - seen.records), seen)
        except BaseException as fault:
            fault.add_note(f"recording {run}, seed {seed + number}")
            raise
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    saw = {
        "records": seen.records,
        "slowest_ms": round(seen.slowest * 1000, 1),
        "peak_mib": peak,
        "histories": seen.histories,
        "kinds": dict(seen.kinds),
        "outcomes": dict(seen.outcomes),
    }
    sys.stdout.write(json.dumps(saw) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
