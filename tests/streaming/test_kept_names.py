"""What a mirror writes where renames or new columns are not made, or two columns would have one name."""

from __future__ import annotations

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.migration.policy import ChangeKind, Level, Policy, PolicyRule, ProjectionRule
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_late_schema_changes import ID, A, B, Told, created, ddl, live, row
from tests.streaming.test_policy import DEFAULTS, alive, told
from tests.support.memory_sink import MemorySink

SPACE, DASH = ("unit price", "VARCHAR", 12, 20), ("unit-price", "VARCHAR", 12, 20)
X, Y, Z = ("x", "VARCHAR", 12, 20), ("y", "VARCHAR", 12, 20), ("z", "VARCHAR", 12, 20)
formats = pytest.mark.parametrize("format", ["delta", "iceberg"])


def mirror(store: SqlStore, policy: Policy, format: str = "delta") -> MemorySink:
    lake = MemorySink(store, lambda _: None, format, policy, modes=DEFAULTS)
    lake.approve = lambda _: True
    return lake


def ruled(level: Level, *kinds: ChangeKind, **names: str) -> Policy:
    projections = (ProjectionRule(tuple(names.items())),) if names else ()
    return Policy(rules=(PolicyRule(level, kinds),), projections=projections)


def turned(text: str, *columns: Told, **image: str) -> list[Record]:
    """A statement after which a row comes."""
    return [ddl(1, 300, text, ID, *columns), row(1, 400, {"id": 2, **image}, told=True)]


@formats
@pytest.mark.parametrize("drops", ["keep", "drop"])
def test_a_new_column_never_gets_the_place_of_one_that_left_and_is_called_alike(
    store: SqlStore, format: str, drops: str
) -> None:
    policy = ruled("auto" if drops == "drop" else "ignore", "drop-column", names="avro", collisions="number")
    lake = mirror(store, policy, format)
    lake.take([created(SPACE), row(0, 200, {"id": 1, "unit price": "old"}, told=True)])
    text = "ALTER TABLE t DROP COLUMN `unit price`, ADD COLUMN `unit-price` VARCHAR(20)"
    lake.take(turned(text, DASH, **{"unit-price": "new"}))
    assert lake.withheld() == {}
    kept = {} if drops == "drop" else {"unit_price": None}
    assert live(lake)[2] == {"unit_price_2": "new", **kept}
    assert "old" not in {value for name, value in live(lake)[1].items() if name == "unit_price_2"}


def test_without_a_number_it_waits_and_the_refusal_says_why(store: SqlStore) -> None:
    lake = mirror(store, ruled("auto", "drop-column", names="avro"))
    lake.take([created(SPACE), row(0, 200, {"id": 1, "unit price": "old"}, told=True)])
    text = "ALTER TABLE t DROP COLUMN `unit price`, ADD COLUMN `unit-price` VARCHAR(20)"
    lake.take(turned(text, DASH, **{"unit-price": "new"}))
    (reason,) = lake.withheld().values()
    assert "another column of the table is called `unit_price`" in reason
    assert live(lake) == {1: {"unit_price": "old"}}


@formats
def test_a_column_that_gets_the_name_of_a_dropped_one_keeps_its_own_in_the_lake(
    store: SqlStore, format: str
) -> None:
    lake = mirror(store, ruled("auto", "drop-column", names="avro"), format)
    lake.take([created(SPACE, Z), row(0, 200, {"id": 1, "unit price": "old", "z": "z"}, told=True)])
    text = "ALTER TABLE t DROP COLUMN `unit price`, RENAME COLUMN z TO `unit-price`"
    lake.take(turned(text, DASH, **{"unit-price": "Z"}))
    assert lake.withheld() == {}
    assert live(lake) == {1: {"z": "z"}, 2: {"z": "Z"}}


@formats
def test_a_column_that_only_case_tells_apart_is_not_written_over_the_other(
    store: SqlStore, format: str
) -> None:
    policy = ruled("ignore", "add-column", "add-required-column", collisions="number")
    lake = MemorySink(store, lambda _: None, format, policy)
    lake.take([told(0, row={"id": 1, "n": 1})])
    lake.take([told(1, row={"id": 2, "n": 5, "N": 7}), told(2, "u", row={"id": 1, "n": 2, "N": 9})])
    assert live(lake) == {1: {"n": 2}, 2: {"n": 5}}


@formats
@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a", "b", "a"),
        ("ALTER TABLE t RENAME COLUMN a TO c, RENAME COLUMN b TO a", "c", "a"),
    ],
)
def test_where_a_rename_is_not_made_values_go_where_their_column_is(
    store: SqlStore, text: str, first: str, second: str, format: str
) -> None:
    lake = mirror(store, ruled("ignore", "rename-stated"), format)
    lake.take([created(A, B), row(0, 200, {"id": 1, "a": "a", "b": "b"}, told=True)])
    columns = [(name, "VARCHAR", 12, 20) for name in (first, second)]
    lake.take(turned(text, *columns, **{first: "was a", second: "was b"}))
    assert lake.withheld() == {}
    assert live(lake) == {1: {"a": "a", "b": "b"}, 2: {"a": "was a", "b": "was b"}}


