"""Debezium's own classes, asked in one JVM what columns become: on the schema-change topic and in events."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.jars import JarsUnreachable, classpath

_SECONDS = 180

Setting = Mapping[str, str]
Node = dict[str, Any]

_DECIMAL = ("precise", "double", "string")
_TIME = ("adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds")
_BINARY = ("bytes", "base64", "base64-url-safe", "hex")
_COMMON: Mapping[str, Sequence[str]] = {
    "decimal.handling.mode": _DECIMAL,
    "time.precision.mode": _TIME,
    "binary.handling.mode": _BINARY,
}
_UNSIGNED: Mapping[str, Sequence[str]] = {"bigint.unsigned.handling.mode": ("long", "precise")}
_BOOLEAN: Mapping[str, Sequence[str]] = {
    "converters": ("io.debezium.connector.binlog.converters.TinyIntOneToBooleanConverter",)
}
_NUMBERS: Mapping[str, Sequence[str]] = {
    "converters": tuple(
        f"io.debezium.connector.oracle.converters.{name}"
        for name in ("NumberOneToBooleanConverter", "NumberToZeroScaleConverter", "RawToStringConverter")
    )
}
_INTERVAL: Mapping[str, Sequence[str]] = {"interval.handling.mode": ("numeric", "string")}
_HSTORE: Mapping[str, Sequence[str]] = {
    "hstore.handling.mode": ("json", "map"),
    "include.unknown.datatypes": ("false", "true"),
}
OPTIONS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "db2": _COMMON,
    "informix": _COMMON,
    "mariadb": {**_COMMON, **_UNSIGNED, **_BOOLEAN},
    "mysql": {**_COMMON, **_UNSIGNED, **_BOOLEAN},
    "oracle": {**_COMMON, **_INTERVAL, **_NUMBERS},
    "postgresql": {**_COMMON, **_INTERVAL, **_HSTORE},
    "sqlserver": _COMMON,
}
"""Every option that changes a type, with its values. Source: Debezium's connector configurations."""

PROPAGATED: Setting = {"column.propagate.source.type": ".*"}


def settings(connector: str) -> list[Setting]:
    """The defaults, each option with each value, and last the propagation of source types."""
    each = [{option: value} for option, values in OPTIONS[connector].items() for value in values]
    return [{}, *each, PROPAGATED]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one column becomes.

    `declared`: the column in `tableChanges`, or why there is none; `fields`: the field in events under each
    of `settings`, None where the column is left out of them; `required`: the field of the column, were it
    NOT NULL.
    """

    declared: Node | str
    fields: tuple[Node | None, ...]
    required: Node | None


def ask(columns: Mapping[str, Sequence[Node]]) -> dict[str, list[Answer]]:
    """The answers for the columns of each connector, in order; see `Probe.java` for what a column is."""
    asked = {name: {"columns": list(each), "settings": settings(name)} for name, each in columns.items()}
    told = run("Probe.java", ("types",), asked)
    return {
        name: [
            Answer(declared, tuple(fields[i] for fields in told[name]["wire"]), told[name]["required"][i])
            for i, declared in enumerate(told[name]["declared"])
        ]
        for name in columns
    }


def run(program: str, sets: Sequence[str], asked: object) -> Any:
    """What a Java program of this folder answers, JSON for JSON; `sets` are those of its jars."""
    try:
        jars = classpath(*sets)
    except JarsUnreachable as error:
        pytest.fail(str(error), pytrace=False)
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", jars, str(Path(__file__).with_name(program))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)
