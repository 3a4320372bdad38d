"""`sync` round after round over a lake in memory: what a round tells, and what stops it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemaman.api import sources, syncing
from schemaman.io import files, kafka
from schemaman.migration.bounds import Bounds
from schemaman.migration.properties.names import SUCCESSOR_PROPERTY
from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.migration.targets import iceberg
from tests.support.command_line import Done
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run
from tests.support.memory_lake import MemoryLake
from tests.support.records import node, row_event

__all__ = ["run"]

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))
MOST = (*MORE, ("r", "INT"))
DECISIONS = Path("schemaman.decisions.toml")


@pytest.fixture
def rounds(run: Commands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`sync` on a topic that a file stands for: something happens between rounds, then somebody ends it."""

    def followed(*happens: Callable[[], object], words: tuple[str, ...] = ()) -> Done:
        left = list(happens)

        def sleep(_: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(kafka, "read_batches", lambda *_: files.read_records(files.find_file("r.jsonl")))
        monkeypatch.setattr(sources, "time", SimpleNamespace(sleep=sleep))
        return run("sync", "kafka://broker:9092/srv", *words)

    return followed


def test_answers_in_mid_edit_stop_no_sync(run: Commands, rounds: Callable[..., Done]) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def spoil() -> None:
        DECISIONS.write_text('[[rename]]\ntable = "srv.app.ord')
        run.says(run.table(MORE))

    seen: list[tuple[str, ...]] = []

    def look() -> None:
        seen.append(run.live().schema.names)

    done = rounds(spoil, look, look, lambda: DECISIONS.write_text(""), look)
    assert done.code == 130
    assert seen == [("id", "price"), ("id", "price"), ("id", "price", "q")]
    told = " ".join(done.err.split())
    assert told.count("schemaman.decisions.toml is not valid TOML") == 1
    assert "no lake table is migrated until the file is valid" in told
    assert "hint: correct that line" in told


def test_a_window_that_begins_needs_no_record(
    run: Commands, rounds: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column is kept back by the window alone: it is rewritten when the window begins."""
    left = [3_600_000, 3_600_000, 0, 0]
    monkeypatch.setattr(Bounds, "find_opening", lambda *_: left[0])
    monkeypatch.setattr(syncing, "time", SimpleNamespace(monotonic=lambda: -left[0]))
    monkeypatch.setattr(iceberg.IcebergTarget, "measure_table", lambda *_: 2000)
    run.settings(more='profile = "autopilot"\nmax_rewrite = "1GB"\nwindow = "22:00-06:00"\n')
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table((("id", "INT"), ("price", "VARCHAR"))))
    done = rounds(*[lambda: left.pop(0)] * 3)
    assert done.out.count("and the window is 22:00-06:00 UTC") == 1
    assert done.out.count("✓ applied") == 2


def test_another_fault_in_the_answers_is_told_again(run: Commands, rounds: Callable[..., Done]) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def write(text: str) -> Callable[[], object]:
        return lambda: DECISIONS.write_bytes(text.encode("latin-1"))

    texts = ("[[rename", "[[rename]]\n", "# \xe9", "", "[[rename")
    done = rounds(*map(write, texts), lambda: None)
    told = " ".join(done.err.split())
    assert done.code == 130
    assert told.count("no lake table is migrated until the file is valid") == 4
    assert told.count("not valid TOML") == 2
    assert "not UTF-8 text" in told


@pytest.mark.parametrize("words", [("sync", "r.jsonl", "--once"), ("plan",), ("sync", "kafka://b:9092/srv")])
def test_a_command_does_not_begin_with_answers_that_are_spoilt(
    run: Commands, rounds: Callable[..., Done], words: tuple[str, ...]
) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    DECISIONS.write_text("[[rename")
    done = run(*words) if "kafka" not in words[-1] else rounds()
    assert done.code == 2
    assert "schemaman.decisions.toml is not valid TOML" in done.err


FILE = "plans/raw.ice.raw.orders.plan.json"


def test_what_waits_beside_what_is_refused_names_its_plan(run: Commands) -> None:
    run.settings(more='[[policy]]\nadd-column = "approve"\n')
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table((("id", "INT"), ("price", "VARCHAR"), ("q", "INT"))))
    whole = run("sync", "r.jsonl", "--once")
    assert (whole.code, f"schemaman approve {FILE}" in whole.out) == (1, False)  # refusals come first
    waiting = run("sync", "r.jsonl", "--once", "--partial")
    assert (waiting.code, f"schemaman approve {FILE}" in waiting.out) == (1, True)
    (told,) = run("sync", "r.jsonl", "--once", "--partial", "--format", "json").json["tables"]
    assert (told["state"], told["file"], len(told["reasons"])) == ("waiting", FILE, 2)
    assert any("needs approval" in reason for reason in told["reasons"])
    assert any("--recipe" in reason for reason in told["reasons"])
    assert run("approve", FILE, "--yes").code == 0
    (told,) = run("sync", "r.jsonl", "--once", "--partial", "--format", "json").json["tables"]
    assert (told["state"], len(told["statements"]) > 0, len(told["reasons"])) == ("refused", True, 1)
    assert run.live().schema.names == ("id", "price", "q")


MINE = "the table has changed outside of schemaman since the last migration: add `mine` INT; schemaman drift"


def test_what_someone_else_changed_is_told_while_nothing_is_to_be_done(run: Commands) -> None:
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`mine` INT)")
    told = run("sync", "r.jsonl", "--once", "--format", "json")
    assert (told.code, told.json["tables"][0]["state"]) == (0, "current")
    assert told.json["tables"][0]["reasons"] == [MINE]
    assert run("drift").code == 1  # nothing was taken from it
    assert run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]["reasons"] == []
    run.change("ADD COLUMNS (`yours` INT)")
    (more,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]["reasons"]
    assert more == MINE.replace("`mine` INT", "`mine` INT; add `yours` INT")


def test_what_someone_else_changed_is_told_once_each_time_that_it_changes(
    run: Commands, rounds: Callable[..., Done]
) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def spoken_of() -> None:
        run.says(run.table(WAS))

    def changed(action: str) -> Callable[[], None]:
        def happens() -> None:
            run.change(action)
            spoken_of()

        return happens

    mine, yours = changed("ADD COLUMNS (`mine` INT)"), changed("ADD COLUMNS (`yours` INT)")
    done = rounds(mine, spoken_of, spoken_of, yours, spoken_of)
    told = " ".join(done.out.split())
    assert done.code == 130
    assert told.count("the table has changed outside of schemaman since the last migration") == 2
    assert told.count("add `mine` INT; add `yours` INT") == 1


@pytest.mark.parametrize("policy", ['add-column = "approve"', 'add-column = "block"'])
def test_what_waits_or_is_refused_tells_what_someone_else_changed(run: Commands, policy: str) -> None:
    run.settings(more=f"[[policy]]\n{policy}\n")
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`mine` INT)")
    run.says(run.table(MORE))
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert told["state"] in ("waiting", "refused")
    assert told["reasons"][-1] == MINE


def count_calls(run: Commands, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the engine, in the order of their coming; an inspection stays fresh."""
    calls: list[str] = []

    def count(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*words: object) -> object:
            calls.append(name)
            return call(*words)

        return counted

    for name in ("inspect", "run", "query"):
        monkeypatch.setattr(run.lake, name, count(name, getattr(run.lake, name)))
    monkeypatch.setattr("schemaman.migration.apply.run.FRESH_MS", 10**9)
    return calls


@pytest.mark.parametrize("profile", ["careful", "autopilot"])
def test_a_table_costs_one_inspection_and_its_statements(
    run: Commands, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    run.settings(more=f'profile = "{profile}"\n')
    calls = count_calls(run, monkeypatch)
    costs = []
    for shape in (WAS, WAS, MORE):
        run.says(run.table(shape, type="CREATE" if not run.told else "ALTER"))
        assert run("sync", "r.jsonl", "--once").code == 0
        costs.append(tuple(calls))
        calls.clear()
    made, idle, altered = costs
    assert made == ("inspect", "run", "run", "run", "inspect")  # a namespace, the table, its key
    assert idle == ("inspect",)
    assert altered == ("inspect", "run", "run", "inspect")
    assert run.live().schema.names == ("id", "price", "q")


def test_rounds_without_new_records_ask_no_lake(
    run: Commands, rounds: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_calls(run, monkeypatch)
    run.says(run.table(WAS, type="CREATE"))
    after: list[int] = []
    assert rounds(*[lambda: after.append(len(calls))] * 3).code == 130
    assert after == [5, 5, 5]


def test_tables_are_migrated_side_by_side(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLake, "slots", 2, raising=False)
    names = [f"t{number}" for number in range(6)]
    run.says(*(run.table(WAS, type="CREATE", name=name) for name in names))
    both = threading.Barrier(2, timeout=60)

    def meet(statement: str) -> None:
        if statement.startswith("CREATE TABLE"):
            both.wait()

    run.lake.before = meet
    done = run("sync", "r.jsonl", "--once", "--format", "json")
    assert [(t["lake_table"], t["state"]) for t in done.json["tables"]] == [
        (f"ice.raw.{name}", "applied") for name in names
    ]
    run.lake.before = lambda _: None
    run.says(*(run.table(MORE, name=name) for name in names))
    run.change("ADD COLUMNS (`q` DATE)", "ice.raw.t3")
    done = run("sync", "r.jsonl", "--once", "--format", "json")
    assert [t["state"] for t in done.json["tables"]] == ["applied"] * 3 + ["refused"] + ["applied"] * 2
    assert run("status", "--format", "json").code == 0
    assert run("store", "check").code == 0


def test_autopilot_goes_on_where_careful_waits(run: Commands) -> None:
    texts = (("id", "INT"), ("price", "VARCHAR"), ("q", "INT"))
    renamed = (("id", "INT"), ("price", "VARCHAR"), ("quantity", "INT"))
    seen = {}
    for profile in ("careful", "autopilot"):
        run.settings(table=f"ice.{profile}.{{table}}", more=f'profile = "{profile}"\n')
        run.told = 0
        Path("schemaman.db").unlink(missing_ok=True)
        states = []
        for shape, key in ((MORE, "id"), (texts, "id"), (renamed, "id"), (renamed, "quantity")):
            run.says(run.table(shape, key=(key,), type="CREATE" if not run.told else "ALTER"))
            done = run("sync", "r.jsonl", "--once", "--format", "json")
            states.append(done.json["tables"][0]["state"])
        seen[profile] = states, run.live(f"ice.{profile}.orders").schema
    assert seen["careful"][0][0] == "applied"
    assert "refused" in seen["careful"][0]
    assert seen["autopilot"][0] == ["applied"] * 4
    schema = seen["autopilot"][1]
    assert {"id", "price", "price__2", "quantity"} <= set(schema.names)
    assert schema.key == ("quantity",)


KEYS = (("id", "INT"), ("n", "INT"), ("note", "VARCHAR"))


TEXT_KEYS = (("id", "VARCHAR"), *KEYS[1:])


@pytest.mark.parametrize(
    ("key", "columns"),
    [((), KEYS), (("n",), KEYS), (("id",), TEXT_KEYS)],
    ids=["the key is gone", "rows do not prove the key", "another type of the key"],
)
def test_a_table_of_the_sink_gets_a_successor(
    run: Commands, key: tuple[str, ...], columns: tuple[tuple[str, str], ...]
) -> None:
    run.settings(more='profile = "autopilot"\n')
    run.says(run.table(KEYS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`_row_order` STRING, `_row_deleted` BOOLEAN)")
    first = run.lake.table("ice.raw.orders")
    first.rows = {(str(n),): {first.fields["id"]: n, first.fields["n"]: 7} for n in (1, 2)}
    run.says(run.table(columns, key=key))
    done = run("sync", "r.jsonl", "--once", "--format", "json")
    assert done.code == 0, done
    (told,) = done.json["tables"]
    assert (told["lake_table"], told["state"]) == ("ice.raw.orders", "applied")
    assert run.live().properties[SUCCESSOR_PROPERTY] == "ice.raw.orders__2"
    assert run.live("ice.raw.orders__2").schema.key == key
    # from now on the successor follows the source, and the older table stays as it is
    before = len(first.ran)
    run.says(run.table((*columns, ("q", "INT")), key=key))
    assert run("sync", "r.jsonl", "--once").code == 0
    assert "q" in run.live("ice.raw.orders__2").schema.names
    assert len(first.ran) == before


def test_a_table_whose_name_a_successor_has_gets_the_next_one(run: Commands) -> None:
    run.settings(more='profile = "autopilot"\n')
    run.says(run.table(KEYS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`_row_order` STRING, `_row_deleted` BOOLEAN)")
    run.says(run.table(KEYS, key=()))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.learns(run.table(WAS, name="orders__2", type="CREATE"))
    planned = run("plan", "orders__2", "-o", "p.plan.json")
    assert planned.code == 0, planned
    assert json.loads(Path("p.plan.json").read_text())["table"] == "ice.raw.orders__2__2"
    for columns in (WAS, MORE):
        run.says(run.table(columns, name="orders__2"))
        done = run("sync", "r.jsonl", "--once")
        assert done.code == 0, done
        assert run.live("ice.raw.orders__2__2").schema.names == tuple(name for name, _ in columns)
    assert run.live("ice.raw.orders__2").schema.names[:2] == ("id", "n")
    found = run("drift", "orders__2", "--format", "json")
    assert [d["table"] for d in found.json["tables"]] == ["ice.raw.orders__2__2"]


def test_a_successor_is_filled_where_a_statement_states_that_the_key_is_gone(run: Commands) -> None:
    run.settings(more='profile = "autopilot"\nmax_rewrite = "1GB"\n')
    run.says(run.table(KEYS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`_row_order` STRING, `_row_deleted` BOOLEAN)")
    first = run.lake.table("ice.raw.orders")
    id, n = first.fields["id"], first.fields["n"]
    first.rows = {
        (str(at),): {id: at, n: 7, ORDER: f"0{at}/1/000000.0{at}", DELETED: at == 2} for at in (1, 2, 3)
    }
    run.says(run.table(KEYS, key=()))
    for _ in range(2):
        done = run("sync", "r.jsonl", "--once", "--format", "json")
        assert done.code == 0, done
    second = run.lake.table("ice.raw.orders__2")
    assert [(row["id"], row["n"], row["_row_op"], row["_row_offset"]) for row in second.read()] == [
        (1, 7, "r", 1), (3, 7, "r", 3),
    ]  # fmt: skip
    before = len(second.ran)
    assert run("sync", "r.jsonl", "--once").code == 0
    assert len(second.ran) == before


def test_plan_and_drift_follow_the_link_to_a_successor(run: Commands) -> None:
    run.settings(more='profile = "autopilot"\n')
    run.says(run.table(KEYS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`_row_order` STRING, `_row_deleted` BOOLEAN)")
    run.says(run.table(KEYS, key=()))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.learns(run.table((*KEYS, ("q", "INT")), key=()))
    planned = run("plan", "orders", "-o", "p.plan.json", "--format", "json")
    assert planned.code == 0, planned
    assert json.loads(Path("p.plan.json").read_text())["table"] == "ice.raw.orders__2"
    assert run("apply", "p.plan.json").code == 0
    assert "q" in run.live("ice.raw.orders__2").schema.names
    assert run("plan", "orders").code == 0
    run.change("ADD COLUMNS (`z` INT)", "ice.raw.orders__2")
    found = run("drift", "orders", "--format", "json")
    assert found.code == 1
    changed = {d["table"]: bool(d["changes"]) for d in found.json["tables"]}
    assert changed == {"ice.raw.orders": False, "ice.raw.orders__2": True}
    run.lake.tables.pop("ice.raw.orders__2")
    lost = run("plan", "orders", "--format", "json")
    assert lost.code == 1
    assert "ice.raw.orders__2, which does not exist" in lost.out
    assert "gone  ice.raw.orders__2" in run("drift", "orders").out


def _write_row(offset: int, table: str = "t", **row: object) -> None:
    """A row of PostgreSQL, which states no rename."""
    decimal = node("bytes", "org.apache.kafka.connect.data.Decimal", version=1, parameters={"scale": "4"})
    nodes = {
        n: {**(decimal if v == "AQ==" else node("int32")), "optional": n != "id"} for n, v in row.items()
    }
    made = row_event(nodes, "u", row, offset=offset, table=table)
    line = {"topic": made.topic, "partition": 0, "offset": offset, "ts": offset, "tstype": "create"}
    line |= {"key": (made.key or b"").decode(), "payload": (made.value or b"").decode()}
    Path("r.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")


def test_a_column_that_gets_another_name_and_type_at_once_goes_on_beside_the_earlier_one(
    run: Commands,
) -> None:
    run.settings(more='profile = "autopilot"\n')
    text = Path("schemaman.toml").read_text().replace("app.*", "public.*")
    Path("schemaman.toml").write_text(text)
    _write_row(1, id=1, price=7, z=1)
    assert run("sync", "r.jsonl", "--once").code == 0
    _write_row(2, id=1, cost="AQ==", z=1)
    for state in ("applied", "current"):
        done = run("sync", "r.jsonl", "--once", "--format", "json")
        assert [table["state"] for table in done.json["tables"]] == [state]
    assert run.live("ice.raw.t").schema.names == ("id", "price", "z", "cost__2")
    assert run("drift", "t").code == run("status").code == 0


def test_a_late_answer_unites_columns_and_status_names_the_question_until_then(run: Commands) -> None:
    run.settings(more='profile = "autopilot"\n')
    text = Path("schemaman.toml").read_text().replace("app.*", "public.*")
    Path("schemaman.toml").write_text(text)
    _write_row(1, id=1, z=1, price=7)
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`_row_order` STRING)", "ice.raw.t")
    there = run.lake.table("ice.raw.t")
    there.rows["1",] = {there.fields["id"]: 1, there.fields["price"]: 7}
    _write_row(2, id=2, z=1, cost=8)
    assert run("sync", "r.jsonl", "--once").code == 0
    (asked,) = run("status", "--format", "json").json["questions"]
    assert asked["text"] == "whether price became cost"
    assert run(*asked["commands"][0].split()[1:]).code == 0
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert told["state"] == "applied"
    assert sum(statement.startswith("UPDATE") for statement in told["statements"]) == 1
    assert [row["cost"] for row in there.read()] == [7]
    assert run("status", "--format", "json").json["questions"] == []
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert (told["state"], told["statements"]) == ("current", [])


@pytest.mark.parametrize("order", ["1", "3"], ids=["older", "newer"])
def test_a_late_answer_brings_the_rows_of_two_tables_together(run: Commands, order: str) -> None:
    """Where the former table has a newer row, its rows stay, and `sync` says what ends that."""
    run.settings(more='profile = "autopilot"\n')
    text = Path("schemaman.toml").read_text().replace("app.*", "public.*")
    Path("schemaman.toml").write_text(text)
    _write_row(1, "early", id=1, z=5)
    assert run("sync", "r.jsonl", "--once").code == 0
    _write_row(2, "late", id=2, z=6)
    assert run("sync", "r.jsonl", "--once").code == 0
    early, late = (run.lake.table(f"ice.raw.{name}") for name in ("early", "late"))
    for table in (early, late):
        run.change("ADD COLUMNS (`_row_order` STRING)", table.table)
    early.rows["1",] = {early.fields["id"]: 1, early.fields["z"]: 5, "_row_order": order}
    if order == "3":
        early.rows["2",] = {early.fields["id"]: 2, early.fields["z"]: 7, "_row_order": order}
    late.rows["2",] = {late.fields["id"]: 2, late.fields["z"]: 6, "_row_order": "2"}
    (asked,) = run("status", "--format", "json").json["questions"]
    assert asked["commands"] == ["schemaman decide rename-table srv.shop.public.early srv.shop.public.late"]
    assert run(*asked["commands"][0].split()[1:]).code == 0
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert told["lake_table"] == "ice.raw.late"
    if order == "3":
        reason = told["reasons"][-1]
        assert "the rows of ice.raw.early stay there: no row of the earlier table is newer" in reason
        run.lake.run(reason.rpartition("run: ")[2])
        (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
        assert not any("stay there" in each for each in told["reasons"])
        return
    assert told["state"] == "applied"
    assert sorted(row["id"] for row in late.read()) == [1, 2]
    assert run("status", "--format", "json").json["questions"] == []
