"""A store goes on with long histories from checkpoints, and reads no more of them than is asked for."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol

import pytest
from sqlalchemy import text

from bench import tables
from schemaman.compat.gate import GatePolicy, check
from schemaman.compat.judge import RULES
from schemaman.compat.snapshots import take_snapshot
from schemaman.debezium.observation import Observation
from schemaman.errors import StoreUnavailable
from schemaman.history.decisions import Decisions, Rename, apply_decisions
from schemaman.history.epochs import UNDECIDED, Verdicts
from schemaman.history.fold import continuation, table_walk
from schemaman.history.fold.checkpoint import FoldCheckpoint
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.store import folding, version_blocks
from schemaman.store.sql import checkpoints, histories, history_rows
from schemaman.store.sql.store import SqlStore
from schemaman.store.version_blocks import BlockedVersions, VersionBlock
from tests.live.database import schema_of_its_own
from tests.support.checkout import PROOF

TABLE = tables.table_of(0)
VERSIONS = 40
AMID = 40 if PROOF else 33
"""The version amid whose append a process is killed."""


class Pipe(Protocol):
    """One end of a connection between two processes."""

    def send(self, order: int) -> None: ...

    def recv(self) -> int: ...


@pytest.fixture(autouse=True)
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_memory(monkeypatch)


def shorten_memory(patch: pytest.MonkeyPatch) -> None:
    """Have checkpoints and blocks in short histories."""
    patch.setattr(table_walk, "MAX_OLDER_VERSIONS", 2)
    patch.setattr(continuation, "OVERLAP", 6)
    patch.setattr(folding, "FIRST_CHECKPOINT", 4)
    patch.setattr(folding, "FIRST_JOINED", 20)
    patch.setattr(folding, "SPACING", 3)
    patch.setattr(version_blocks, "VERSIONS_IN_BLOCK", 8)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return schema_of_its_own(request.getfixturevalue("database"))
    return str(tmp_path / "store.db")


@contextmanager
def opened(url: str, create: bool = False) -> Iterator[SqlStore]:
    with SqlStore.open(url, create=create) as store:
        yield store


def record(store: SqlStore, versions: range) -> None:
    Registry(store, lambda: 0).record(*tables.chunk([0], versions))


def fold_all(versions: int) -> TableHistory | None:
    found = [tables.make_observation(0, number) for number in range(versions)]
    return folding.fold(found, TABLE, UNDECIDED)


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of observations of each fold of all."""
    counts: list[int] = []
    whole = folding.fold_with_checkpoint

    def count(
        observations: Sequence[Observation], table: TableId, verdicts: Verdicts
    ) -> tuple[TableHistory | None, FoldCheckpoint | None]:
        counts.append(len(observations))
        return whole(observations, table, verdicts)

    monkeypatch.setattr(histories, "fold_with_checkpoint", count)
    return counts


def test_one_version_after_the_other_is_the_fold_of_all(url: str, folds: list[int]) -> None:
    with opened(url, create=True) as one, opened(url) as other:
        record(one, range(30))
        for number in range(30, 36 if PROOF else 33):
            store = (one, other)[number % 2]
            record(store, range(number, number + 1))
            assert store.history(TABLE) == fold_all(number + 1)
        assert folds == [30]
        assert one.check() == ()
        end = number + 1
        summary = one.read_summaries()
        one.rebuild()
        assert one.read_summaries() == summary
        assert one.history(TABLE) == fold_all(end)


def test_few_versions_go_on_from_joined_runs(url: str, folds: list[int]) -> None:
    with opened(url, create=True) as one, opened(url) as other:
        Registry(one, lambda: 0).record(*tables.later_chunks(0, 3, range(30)))
        for number in range(30, 38):
            store = (one, other)[number % 2]
            Registry(store, lambda: 0).record(*tables.later_chunks(0, 3, [number]))
        assert folds == [30]
        assert store.history(TABLE) == folding.fold(tables.later_chunks(0, 3, range(38))[0], TABLE, UNDECIDED)
        assert one.check() == ()


def serve_appends(url: str, orders: Pipe) -> None:
    """Append the versions that are asked for; the process kills itself amid the one of a negative number."""
    with pytest.MonkeyPatch.context() as patch:
        shorten_memory(patch)
        with opened(url) as store:
            while number := orders.recv():
                if number < 0:
                    patch.setattr(history_rows, "write_histories", kill_process)
                record(store, range(abs(number), abs(number) + 1))
                orders.send(number)


def kill_process(*_: object) -> None:
    """End as a power cut does, behind the log and the checkpoint of a transaction that is not committed."""
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()  # a loaded machine may let the process run on for a moment


@contextmanager
def working(url: str) -> Iterator[tuple[Pipe, BaseProcess]]:
    """A process that appends to a store."""
    context = multiprocessing.get_context("forkserver")
    orders, other = context.Pipe()
    process = context.Process(target=serve_appends, args=(url, other), daemon=True)
    process.start()
    other.close()
    try:
        yield orders, process
    finally:
        process.kill()
        process.join()


def test_processes_in_turn_go_on_though_one_is_killed_amid_an_append(tmp_path: Path) -> None:
    url = str(tmp_path / "store.db")
    with opened(url, create=True) as store:
        record(store, range(30))
    with working(url) as (one, first), working(url) as (other, second):
        for number in range(30, AMID):
            asked = (one, other)[number % 2]
            asked.send(number)
            assert asked.recv() == number
        one.send(-AMID)
        first.join(timeout=60)
        assert first.exitcode == -signal.SIGKILL
        other.send(AMID)
        assert other.recv() == AMID
        other.send(0)
        second.join(timeout=60)
        assert second.exitcode == 0
    with opened(url) as store:
        assert store.history(TABLE) == fold_all(AMID + 1)
        assert store.check() == ()


