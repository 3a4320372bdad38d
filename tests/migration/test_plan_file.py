"""A plan file is the plan, whole and unedited."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import BadConfiguration, StalePlan
from schemaman.history.past_versions import CurrentField
from schemaman.migration.plan import (
    MigrationSource,
    Phase,
    Plan,
    Policy,
    PolicyDecision,
    PreviousVersion,
    Refusal,
    Step,
)
from schemaman.migration.plan_file import from_text, plan_hash, to_document, to_sql, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import KINDS, LEVELS
from schemaman.migration.target import LakeTable
from schemaman.migration.targets import iceberg
from schemaman.model.column_list import parse_columns
from schemaman.report.views.migrations import build_plan_report
from tests.support.strategies import NAMES, TEXTS, schemas

CONDITIONS = st.dictionaries(
    st.sampled_from(["columns", "properties"]), st.dictionaries(NAMES, st.none() | TEXTS), max_size=2
)
STEPS = st.builds(
    Step,
    st.sampled_from(["add-columns", "rename-column", "set-properties"]),
    TEXTS,
    st.sampled_from(["none", "additive", "capability-upgrade"]),
    st.sampled_from(["reversible", "time-travel", "no"]),
    CONDITIONS,
    CONDITIONS,
    st.none() | TEXTS,
    st.lists(TEXTS, max_size=2).map(tuple),
)
POSITIONS = st.fixed_dictionaries({"value": TEXTS})
BEGAN = st.fixed_dictionaries({"position": POSITIONS, "offset": st.integers(0, 9)})
PASTS = st.lists(
    st.builds(PreviousVersion, TEXTS, BEGAN, st.dictionaries(NAMES, st.none() | NAMES)), max_size=2
).map(tuple)
SOURCES = st.builds(
    MigrationSource,
    TEXTS,
    st.integers(1, 9),
    TEXTS,
    st.integers(0, 3),
    schemas(ids=True),
    BEGAN,
    st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=2).map(tuple), max_size=2),
    st.lists(st.tuples(NAMES, NAMES), max_size=2).map(tuple),
    PASTS,
    PASTS,
    st.booleans(),
    st.booleans(),
    newer=PASTS,
)


def _bare(schema):
    """What a lake table has of a schema."""
    columns = (replace(c, default=None, source_type=None, emitted_name=None, id=None) for c in schema.columns)
    return replace(schema, columns=tuple(columns))


LAKE = schemas().map(_bare)
TEXT_LISTS = st.lists(TEXTS, max_size=2).map(tuple)
RULED = st.builds(PolicyDecision, TEXTS, TEXT_LISTS, st.sampled_from(KINDS), st.sampled_from(LEVELS), TEXTS)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any plan, for a table that is there or one that is not."""
    base = draw(st.none() | LAKE)
    identity, version = ("identity", "7") if base is not None else (None, None)
    return Plan(
        draw(TEXTS),
        draw(TEXTS),
        draw(TEXTS),
        draw(SOURCES),
        identity,
        version,
        base,
        draw(LAKE),
        draw(st.lists(STEPS, max_size=3).map(tuple)),
        draw(st.lists(st.builds(Refusal, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)),
        draw(TEXT_LISTS),
        draw(TEXT_LISTS),
        draw(st.none() | st.integers(0, 4_000_000_000_000)),
        draw(st.lists(RULED, max_size=2).map(tuple)),
    )


@given(plan=plans())
def test_a_plan_comes_back_from_its_file(plan: Plan) -> None:
    text = to_text(plan)
    assert from_text(text) == plan
    assert to_text(from_text(text)) == text


@given(plan=plans(), indent=st.sampled_from([None, 1, 4]))
def test_another_layout_is_the_same_plan(plan: Plan, indent: int | None) -> None:
    told = json.loads(to_text(plan))
    assert from_text(json.dumps(dict(reversed(list(told.items()))), indent=indent)) == plan


def test_a_plan_whose_questions_name_no_version_keeps_its_hash() -> None:
    """Such files were written before questions had one, and may be approved."""
    asked = CurrentField("c", False, (("s", "a"), ("s", "c")))
    past = PreviousVersion("9f2c4e01aa37", {}, {}, nested_fields={("s", "a"): asked})
    plan = replace(example(), source=replace(example().source, past=(past,)))
    told = json.loads(to_text(plan))
    assert told["source"]["past"][0]["members"] == [[["s", "a"], "c", False, [["s", "a"], ["s", "c"]]]]
    assert plan_hash(from_text(to_text(plan))) == told["hash"]


def example() -> Plan:
    schema = parse_columns("id INT NOT NULL, note STRING COMMENT 'what\\nfor', PRIMARY KEY (id)")
    source = MigrationSource("shop.public.orders", 1, "9f2c4e01aa37", 0, schema)
    return make_plan(source, None, iceberg.TARGET, "ice.raw.orders", Policy(), expires_ms=1_800_000_000_123)


def members(told: object, path: tuple[str | int, ...] = ()):
    """Every place of a JSON document that holds a single value."""
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from members(value, (*path, key))
        else:
            yield (*path, key)


PLACES = [place for place in members(to_document(example())) if place != ("hash",)]


@pytest.mark.parametrize("place", PLACES, ids=lambda p: ".".join(map(str, p)))
def test_an_edit_anywhere_is_refused(place) -> None:
    told = json.loads(to_text(example()))
    inner = told
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = "edited"
    with pytest.raises((StalePlan, BadConfiguration)):
        from_text(json.dumps(told))


def test_a_member_that_is_told_twice_is_an_edit() -> None:
    """The last one counts for JSON, and for the hash; people read the first."""
    text = to_text(example())
    for shown in ('{"steps": [], ', '{"hash": "0", '):
        with pytest.raises(StalePlan, match="twice"):
            from_text(text.replace("{", shown, 1))


def test_an_edited_plan_says_what_to_do() -> None:
    with pytest.raises(StalePlan, match=r"ice\.raw\.orders was edited") as caught:
        from_text(to_text(example()).replace("orders", "order_s", 1).replace("order_s", "orders_2", 1))
    assert "schemaman plan" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"schema_version": 1, "steps": []}',
        '{"schema_version": 2, "steps": [], "hash": ""}',
    ],
)
def test_what_is_no_plan_file_is_said_so(text: str) -> None:
    with pytest.raises(BadConfiguration):
        from_text(text)


