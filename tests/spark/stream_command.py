"""The command `stream` in a process of its own that shares the driver of the tests."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from schemaman.debezium.records import Record
from schemaman_cli.main import main


def write_lines(path: Path, records: Sequence[Record]) -> None:
    """Write records as a file of JSON lines, as kcat does."""
    lines = [
        {
            "topic": r.topic,
            "partition": r.partition,
            "offset": r.offset,
            "ts": r.timestamp_ms,
            "key": None if r.key is None else r.key.decode(),
            "payload": None if r.value is None else r.value.decode(),
        }
        for r in records
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def run_command(_: SparkSession, folder: Path, code: Path, words: Sequence[str]) -> None:
    """Run a command line in a folder, in the session of this process, and write down its exit code."""
    os.chdir(folder)
    code.write_text(str(main(list(words))))