def test_a_new_column_of_a_name_whose_rename_is_not_made_waits(store: SqlStore) -> None:
    lake = mirror(store, ruled("ignore", "rename-stated"))
    lake.take([created(A), row(0, 200, {"id": 1, "a": "a"}, told=True)])
    text = "ALTER TABLE t RENAME COLUMN a TO b, ADD COLUMN a VARCHAR(20)"
    lake.take(turned(text, B, A, b="was a", a="new"))
    (reason,) = lake.withheld().values()
    assert "a lake column still has this name, which the source renamed or dropped" in reason
    lake.policy = Policy()
    lake.take([])
    assert lake.withheld() == {}
    assert live(lake) == {1: {"b": "a", "a": None}, 2: {"b": "was a", "a": "new"}}


def came_and_went() -> list[Record]:
    """Another x comes while nobody looks, and goes by the name y then."""
    return [
        ddl(1, 300, "ALTER TABLE t DROP COLUMN x", ID, A),
        ddl(2, 310, "ALTER TABLE t ADD COLUMN x VARCHAR(20)", ID, A, X),
        ddl(3, 320, "ALTER TABLE t RENAME COLUMN x TO y", ID, A, Y),
        row(1, 400, {"id": 2, "a": "a", "y": "another"}, told=True),
    ]


@formats
@pytest.mark.parametrize("level", ["ignore", "auto"])
def test_a_kept_column_takes_no_values_of_another_that_had_its_name_since(
    store: SqlStore, level: Level, format: str
) -> None:
    lake = mirror(store, ruled(level, "add-column"), format)
    lake.take([created(A, X), row(0, 200, {"id": 1, "a": "a", "x": "first"}, told=True)])
    lake.take(came_and_went())
    assert lake.withheld() == {}
    assert live(lake)[2] == {"a": "a", "x": None} | ({"y": "another"} if level == "auto" else {})
    third = [
        ddl(4, 500, "ALTER TABLE t ADD COLUMN x VARCHAR(20)", ID, A, Y, X),
        row(2, 600, {"id": 3, "a": "a", "y": "another", "x": "third"}, told=True),
    ]
    lake.policy = Policy()
    lake.take(third)
    assert lake.withheld() == {}
    assert live(lake)[1]["x__old"] == "first"
    assert live(lake)[3] == {"a": "a", "y": "another", "x": "third", "x__old": None}


def test_what_a_kept_column_is_stays_told_until_it_is_dropped(store: SqlStore) -> None:
    lake = mirror(store, Policy())
    lake.take([created(A, X), row(0, 200, {"id": 1, "a": "a", "x": "first"}, told=True)])
    lake.take(came_and_went())
    late = row(3, 250, {"id": 4, "a": "a", "x": "late"}, told=True)
    lake.take([late])
    assert lake.withheld() == {}
    assert live(lake)[4] == {"a": "a", "x": "late", "y": None}
    lake.policy = ruled("auto", "drop-column")
    lake.take([row(4, 700, {"id": 5, "a": "a", "y": "y"}, told=True)])
    assert live(lake)[5] == {"a": "a", "y": "y"}
    again = ddl(4, 800, "ALTER TABLE t ADD COLUMN x VARCHAR(20)", ID, A, Y, X)
    lake.take([again, row(5, 900, {"id": 6, "a": "a", "y": "y", "x": "third"}, told=True)])
    assert live(lake)[6] == {"a": "a", "y": "y", "x": "third"}


def test_a_column_made_anew_waits_where_the_one_of_before_must_not_make_room(store: SqlStore) -> None:
    lake = mirror(store, ruled("ignore", "rename-stated"))
    lake.take([created(A, B), row(0, 200, {"id": 1, "a": "old", "b": "b"}, told=True)])
    lake.take([ddl(1, 250, "ALTER TABLE t DROP COLUMN a", ID, B)])
    text = "ALTER TABLE t ADD COLUMN a VARCHAR(20)"
    lake.take([ddl(2, 300, text, ID, B, A), row(1, 400, {"id": 2, "b": "b", "a": "new"}, told=True)])
    (reason,) = lake.withheld().values()
    assert "a lake column still has this name, which the source renamed or dropped" in reason
    assert live(lake) == {1: {"a": "old", "b": "b"}}
    lake.policy = Policy()
    lake.take([])
    assert live(lake)[2]["a"] == "new"


ANOTHER: dict[bool, list[dict[str, object]]] = {
    True: [{"id": 1, "z": "z", "B": "x"}, {"id": 2, "z": "z", "B": "y"}],
    False: [{"id": 1, "z": "z", "b__old": "x", "B": None}, {"id": 2, "z": "z", "b__old": None, "B": "y"}],
}


@formats
@pytest.mark.parametrize("numbered", [False, True], ids=["", "numbered"])
@pytest.mark.parametrize("answer", ANOTHER, ids=["the same", "another"])
def test_whether_a_column_is_one_that_only_case_tells_apart_is_asked(
    store: SqlStore, format: str, numbered: bool, answer: bool
) -> None:
    """No statement tells it, and a lake knows both names as one."""
    names = {"collisions": "number"} if numbered else {}
    lake = mirror(store, ruled("auto", "reuse-name", **names), format)
    lake.take([told(0, row={"id": 1, "z": "z", "b": "x"})])
    lake.take([told(1, row={"id": 2, "z": "z", "B": "y"})])
    (reason,) = lake.withheld().values()
    assert "use `schemaman decide` to state whether `b` became `B`" in reason
    (table,) = store.tables()
    history = store.history(table)
    assert history is not None
    begun = history.versions[1]
    said = (str(table), "b", "B", begun.id, format_coordinates(begun.at))
    lake.decisions = Decisions((Rename(*said),)) if answer else Decisions((), (NotRename(*said),))
    lake.take([])
    assert lake.withheld() == {}
    assert alive(lake) == ANOTHER[answer]
