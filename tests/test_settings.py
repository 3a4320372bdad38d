"""What the user decided and where he said so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.judge import READERS
from schemaman.errors import BadConfiguration, UnknownName
from schemaman.migration.policy import DEFAULT_PROFILE, PROFILES
from schemaman.migration.settings import TargetSetting
from schemaman.migration.spark_sql import split_table_name
from schemaman.model.schema import TableId
from schemaman.settings import KEYS, Settings, SettingsFile, read_settings

ORDERS = TableId("shop", "app", "public", "orders")


def of(
    text: str, flags: dict[str, object] | None = None, environment: dict[str, str] | None = None
) -> Settings:
    return read_settings(flags or {}, environment or {}, SettingsFile("/p/schemaman.toml", text))


def test_without_anything_the_defaults_hold() -> None:
    settings = read_settings({}, {})
    assert (settings.store.value, settings.store.origin) == ("sqlite:///schemaman.db", "default")
    assert settings.readers.value == READERS
    assert settings.fail_on.value == "break"
    assert settings.policy.drops == "keep"


@given(st.booleans(), st.booleans(), st.booleans())
def test_flag_wins_over_environment_over_file_over_default(flag: bool, variable: bool, file: bool) -> None:
    settings = read_settings(
        {"stream": "f" if flag else None},
        {"SCHEMAMAN_STREAM": "v"} if variable else {},
        SettingsFile("s.toml", 'stream = "t"' if file else ""),
    )
    wanted = ("f", "--stream") if flag else ("v", "SCHEMAMAN_STREAM") if variable else ("t", "s.toml")
    if not (flag or variable or file):
        wanted = ("main", "default")
    assert (settings.stream.value, settings.stream.origin) == wanted


def test_every_key_can_be_printed_with_its_origin() -> None:
    names = [name for name, _, _ in read_settings({}, {}).origins()]
    several = {"targets": "target", "policies": "policy", "projections": "projection"}
    assert {several.get(name, name) for name in names} == set(KEYS)


def test_a_section_of_pyproject_is_read_alike() -> None:
    text = "[project]\n[tool.schemaman]\nstream = 'prod'\n[tool.schemaman.rules]\ncolumn-dropped = 'note'"
    settings = read_settings({}, {}, SettingsFile("pyproject.toml", text, ("tool", "schemaman")))
    assert settings.stream.value == "prod"
    assert settings.rules.value == (("column-dropped", "note"),)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("stor = 'x'", "/p/schemaman.toml: unknown key 'stor'", "did you mean store?"),
        ("store = 3", "/p/schemaman.toml: store: expected a string, found 3", None),
        ("store = ", "/p/schemaman.toml is not valid TOML", None),
        ("fail_on = 'brake'", "fail_on: expected one of .*did you mean break", None),
        ("readers = ['spark', 'delt']", "readers: expected one of .*did you mean delta", None),
        ("rules = {x = 'loud'}", "rules: expected one of", None),
        ("upgrades = 'perhaps'", "upgrades: expected true or false", None),
        ("target = 1", "targets are written as", None),
        ("[[target]]\nformat = 'delta'", "target 1 has no name", None),
        ("[[target]]\nname = 'a'\nformat = 'delta'", "'a' needs either table or path", None),
        ("[[target]]\nname='a'\nformat='delta'\ntable='x'\npath='y'", "'a' needs either table or path", None),
        ("[[target]]\nname='a'\nformat='delta'\ntabel='x'", "unknown key 'tabel'; did you mean table", None),
        ("[[target]]\nname='a'\nformat='delta'\ntable='x{nam}'", "'a': {nam} is none of", None),
        ("[[target]]\nname='a'\nformat='d'\ntable='x'\n" * 2, "two targets are called 'a'", None),
        ("views = true", "unknown key 'views'", "views belongs to a target: write it under [[target]]"),
        (
            "[[target]]\nname='a'\nformat='delta'\ntable='x.{table}'\nalias-old-names='30d'",
            "alias-old-names is for views alone: add views = true",
            "correct that value",
        ),
        ("window = '10pm-6am'", "write 22:00-06:00, in UTC, or omit it for always", "correct that value"),
        ("max_rewrite = '50PB'", "write 50GB; units are KB, MB, GB, TB, KiB", "correct that value"),
        ("consumers = 1", "consumers: consumers are written as", None),
        ("[consumers.a]\nowner = 'x'", r"\[consumers.a\] has no kind; there are: avro, ", None),
        ("[consumers.a]\nkind = 'sprak'", "unknown kind 'sprak'; did you mean spark", None),
        ("[consumers.a]\nkind = 'sql'\ntabels = 'x'", "unknown key 'tabels'; did you mean tables", None),
        ("[consumers.a]\nkind = 'sql'\ntables = []", "tables has an empty pattern; write '\\*'", None),
        ("[consumers.a]\nsql = ['']", "sql has an empty pattern", None),
        ("[consumers.a]\nsql = 'a.sql'\ndialect = 'postgre'", "did you mean postgres", None),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(BadConfiguration, match=message) as caught:
        of(text)
    if hint:
        assert caught.value.hint == hint


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(BadConfiguration, match="environment variable SCHEMAMAN_FAIL_ON"):
        read_settings({}, {"SCHEMAMAN_FAIL_ON": "never"})


def test_variables_of_others_are_left_alone() -> None:
    assert read_settings({}, {"SCHEMAMAN_PROOF": "1", "SCHEMAMAN_STOR": "x"}).store.origin == "default"


def test_a_target_holds_tables_by_pattern_and_names_them() -> None:
    text = """
    [[target]]
    name = "raw"
    format = "iceberg"
    tables = "public.*"
    table = "ice.raw.{schema}_{table}"
    [[target]]
    name = "files"
    format = "delta"
    tables = ["shop.app.public.orders", "other.*"]
    path = "/lake/{stream}/{database}/{table}"
    """
    settings = of(text)
    raw, files = settings.target("raw"), settings.target("files")
    assert raw.has_table(ORDERS)
    assert raw.address(ORDERS) == "ice.raw.public_orders"
    assert files.has_table(ORDERS)
    assert files.address(ORDERS) == "/lake/main/app/orders"
    assert files.address(TableId("shop", "..", "", "../../etc/a")) == "/lake/main/__/.._.._etc_a"
    other = TableId("shop", "app", "audit", "orders")
    assert not raw.has_table(other)
    assert not files.has_table(other)


ODD_NAMES = st.text("a.b`/ {}:T", min_size=1, max_size=8)


@pytest.mark.parametrize("template", [
    "ice.raw.{table}", "ice.raw.{schema}_{table}", "ice.raw.`{table}`", "ice.raw.`{schema}.{table}`",
])  # fmt: skip
@given(ODD_NAMES, ODD_NAMES)
def test_a_name_of_the_source_adds_no_part_to_that_of_the_lake(
    template: str, schema: str, table: str
) -> None:
    target = TargetSetting("raw", "iceberg", ("*",), table=template)
    parts = split_table_name(target.address(TableId("shop", "app", schema, table)))
    wanted = template.removeprefix("ice.raw.").strip("`").format(schema=schema, table=table)
    steps = ("_" * len(step) if step and not step.strip(".") else step for step in wanted.split("/"))
    assert parts == ("ice", "raw", "/".join(steps))


def test_a_name_is_quoted_where_it_has_to_be() -> None:
    plain, quoted, path = (
        TargetSetting("raw", "delta", ("*",), table=text)
        for text in ("ice.raw.{table}", "ice.raw.`{schema}.{table}`", "delta.`/lake/{schema}/{table}`")
    )
    dotted = TableId("shop", "app", "public", "a.b")
    assert plain.address(dotted) == "ice.raw.`a.b`"
    assert plain.address(replace(dotted, table="Order Items")) == "ice.raw.Order Items"
    assert quoted.address(ORDERS) == "ice.raw.`public.orders`"
    assert path.address(dotted) == "delta.`/lake/public/a.b`"
    assert path.address(TableId("shop", "app", "..", "../`a")) == "delta.`/lake/__/.._``a`"


@pytest.mark.parametrize(("table", "said"), [
    ("ice.raw.`{table}", "is no table name"), ("ice..{table}", "is no table name"),
    ("ice.raw.{table!r}", "write {table} alone"), ("ice.raw.{table:.3}", "write {table} alone"),
])  # fmt: skip
def test_a_lake_table_that_is_no_name_is_refused_when_settings_are_read(table: str, said: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        of(f"[[target]]\nname='raw'\nformat='iceberg'\ntable='{table}'")
    assert said in caught.value.message


SHARDS = [
    ('tables="orders_*"', "ice.raw.orders"),
    ('tables="shard_*.orders"', "ice.raw.orders"),
    ('tables=["orders_1", "orders_2"]', "ice.raw.orders"),
    ('tables=["a.orders", "b.orders"]', "ice.raw.orders"),
    ('tables="public.*"', "ice.{schema}.orders"),
    ("", "ice.raw.orders"),
]
ALONE = [
    ('tables="orders"', "ice.raw.orders"),
    ('tables=["orders", "public.orders", "main:orders"]', "ice.raw.orders"),
    ('tables="*.orders"', "ice.{schema}.orders"),
    ('tables=["a.orders", "b.orders"]', "ice.{schema}.all_orders"),
    ('tables="*"', "ice.raw.{table}"),
]


@pytest.mark.parametrize(("tables", "table"), SHARDS)
def test_several_sources_of_one_lake_table_are_refused_when_settings_are_read(
    tables: str, table: str
) -> None:
    with pytest.raises(BadConfiguration) as caught:
        of(f'[[target]]\nname="raw"\nformat="iceberg"\n{tables}\ntable="{table}"')
    assert "target 'raw' leads several tables" in caught.value.message
    assert "into one lake table" in caught.value.message
    assert "give each source a table of its own, with {table}" in caught.value.message


@pytest.mark.parametrize(("tables", "table"), ALONE)
def test_one_source_of_a_lake_table_may_be_named_in_any_way(tables: str, table: str) -> None:
    of(f'[[target]]\nname="raw"\nformat="iceberg"\n{tables}\ntable="{table}"')


def test_two_targets_of_one_lake_table_are_refused_when_settings_are_read() -> None:
    text = "".join(
        f'[[target]]\nname="{name}"\nformat="iceberg"\ntables="{tables}"\ntable="{table}"\n'
        for name, tables, table in (
            ("a", "orders_1", "ice.raw.orders"),
            ("b", "orders_2", "ice.RAW.`orders`"),
        )
    )
    with pytest.raises(BadConfiguration, match="targets 'a' and 'b' have one lake table"):
        of(text)
    of(text.replace("ice.raw", "ice.other"))


def test_an_unknown_target_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="targets are: raw") as caught:
        of("[[target]]\nname='raw'\nformat='delta'\ntables='orders'\ntable='x'").target("row")
    assert caught.value.hint == "did you mean raw?"


@given(st.text(), st.text())
def test_a_file_is_settings_or_one_clear_error(path: str, text: str) -> None:
    try:
        read_settings({}, {}, SettingsFile(path, text))
    except BadConfiguration as error:
        assert error.message.startswith(path)  # noqa: PT017 - both ends are right


def test_lists_and_tables_may_stand_in_variables() -> None:
    settings = read_settings(
        {}, {"SCHEMAMAN_READERS": "spark, delta", "SCHEMAMAN_RULES": "column-dropped=off"}
    )
    assert settings.readers.value == ("spark", "delta")
    assert settings.rules.value == (("column-dropped", "off"),)


def test_policy_entries_become_rules_that_say_where_they_stand() -> None:
    text = """
    drops = "drop"
    [[policy]]
    tables = "billing.*, public.orders"
    targets = ["delta"]
    drop-column = "block"
    "rename-*" = "approve"
    [[policy]]
    widen = "ignore"
    """
    settings = of(text)
    policy = settings.policy
    assert policy.find_ruling("drop-column", "shop.app.billing.x", "raw", "delta").why.endswith(
        "[[policy]] 1"
    )
    assert policy.find_ruling("drop-column", "shop.app.billing.x", "raw", "iceberg").level == "approve"
    assert policy.find_ruling("rename-stated", "shop.app.public.orders", "delta").level == "approve"
    assert policy.find_ruling("widen", "t", "iceberg").why == "widen = ignore, from [[policy]] 2"
    assert settings.policies.origin == "/p/schemaman.toml"


def test_the_profile_is_a_setting_that_says_where_its_levels_come_from() -> None:
    policy = of('profile = "autopilot"\n[[policy]]\ntruncate = "block"').policy
    levels = {ruling.kind: ruling.why for ruling in policy.list_levels()}
    assert levels["change-key"] == "change-key = auto, from profile = autopilot"
    assert levels["truncate"] == "truncate = block, from [[policy]] 1"
    with pytest.raises(BadConfiguration, match="did you mean autopilot"):
        of('profile = "autopilt"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policy = 'auto'", "policies are written as"),
        ("[[policy]]\ntables='x'", "policy 1 sets no level"),
        ("[[policy]]\ndrop-colum='auto'", "unknown kind of change 'drop-colum'; did you mean drop-column"),
        ("[[policy]]\ntabels='x'\nwiden='auto'", "'tabels'; did you mean tables"),
        ("[[policy]]\nwiden='aprove'", "unknown level 'aprove'; did you mean approve"),
        ("[[policy]]\nnarrow='auto'", "narrow cannot be auto; it may be ignore, quarantine, block"),
        ("[[policy]]\ntables=''\nwiden='auto'", "policy 1 selects no tables"),
        ("[[policy]]\ntargets=[1]\nwiden='auto'", "expected a text or a list of texts"),
        ("[[policy]]\ntargets='detla'\nwiden='auto'", "names the unknown target 'detla'"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_an_error(text: str, message: str) -> None:
    with pytest.raises(BadConfiguration, match=message):
        of(text)


@pytest.mark.parametrize("path", ["lake/{table}", "./lake/{table}", "../{table}", "{table}"])
def test_a_relative_path_of_a_target_is_refused(path: str) -> None:
    with pytest.raises(BadConfiguration, match="is relative; write /folder/"):
        of(f"[[target]]\nname='raw'\nformat='delta'\npath='{path}'")


OUT = {"..": "__", ".": "_", "../x": "__/x", "a/../b": "a/__/b", "a.b": "a.b"}


@pytest.mark.parametrize("template", ["ice.{schema}.{table}", "ice.`{schema}`.{table}"])
@pytest.mark.parametrize(("name", "wanted"), OUT.items())
def test_a_name_leads_out_of_no_folder_of_a_catalogue(template: str, name: str, wanted: str) -> None:
    (target,) = of(f"[[target]]\nname='raw'\nformat='iceberg'\ntable='{template}'").targets.value
    address = target.address(TableId("p", "d", name, "t"))
    assert split_table_name(address) == (*split_table_name(template)[:-2], wanted, "t")


@pytest.mark.parametrize(("text", "wanted"), [("1", 1), ("64MiB", 64 << 20), ("2 GiB", 2 << 30)])
def test_a_size_has_a_unit(text: str, wanted: int) -> None:
    assert of(f"record_limit = '{text}'").record_limit.value == wanted


@pytest.mark.parametrize("value", ["'0'", "'x'", "'1MB'", "true", "1.5"])
def test_no_other_words_are_a_size(value: str) -> None:
    with pytest.raises(BadConfiguration, match="is no size in bytes"):
        of(f"record_limit = {value}")


def test_every_profile_can_be_set() -> None:
    """The settings list the profiles themselves: they do not load the policy for that."""
    assert read_settings({}, {}).profile.value == DEFAULT_PROFILE
    assert [read_settings({}, {"SCHEMAMAN_PROFILE": name}).profile.value for name in PROFILES] == [*PROFILES]
