"""Views of a lake catalogue are read as SQL, and lead from a column to what is made of it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from schemaman.compat.impact.analysis import build_graph, parse_texts
from schemaman.compat.impact.graph import Place
from schemaman.compat.impact.relations import Relation, Relations
from schemaman.compat.impact.texts import find_texts
from schemaman.spark.views import read_views

pytestmark = pytest.mark.spark


def test_views_of_a_catalogue_are_read_as_sql(spark: SparkSession) -> None:
    spark.sql("CREATE DATABASE mart")
    spark.sql("CREATE TABLE mart.orders (id INT, `odd``name` STRING, total INT) USING delta")
    spark.sql(
        "CREATE VIEW mart.big_ones (id, n COMMENT 'x') AS "
        "SELECT id, `odd``name` FROM mart.orders WHERE total > 9"
    )
    spark.sql("CREATE VIEW mart.counted AS SELECT n, count(*) AS c FROM mart.big_ones GROUP BY n")
    try:
        text = read_views(spark, "mart")
    finally:
        spark.sql("DROP DATABASE mart CASCADE")
    relation = Relation("orders", (("mart", "orders"),), ("id", "odd`name", "total"))
    texts = find_texts(Place("lake", "views.sql"), text, "spark")
    graph = build_graph(parse_texts(texts), Relations.of([relation]))
    assert not graph.unread
    assert [(u.hops, u.roles) for u in graph.find_uses("orders", ("odd`name",))] == [
        (1, ("projected",)),
        (2, ("projected", "group-key")),
    ]
    assert [(u.hops, u.roles) for u in graph.find_uses("orders", ("total",))] == [
        (1, ("filter",)),
        (2, ("filter",)),
    ]
