"""Every worked example of Debezium's and Confluent's name rules, and the laws of recognising names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.model.name_adjustment import (
    Mode,
    adjust_field,
    adjust_schema,
    find_collisions,
    list_adjusted_forms,
    make_topic_name,
    misread_name,
    restore_misread_name,
)

# Made with the classes of Debezium: prefix, schema, table → topic, and the schema name of a row
# in the modes none, avro and avro_unicode.
TABLES = [
    (("dbserver1", "inventory", "customers"), "dbserver1.inventory.customers",
     "dbserver1.inventory.customers.Value", "dbserver1.inventory.customers.Value",
     "dbserver1.inventory.customers.Value"),
    (("my-server", "public", "order items"), "my-server.public.order_items",
     "my-server.public.order_items.Value", "my_server.public.order_items.Value",
     "my_u002dserver.public.order_u005fitems.Value"),
    (("srv", "public", "order-items"), "srv.public.order-items",
     "srv.public.order-items.Value", "srv.public.order_items.Value", "srv.public.order_u002ditems.Value"),
    (("srv", "public", "order_items"), "srv.public.order_items",
     "srv.public.order_items.Value", "srv.public.order_items.Value", "srv.public.order_u005fitems.Value"),
    (("srv", "public", "2023_sales"), "srv.public.2023_sales",
     "srv.public.2023_sales.Value", "srv.public.2023_sales.Value", "srv.public.2023_u005fsales.Value"),
    (("1srv", "DB2INST1", "EMP#NO"), "1srv.DB2INST1.EMP_NO",
     "1srv.DB2INST1.EMP_NO.Value", "_1srv.DB2INST1.EMP_NO.Value", "_u0031srv.DB2INST1.EMP_u005fNO.Value"),
    (("srv", "DB2INST1", "EMP$NO"), "srv.DB2INST1.EMP_NO",
     "srv.DB2INST1.EMP_NO.Value", "srv.DB2INST1.EMP_NO.Value", "srv.DB2INST1.EMP_u005fNO.Value"),
    (("srv", "スキーマ", "顧客"), "srv.____.__",
     "srv.____.__.Value", "srv.____.__.Value", "srv._u005f_u005f_u005f_u005f._u005f_u005f.Value"),
    (("srv", "public", "Größe"), "srv.public.Gr__e",
     "srv.public.Gr__e.Value", "srv.public.Gr__e.Value", "srv.public.Gr_u005f_u005fe.Value"),
    (("srv", "s", "a/b"), "srv.s.a_b", "srv.s.a_b.Value", "srv.s.a_b.Value", "srv.s.a_u005fb.Value"),
    (("srv", "s", "a_b"), "srv.s.a_b", "srv.s.a_b.Value", "srv.s.a_b.Value", "srv.s.a_u005fb.Value"),
    (("srv", "public", "a.b"), "srv.public.a.b",
     "srv.public.a.b.Value", "srv.public.a.b.Value", "srv.public.a.b.Value"),
]  # fmt: skip

UNICODE_TABLES = [
    (("srv", "DB2INST1", "EMP$NO"), "srv.DB2INST1.EMP_u0024NO", "srv.DB2INST1.EMP_u005fu0024NO.Value"),
    (("srv", "スキーマ", "顧客"), "srv._u30b9_u30ad_u30fc_u30de._u9867_u5ba2",
     "srv._u005fu30b9_u005fu30ad_u005fu30fc_u005fu30de._u005fu9867_u005fu5ba2.Value"),
]  # fmt: skip

# name, as a topic, and as a schema name in the modes avro and avro_unicode
BARE = [
    ("-1abc", "-1abc", "_1abc", "_u002d1abc"),
    ("24ColumnName", "24ColumnName", "_24ColumnName", "_u00324ColumnName"),
    (".leading.Value", ".leading.Value", "_leading.Value", "_u002eleading.Value"),
    ("srv..t.Value", "srv..t.Value", "srv..t.Value", "srv..t.Value"),
    ("_hello_语言.", "_hello___.", "_hello___.", "_u005fhello_u005f_u8bed_u8a00."),
    ("", "", "", ""),
    ("😀", "__", "__", "_ud83d_ude00"),
    ("a\tb", "a_b", "a_b", "a_u009b"),
    ("٣abc", "_abc", "_٣abc", "_u663abc"),
]

# column, and its field name in the modes avro, avro_unicode and scrubbed
COLUMNS = [
    ("first name", "first_name", "first_u0020name", "first_name"),
    ("customer_name", "customer_name", "customer_u005fname", "customer_name"),
    ("customer-name", "customer_name", "customer_u002dname", "customer_name"),
    ("XXX$123", "XXX_123", "XXX_u0024123", "XXX_24123"),
    ("XXX#123", "XXX_123", "XXX_u0023123", "XXX_23123"),
    ("2nd", "_2nd", "_u0032nd", "x2nd"),
    ("col.1", "col_1", "col_u002e1", "col_1"),
    ("$amount", "_amount", "_u0024amount", "_24amount"),
    ("_amount", "_amount", "_u005famount", "_amount"),
    ("__op", "__op", "_u005f_u005fop", "__op"),
    ("α1", "_1", "_u3b11", "_CE_B11"),
    ("㬑", "_", "_u3b11", "_E3_AC_91"),
    ("é", "_", "_u00e9", "_C3_A9"),
]

# The numbers of the worked examples, list by list; 14 is a test of its own, as its names are very long.
NUMBERS = (
    [1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 12, 13],
    [8, 10],
    [15, 16, 17, 18, 19, 20, 21, 22, 23],
    [24, 25, 25, 26, 26, 27, 28, 29, 29, 30, 31, 31, 32],
)
IN_TABLES, IN_UNICODE_TABLES, IN_BARE, IN_COLUMNS = ([f"example {n}" for n in numbers] for numbers in NUMBERS)

MODES = st.sampled_from(["none", "avro", "avro_unicode", "scrubbed"])


def test_each_of_the_32_examples_is_here():
    assert {n for numbers in NUMBERS for n in numbers} | {14} == set(range(1, 33))
    assert [len(n) for n in NUMBERS] == [len(e) for e in (TABLES, UNICODE_TABLES, BARE, COLUMNS)]


@pytest.mark.parametrize(("parts", "name", "plain", "avro", "escaped"), TABLES, ids=IN_TABLES)
def test_tables(parts, name, plain, avro, escaped):
    assert make_topic_name(*parts) == name
    assert adjust_schema(f"{name}.Value", "none") == plain
    assert adjust_schema(f"{name}.Value", "avro") == avro
    assert adjust_schema(f"{name}.Value", "avro_unicode") == escaped


@pytest.mark.parametrize(("parts", "name", "escaped"), UNICODE_TABLES, ids=IN_UNICODE_TABLES)
def test_tables_under_the_unicode_strategy(parts, name, escaped):
    assert make_topic_name(*parts, unicode=True) == name
    assert adjust_schema(f"{name}.Value", "none") == f"{name}.Value"
    assert adjust_schema(f"{name}.Value", "avro") == f"{name}.Value"
    assert adjust_schema(f"{name}.Value", "avro_unicode") == escaped


@pytest.mark.parametrize(("name", "as_topic", "avro", "escaped"), BARE, ids=IN_BARE)
def test_bare_names(name, as_topic, avro, escaped):
    assert make_topic_name(name) == as_topic
    assert adjust_schema(name, "none") == name
    assert adjust_schema(name, "avro") == avro
    assert adjust_schema(name, "avro_unicode") == escaped


@pytest.mark.parametrize(("column", "avro", "escaped", "scrubbed"), COLUMNS, ids=IN_COLUMNS)
def test_columns(column, avro, escaped, scrubbed):
    assert adjust_field(column, "none") == column
    assert adjust_field(column, "avro") == avro
    assert adjust_field(column, "avro_unicode") == escaped
    assert adjust_field(column, "scrubbed") == scrubbed


def test_a_leading_digit_in_older_releases():
    assert adjust_schema("24ColumnName", "avro", release=(2, 2)) == "_4ColumnName"
    assert adjust_schema("24ColumnName", "avro", release=(2, 3)) == "_24ColumnName"
    assert adjust_field("2nd", "avro", release=(1, 9)) == "_2nd"
    assert adjust_field("2nd", "avro", release=(2, 2)) == "_nd"
    assert adjust_field("2nd", "avro", release=(2, 3)) == "_2nd"


def test_long_names_are_cut_and_then_collide():
    """Example 14."""
    long = "t" * 260
    assert make_topic_name("srv", "public", long) == f"srv.public.{long}"[:249]
    assert make_topic_name("srv", "public", f"{long}a") == make_topic_name("srv", "public", f"{long}b")
    assert adjust_schema(make_topic_name("srv", "public", long) + ".Value", "avro").endswith("t.Value")


def test_names_that_are_only_dots_and_parts_that_are_empty():
    assert (make_topic_name("."), make_topic_name("..")) == ("_", "__")
    assert make_topic_name("srv", "", None, "t") == "srv.t"
    assert make_topic_name("srv", "s", "t", delimiter="_") == "srv_s_t"


def test_scrubbing_a_full_name_goes_part_by_part():
    assert adjust_schema("srv.2nd.größe", "scrubbed") == "srv.x2nd.gr_C3_B6_C3_9Fe"


def test_misread_bytes():
    assert misread_name("größe") == "gr\uffc3\uffb6\uffc3\uff9fe"
    assert restore_misread_name("gr\uffc3\uffb6\uffc3\uff9fe") == "größe"
    assert adjust_field(misread_name("größe"), "avro") == "gr____e"


@pytest.mark.parametrize("name", ["plain", "größe", "ｶﾀｶﾅ", "gr\uffc3e", "\uffc3\uffb6ö", "😀\uffc3\uffb6"])
def test_what_was_not_misread_stays(name):
    assert restore_misread_name(name) == name


def test_forms_of_a_column():
    assert list_adjusted_forms("2nd") == {"2nd", "_2nd", "_nd", "_u0032nd", "x2nd"}
    assert {"größe", "gr__e", misread_name("größe"), "gr____e"} <= list_adjusted_forms("größe")
    assert list_adjusted_forms("id") == {"id"}


def test_collisions():
    names = ("a-b", "x", "a_b", "a$b", "y")
    assert find_collisions(names, "avro") == (("a-b", "a_b", "a$b"),)
    assert find_collisions(names, "scrubbed") == (("a-b", "a_b"),)
    assert find_collisions(names, "avro_unicode") == ()
    assert find_collisions(("α1", "㬑"), "avro_unicode") == (("α1", "㬑"),)
    assert find_collisions(("a", "a"), "none") == ()


@given(st.text(min_size=1), st.sampled_from(["avro_unicode", "scrubbed"]))
def test_adjusted_fields_are_legal_in_avro(name, mode):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", adjust_field(name, mode))


@given(st.text(alphabet=st.characters(max_codepoint=0x7F), min_size=1))
def test_ascii_fields_are_legal_in_avro(name):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", adjust_field(name, "avro"))


@given(st.text(), MODES)
def test_adjusting_avro_twice_changes_nothing_more(name, mode: Mode):
    if mode != "avro_unicode":
        once = adjust_field(name, mode)
        if once.isascii():
            assert adjust_field(once, mode) == once


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_restoring_undoes_misreading(name):
    assert restore_misread_name(misread_name(name)) == name


@given(st.text(), MODES)
def test_every_form_is_listed(name, mode: Mode):
    assert adjust_field(name, mode) in list_adjusted_forms(name)
    assert adjust_field(misread_name(name), mode) in list_adjusted_forms(name)


@given(st.text())
def test_topics_are_legal(name):
    assert re.fullmatch(r"[A-Za-z0-9._-]{0,249}", make_topic_name("srv", name))
    assert re.fullmatch(r"[A-Za-z0-9._-]{0,249}", make_topic_name("srv", name, unicode=True))


@given(st.lists(st.text(max_size=4), max_size=8), MODES)
def test_colliding_names_are_the_ones_that_share_a_form(names, mode: Mode):
    grouped = {n for group in find_collisions(names, mode) for n in group}
    for name in names:
        shares = any(o != name and adjust_field(o, mode) == adjust_field(name, mode) for o in names)
        assert (name in grouped) == shares
