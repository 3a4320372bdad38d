"""What people say before a plan runs, and what they are told of leases: `approve`, `unlock`, `status`."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import click.testing
import pytest

from schemaman.api.plan_files import plan_file
from schemaman.errors import BadConfiguration
from schemaman.history.decisions import Approval, parse
from schemaman.history.decisions import format_decision as answers
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import parse_expiry, plan_hash, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.targets import iceberg
from schemaman.model.column_list import parse_columns
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from schemaman_cli.commands.approve import COMMAND as APPROVE
from tests.support.command_line import Run

DAY_MS = 86_400_000
NOON = 1_800_014_400_000  # 2027-01-15T12:00:00Z


def plan(**facts: object) -> Plan:
    source = MigrationSource(
        "shop.public.orders", 3, "9f2c4e01aa37", 0, parse_columns("id INT NOT NULL, PRIMARY KEY (id)")
    )
    made = make_plan(source, None, iceberg.TARGET, "ice.raw.orders", Policy())
    return replace(made, **({"approvals_needed": ("drop-columns: …",)} | facts))  # type: ignore[arg-type]


def written(made: Plan, name: str = "p.plan.json") -> Path:
    Path(name).write_text(to_text(made), encoding="utf-8")
    return Path(name)


def approvals() -> list[tuple[str, str, date]]:
    file = Path("schemaman.decisions.toml")
    found = parse(file.read_text(encoding="utf-8")).approvals if file.exists() else ()
    return [(a.plan, a.by, a.expires) for a in found]


def test_an_approval_names_plan_person_and_last_day(run: Run) -> None:
    made = plan()
    done = run("approve", written(made), "--by", "anna@example.com", "--expires", "2999-01-31", "--yes")
    assert done.code == 0
    assert approvals() == [(plan_hash(made), "anna@example.com", date(2999, 1, 31))]
    assert "Needs approval: drop-columns" in done.out
    assert "commit it" in done.err
    again = run("approve", "p.plan.json", "--expires", "2998-01-01", "--yes")
    assert "already approves the plan: by anna@example.com" in again.err
    assert len(approvals()) == 1


def test_an_approval_lasts_two_weeks_if_nothing_is_said(run: Run) -> None:
    assert run("approve", written(plan()), "--yes").code == 0
    ((_, by, last),) = approvals()
    assert by
    assert abs((last - datetime.now(UTC).date()) - timedelta(14)) <= timedelta(1)


def test_nothing_is_approved_where_nobody_can_be_asked(run: Run) -> None:
    done = run("approve", written(plan()))
    assert done.code == 2
    assert "--yes" in done.err
    assert "CREATE TABLE" in done.out
    assert approvals() == []


def test_an_answer_that_somebody_wrote_meanwhile_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other = plan(expires_ms=1)

    def meanwhile(*_: object) -> bool:
        answer = answers(Approval(plan_hash(other), "b", date(2999, 1, 1)))
        Path("schemaman.decisions.toml").write_text(answer)
        return True

    monkeypatch.setattr("schemaman_cli.commands.approve.confirm", meanwhile)
    assert run("approve", written(plan())).code == 0
    assert [hash for hash, *_ in approvals()] == [plan_hash(other), plan_hash(plan())]


def test_plans_of_tables_that_are_written_alike_wait_in_files_of_their_own() -> None:
    tables = ("ice.raw.a", "ice.raw.`a b`", "ice.raw.`a c`", "/lake/a", "/lake_a")
    files = [plan_file(Path("plans"), "lake", table) for table in tables]
    assert len({file.name.lower() for file in files}) == len(tables)
    assert files[0] == Path("plans/lake.ice.raw.a.plan.json")
    pairs = [("raw", "x.y.orders"), ("raw.x", "y.orders"), ("raw.x.y", "orders"), ("raw", "x.`y z`")]
    pairs.append(("raw.x", "`y z`"))
    assert len({plan_file(Path("plans"), target, table).name for target, table in pairs}) == len(pairs)


def test_a_folder_of_plans_is_not_approved_unseen(run: Run) -> None:
    Path("plans").mkdir()
    for name in ("plans", "plans/"):
        done = run("approve", name, "--yes")
        assert (done.code, "plans/*.plan.json" in done.err) == (2, True)
    assert "schemaman approve ./*.plan.json" in run("approve", "", "--yes").err


def test_a_plan_without_a_name_is_not_every_plan_of_this_folder(run: Run) -> None:
    written(plan())
    done = run("apply", "")
    assert (done.code, "the name of the plan is empty" in done.err) == (2, True)


@pytest.mark.parametrize(("answer", "approved"), [("y\n", 1), ("\n", 0), ("n\n", 0)])
def test_at_a_terminal_the_answer_counts_and_no_is_the_default(
    run: Run, monkeypatch: pytest.MonkeyPatch, answer: str, approved: int
) -> None:
    file = written(plan())
    monkeypatch.setattr("schemaman_cli.asking.at_terminal", lambda: True)
    click.testing.CliRunner().invoke(APPROVE, [str(file)], input=answer)
    assert len(approvals()) == approved


def test_what_cannot_be_applied_is_not_approved(run: Run) -> None:
    text = to_text(plan()).replace("orders", "order_s", 1)
    Path("edited.json").write_text(text, encoding="utf-8")
    assert run("approve", "edited.json", "--yes").code == 4
    assert run("approve", written(plan(expires_ms=1)), "--yes").code == 4
    assert run("approve", written(plan()), "--yes", "--expires", "2001-01-01").code == 2
    assert run("approve", written(plan()), "--yes", "--expires", "never").code == 2
    unneeded = run("approve", written(plan(approvals_needed=())), "--yes")
    assert unneeded.code == 0
    assert "needs no approval" in unneeded.err
    assert approvals() == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("never", None),
        ("1d", "2027-01-16T23:59:59.999Z"),
        ("2h", "2027-01-15T14:00:00.000Z"),
        ("2027-02-03", "2027-02-03T23:59:59.999Z"),
        ("2027-02-03T01:00:00+01:00", "2027-02-03T00:00:00.000Z"),
    ],
)
def test_a_plan_expires_when_it_is_told_to(text: str, wanted: str | None) -> None:
    told = json.loads(to_text(plan(expires_ms=parse_expiry(text, NOON))))
    assert told["expires"] == wanted


def test_plans_of_one_day_are_the_same_plan() -> None:
    made = {
        plan_hash(plan(expires_ms=parse_expiry("30d", NOON + hours * 3_600_000))) for hours in (-11, 0, 11)
    }
    assert len(made) == 1


@pytest.mark.parametrize(
    "text",
    ["", "soon", "30", "99999999d", "2027-02-30", "2027-02-03T01:00", "-1d", "9999-12-31T23:59:59-23:00",
     "٣٠d"],
)  # fmt: skip
def test_no_other_words_say_when_a_plan_expires(text: str) -> None:
    with pytest.raises(BadConfiguration, match="no expiry time"):
        parse_expiry(text, NOON)


def stored() -> SqlStore:
    return SqlStore.open("sqlite:///schemaman.db", create=True)


def begun(store: SqlStore, made: Plan, run: str, *states: str) -> None:
    """A journal as a run leaves it that came so far."""
    target, name = f"iceberg:{made.table}", plan_hash(made)
    lines = [MigrationEntry(run, name, target, None, "started", to_text(made))]
    lines += [MigrationEntry(run, name, target, 0, state, "x") for state in states]  # type: ignore[arg-type]
    store.append(lines, store.end())


def test_status_tells_of_a_target_that_somebody_holds_and_of_one_that_died(run: Run) -> None:
    with stored() as store:
        begun(store, plan(), "r1", "intent", "done")
        died = plan(table="ice.raw.items")
        begun(store, died, "r2", "intent")
        store.append(
            [MigrationEntry("drift", "", "iceberg:ice.raw.items", None, "drifted", "add `z` INT")],
            store.end(),
        )
        lease = store.acquire("iceberg:ice.raw.orders", "anna@host (7)", store.now_ms(), DAY_MS)
        store.acquire("iceberg:ice.raw.items", "ben@host (8)", store.now_ms() - DAY_MS, 1000)
    told = json.loads(run("status", "--format", "json").out)
    items, orders = told["targets"]
    assert (orders["state"], orders["source"], orders["steps_done"]) == ("running", "shop.public.orders@3", 1)
    assert orders["steps"] == len(plan().steps)
    assert (orders["lease"]["id"], orders["lease"]["owner"]) == (lease, "anna@host (7)")
    assert (items["state"], items["lease"], items["drift"]) == ("stopped", None, "add `z` INT")
    assert [r["state"] for r in told["runs"]] == ["running", "stopped"]
    text = run("status").out
    assert "schemaman resume r2" in text
    assert lease in text


def test_a_lease_is_ended_by_its_id(run: Run) -> None:
    with stored() as store:
        host = socket.gethostname()
        mine = store.acquire("delta:/lake/t", f"anna@{host} ({os.getpid()})", store.now_ms(), DAY_MS)
    assert run("unlock", "nonsense", "--yes").code == 2
    waiting = run("unlock", mine)
    assert waiting.code == 2
    assert "a process with that id runs on this machine" in waiting.err
    with stored() as store:
        assert len(store.leases()) == 1
    done = run("unlock", mine, "--yes")
    assert done.code == 0
    assert "delta:/lake/t is released" in done.err
    with stored() as store:
        assert store.leases() == ()
