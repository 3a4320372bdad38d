"""The graph of consumers: views on views, dbt models, jobs; what cannot be read is counted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

import pytest

from schemaman.compat.impact.analysis import build_graph, parse_texts
from schemaman.compat.impact.graph import ImpactGraph, Place
from schemaman.compat.impact.texts import find_texts
from tests.compat.test_statement_reads import RELATIONS

File = tuple[str, str]


def graph_of(*files: File, language: str = "postgres") -> ImpactGraph:
    """The graph of files of one consumer, each a name and a text."""
    texts = [text for name, sql in files for text in find_texts(Place("dash", name), sql, language)]
    return build_graph(parse_texts(texts), RELATIONS)


def uses(graph: ImpactGraph, column: str) -> list[tuple[str, int, tuple[str, ...], tuple[str, ...]]]:
    """Name, hops, views between and roles of each statement that depends on a column."""
    table, _, path = column.partition(".")
    found = graph.find_uses(table, tuple(path.split(".")) if path else ())
    return [(use.name, use.hops, use.through, use.roles) for use in found]


def reasons(graph: ImpactGraph) -> list[str]:
    return [one.reason for one in graph.unread]


VIEWS = (
    ("top.sql", "create view top as select s, n from counted where n > 3"),
    ("counted.sql", "create view counted as select state as s, count(*) as n from open_ones group by state"),
    ("open.sql", "create view open_ones as select id, status as state from public.orders where total > 0"),
)


def test_views_on_views_are_followed_in_any_order_of_their_files() -> None:
    for files in (VIEWS, VIEWS[::-1]):
        graph = graph_of(*files)
        assert uses(graph, "orders.status") == [
            ("open_ones", 1, (), ("projected",)),
            ("counted", 2, ("open_ones",), ("projected", "group-key")),
            ("top", 3, ("open_ones", "counted"), ("projected", "group-key")),
        ]
        assert uses(graph, "orders.id") == [("open_ones", 1, (), ("projected",))]
        assert [name for name, *_ in uses(graph, "orders")] == ["open_ones", "counted", "top"]
        assert not graph.unread


def test_a_column_that_decides_the_rows_of_a_view_concerns_each_reader_of_it() -> None:
    assert uses(graph_of(*VIEWS), "orders.total") == [
        ("open_ones", 1, (), ("filter",)),
        ("counted", 2, ("open_ones",), ("filter",)),
        ("top", 3, ("open_ones", "counted"), ("filter",)),
    ]


def test_a_star_over_a_view_has_the_columns_of_the_view() -> None:
    graph = graph_of(*VIEWS, ("all.sql", "select * from open_ones where state = 'x'"))
    assert ("", 2, ("open_ones",), ("filter", "whole-row")) in uses(graph, "orders.status")


@pytest.mark.parametrize(
    "statements",
    [
        ["create view a as select id from b", "create view b as select id from a"],
        ["create view a as select x.id from b x join public.orders o on o.id = x.id",
         "create view b as select id from c", "create view c as select id from a"],
    ],
)  # fmt: skip
def test_views_in_a_circle_are_counted(statements: list[str]) -> None:
    graph = graph_of(("v.sql", ";\n".join(statements)))
    assert len([r for r in reasons(graph) if "made from itself" in r]) == len(statements)
    assert graph.find_uses("orders") is not None


def test_a_load_into_a_table_is_followed_like_a_view() -> None:
    graph = graph_of(
        ("load.sql", "insert into mart.sums (customer, amount) select customer_id, total from lake.orders"),
        ("read.sql", "select amount from mart.sums"),
        ("mirror.sql", "insert into lake.customers (id, name) select customer_id, status from lake.orders"),
        ("names.sql", "select name from customers"),
    )
    assert uses(graph, "orders.total")[1] == ("", 2, ("mart.sums",), ("projected",))
    assert uses(graph, "orders.status")[1] == ("", 2, ("lake.customers",), ("projected",))
    assert ("", 1, (), ("projected",)) in uses(graph, "customers.name")


JOB = '''
TABLE = "lake.orders"
QUERY = """
    select id, status from lake.orders
"""
frame = spark.sql(QUERY)
frame.createOrReplaceTempView("mine")
spark.sql("select status " "from mine").show()
spark.sql(f"select total from {TABLE}")
def run(name):
    spark.sql(f"select id from {name} join lake.lines")
    spark.sql("select sku from lake.lines where x = " + str(name))
spark.table("lake.customers")
import os; os.system("touch /tmp/never; $(reboot)")
'''


FRAMES = """
from pyspark.sql import functions as F
from pyspark.sql.functions import col, max as biggest
NAMES = ["id", "sku"]
df = spark.table("lake." + "orders")
people = spark.read.option("x", 1).table("lake.customers")
df = df.filter("status = 'open'").withColumn("day", F.to_date(df.total, "yyyy"))
joined = df.join(people, df["customer_id"] == people.id, "left").groupBy("day").agg(F.sum("total").alias("s"))
joined.orderBy(col("s").desc()).write.saveAsTable("mart.sums")
def lines():
    frame = spark.table("lake.lines").select(*NAMES)
    frame.where(biggest("no_column") > 1).show()
    print(df.count())
