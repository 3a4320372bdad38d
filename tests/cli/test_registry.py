"""`schemaman registry` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import schemaman as sm
from schemaman.server.running import serve_in_thread
from tests.support.checkout import ROOT
from tests.support.command_line import Run


def test_a_registry_moves_between_server_file_and_store(run: Run, place: Path) -> None:
    registry = sm.open_schema_registry()
    registry.register("orders-value", '"string"')
    registry.register("orders-value", '["null", "string"]')
    registry.delete_version("orders-value", 1)
    with serve_in_thread(registry) as url:
        done = run("registry", "import", url)
        assert (done.code, "2 versions of 1 subjects" in done.out) == (0, True)
    assert run("registry", "export", "copy.json").code == 0
    assert run("registry", "export").out == Path("copy.json").read_text()
    assert [e["id"] for e in json.loads(Path("copy.json").read_text())["schemas"]] == [1, 2]
    done = run("registry", "import", "copy.json", "--store", "sqlite:///other.db", "--format", "json")
    assert (done.json["action"], done.json["versions"], done.json["schemas"]) == ("import", 2, 2)
    with serve_in_thread(sm.open_schema_registry()) as url:
        done = run("registry", "export", url)
        assert (done.code, url in done.out) == (0, True)


def test_a_copy_replaces_nothing_unasked(run: Run, place: Path) -> None:
    Path("copy.json").write_text("[]")
    assert run("registry", "import", "copy.json").code == 0
    assert "--replace" in run("registry", "export", "copy.json").err
    assert run("registry", "export", "copy.json", "--replace").code == 0
    assert run("registry", "import").code == 2
    assert run("registry", "export", "--format", "json").code == 2
    assert run("registry", "import", "missing.json").code == 3
    assert run("registry", "import", "http://127.0.0.1:1").code == 3
    assert run("registry", "import", "http://ann:secret@127.0.0.1:1").code in (2, 3)


def test_records_are_read_with_an_exported_copy(run: Run, place: Path) -> None:
    recorded = ROOT / "fixtures" / "captures" / "postgres" / "shop-avro"
    assert run("registry", "import", recorded / "registry.json").code == 0
    assert run("registry", "export", "copy.json").code == 0
    for store, words in (("a.db", ()), ("b.db", ("--registry", "copy.json"))):
        assert (
            run("ingest", recorded, "--store", f"sqlite:///{store}", "--max-rejects", "0", *words).code == 0
        )
    one, other = (run("tables", "--store", f"sqlite:///{store}").out for store in ("a.db", "b.db"))
    assert one == other
