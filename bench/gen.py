"""Made records for benchmarks: real events of one recording, repeated with offsets and positions that go on.

The truth comes along: how many records, and in how many runs of one shape they lie.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from tests.house import CAPTURES

RECORDING = CAPTURES / "postgres" / "shop-json" / "records.ndjson.gz"
TOPIC = "shopdb.shop.orders"
_LSN = re.compile(r'"lsn":\d+')
_SEQUENCE = re.compile(r'"sequence":"[^}]*?\]"')


def write(path: Path, records: int) -> int:
    """Write `records` lines of `kcat -J`; the number of shapes that follow each other in them."""
    samples = _shapes()
    each = -(-records // len(samples))
    with path.open("w", encoding="utf-8") as file:
        for offset in range(records):
            record = samples[offset // each]
            lsn = 10_000_000 + 100 * offset
            payload = _LSN.sub(f'"lsn":{lsn}', record["payload"])
            payload = _SEQUENCE.sub(lambda _, n=lsn: f'"sequence":"[\\"{n}\\",\\"{n}\\"]"', payload)
            file.write(
                json.dumps({**record, "offset": offset, "payload": payload}, ensure_ascii=False) + "\n"
            )
    return len(samples)


def _shapes() -> list[dict[str, object]]:
    """One streamed insert of each shape of the table, in order."""
    found: dict[str, dict[str, object]] = {}
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["topic"] == TOPIC and record["payload"] and '"op":"c"' in record["payload"]:
                found.setdefault(record["payload"].split(',"payload":')[0], record)
    return list(found.values())
