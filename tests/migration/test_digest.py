"""The digest: each line of the journal since a time is in it once, and nothing from before."""

from __future__ import annotations

import json
import re
import shlex
from bisect import bisect_left
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from schemaman.errors import StatementFailed, UsageError
from schemaman.history.open_questions import OpenQuestion
from schemaman.history.versions import RenameCandidate
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.apply.waiting import Waiting, list_waiting_lines
from schemaman.migration.digest import Digest, RunDigest, WaitingDigest, WayBack
from schemaman.migration.since import parse_since
from schemaman.model.schema import TableId
from schemaman.model.shell import build_command
from schemaman.registry import Registry
from schemaman.report.document import FORMATS
from schemaman.report.views.digest import build_digest_report
from schemaman.store.log import MigrationEntry, ObservationEntry
from schemaman.store.memory import MemoryStore
from tests.support.hostile_names import HOSTILE
from tests.support.log_entries import ORDERS, said, schema
from tests.support.memory_lake import MemoryTable
from tests.support.plans import lake, plan, source

STATES = {"done": "done", "skipped": "skipped", "failed": "failed", "intent": "sent"}


class Life:
    """A store whose clock moves with each look, and one lake table."""

    def __init__(self) -> None:
        self.now = 1_000
        self.store = MemoryStore(self.tick)
        self.registry = Registry(self.store, self.tick)
        self.journal = StoreJournal(self.store)
        self.lake: MemoryTable = lake("delta", "id INT, a INT")

    def tick(self) -> int:
        self.now += 1
        return self.now

    def migrate(self, run: str, columns: str, **facts: Any) -> None:
        drawn = plan("delta", source(columns, **facts), self.lake.live)
        apply(drawn, self.lake, self.journal, self.tick, run=run, approved=True, partial=True)

    def observe(self, offset: int, *columns: str) -> None:
        self.store.append([ObservationEntry(said(schema(*columns), offset))], self.store.end())


@pytest.fixture
def life() -> Life:
    made = Life()
    made.migrate("one", "id INT, a INT, b INT")
    made.migrate("two", "id INT, a BIGINT, b INT, c DATE")

    def fail(statement: str) -> None:
        if "RENAME" in statement:
            raise StatementFailed("no room")

    made.lake.before = fail
    with pytest.raises(StatementFailed):
        made.migrate("three", "id INT, x BIGINT, b INT, c DATE", former_names={"x": ("a",)})
    return made


def test_each_line_since_a_position_is_in_the_digest_once(life: Life) -> None:
    log = [s for s in life.store.read() if isinstance(s.entry, MigrationEntry)]
    for position in range(life.store.end() + 1):
        found = life.registry.digest_after(position, 0)
        last: dict[tuple[str, int], str] = {}
        for stamped in log[position:]:
            line = stamped.entry
            assert isinstance(line, MigrationEntry)
            if line.step is not None:
                last[line.run, line.step] = f"{STATES[line.state]} {line.statement}"
        steps = [(run.run, step) for run in found.runs for step in run.steps]
        told = {(run, step.number): f"{step.state} {step.statement}" for run, step in steps}
        assert told == last
        assert len(steps) == len(told)
        assert [run.run for run in found.runs] == list(
            dict.fromkeys(s.entry.run for s in log[position:] if isinstance(s.entry, MigrationEntry))
        )
    assert life.registry.digest_after(life.store.end(), 0).runs == ()


def test_a_step_has_its_cost_and_a_run_its_way_back(life: Life) -> None:
    one, two, three = life.registry.digest_after(0, 0).runs
    assert all(step.cost.ms is not None and step.cost.ms > 0 for step in (*one.steps, *two.steps))
    assert all(step.cost.rows is None for step in one.steps)
    assert one.way_back == WayBack("one", "", ("three", "two"))
    assert two.way_back == WayBack("two", "", ("three",))
    assert (three.state, three.way_back) == ("failed", None)
    assert "no room" in three.error
    assert [run.earlier_steps for run in (one, two, three)] == [0, 0, 0]


def test_a_time_is_found_in_the_log(life: Life) -> None:
    times = [stamped.at_ms for stamped in life.store.read()]
    for time in times:
        assert life.store.find_position(time) == bisect_left(times, time)
        assert life.store.find_position(time + 1) == bisect_left(times, time + 1)
    assert life.store.find_position(times[-1] + 1) == life.store.end()
    life.now = times[-1]
    first = life.registry.digest(timedelta(milliseconds=life.now - times[0] + 1)).runs
    assert [run.run for run in first] == ["one", "two", "three"]