def test_a_plan_with_a_good_hash_and_a_bad_member_is_bad_configuration() -> None:

    told = to_document(example())
    del told["hash"]
    told["wanted"] = {"columns": [{"name": "a", "type": "NO SUCH", "nullable": True, "comment": None}]}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    told["hash"] = hashlib.sha256(text.encode()).hexdigest()
    with pytest.raises(BadConfiguration, match="cannot be read"):
        from_text(json.dumps(told))


def signed(told: dict[str, object]) -> str:
    """A file of these members with the hash that is theirs."""
    rest = {name: each for name, each in told.items() if name != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return json.dumps(rest | {"hash": hashlib.sha256(text.encode()).hexdigest()})


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ((), "more"),
        (("source",), "source.more"),
        (("steps", 1), r"steps\[1\]\.more"),
        (("wanted",), "wanted.more"),
        (("steps", 1, "precondition"), r"steps\[1\]\.precondition\.more"),
    ],
)
def test_a_member_that_only_another_version_knows_is_not_passed_over(place, named: str) -> None:
    """What it says would not be done, and the plan would have another hash than the approved file."""
    told = json.loads(to_text(example()))
    inner = told
    for key in place:
        inner = inner[key]
    inner["more"] = {"x": 1}
    with pytest.raises(BadConfiguration, match=rf"ice\.raw\.orders contains {named}, which this") as caught:
        from_text(signed(told))
    assert "schemaman plan" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("member", "odd"),
    [("properties", ["x"]), ("columns", "x"), ("counts", 7), ("key", {"a": 1}), ("version", 7),
     ("structure", 7)],
)  # fmt: skip
def test_a_condition_of_another_kind_is_told_of_before_any_step_runs(member: str, odd: object) -> None:
    document = json.loads(to_text(example()))
    document["steps"][1]["postcondition"][member] = odd
    with pytest.raises(BadConfiguration, match=rf"steps\[1\]\.postcondition\.{member}"):
        from_text(signed(document))


