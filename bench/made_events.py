"""Makes records for benchmarks: real events of one recording, repeated with continuing offsets and positions.

The functions also return the expected counts of records and schemas.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path

from schemaman.debezium.records import Record
from tests.support.checkout import CAPTURES


@dataclass(frozen=True, slots=True)
class SampledTable:
    """A table of a recording, and the operation of the events that are repeated."""

    recording: Path
    topic: str
    operation: str

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.topic.split(".")[-1]


TOPIC = "shopdb.shop.orders"
ORDERS = SampledTable(CAPTURES / "postgres" / "shop-json" / "records.ndjson.gz", TOPIC, "c")
"""Values of about 4.1 kB."""

DEFAULTS = SampledTable(ORDERS.recording, "shopdb.shop.defaults", "c")
"""Values of about 5.7 kB, of which the schema is 5 kB."""

_LSN = re.compile(r'"lsn":\d+')
_SEQUENCE = re.compile(r'"sequence":"[^}]*?\]"')


def write(path: Path, records: int) -> int:
    """Write `records` lines of `kcat -J`; return the number of consecutive schemas in them."""
    samples = list_samples()
    each = -(-records // len(samples))
    with path.open("w", encoding="utf-8") as file:
        for offset in range(records):
            sample = samples[offset // each]
            payload = (_event(sample, offset).value or b"").decode()
            file.write(
                json.dumps({**sample, "offset": offset, "payload": payload}, ensure_ascii=False) + "\n"
            )
    return len(samples)


def events(records: int, table: SampledTable = ORDERS) -> list[Record]:
    """Return such events of a table as records in memory."""
    samples = list_samples(table)
    each = -(-records // len(samples))
    return [_event(samples[i // each], i) for i in range(records)]


def wide(records: int, columns: int = 100) -> list[Record]:
    """Return events of a table with that many columns and one schema, in the envelope of the recording."""
    sample = list_samples()[0]
    document = json.loads(str(sample["payload"]))
    fields = [{"type": "string", "optional": True, "field": f"column_{i:03}"} for i in range(columns)]
    for row in document["schema"]["fields"][:2]:
        row["fields"] = fields
    document["payload"]["after"] = {f"column_{i:03}": f"v{i}" for i in range(columns)}
    payload = json.dumps(document, separators=(",", ":"))
    return [_event({**sample, "payload": payload}, i) for i in range(records)]


def _event(sample: dict[str, object], offset: int) -> Record:
    lsn = 10_000_000 + 100 * offset
    value = _LSN.sub(f'"lsn":{lsn}', str(sample["payload"]))
    value = _SEQUENCE.sub(lambda _: f'"sequence":"[\\"{lsn}\\",\\"{lsn}\\"]"', value)
    return Record(str(sample["topic"]), 0, offset, None, str(sample["key"]).encode(), value.encode())


def list_samples(table: SampledTable = ORDERS) -> list[dict[str, object]]:
    """Return one event with the operation for each schema of the table, in order."""
    found: dict[str, dict[str, object]] = {}
    operation = f'"op":"{table.operation}"'
    with gzip.open(table.recording, "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["topic"] == table.topic and record["payload"] and operation in record["payload"]:
                found.setdefault(record["payload"].split(',"payload":')[0], record)
    return list(found.values())
