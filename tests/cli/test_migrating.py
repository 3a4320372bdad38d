"""The moving commands over a lake in memory: what plans, runs and their ways back come to, life by life."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from schemaman.migration.properties.names import READ_PROPERTY
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.report.json import schemas
from schemaman.sink.stale_rows import StaleRowCheck
from schemaman.sink.values.connector_modes import ConnectorModes
from schemaman.store.memory import MemoryStore
from schemaman.store.sql.store import SqlStore
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run
from tests.support.memory_lake import Crash, MemoryLake
from tests.support.report_example import history

__all__ = ["run"]

DAY_MS = 86_400_000
WAS = (("id", "INT"), ("price", "INT"))
TEXT = (("id", "INT"), ("price", "VARCHAR"))


def phase(number: int, name: str, folder: str = "plans") -> str:
    return f"{folder}/raw.ice.raw.orders.{number}-{name}.plan.json"


def in_exchange(run: Commands) -> None:
    """A table whose column `price` is to become text, behind the first phase."""
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    run.learns(run.table(TEXT))
    assert run("plan", "orders", "--recipe", "-o", "plans/").code == 0
    assert run.applied(phase(1, "expand")).code == 0


def test_a_swap_that_stopped_is_resumed_though_plan_and_approval_have_expired(
    run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_exchange(run)
    assert run.applied(phase(2, "backfill")).code == 0

    def die(statement: str) -> None:
        if "RENAME COLUMN `price__new`" in statement:
            raise Crash

    run.lake.before = die
    with pytest.raises(Crash):
        run.applied(phase(3, "swap"))
    run.lake.before = lambda _: None
    assert run.live().schema.names == ("id", "price__old", "price__new")
    barred = run("plan", "orders")
    named = run("status", "--format", "json").json["targets"][0]["run"]
    assert (barred.code, f"schemaman resume {named}" in barred.out) == (1, True)
    later = int(datetime.now(UTC).timestamp() * 1000) + 40 * DAY_MS
    monkeypatch.setattr(SqlStore, "now_ms", lambda _: later)
    decisions = Path("schemaman.decisions.toml")
    today = datetime.now(UTC).date()
    lapsed = decisions.read_text().replace(str(today + timedelta(days=14)), str(today - timedelta(days=1)))
    assert lapsed != decisions.read_text()
    decisions.write_text(lapsed)
    stopped = run("status", "--format", "json").json["targets"][0]["run"]
    assert run("resume", stopped).code == 0
    assert run.live().schema.names == ("id", "price__old", "price")
    assert run("apply", phase(2, "backfill")).code == 1  # its approval has expired, and it is through
    assert run("apply", phase(1, "expand")).code == 4


def test_a_swap_that_stopped_on_a_table_that_moved_has_one_way_on(run: Commands) -> None:
    """Status, plan, rollback and drift name the same command, and that command goes on."""
    in_exchange(run)
    assert run.applied(phase(2, "backfill")).code == 0

    def die(statement: str) -> None:
        if "RENAME COLUMN `price__new`" in statement:
            raise Crash

    run.lake.before = die
    with pytest.raises(Crash):
        run.applied(phase(3, "swap"))
    run.lake.before = lambda _: None
    run.lake.run("ALTER TABLE `ice`.`raw`.`orders` ADD COLUMNS (`stranger` INT)")
    stopped = run("status", "--format", "json").json["targets"][0]["run"]
    way_on = f"schemaman resume {stopped}"
    for words in (("status",), ("plan", "orders"), ("plan", "--rollback", stopped), ("drift",)):
        told = run(*words)
        assert way_on in " ".join(f"{told.out} {told.err}".split())
        assert "--rollback" not in told.out
    assert run("resume", stopped).code == 0
    assert run.live().schema.names == ("id", "price__old", "price", "stranger")
    assert run("plan", "orders").code == 0


def test_a_rollback_takes_back_what_it_can(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    run.learns(run.table((("id", "INT"), ("price", "BIGINT"), ("more", "INT"))))
    assert run.moved().code == 0
    stopped = run("status", "--format", "json").json["targets"][0]["run"]
    back = run("plan", "--rollback", stopped, "-o", "back.plan.json")
    assert back.code == 0
    assert "`price` stays BIGINT, which holds all that INT did" in " ".join(back.out.split())
    assert run.applied("back.plan.json").code == 0
    assert run.live().schema.names == ("id", "price")


def test_a_plan_without_steps_says_so(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run("plan", "orders", "-o", "first.plan.json").code == 0
    assert run.applied("first.plan.json").code == 0
    assert run("plan", "--rollback", "first.plan.json", "-o", "back.plan.json").code == 1
    told = run("apply", "back.plan.json", "--partial")
    assert "the plan has no steps for ice.raw.orders" in " ".join(f"{told.out} {told.err}".split())


def test_a_table_with_a_fault_that_nobody_foresaw_stops_no_other_one(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", name="broken"))
    assert run("sync", "r.jsonl", "--once").code == 0
    real = run.lake.inspect

    def inspect(table: str, format: str) -> LakeTable | None:
        return json.loads("nonsense") if table == "ice.raw.broken" else real(table, format)

    run.lake.inspect = inspect  # type: ignore[method-assign]
    wide = (*WAS, ("more", "INT"))
    run.learns(run.table(wide), run.table(wide, name="broken"))
    planned = run("plan", "-o", "plans/")
    assert planned.code == 3
    told = " ".join(planned.err.split())
    assert "cannot plan ice.raw.broken: schemaman has a fault of its own: JSONDecodeError" in told
    assert "schemaman plan srv.app.broken --debug" in told
    assert Path("plans/raw.ice.raw.orders.plan.json").exists()
    assert run("plan", "broken").code == 3
    synced = run("sync", "r.jsonl", "--once", "--format", "json")
    assert synced.code == 3
    states = {each["lake_table"]: each for each in synced.json["tables"]}
    assert states["ice.raw.orders"]["state"] == "applied"
    assert states["ice.raw.broken"]["state"] == "failed"
    assert "JSONDecodeError" in states["ice.raw.broken"]["reasons"][0]
    assert run.live().schema.names == ("id", "price", "more")


def odd(run: Commands, odd: str) -> None:
    """One table that is looked at with a fault that nobody foresaw."""
    real = run.lake.inspect

    def inspect(table: str, format: str) -> LakeTable | None:
        if table == odd:
            raise KeyError("odd")
        return real(table, format)

    run.lake.inspect = inspect  # type: ignore[method-assign]


def test_a_plan_with_a_fault_that_nobody_foresaw_stops_no_other_one(run: Commands) -> None:
    run.learns(*(run.table(WAS, type="CREATE", name=name) for name in "abc"))
    assert run("plan", "-o", "plans/").code == 0
    odd(run, "ice.raw.b")
    told = run("apply", "plans/", "--format", "json")
    assert told.code == 3
    assert [(each["table"], each["state"]) for each in told.json["runs"]] == [
        ("ice.raw.a", "applied"), ("ice.raw.b", "failed"), ("ice.raw.c", "applied")
    ]  # fmt: skip
    assert told.json["runs"][1]["reasons"][0] == "schemaman has a fault of its own: KeyError: 'odd'"
    assert "--debug" in told.json["runs"][1]["reasons"][1]
    assert run.live("ice.raw.c").schema.names == ("id", "price")


@pytest.mark.parametrize("when", ["its statement", "the look behind its statement"])
def test_a_fault_that_nobody_foresaw_behind_a_step_that_ran_leaves_the_plan_half_done(
    run: Commands, when: str
) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    run.moved()
    run.learns(run.table((("id", "INT"), ("price", "BIGINT"), ("q", "INT"))))
    assert run("plan", "orders", "-o", "p.plan.json").code == 0
    real = run.lake.inspect

    def blind(table: str, format: str) -> LakeTable | None:
        raise KeyError("odd")

    def fault(statement: str) -> None:
        if "ADD COLUMNS" in statement and when == "its statement":
            raise KeyError("odd")
        if "ALTER COLUMN" in statement and when != "its statement":
            run.lake.inspect = blind  # type: ignore[method-assign]

    run.lake.before = fault
    half = run("apply", "p.plan.json")
    assert half.code == 5
    told = " ".join(half.err.split())
    assert "ice.raw.orders: stopped at step" in told
    assert "schemaman has a fault of its own: KeyError: 'odd'" in told
    run.lake.before, run.lake.inspect = (lambda _: None), real  # type: ignore[method-assign]
    stopped = run("status", "--format", "json").json["targets"][0]["run"]
    assert f"schemaman resume {stopped}" in told
    assert run("resume", stopped).code == 0
    assert run.live().schema.names == ("id", "price", "q")


def test_drift_tells_of_all_tables_though_one_has_a_fault_that_nobody_foresaw(run: Commands) -> None:
    run.says(*(run.table(WAS, type="CREATE", name=name) for name in "abc"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`mine` INT)", "ice.raw.c")
    odd(run, "ice.raw.b")
    found = run("drift", "--format", "json")
    assert found.code == 3
    assert [(each["table"], each["drift"]) for each in found.json["tables"]] == [
        ("ice.raw.a", False), ("ice.raw.c", True)
    ]  # fmt: skip
    told = " ".join(found.err.split())
    assert "ice.raw.b cannot be read: schemaman has a fault of its own: KeyError: 'odd'" in told
    assert "--debug" in told


def test_a_source_that_renames_a_column_amid_its_exchange_is_followed_in_the_end(run: Commands) -> None:
    in_exchange(run)
    later = (("id", "INT"), ("cost", "VARCHAR"))
    run.learns(run.table(later, ddl="alter table orders rename column price to cost"))
    refused = run("plan", "orders", "-o", "p.plan.json")
    assert refused.code == 1
    assert "--recipe` continues the column swap" in refused.out
    assert run("apply", "--partial", "p.plan.json").code == 1
    assert run.live().schema.names == ("id", "price", "price__new")
    ended = run("plan", "orders", "--recipe", "-o", "a.plan.json", "--format", "json")
    assert (ended.code, ended.json["phase"]["name"]) == (0, "abandon")
    assert run("apply", "a.plan.json").code == 1  # nobody has approved it
    assert run.applied("a.plan.json").code == 0
    run("plan", "orders", "-o", "p.plan.json")
    assert run("apply", "--partial", "p.plan.json").code == 1
    assert run.live().schema.names == ("id", "cost")
    assert run("plan", "orders", "--recipe", "-o", "again/").code == 0
    for number, name in enumerate(("expand", "backfill", "swap"), 1):
        assert run.applied(phase(number, name, "again")).code == 0
    assert run("plan", "orders", "--format", "json").json["refusals"] == []


def test_an_exchange_is_given_up_on_demand(run: Commands) -> None:
    in_exchange(run)
    assert run("plan", "orders", "--recipe", "--phase", "abandon", "-o", "a.plan.json").code == 0
    assert run.applied("a.plan.json").code == 0
    assert run.live().schema.names == ("id", "price")
    none = run("plan", "orders", "--recipe", "--phase", "abandon")
    assert (none.code, "phase abandon is not left" in none.err) == (2, True)


MORE = (*WAS, ("q", "INT"))


def drift_told(run: Commands) -> object:
    return run("status", "--format", "json").json["targets"][0]["drift"]


def test_what_a_run_met_that_someone_else_had_changed_is_told_until_somebody_looks(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    run.moved()
    run.change("ADD COLUMNS (`mine` INT)")
    run.learns(run.table(MORE))
    assert "The table had changed outside of schemaman" in run.moved().out
    assert drift_told(run) == "add `mine` INT"
    run.change("DROP COLUMNS (`q`)")
    run.learns(run.table((*MORE, ("r", "INT"))))
    run.moved()
    assert drift_told(run) == "add `mine` INT; drop `q`"
    found = run("drift", "--format", "json")
    Draft202012Validator(schemas.read_schema("drift")).validate(found.json)
    assert (found.code, found.json["tables"][0]["changes"]) == (1, [])
    assert found.json["tables"][0]["before"] == "add `mine` INT; drop `q`"
    assert drift_told(run) is None
    assert run("drift").code == 0
    run.change("DROP COLUMNS (`mine`)")
    assert (run("drift").code, drift_told(run)) == (1, "drop `mine`")


def test_a_round_of_sync_tells_what_someone_else_had_changed(run: Commands) -> None:
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`mine` INT)")
    run.says(run.table(MORE))
    told = run("sync", "r.jsonl", "--once", "--format", "json")
    assert (told.code, told.json["tables"][0]["state"]) == (0, "applied")
    assert told.json["tables"][0]["reasons"] == ["the table had changed outside of schemaman: add `mine` INT"]
    assert drift_told(run) == "add `mine` INT"


def test_a_plan_of_refusals_alone_leaves_nothing_in_the_journal(run: Commands) -> None:
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table(TEXT))
    told = run("sync", "r.jsonl", "--once", "--partial", "--format", "json")
    assert (told.code, told.json["tables"][0]["state"]) == (1, "refused")
    with SqlStore.open("sqlite:///schemaman.db") as store:
        end = store.end()
        assert run("sync", "r.jsonl", "--once", "--partial").code == 1
        assert run("apply", "plans/raw.ice.raw.orders.plan.json", "--partial").code == 1
        assert store.end() == end
    assert len(run("status", "--format", "json").json["runs"]) == 1


@pytest.mark.parametrize(
    ("name", "text"), [("kept", "oops"), ("names", "7"), ("recipe", '{"exchanges": [{"column": 1}]}')]
)
def test_a_property_that_somebody_spoilt_is_refused_for_its_table_alone(
    run: Commands, name: str, text: str
) -> None:
    spoilt, other = run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", name="items")
    run.learns(spoilt, other)
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change(f"SET TBLPROPERTIES ('schemaman.{name}' = '{text}')")
    run.says(run.table(MORE), run.table(MORE, name="items"))
    told = run("sync", "r.jsonl", "--once", "--format", "json")
    assert [t["state"] for t in told.json["tables"]] == ["applied", "refused"]
    refused = run("plan", "orders", "--format", "json")
    assert (refused.code, refused.json["steps"]) == (1, [])
    assert refused.json["refusals"][0]["change"] == f"read the property schemaman.{name} of ice.raw.orders"
    assert text in refused.json["refusals"][0]["reason"]
    assert "unset it" in refused.json["refusals"][0]["instead"]
    for words in ((), ("--phase", "abandon"), ("--into", "ice.raw.new")):
        recipe = run("plan", "orders", "--recipe", *words, "--format", "json")
        assert (recipe.code, recipe.json["refusals"][0]) == (1, refused.json["refusals"][0])


def test_a_table_that_cannot_be_planned_for_hides_no_other(run: Commands) -> None:
    run.settings("delta", "raw.{table}")
    odd = run.table(WAS, type="CREATE", name="order-items")
    run.learns(run.table(WAS, type="CREATE"), odd, run.table(WAS, type="CREATE", name="zebra"))
    planned = run("plan", "-o", "plans/")
    assert planned.code == 2
    assert "cannot plan raw.order-items" in planned.err
    assert sorted(each.name for each in Path("plans").glob("*.json")) == [
        "raw.raw.orders.plan.json", "raw.raw.zebra.plan.json"
    ]  # fmt: skip
    alone = run("plan", "order-items", "-o", "none/")
    assert (alone.code, Path("none").exists()) == (2, False)


def test_several_tables_have_a_folder_for_their_plans_however_many_there_are(run: Commands) -> None:
    run.learns(*(run.table(WAS, type="CREATE", name=name) for name in "ab"))
    real = run.lake.inspect
    odd(run, "ice.raw.b")
    some = run("plan", "-o", "plans", "--format", "json")
    assert (some.code, [each["table"] for each in some.json["plans"]]) == (3, ["ice.raw.a"])
    odd(run, "ice.raw.a")
    none = run("plan", "-o", "none", "--format", "json")
    assert (none.code, none.json["plans"], Path("none").exists()) == (3, [], False)
    assert "2 tables could not be planned" in run("plan").out
    run.lake.inspect = real  # type: ignore[method-assign]
    assert run("plan", "-o", "plans").code == 0
    assert sorted(each.name for each in Path("plans").glob("*.json")) == [
        "raw.ice.raw.a.plan.json", "raw.ice.raw.b.plan.json"
    ]  # fmt: skip
    alone = run("plan", "a", "-o", "alone", "--format", "json")
    assert (alone.json["table"], Path("alone").is_file()) == ("ice.raw.a", True)


def test_plan_and_sync_call_the_plan_of_a_path_the_same(run: Commands) -> None:
    run.settings("delta", "/lake/{table}", more='drops="drop"\n')
    run.says(run.table(MORE, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.learns(run.table(WAS))
    assert run("plan", "-o", "plans/").code == 0
    (file,) = Path("plans").glob("*.plan.json")
    name = json.loads(file.read_text())["hash"]
    assert run("approve", file, "--yes").code == 0
    told = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]
    assert (told["state"], told["plan"]) == ("applied", name)
    assert list(Path("plans").iterdir()) == []


def test_a_recipe_for_all_goes_on_behind_a_table_that_is_not_there_yet(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    run.moved()
    run.learns(run.table(TEXT), run.table(WAS, type="CREATE", name="newer"))
    planned = run("plan", "--recipe", "-o", "plans/")
    assert (planned.code, "there is no lake table ice.raw.newer" in planned.err) == (3, True)
    assert len(list(Path("plans").glob("raw.ice.raw.orders.*.plan.json"))) == 4


def test_a_table_that_no_target_holds_is_not_passed_over(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", name="x", database="other"))
    for words in (("x",), ("orders", "other.x"), ("x", "--target", "raw")):
        wrong = run("plan", *words)
        assert (wrong.code, "no target includes srv.other.x" in wrong.err) == (2, True)
        assert "raw = app.*" in wrong.err
    assert run("plan").code == 0


HALF = '{"store": "s"}'
NO_NUMBER = '{"store": "s", "table": "t", "reading": "r", "said": "x"}'


@pytest.mark.parametrize("text", ["oops", "[]", HALF, NO_NUMBER])
def test_a_mirrored_table_whose_reading_somebody_spoilt_takes_nothing(text: str) -> None:
    through = StaleRowCheck(MemoryStore(), ConnectorModes())
    live = LakeTable("ice.raw.orders", parse_columns("id INT"), "", "", {READ_PROPERTY: text})
    fault = through.find_stale_rows(history(), live, "`ice`.`raw`.`orders`", MemoryLake())
    assert fault is not None
    assert "schemaman.read cannot be read" in fault.reason
    kept = replace(live, properties={})
    assert through.find_stale_rows(history(), kept, "`ice`.`raw`.`orders`", MemoryLake()) is None


def test_sync_takes_up_a_plan_that_plan_has_written_where_its_own_would_lie(
    run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.settings(more='drops="drop"\n')
    run.says(run.table(MORE, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.learns(run.table(WAS))
    file = Path("plans/raw.ice.raw.orders.plan.json")
    assert run("plan", "-o", "plans/").code == 0
    text = file.read_text()
    assert run("approve", file, "--yes").code == 0
    later = int(datetime.now(UTC).timestamp() * 1000) + 40 * DAY_MS
    with monkeypatch.context() as then:
        then.setattr(SqlStore, "now_ms", lambda _: later)
        assert run("sync", "r.jsonl", "--once", "--plans", "other").code == 1
        Path("late").mkdir()
        Path("late", file.name).write_text(text)
        assert run("sync", "r.jsonl", "--once", "--plans", "late").code == 1
        assert Path("late", file.name).read_text() != text
        assert "expires" not in Path("late", file.name).with_suffix(".sql").read_text()
    assert file.read_text() == text
    told = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]
    assert (told["state"], told["plan"]) == ("applied", json.loads(text)["hash"])
    assert run.live().schema.names == ("id", "price")
    assert list(Path("plans").iterdir()) == []


def test_a_run_that_died_behind_a_statement_is_taken_back(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    run.learns(run.table((*WAS, ("r", "INT"))))
    assert run("plan", "orders", "-o", "q.plan.json").code == 0
    lake = run.lake.table("ice.raw.orders")

    def die(statement: str) -> None:
        if "ADD COLUMNS" in statement:
            raise Crash

    lake.after = die
    with pytest.raises(Crash):
        run("apply", "q.plan.json")
    lake.after = lambda _: None
    died = run("status", "--format", "json").json["targets"][0]["run"]
    for named in (died, "q.plan.json"):
        assert run("plan", "--rollback", named, "-o", "back.plan.json").code == 0
    assert run.applied("back.plan.json").code == 0
    assert run.live().schema.names == ("id", "price")


@pytest.mark.parametrize("moment", ["2020-01-01", "2020-01-01T00:00:00Z", "0h"])
def test_a_plan_that_has_expired_is_not_made(run: Commands, moment: str) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    done = run("plan", "orders", "-o", "q.plan.json", "--expires", moment)
    assert (done.code, f"{moment} is in the past" in done.err) == (2, True)
    assert not Path("q.plan.json").exists()


def test_a_new_table_does_not_take_the_place_of_one_that_is_there(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    itself = run("plan", "orders", "--recipe", "--into", "ice.raw.orders")
    assert (itself.code, "is the table itself" in itself.err) == (2, True)
    run.lake.table("ice.raw.other").live = LakeTable("ice.raw.other", parse_columns("x INT"), "another", "1")
    there = run("plan", "orders", "--recipe", "--into", "ice.raw.other")
    assert (there.code, "already exists, with other columns" in there.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [("-o", "a" * 300 + ".json"), ("--expires", "9999-12-31T23:59:59-23:00"), ("--rollback", "a" * 5000)],
    ids=["output", "expires", "rollback"],
)
def test_a_name_that_is_none_is_an_error_of_the_user(run: Commands, words: tuple[str, ...]) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    told = run("plan", *(() if words[0] == "--rollback" else ("orders",)), *words)
    assert told.code != 0
    assert "fault of its own" not in told.err


def test_who_approves_is_told_in_text(run: Commands) -> None:
    run.settings(more='drops = "drop"\n')
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    run.learns(run.table(WAS[:1]))
    assert run("plan", "orders", "-o", "p.plan.json").code == 0
    told = run("approve", "p.plan.json", "--yes", "--by", "J\udcf6rg")
    assert told.code != 0
    assert "use UTF-8" in told.err
    assert run("apply", "p.plan.json").code == 1
