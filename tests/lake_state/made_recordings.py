"""Small recordings made by hand, in the form of the real ones: records, truth and settings in a folder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_MILLIS = 1767225600000
"""The beginning of 2026; a step takes a second."""


@dataclass(slots=True)
class Made:
    """A PostgreSQL recording under construction: each call is a step of the database, or a record of it."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _records: list[dict[str, Any]] = field(default_factory=list)
    _tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    _oids: int = 100
    _offsets: dict[tuple[str, int], int] = field(default_factory=dict)

    def table(
        self, name: str, columns: Mapping[str, str], key: Sequence[str] = (), identity: str = "d", **ids: int
    ) -> None:
        """Make a table, or describe it anew: its columns with their types.

        `ids`: attribute numbers of columns that are not the ones that had these names before.
        """
        old = self._tables.get(name)
        if old is None:
            self._oids += 1
        known = {c["name"]: c["attnum"] for c in old["columns"]} if old else {}
        told = []
        for column, type in columns.items():
            number = ids.get(column) or known.get(column) or max([0, *known.values(), *ids.values()]) + 1
            known[column] = number
            told.append(
                {
                    "name": column, "attnum": number, "type": type, "not_null": column in key,
                    "generated": None, "domain": None,
                }
            )  # fmt: skip
        primary = {"name": f"{name}_pkey", "columns": list(key)} if key else None
        self._tables[name] = {
            "oid": old["oid"] if old else self._oids, "schema": "public", "name": name,
            "replica_identity": identity, "replica_identity_index": None, "columns": told,
            "primary_key": primary, "unique_indexes": None,
        }  # fmt: skip
        self._step(affected=[self._tables[name]])

    def drop(self, name: str) -> None:
        """Drop a table."""
        self._step(dropped=[self._tables.pop(name)])

    def rename(self, old: str, new: str) -> None:
        """Give a table another name."""
        self._tables[new] = {**self._tables.pop(old), "name": new}
        self._step(affected=[self._tables[new]])

    def event(
        self,
        op: str,
        name: str,
        after: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        *,
        partition: int = 0,
        again: int | None = None,
        snapshot: str = "false",
        headers: Sequence[str] = (),
    ) -> int:
        """Tell a change in a transaction of its own; its number, by which it can be told `again`."""
        table = self._tables[name]
        if again is None:
            self._step(rows=1)
        number = again or len(self._steps)
        image = after or before or {}
        columns = (table["primary_key"] or {}).get("columns") or ()
        told = key if key is not None else {column: image.get(column) for column in columns}
        source = {
            "version": "3.4.1.Final", "connector": "postgresql", "name": "made", "ts_ms": _MILLIS,
            "snapshot": snapshot, "db": "made", "schema": "public", "table": name,
            "txId": None if snapshot == "incremental" else number,
            "lsn": None if snapshot == "incremental" else number * 100,
            "sequence": json.dumps([str(number * 100 - 50), str(number * 100)]),
        }  # fmt: skip
        read = _MILLIS + 1000 * len(self._steps)
        value = {"before": before, "after": after, "source": source, "op": op, "ts_ms": read}
        self._record(f"made.public.{name}", partition, told or None, value, headers)
        return number

    def raw(self, topic: str, key: Any, value: Any, headers: Sequence[str] = ()) -> None:
        """A record as it is."""
        self._record(topic, 0, key, value, headers)

    def written(self) -> Path:
        """The recording as a folder."""
        folder = self.folder / "postgres" / "made"
        folder.mkdir(parents=True, exist_ok=True)
        truth = "\n".join(json.dumps(step) for step in self._steps)
        (folder / "truth.jsonl").write_text(truth, "utf-8")
        (folder / "meta.json").write_text(json.dumps({"settings": [self.settings]}), "utf-8")
        with gzip.open(folder / "records.ndjson.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in self._records)
        return folder

    def _step(self, **facts: Any) -> None:
        number = len(self._steps) + 1
        time = datetime.fromtimestamp(_MILLIS / 1000 + number, UTC).isoformat()
        self._steps.append({"step": number, "sql": "", "time": time, "txid": str(number), **facts})

    def _record(self, topic: str, partition: int, key: Any, value: Any, headers: Sequence[str]) -> None:
        offset = self._offsets.get((topic, partition), 0)
        self._offsets[topic, partition] = offset + 1
        self._records.append(
            {
                "topic": topic, "partition": partition, "offset": offset, "tstype": "create", "ts": _MILLIS,
                "headers": list(headers), "key": None if key is None else json.dumps(key),
                "payload": None if value is None else json.dumps(value),
            }
        )  # fmt: skip