def test_decisions_and_waivers_between_chunks_mean_the_same_afterwards(
    tmp_path: Path, folds: list[int]
) -> None:
    decisions, policy = Decisions(), GatePolicy()
    waived: set[str] = set()
    with opened(str(tmp_path / "store.db"), create=True) as store:
        registry = Registry(store, lambda: 0)
        record(store, range(30))
        for number in range(30, 36 if PROOF else 33):
            record(store, range(number, number + 1))
            whole = fold_all(number + 1)
            assert whole is not None
            decided = registry.history(TABLE, decisions)
            assert decided == apply_decisions(whole, decisions)
            baseline = {TABLE: take_snapshot(whole, whole.versions[20])}
            found = check((decided,), baseline, RULES.load_each(), policy)
            assert found == check((apply_decisions(whole, decisions),), baseline, RULES.load_each(), policy)
            step = f"added_{number - tables.WIDTH + 6:05}", f"added_{number - 1:05}"
            answer = Rename(str(TABLE), *step, decided.latest.id)
            decisions = replace(decisions, renames=(*decisions.renames, answer))
            waived |= {finding.fingerprint for finding, _ in found.findings[-1:]}
            policy = replace(policy, waived=frozenset(waived))
        assert folds == [30]
        assert len(waived) > 1
        assert decided != whole


def test_chunks_in_any_order_are_the_fold_of_all(tmp_path: Path) -> None:
    chunks = [range(start, start + 4) for start in range(0, VERSIONS, 4)]
    late = chunks.pop(6)
    with opened(str(tmp_path / "store.db"), create=True) as store:
        for chunk in (*chunks, late):
            record(store, chunk)
        assert store.check() == ()
        assert store.history(TABLE) == fold_all(VERSIONS)


def test_an_append_that_fails_leaves_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(str(tmp_path / "store.db"), create=True) as store:
        record(store, range(30))
        with monkeypatch.context() as patch:
            patch.setattr(checkpoints, "write_checkpoints", raise_error)
            with pytest.raises(RuntimeError):
                record(store, range(30, VERSIONS))
        assert store.history(TABLE) == fold_all(30)
        record(store, range(30, VERSIONS))
        assert store.history(TABLE) == fold_all(VERSIONS)
        assert store.check() == ()


def raise_error(*_: object) -> None:
    raise RuntimeError("no")


@pytest.mark.parametrize("part", ["history_block", "checkpoint"])
@pytest.mark.parametrize("damage", ["altered", "lost", "under another name"])
def test_damage_is_found_and_repaired(part: str, damage: str, tmp_path: Path) -> None:
    statements = {
        "altered": f"UPDATE {part} SET body = replace(body, 'e', 'f')",
        "lost": f"DELETE FROM {part}",
        "under another name": f"""UPDATE {part} SET table_key = '["main","a","","","b"]'""",
    }
    with opened(str(tmp_path / "store.db"), create=True) as store:
        record(store, range(30))
        with store._database.writer.connect() as connection, connection.begin():
            connection.execute(text(statements[damage]))
        lost_checkpoint = part == "checkpoint" and damage != "altered"
        assert bool(store.check()) != (part == "checkpoint" and damage == "lost")
        if part == "history_block":
            with pytest.raises(StoreUnavailable, match="was altered"):
                list(store.history(TABLE) or ())
        if lost_checkpoint:
            record(store, range(30, 31))
        store.rebuild()
        assert store.check() == ()
        assert store.history(TABLE) == fold_all(31 if lost_checkpoint else 30)


def test_a_question_about_the_newest_versions_decodes_no_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[VersionBlock] = []
    decompress = VersionBlock.decompress_text

    def note(block: VersionBlock) -> str:
        decoded.append(block)
        return decompress(block)

    monkeypatch.setattr(VersionBlock, "decompress_text", note)
    with opened(str(tmp_path / "store.db"), create=True) as store:
        record(store, range(30))
        registry = Registry(store, lambda: 0)
        assert registry.resolve(f"{TABLE.table}@latest").version is not None
        assert registry.resolve(f"{TABLE.table}@-1").version is not None
        assert decoded == []
        recorded = registry.record(*tables.chunk([0], range(30, 31)))
        assert [version.number for version in recorded.tables[0].new] == [31]
        assert registry.summaries()[0].summary.versions == 31
        assert len(decoded) <= 2


def test_blocks_are_the_tuple_of_their_versions() -> None:
    history = fold_all(30)
    assert history is not None
    versions = tuple(history.versions)
    blocked = version_blocks.split_versions(versions, "a history")
    assert isinstance(blocked, BlockedVersions)
    assert [len(blocked.blocks), len(blocked.newest)] == [2, 14]
    assert blocked == versions
    assert hash(blocked) == hash(versions)
    assert tuple(reversed(blocked)) == versions[::-1]
    chance = random.Random(0)
    for _ in range(50):
        first, last = chance.randrange(-35, 35), chance.randrange(-35, 35)
        assert blocked[first:last] == versions[first:last]
    assert [blocked[n] for n in range(-30, 30)] == [versions[n] for n in range(-30, 30)]
    with pytest.raises(IndexError):
        blocked[30]
