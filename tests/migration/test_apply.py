"""Applying plans: stale ones, interrupted ones, refused ones; every step once, whatever goes dark when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import (
    Conflict,
    Locked,
    PartlyApplied,
    StalePlan,
    StatementConflict,
    StatementFailed,
    StoreUnavailable,
)
from schemaman.migration.apply.apply import (
    LEASE_MS,
    Migration,
    StoreJournal,
    apply,
    check,
    find_drift,
    find_expected_structure,
    is_begun,
    target_id,
)
from schemaman.migration.plan import MigrationSource, Plan, Policy, PreviousVersion
from schemaman.migration.plan_file import from_text, plan_hash, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable, LayoutField
from schemaman.migration.targets import delta, iceberg
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import AddColumn
from schemaman.model.schema import TableSchema
from schemaman.store.log import MigrationEntry
from schemaman.store.memory import MemoryStore
from tests.support.histories import told
from tests.support.memory_lake import Crash, MemoryJournal, MemoryTable
from tests.support.random_histories import lives

TABLE = "/lake/t"


def draw(ddl: str, live: LakeTable | None, **facts) -> Plan:
    source = replace(MigrationSource("shop.public.t", 1, "v1", 0, parse_columns(ddl)), **facts)
    return make_plan(source, live, delta.TARGET, TABLE, Policy())


def run(plan: Plan, lake: MemoryTable, journal: MemoryJournal, **how) -> Migration:
    return apply(plan, lake, journal, lambda: 1000, **({"run": "r1"} | how))


def made(ddl: str = "id INT NOT NULL, a INT, PRIMARY KEY (id)") -> MemoryTable:
    lake = MemoryTable(TABLE)
    run(draw(ddl, None), lake, MemoryJournal())
    lake.ran.clear()
    return lake


LATER = "id BIGINT NOT NULL, a INT COMMENT 'x', b DATE, PRIMARY KEY (id)"


def states(journal: MemoryJournal) -> list[tuple[int | None, str]]:
    return [(line.step, line.state) for line in journal.lines]


def test_every_step_is_journalled_before_and_after() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)
    migration = run(plan, lake, journal)
    assert migration.state == "applied"
    assert migration.differences == ()
    assert [o.state for o in migration.outcomes] == ["done"] * len(plan.steps)
    steps = [(n, state) for n in range(len(plan.steps)) for state in ("intent", "done")]
    assert states(journal) == [(None, "started"), *steps, (None, "finished")]
    assert {line.plan for line in journal.lines} == {plan_hash(plan)}
    assert journal.lines[-1].version == lake.live.version  # type: ignore[union-attr]


class FailingJournal(MemoryJournal):
    """A journal whose store goes away when one line is to be written."""

    def __init__(self, step: int | None, state: str) -> None:
        super().__init__()
        self.fatal = (step, state)

    def write(self, *lines: MigrationEntry) -> None:
        if any((line.step, line.state) == self.fatal for line in lines):
            raise StoreUnavailable("the store does not answer")
        super().write(*lines)


@pytest.mark.parametrize("line", [(0, "done"), (1, "intent"), (1, "done"), (2, "done"), (None, "finished")])
def test_a_store_that_fails_once_a_step_has_run_leaves_a_plan_half_done(line: tuple[int | None, str]) -> None:
    lake, journal = made(), FailingJournal(*line)
    plan = draw(LATER, lake.live)
    with pytest.raises(PartlyApplied, match="does not answer") as stopped:
        run(plan, lake, journal)
    assert "schemaman resume r1" in (stopped.value.hint or "")
    journal.fatal = (None, "")
    assert run(plan, lake, journal).differences == ()
    assert len(lake.ran) == len(plan.steps)


def test_a_store_that_fails_before_the_first_statement_has_done_nothing() -> None:
    lake = made()
    with pytest.raises(StoreUnavailable):
        run(draw(LATER, lake.live), lake, FailingJournal(0, "intent"))
    assert lake.ran == []


@pytest.mark.parametrize("statements", [1, 2])
def test_a_lake_that_goes_away_behind_a_statement_leaves_a_plan_half_done(statements: int) -> None:
    class Leaving(MemoryTable):
        def inspect(self, table: str, format: str) -> LakeTable | None:
            if len(self.ran) == statements:
                raise StatementFailed("the catalogue does not answer")
            return super().inspect(table, format)

    before = made()
    lake = Leaving(TABLE, before.live)
    with pytest.raises(PartlyApplied, match="does not answer"):
        run(draw(LATER, before.live), lake, MemoryJournal())


def test_a_table_that_is_dropped_behind_the_last_step_is_not_called_applied() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)
    real, last = journal.write, len(plan.steps) - 1

    def write(*lines: MigrationEntry) -> None:
        real(*lines)
        if any((line.step, line.state) == (last, "done") for line in lines):
            lake.live = None

    journal.write = write  # type: ignore[method-assign]
    slow = iter(range(0, 1_000_000, 1000))
    with pytest.raises(PartlyApplied, match="was dropped during the run"):
        apply(plan, lake, journal, lambda: next(slow), run="r1")
    assert "finished" not in {line.state for line in journal.lines}


def test_a_table_that_is_not_made_leaves_nothing_in_the_journal() -> None:
    lake, journal = MemoryTable(TABLE), MemoryJournal()
    policy = Policy(rules=(PolicyRule("ignore", ("new-table",)),))
    source = MigrationSource("shop.public.t", 1, "v1", 0, parse_columns(LATER))
    done = run(make_plan(source, None, delta.TARGET, TABLE, policy), lake, journal)
    assert (done.state, done.lake_table, journal.lines) == ("unchanged", None, [])


def test_applying_again_does_nothing() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)
    run(plan, lake, journal)
    ran = list(lake.ran)
    migration = run(plan, lake, journal, run="r2")
    assert migration.state == "unchanged"
    assert lake.ran == ran


def test_a_plan_without_steps_changes_nothing() -> None:
    lake = made()
    plan = draw("id INT NOT NULL, a INT, PRIMARY KEY (id)", lake.live)
    assert plan.steps == ()
    assert run(plan, lake, MemoryJournal()).state == "unchanged"


def test_refusals_stop_everything_unless_the_rest_is_wanted() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw("id INT NOT NULL, a DATE, b DATE, PRIMARY KEY (id)", lake.live)
    assert plan.refusals
    migration = run(plan, lake, journal)
    assert migration.state == "refused"
    assert "instead" in migration.reasons[0]
    assert (lake.ran, journal.lines) == ([], [])
    assert run(plan, lake, journal, partial=True).state == "applied"
    assert lake.live.schema.names == ("id", "a", "b")  # type: ignore[union-attr]


def test_what_needs_approval_waits_for_it() -> None:
    lake = made()
    plan = replace(draw(LATER, lake.live), approvals_needed=("drop-columns: …",))
    assert run(plan, lake, MemoryJournal()).reasons == ("needs approval: drop-columns: …",)
    assert run(plan, lake, MemoryJournal(), approved=True).state == "applied"


def test_an_expired_plan_is_stale() -> None:
    lake = made()
    plan = replace(draw(LATER, lake.live), expires_ms=999)
    with pytest.raises(StalePlan, match="expired"):
        run(plan, lake, MemoryJournal())
    assert lake.ran == []


def test_a_plan_that_was_begun_is_taken_up_after_it_expired() -> None:
    lake, journal = made(), MemoryJournal()
    plan = replace(draw(LATER, lake.live), expires_ms=1000)

    def die(statement: str) -> None:
        if statement == plan.steps[2].statement:
            raise Crash

    lake.before = die
    with pytest.raises(Crash):
        run(plan, lake, journal)
    lake.before = lambda _: None
    assert check(plan, lake, journal, lambda: 1001).state == "checked"
    late = apply(plan, lake, journal, lambda: 1001, run="r2")
    assert (late.state, late.differences) == ("applied", ())
    assert len(lake.ran) == len(plan.steps)
    with pytest.raises(StalePlan, match="expired"):
        apply(plan, lake, journal, lambda: 1001, run="r3")


def test_a_plan_that_sent_nothing_was_not_begun_and_expires() -> None:
    lake = made()
    plan = replace(draw(LATER, lake.live), expires_ms=1000)
    with pytest.raises(StoreUnavailable):
        run(plan, lake, failing := FailingJournal(0, "intent"))
    assert failing.lines == []
    with pytest.raises(StalePlan, match="expired"):
        apply(plan, lake, failing, lambda: 1001, run="r2")


def test_a_plan_behind_which_another_one_began_expires() -> None:
    lake, journal = made(), MemoryJournal()
    plan = replace(draw(LATER, lake.live), expires_ms=1000)
    with pytest.raises(PartlyApplied):
        run(plan, lake, stopped := FailingJournal(0, "done"))
    journal.lines = list(stopped.lines)
    assert is_begun(plan, journal)
    run(draw(LATER, lake.live), lake, journal)
    assert not is_begun(plan, journal)


def _add_column(lake: MemoryTable) -> None:
    lake.run(f"ALTER TABLE {delta.TARGET.table_name(TABLE)} ADD COLUMNS (`z` INT)")


def _make_column_anew(lake: MemoryTable) -> None:
    name = delta.TARGET.table_name(TABLE)
    lake.run(f"ALTER TABLE {name} DROP COLUMNS (`a`)")
    lake.run(f"ALTER TABLE {name} ADD COLUMNS (`a` INT)")


def _laid_out(**facts: object):
    def arrange(lake: MemoryTable) -> None:
        lake.live = replace(lake.live, **facts)  # type: ignore[type-var]

    return arrange


def _check(lake: MemoryTable) -> None:
    assert lake.live is not None
    lake.live = replace(lake.live, properties={**lake.live.properties, "delta.constraints.low": "a < 9"})


def _replace_table(lake: MemoryTable) -> None:
    lake.live = replace(lake.live, identity="another")  # type: ignore[type-var]


def _drop_table(lake: MemoryTable) -> None:
    lake.live = None


LAYOUTS = [
    (_laid_out(partitions=(LayoutField(("a",), "bucket[4]"),)), "partitions were none, and are `a` bucket"),
    (_laid_out(sort=(LayoutField(("a",), "identity asc nulls-first"),)), "sort fields were none"),
    (_laid_out(clustering=(("a",),)), "clustering was none, and is `a` now"),
    (_laid_out(identifiers=(("id",),)), "identifier fields were none, and are `id` now"),
    (_laid_out(generated={"a": "id + 1"}), "generated columns were none"),
    (_check, "CHECK constraints were none, and are `low`: a < 9 now"),
]


@pytest.mark.parametrize(
    ("move", "words"),
    [
        *LAYOUTS,
        (_add_column, "changed since.*add `z`"),
        (_make_column_anew, "but other ids"),
        (_replace_table, "dropped or created again"),
        (_drop_table, "dropped or created again"),
    ],
)
def test_a_table_that_moved_is_left_alone(move, words: str) -> None:
    lake = made()
    plan = draw(LATER, lake.live)
    move(lake)
    ran, live = list(lake.ran), lake.live
    with pytest.raises(StalePlan, match=words):
        check(plan, lake, MemoryJournal(), lambda: 1000)
    with pytest.raises(StalePlan, match=words) as caught:
        run(from_text(to_text(plan)), lake, MemoryJournal())
    assert "schemaman plan" in (caught.value.hint or "")
    assert (lake.ran, lake.live) == (ran, live)


@pytest.mark.parametrize(("move", "words"), LAYOUTS)
@pytest.mark.parametrize("behind", [0, 1])
def test_another_layout_between_two_looks_stops_the_run(behind: int, move, words: str) -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)
    time = iter(range(0, 10_000_000, 1000))
    real = journal.write

    def write(*lines: MigrationEntry) -> None:
        real(*lines)
        if ("started", "done")[behind] in {line.state for line in lines} and len(lake.ran) == behind:
            move(lake)

    journal.write = write  # type: ignore[method-assign]
    with pytest.raises((StalePlan, PartlyApplied), match=words) as stopped:
        apply(plan, lake, journal, lambda: next(time), run="r1")
    assert isinstance(stopped.value, PartlyApplied) == bool(behind)
    assert len(lake.ran) == behind


def test_a_plan_of_before_layouts_were_told_is_applied() -> None:
    lake = made()
    plan = from_text(to_text(replace(draw(LATER, lake.live), base_layout={})))
    _laid_out(clustering=(("a",),))(lake)
    assert run(plan, lake, MemoryJournal()).state == "applied"


def test_rows_that_were_written_meanwhile_do_not_make_a_plan_stale() -> None:
    lake = made()
    plan = draw(LATER, lake.live)
    lake.live = replace(lake.live, version="99")  # type: ignore[type-var]
    assert run(plan, lake, MemoryJournal()).state == "applied"


def test_a_table_that_appeared_meanwhile_is_not_taken_over() -> None:
    plan = draw("id INT", None)
    lake = made("id INT")
    with pytest.raises(StalePlan, match="was created after the plan was made"):
        run(plan, lake, MemoryJournal())


def test_a_table_of_our_own_is_not_said_to_be_someone_elses() -> None:
    lake, journal = MemoryTable(TABLE), MemoryJournal()
    plan = draw("id INT", None)
    run(plan, lake, journal)
    run(draw("id INT, a INT", lake.live), lake, journal, run="r2")
    with pytest.raises(StalePlan, match="was created after the plan was made"):
        run(plan, lake, journal, run="r3")


def test_a_table_that_was_set_back_after_the_plan_ran_is_left_alone() -> None:
    lake, journal = made(), MemoryJournal()
    before = lake.live
    plan = draw(LATER, before)
    run(plan, lake, journal)
    lake.live = before
    with pytest.raises(StalePlan, match="its structure changed and changed back"):
        run(plan, lake, journal)


def test_someone_else_in_the_middle_stops_the_run() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)

    def meddle(statement: str) -> None:
        lake.after = lambda _: None
        _add_column(lake)

    lake.after = meddle
    with pytest.raises(PartlyApplied, match="others are changing it"):
        run(plan, lake, journal)
    assert states(journal)[-1] == (0, "failed")


def test_a_refused_first_statement_leaves_the_table_untouched() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)

    def refuse(statement: str) -> None:
        raise StatementFailed("[SOME_CONDITION] no")

    lake.before = refuse
    with pytest.raises(StatementFailed, match="SOME_CONDITION"):
        run(plan, lake, journal)
    assert journal.lines[-1].error == "[SOME_CONDITION] no"


def test_a_refused_later_statement_is_partly_applied_and_can_be_taken_up() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)

    def refuse_dates(statement: str) -> None:
        if "DATE" in statement:
            raise StatementFailed("no dates today")

    lake.before = refuse_dates
    with pytest.raises(PartlyApplied, match=r"step 3 of 3.*no dates today") as caught:
        run(plan, lake, journal)
    assert "schemaman resume r1" in (caught.value.hint or "")
    lake.before = lambda _: None
    assert run(plan, lake, journal, run="r2").differences == ()
    assert lake.ran == [step.statement for step in plan.steps]


@pytest.mark.parametrize(("conflicts", "works"), [(1, True), (2, True), (3, False)])
def test_a_lost_race_is_tried_again(conflicts: int, works: bool) -> None:
    lake, left = made(), [conflicts]
    plan = draw(LATER, lake.live)

    def lose(statement: str) -> None:
        if left[0]:
            left[0] -= 1
            raise StatementConflict("[DELTA_METADATA_CHANGED] again")

    lake.before = lose
    if works:
        assert run(plan, lake, MemoryJournal()).state == "applied"
    else:
        with pytest.raises(StatementConflict):
            run(plan, lake, MemoryJournal())


def test_a_statement_that_failed_and_was_done_all_the_same_is_done() -> None:
    lake = made()
    plan = draw(LATER, lake.live)

    def lie(statement: str) -> None:
        raise StatementFailed("connection lost")

    lake.after = lie
    assert run(plan, lake, MemoryJournal()).differences == ()
    assert lake.ran == [step.statement for step in plan.steps]


class CrashingJournal(MemoryJournal):
    """A journal that goes dark before or after the lines with its `at`th one."""

    def __init__(self, at: int, written: bool) -> None:
        super().__init__()
        self.at = at
        self.written = written

    def write(self, *lines: MigrationEntry) -> None:
        is_last = 0 < self.at <= len(lines)
        self.at -= len(lines)
        if is_last and not self.written:
            raise Crash
        super().write(*lines)
        if is_last:
            raise Crash


@pytest.mark.parametrize("target", [delta.TARGET, iceberg.TARGET], ids=lambda t: t.name)
@given(life=lives(3), data=st.data())
def test_a_crash_anywhere_loses_nothing_and_repeats_nothing(
    target, life: list[MigrationSource], data
) -> None:
    table = TABLE if target.name == "delta" else "ice.raw.t"
    lake = MemoryTable(table)
    for following in life:
        plan = make_plan(following, lake.live, target, table, Policy())
        lake.ran.clear()
        written = data.draw(st.booleans(), label="written")
        journal = CrashingJournal(data.draw(st.integers(1, 3 * len(plan.steps) + 2), label="line"), written)
        crash_at = data.draw(st.integers(0, len(plan.steps)), label="statement")
        side = data.draw(st.sampled_from(["before", "after"]), label="side")

        def dark(statement: str, at: int = crash_at, plan: Plan = plan) -> None:
            if at < len(plan.steps) and statement == plan.steps[at].statement:
                lake.before = lake.after = lambda _: None
                raise Crash

        setattr(lake, side, dark)
        for attempt in range(4):
            try:
                migration = apply(
                    plan, lake, journal, lambda: 0, run=f"r{attempt}", partial=True, approved=True
                )
                break
            except Crash:
                continue
        assert migration.differences == ()
        once = [s for s in lake.ran if not s.startswith("CREATE NAMESPACE")]
        assert once == [s.statement for s in plan.steps if s.kind != "create-namespace"]
        lake.before = lake.after = lambda _: None


def test_only_one_migrates_a_table_at_a_time() -> None:
    lake, store = made(), MemoryStore(clock=lambda: 0)
    plan = draw(LATER, lake.live)
    token = store.acquire(target_id("delta", TABLE), "someone", 1000, LEASE_MS)
    with pytest.raises(Locked):
        run(plan, lake, MemoryJournal(), leases=store, owner="me")
    assert lake.ran == []
    store.release(target_id("delta", TABLE), token)
    assert run(plan, lake, MemoryJournal(), leases=store, owner="me").state == "applied"
    assert store.acquire(target_id("delta", TABLE), "someone", 1000, LEASE_MS)


def test_a_lease_is_given_back_when_a_migration_fails() -> None:
    lake, store = made(), MemoryStore(clock=lambda: 0)
    plan = draw(LATER, lake.live)
    _add_column(lake)
    with pytest.raises(StalePlan):
        run(plan, lake, MemoryJournal(), leases=store)
    assert store.acquire(target_id("delta", TABLE), "someone", 1000, LEASE_MS)


def test_the_journal_lies_in_the_log_of_the_store() -> None:
    store = MemoryStore(clock=lambda: 0)

    def lines():
        return [s.entry for s in store.read(0, [MigrationEntry]) if isinstance(s.entry, MigrationEntry)]

    lake, journal = made(), StoreJournal(store)
    plan = draw(LATER, lake.live)
    assert apply(plan, lake, journal, lambda: 0, run="r1").state == "applied"
    assert [line.state for line in journal.read_plan_lines(plan_hash(plan))][-1] == "finished"
    assert journal.read_plan_lines("another") == ()
    assert apply(plan, lake, journal, lambda: 0, run="r2").state == "unchanged"
    assert find_expected_structure(lines(), "delta", TABLE) == plan.wanted
    assert find_expected_structure(lines(), "iceberg", TABLE) is None


def test_a_journal_line_waits_for_its_turn() -> None:
    class Busy(MemoryStore):
        races = 2

        def append(self, entries, expect):
            if self.races:
                self.races -= 1
                raise Conflict("someone else was faster")
            return super().append(entries, expect)

    store = Busy(clock=lambda: 0)
    StoreJournal(store).write(MigrationEntry("r", "p", "t", None, "started"))
    assert store.end() == 1


def test_drift_is_what_someone_else_changed() -> None:
    lake, journal = made(), MemoryJournal()
    plan = draw(LATER, lake.live)
    run(plan, lake, journal)
    expected = find_expected_structure(journal.lines, "delta", TABLE)
    assert isinstance(expected, TableSchema)
    assert find_drift(lake.live, expected) == ()  # type: ignore[arg-type]
    _add_column(lake)
    changes = find_drift(lake.live, expected)  # type: ignore[arg-type]
    assert [type(c) for c in changes] == [AddColumn]


def test_a_table_that_was_dropped_and_made_anew_at_the_source_is_another_one() -> None:
    lake = MemoryTable(TABLE)
    life = "id INT NOT NULL, a INT, PRIMARY KEY (id)"
    first = make_plan(migration_source(told(life)), None, delta.TARGET, TABLE, Policy())
    run(first, lake, MemoryJournal())
    again = migration_source(told(life, None, life, "id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)"))
    plan = make_plan(again, lake.live, delta.TARGET, TABLE, Policy())
    assert plan.steps == ()
    assert [r.reason.partition(",")[0] for r in plan.refusals] == ["the source table was dropped or renamed"]
    assert from_text(to_text(plan)) == plan
    goes_on = migration_source(told(life, "id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)"))
    assert make_plan(goes_on, lake.live, delta.TARGET, TABLE, Policy()).refusals == ()


def _plan_drops(lake: MemoryTable) -> Plan:
    """Rename `a` to `n` and drop `o`, in an Iceberg table."""
    past = (
        PreviousVersion("v1", {}, {"id": "id", "a": "n", "o": None}),
        PreviousVersion("v2", {}, {"id": "id", "n": "n"}),
    )
    schema = parse_columns("id BIGINT NOT NULL, n INT, PRIMARY KEY (id)")
    source = MigrationSource("shop.public.t", 2, "v2", 0, schema, past=past)
    return make_plan(source, lake.live, iceberg.TARGET, "ice.raw.t", Policy(drops="drop"))


def _table_of_flink() -> MemoryTable:
    lake, schema = MemoryTable("ice.raw.t"), parse_columns("id INT NOT NULL, a INT, o INT, PRIMARY KEY (id)")
    source = MigrationSource("shop.public.t", 1, "v1", 0, schema)
    run(make_plan(source, None, iceberg.TARGET, "ice.raw.t", Policy()), lake, MemoryJournal())
    lake.ran.clear()
    return lake


@pytest.mark.parametrize(("column", "stops"), [("o", True), ("a", False), ("id", False)])
def test_delete_files_that_name_a_column_meanwhile_keep_it(column: str, stops: bool) -> None:
    lake = _table_of_flink()
    plan = _plan_drops(lake)
    assert [step.kind for step in plan.steps].count("drop-columns") == 1
    lake.live = replace(lake.live, equality_deletes=((column,),))  # type: ignore[type-var]
    if not stops:
        assert run(plan, lake, MemoryJournal(), approved=True).state == "applied"
        return
    for do in (check, apply):
        with pytest.raises(StalePlan, match="drop `o`: delete files name rows by its values") as caught:
            do(plan, lake, MemoryJournal(), lambda: 1000, run="r", approved=True)
        assert "rewrite_data_files" in (caught.value.hint or "")
    assert not lake.ran
    lake.live = replace(lake.live, equality_deletes=())  # type: ignore[type-var]
    assert run(plan, lake, MemoryJournal(), approved=True).state == "applied"


def test_delete_files_that_come_during_the_run_stop_it_before_the_drop() -> None:
    lake = _table_of_flink()
    plan = _plan_drops(lake)
    time = iter(range(0, 10_000_000, 1000))
    lake.after = lambda _: setattr(lake, "live", replace(lake.live, equality_deletes=(("o",),)))  # type: ignore[type-var]
    with pytest.raises(PartlyApplied, match="delete files name rows by its values"):
        apply(plan, lake, MemoryJournal(), lambda: next(time), run="r", approved=True)
    assert lake.live is not None
    assert {"n", "o"} <= set(lake.live.schema.names)
