"""What is set aside of the recordings: nothing, but for what `tests/truth/rejects.toml` explains."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from schemaman.ingest.ingest import ingest
from schemaman.io import files, schema_registry
from schemaman.registry import Registry
from schemaman.store.log import RejectEntry
from schemaman.store.memory import MemoryStore
from tests.support.checkout import CAPTURES, ROOT

FILES = sorted(
    path for path in CAPTURES.glob("*/*/*") if path.name.startswith(("records.", "schema_history_internal"))
)


def named(path: Path) -> str:
    """A file of a recording in words."""
    run = path.parent.relative_to(CAPTURES).as_posix()
    return run if path.name.startswith("records") else f"{run} internal"


def explained(run: str) -> Counter[str]:
    """How many records of a file are set aside for good reasons, by what is said of them."""
    told = tomllib.loads((ROOT / "tests" / "truth" / "rejects.toml").read_text(encoding="utf-8"))
    return Counter({e["says"]: e["count"] for e in told["reject"] if e["run"] == run and e["why"]})


@pytest.mark.parametrize("path", FILES, ids=named)
def test_nothing_is_set_aside_without_a_reason(path: Path, figure: Callable[[str, object], None]) -> None:
    file = files.find_file(str(path))
    schemas = schema_registry.load_export(file.registry) if file.registry else schema_registry.NO_REGISTRY
    store = MemoryStore()
    summary = ingest(files.read_records(file), Registry(store, lambda: 0), "main", schemas)
    found: Counter[str] = Counter()
    for reject in (s.entry.reject for s in store.read() if isinstance(s.entry, RejectEntry)):
        found[reject.reason] += reject.count
    assert found == explained(named(path))
    figure(f"records of {named(path)}", f"{summary.read} read, {found.total()} skipped with a reason")