def test_a_member_of_the_past_that_is_cut_short_is_an_error_with_words() -> None:
    document = json.loads(to_text(example()))
    past = {"id": "x", "began": {}, "names": {}, "members": [[["s", "b"], None, True, [["s", "b"]]]]}
    document["source"]["past"] = [past]
    with pytest.raises(BadConfiguration, match="a field that cannot be read"):
        from_text(signed(document))


def test_a_file_of_an_older_version_lacks_members_and_is_read() -> None:
    told = json.loads(to_text(example()))
    del told["rulings"]
    assert from_text(signed(told)) == replace(example(), rulings=())


def test_the_file_is_what_scripts_are_promised() -> None:
    told = json.loads(to_text(example()))
    assert told["schema_version"] == 1
    assert told["base"] is None
    assert told["expires"] == "2027-01-15T08:00:00.123Z"
    assert len(told["hash"]) == 64
    assert plan_hash(example()) == told["hash"]
    step = told["steps"][1]
    assert set(step) >= {"kind", "statement", "class", "reversible", "precondition", "postcondition"}
    assert told["wanted"]["columns"][0] == {"name": "id", "type": "INT", "nullable": False, "comment": None}


def test_the_sql_for_people_is_sql_and_comments() -> None:
    plan = replace(example(), refusals=(Refusal("drop\nit", "why", "so"),), notes=("two\nlines",))
    lines = to_sql(plan).splitlines()
    code = "\n".join(line for line in lines if not line.startswith("--")).strip()
    assert [s.strip() for s in code.split(";\n")] == [
        *(step.statement for step in plan.steps[:-1]),
        f"{plan.steps[-1].statement};",
    ]
    assert "-- lines" in lines


def places(told: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a document, the whole first."""
    yield at
    parts = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for key, each in parts:
        yield from places(each, (*at, key))


ODD: tuple[object, ...] = (
    None,
    7,
    1.5,
    True,
    "",
    "x",
    [],
    {},
    ["a"],
    {"a": 1},
    [["a"]],
    {"a": None},
    "9999-12-31T23:59:59Z",
)


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_whatever_a_member_is_made_the_file_is_read_whole_or_refused(value: object) -> None:
    """With a hash made anew: whoever reads the plan then can tell and print all of it."""
    target = iceberg.TARGET
    old, new = (
        parse_columns(f"id INT NOT NULL ID 1, {c}, PRIMARY KEY (id)") for c in ("a INT ID 2", "b TEXT ID 3")
    )
    live = LakeTable("ice.raw.t", old, "i", "1", {"schemaman.key": '["id"]'})
    policy = Policy(drops="drop")
    plan = make_plan(MigrationSource("s.t", 2, "v", 0, new), live, target, "ice.raw.t", policy)
    whole = json.loads(to_text(replace(plan, phase=Phase("expand", 1, 2, "none"))))
    for at in list(places(whole))[1:]:
        told = copy.deepcopy(whole)
        part = told
        for key in at[:-1]:
            part = part[key]
        part[at[-1]] = value
        try:
            read = from_text(signed(told))
        except (BadConfiguration, StalePlan):
            continue
        assert from_text(to_text(read)) == read, at
        assert to_sql(read)
        assert build_plan_report([read], to_document(read))


def test_a_file_that_is_nested_too_deep_is_no_plan_file() -> None:
    with pytest.raises(BadConfiguration, match="no plan file"):
        from_text("[" * 100_000)