def test_what_changed_at_the_source_is_told_since_it_was_recorded(life: Life) -> None:
    life.observe(1, "id")
    before = life.store.end()
    life.observe(2, "id", "b")
    life.observe(3, "id", "b")
    middle = life.store.end()
    (every,) = life.registry.digest_after(0, 0).sources
    (since,) = life.registry.digest_after(before, 0).sources
    assert (every.is_new, every.new, since.is_new, since.new) == (True, (1, 2), False, (2,))
    assert life.registry.digest_after(middle, 0).sources == ()
    report = build_digest_report(life.registry.digest_after(before, 0))
    document: Any = report.data
    assert [v["version"] for v in document["source"][0]["versions"]] == ["2"]
    text = FORMATS.get("text").render(report)
    assert "+ b  INT" in text
    assert "Version 1" not in text


def test_what_waits_is_written_when_it_changes_and_told_until_it_is_ready(life: Life) -> None:
    first = Waiting("records", "quarantine", "delta:/x", "app.orders", "no row", "", 3, 77)
    table = Waiting("table", "approval", "delta:/x", "app.orders", "asks", "schemaman approve p.json")
    target = "delta:/x"

    def write(**now: Waiting | None) -> int:
        kinds = {(target, kind): waiting for kind, waiting in now.items()}
        lines = list_waiting_lines(life.registry.journal(), kinds)  # type: ignore[arg-type]
        return life.registry.note(*lines) if lines else 0

    assert write(records=first, table=table)
    began = life.now
    assert not write(records=first, table=table)
    assert write(records=replace(first, records=4))
    told = life.registry.digest_after(life.store.end(), 0).waiting
    assert [(w.waiting.records, w.since_ms) for w in told] == [(4, 77), (None, told[1].since_ms)]
    assert told[1].since_ms <= began
    assert write(records=None, table=table)
    assert [w.waiting for w in life.registry.digest_after(0, 0).waiting] == [table]
    assert not write(records=None)


def test_a_time_is_read_as_people_write_it() -> None:
    now = int(datetime(2026, 11, 26, 6, 30, tzinfo=UTC).timestamp() * 1000)
    day = 86_400_000
    midnight = now - now % day
    expected: dict[Any, int] = {
        "yesterday": midnight - day, "today": midnight, "36h": now - 36 * 3_600_000, "7d": now - 7 * day,
        "90m": now - 5_400_000, "2w": now - 14 * day, "2026-11-20": midnight - 6 * day,
        "2026-11-26T05:30Z": now - 3_600_000, date(2026, 11, 25): midnight - day,
        datetime(2026, 11, 26, tzinfo=UTC): midnight, timedelta(hours=1): now - 3_600_000, 5: 5,
    }  # fmt: skip
    for since, at in expected.items():
        assert parse_since(since, now) == at
    for wrong in ("tomorrow", "2026-13-01", "", "3y", "2026-11-26T05:30", datetime(2026, 1, 1), True, None):  # noqa: DTZ001
        with pytest.raises(UsageError, match="no time to begin at"):
            parse_since(wrong, now)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="future"):
        parse_since("2026-11-27", now)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_only_text_in_a_digest(name: str) -> None:
    table = TableId("srv", "app", "", name)
    waiting = Waiting("table", "approval", f"delta:/{name}", str(table), name, f"schemaman approve {name!r}")
    run = RunDigest(name, "ab" * 32, f"delta:/{name}", name, f"{table}@1", "finished", 1, 2,
                    notes=(name,), way_back=WayBack(name))  # fmt: skip
    commands = (build_command(("decide", "rename"), (f"{table}@2", name, f"{name}2")),)
    question = OpenQuestion(str(table), name, commands, name)
    report = build_digest_report(Digest(0, 9, (), (run,), (), (WaitingDigest(1, waiting),), (question,)))
    for format in ("text", "markdown", "html", "json"):
        shown = FORMATS.get(format).render(report)
        shown.encode("utf-8")
        assert "\x1b[31m" not in shown
        assert "\u202e" not in shown
        assert format != "html" or not re.search(r"<(?:script>alert|img src=x)", shown)
    document: Any = json.loads(FORMATS.get("json").render(report))
    assert len(document["waiting"]) == 1
    if name.isprintable():
        (asked,) = document["questions"]
        assert shlex.split(asked["commands"][0])[-2:] == [name, f"{name}2"]
        assert name in shlex.split(document["runs"][0]["rollback"]["command"])


def test_a_suspected_rename_is_an_open_question(life: Life) -> None:
    life.observe(1, "id", "a")
    life.observe(2, "id", "b")
    (question,) = life.registry.digest_after(life.store.end(), 0).questions
    (command,) = question.commands
    assert shlex.split(command)[1:3] == ["decide", "rename"]
    assert shlex.split(command)[-2:] == ["a", "b"]
    assert isinstance(life.registry.history(ORDERS).latest.candidates[0], RenameCandidate)
