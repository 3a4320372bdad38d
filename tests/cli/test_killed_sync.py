"""`sync` that was killed behind a statement takes its plan up again, so that one rollback takes it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.migration.target import LakeTable
from tests.support.command_line import place
from tests.support.memory_commands import Commands, commands
from tests.support.memory_lake import Crash

__all__ = ["commands", "place"]

COLUMNS = (("id", "INT"), ("shop", "INT"))
KEYS = {
    "another key": (COLUMNS, ("id", "shop")),
    "new columns": ((*COLUMNS, ("a", "INT"), ("b", "INT")), ("id",)),
}


def sync(commands: Commands) -> None:
    done = commands("sync", "r.jsonl", "--once")
    assert done.code == 0, done


def shape(lake: LakeTable) -> tuple[object, ...]:
    own = {n: v for n, v in lake.properties.items() if n in ("schemaman.key", "schemaman.version")}
    return lake.schema, own


def kill_behind(commands: Commands, number: int) -> bool:
    """Run `sync` that is killed behind a statement; whether it had so many."""
    left = [number]

    def die(statement: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Crash

    commands.lake.after = die
    try:
        sync(commands)
    except Crash:
        return True
    finally:
        commands.lake.after = lambda _: None
    return False


@pytest.mark.parametrize("kind", KEYS)
def test_a_killed_plan_is_taken_up_and_taken_back_as_a_whole(commands: Commands, kind: str) -> None:
    Path("schemaman.toml").write_text('profile = "autopilot"\n' + Path("schemaman.toml").read_text())
    columns, key = KEYS[kind]
    commands.says(commands.table(COLUMNS, type="CREATE"))
    sync(commands)
    before = shape(commands.live())
    commands.says(commands.table(columns, key=key))
    number = 1
    while kill_behind(commands, number):
        sync(commands)
        after = shape(commands.live())
        assert commands.live().schema.key == key
        assert commands.live().schema.names == tuple(name for name, _ in columns)
        run = commands("status", "--format", "json").json["targets"][0]["run"]
        assert commands("plan", "--rollback", run, "-o", "back.plan.json").code == 0
        assert commands.applied("back.plan.json").code == 0
        assert shape(commands.live()) == before, number
        number += 1
    assert number > 2
    assert shape(commands.live()) == after


def test_a_table_that_a_killed_sync_had_made_gets_its_key(commands: Commands) -> None:
    commands.says(commands.table(COLUMNS, type="CREATE"))
    assert kill_behind(commands, 2)
    sync(commands)
    assert commands.live().schema.key == ("id",)
