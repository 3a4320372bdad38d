"""Schemas that Java's converters registered, moved into this registry: the same texts and histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

import schemaman as sm
from schemaman.compat.avro.schema import InvalidAvroSchema, parse_schema
from schemaman.compat.avro.schema_text import format_schema
from schemaman.server.running import Listener, serve_in_thread
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.schema_registry import SchemaRegistry
from schemaman_cli.main import main
from tests.support.certificates import self_signed
from tests.support.checkout import CAPTURES

SHOP = CAPTURES / "postgres" / "shop-avro"


def recorded(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [entry for entry in entries if entry.get("schemaType", "AVRO") == "AVRO" and "schema" in entry]


def test_the_text_of_every_recorded_schema_is_java_s() -> None:
    paths = sorted(CAPTURES.glob("*/*/registry.json"))
    texts = {entry["schema"] for path in paths for entry in recorded(path)}
    refused = set()
    for text in texts:
        try:
            assert format_schema(parse_schema(text)) == text
        except InvalidAvroSchema:  # Java refuses the names that some converters make
            refused.add(text)
    assert len(texts) > 300 > 30 > len(refused)


def test_an_imported_registry_gives_the_same_histories(tmp_path: Path) -> None:
    entries = recorded(SHOP / "registry.json")
    store = f"sqlite:///{tmp_path / 'registry.db'}"
    with SqlStore.open(store, create=True) as opened:
        registry = SchemaRegistry(opened)
        registry.set_mode({"mode": "IMPORT"})
        for entry in entries:
            request = sm.SchemaRequest(entry["schema"], id=entry["id"], version=entry["version"])
            registry.register(entry["subject"], request)
        assert {v.version.schema_id for v in registry.list_schemas()} == {e["id"] for e in entries}
        with serve_in_thread(registry) as url:
            copied = tmp_path / "records.parquet"
            copied.write_bytes((SHOP / "records.parquet").read_bytes())
            for source, options in ((copied, ["--registry", url]), (SHOP, [])):
                words = ["ingest", source, "--quiet", "--store", f"sqlite:///{tmp_path / source.name}.db"]
                assert main([*map(str, words), *options]) == 0
    paths = (str(tmp_path / f"{name}.db") for name in (copied.name, SHOP.name))
    one, other = (sm.open(path) for path in paths)
    with one, other:
        assert len(one.tables()) > 3
        assert one.tables() == other.tables()


def test_clients_reach_the_server_by_tls(tmp_path: Path) -> None:
    pem = self_signed(tmp_path)
    with serve_in_thread(sm.open_schema_registry(), Listener(port=0, certificate=pem)) as url:
        assert url.startswith("https://127.0.0.1:")
        with SchemaRegistryClient({"url": url, "ssl.ca.location": str(pem)}) as client:
            assert client.register_schema("s", Schema('"int"', "AVRO")) == 1