"""


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("orders.status", [(7, ("filter",))]),
        ("orders.note", []),
        ("orders.customer_id", [(8, ("projected",))]),
        ("orders.total", [(7, ("projected",)), (8, ("aggregated",))]),
        ("orders.id", []),
        ("customers.id", [(8, ("projected",))]),
        ("customers.name", []),
        ("lines.sku", [(11, ("projected",))]),
    ],
)
def test_the_columns_of_data_frames_are_read(
    column: str, expected: list[tuple[int, tuple[str, ...]]]
) -> None:
    graph = graph_of(("jobs/a.py", FRAMES), language="")
    table, _, name = column.partition(".")
    assert [(use.line, use.roles) for use in graph.find_uses(table, (name,))] == expected
    assert not graph.may_read("dash", table, (name,))


@pytest.mark.parametrize(
    "program",
    [
        "send(spark.table('lake.orders'))", "def f():\n    return spark.table('lake.orders')",
        "self.df = spark.table('lake.orders')", "spark.table('lake.orders').select(name)",
        "spark.table('lake.orders').transform(f)", "[f(spark.table('lake.orders')) for f in g]",
        "df = spark.table('lake.orders')\ndf.select(*[c for c in df.columns])",
        "spark.table('lake.orders').rdd",
        "a = a\ndf = spark.table('lake.orders').select(a)", "g(df=spark.table('lake.orders'))",
    ],
)  # fmt: skip
def test_a_data_frame_that_cannot_be_followed_may_read_any_column(program: str) -> None:
    graph = graph_of(("jobs/a.py", program), language="")
    assert [sorted(one.relations) for one in graph.unread] == [["orders"]]
    assert graph.find_uses("orders", ("total",)) == ()


def test_a_data_frame_that_is_written_reads_its_whole_rows() -> None:
    graph = graph_of(
        ("jobs/a.py", "spark.table('lake.orders').filter('id > 1').write.parquet('x')"), language=""
    )
    assert uses(graph, "orders.total") == [("", 1, (), ("whole-row",))]
    assert {role for use in graph.find_uses("orders", ("id",)) for role in use.roles} == {
        "filter",
        "whole-row",
    }


def test_the_sql_of_a_spark_job_is_read_and_the_job_is_not_run() -> None:
    graph = graph_of(("jobs/a.py", JOB), ("jobs/b.py", 'spark.sql("select id from mine")'), language="")
    assert uses(graph, "orders.status") == [
        ("mine", 1, (), ("projected",)),
        ("", 2, ("mine",), ("projected",)),
    ]
    assert [use.line for use in graph.find_uses("orders", ("total",))] == [9]
    assert sorted({(one.place.line, tuple(sorted(one.relations))) for one in graph.unread}) == [
        (11, ("lines",)),
        (12, ("lines",)),
    ]  # nothing is done with the data frame of line 13


def manifest(**changes: object) -> str:
    """A manifest of two models, a Python model, one without compiled SQL, and a dashboard."""
    model = {"resource_type": "model", "database": "wh", "schema": "mart", "language": "sql"}
    nodes = {
        "model.p.stage": model | {
            "name": "stage", "original_file_path": "models/stage.sql", "config": {"meta": {"owner": "ann"}},
            "compiled_code": 'select id, total as amount from "inventory"."public"."orders"',
            "depends_on": {"nodes": ["source.p.shop.orders"]},
        },
        "model.p.sums": model | {
            "name": "sums", "alias": "daily", "original_file_path": "models/sums.sql",
            "compiled_code": "select sum(amount) as s from wh.mart.stage",
            "depends_on": {"nodes": ["model.p.stage"]},
        },
        "model.p.learn": model | {
            "name": "learn", "language": "python", "compiled_code": "def model(dbt, session): ...",
            "depends_on": {"nodes": ["source.p.shop.orders"]},
        },
        "model.p.raw": model | {"name": "raw", "depends_on": {"nodes": ["source.p.shop.orders"]}},
    }  # fmt: skip
    exposure = {"owner": {"name": "eve", "email": "eve@x"}, "depends_on": {"nodes": ["model.p.sums"]}}
    source = {"resource_type": "source", "database": "inventory", "schema": "public", "identifier": "orders"}
    document = {
        "metadata": {"adapter_type": "snowflake"},
        "nodes": nodes,
        "sources": {"source.p.shop.orders": source},
        "exposures": {"exposure.p.board": exposure},
    }
    return json.dumps(document | changes)


def test_the_models_of_dbt_are_hops_and_an_exposure_is_a_reader() -> None:
    graph = graph_of(("manifest.json", manifest()), language="")
    assert uses(graph, "orders.total") == [
        ("model.p.stage", 1, (), ("projected",)),
        ("model.p.sums", 2, ("model.p.stage",), ("aggregated",)),
        ("exposure.p.board", 3, ("model.p.stage", "model.p.sums"), ("whole-row",)),
    ]
    assert [(u.file, u.owner, u.contact) for u in graph.find_uses("orders", ("total",))] == [
        ("models/stage.sql", "ann", ""),
        ("models/sums.sql", "", ""),
        ("manifest.json", "eve", "eve@x"),
    ]
    assert sorted(reasons(graph)) == ["Python model", "not compiled: run dbt compile"]
    assert all(one.relations == {"orders"} for one in graph.unread)


UNREADABLE = {
    "not SQL": ("a.sql", "select from where orders"),
    "command": ("a.sql", "call refresh_orders(orders)"),
    "template": ("a.sql", "select {{ column }} from orders"),
    "no JSON": ("a.json", '{"nodes": orders'),
    "no manifest": ("a.json", '["orders"]'),
    "no program": ("a.py", "def orders(:"),
    "zero bytes": ("a.py", "orders\x00"),
    "open quote": ("a.sql", "select 'orders"),
    "deep": ("a.sql", f"select {'(' * 3000}id{')' * 3000} from orders"),
    "deep subqueries": ("a.sql", "select * from " + "(select * from " * 500 + "orders" + ")" * 500),
    "deep program": ("a.py", "orders = " + "(" * 5000 + ")" * 5000),
    "deep JSON": ("a.json", '{"nodes": ' * 100_000 + " orders "),
    "long": ("a.sql", "select id from orders where " + " or ".join(["id = 1"] * 500_000)),
}


@pytest.mark.parametrize("file", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_counted_for_the_tables_that_it_names(file: File) -> None:
    start = time.process_time()
    graph = graph_of(file)
    assert [one.relations for one in graph.unread] == [{"orders"}]
    assert [one.place.file for one in graph.find_unread("orders", ("id",))] == [file[0]]
    assert not graph.statements
    assert time.process_time() - start < 20


def test_one_wrong_statement_does_not_hide_the_others() -> None:
    graph = graph_of(("a.sql", "select id from orders;\nselect from from;\n\nselect total from orders;"))
    assert [(use.line, use.roles) for use in graph.find_uses("orders", ("total",))] == [(4, ("projected",))]
    assert [one.place.line for one in graph.unread] == [2]


def test_a_name_that_is_not_resolved_concerns_the_column_of_that_name_alone() -> None:
    graph = graph_of(("a.sql", "select o.extra, o.id from orders o"))
    assert reasons(graph) == ["column o.extra"]
    assert graph.may_read("dash", "orders", ("extra",))
    assert not graph.may_read("dash", "orders", ("status",))
    assert (graph.coverage.columns, graph.coverage.unresolved) == (1, 1)


def test_a_text_that_names_a_view_may_read_what_the_view_reads() -> None:
    graph = graph_of(
        *VIEWS, ("a.sql", "select x from where top"), ("b.sql", "select 1; select {{ x }} from top")
    )
    assert [one.place.file for one in graph.find_unread("orders", ("status",))] == ["a.sql", "b.sql"]
    assert len(graph.statements) == 4


def test_templates_of_names_are_names() -> None:
    graph = graph_of(("m.sql", "select id from {{ source('public', 'orders') }} join {{ ref('x') }} on true"))
    assert uses(graph, "orders.id") == [("", 1, (), ("projected",))]


@pytest.mark.parametrize("name", ['a"b', "$(touch x)", "a;drop table b", "ünï", "`", "-- x", "a\nb"])
def test_hostile_names_are_names(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    graph = graph_of(
        ("v.sql", f"create view {quoted} as select id as {quoted} from orders"),
        ("w.sql", f"select {quoted} from {quoted} where {quoted} > 1"),
    )
    assert [n for n, *_ in uses(graph, "orders.id")] == [name, ""]
    assert not graph.unread


def chain(length: int) -> Iterable[File]:
    yield ("v0.sql", "create view v0 as select id, total from orders")
    for n in range(1, length):
        yield (f"v{n}.sql", f"create view v{n} as select * from v{n - 1} where total > {n}")


def test_a_long_chain_of_views_is_followed_without_recursion() -> None:
    graph = graph_of(*chain(300))
    assert max(use.hops for use in graph.find_uses("orders", ("id",))) == 300
