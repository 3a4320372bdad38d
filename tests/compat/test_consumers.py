"""Consumers: a finding counts for those who read the column, and names them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot.dialects.dialect import Dialects

from schemaman.compat.affected_consumers import Readership
from schemaman.compat.consumers import LANGUAGES, Consumer
from schemaman.compat.gate import CheckResult, GatePolicy, check
from schemaman.compat.impact.analysis import build_graph, parse_texts
from schemaman.compat.impact.graph import Place
from schemaman.compat.impact.relations import Relation, Relations
from schemaman.compat.impact.texts import find_texts
from schemaman.compat.judge import RULES, Reader
from schemaman.compat.snapshots import take_snapshot
from tests.support.histories import ORDERS, told

ALL_RULES = RULES.load_all()


def judge(
    *structures: str, consumers: tuple[Consumer, ...] = (), sql: str = "", **policy: object
) -> CheckResult:
    """Check a history of orders with consumers alone; `sql` is what the consumer `dash` runs."""
    history = told(*structures)
    texts = find_texts(Place("dash", "a.sql"), sql, "postgres")
    former = tuple(n for v in history.versions for n in v.schema.names)
    relation = Relation(str(ORDERS), (("app", "public", "orders"),), history.latest.schema.names, former)
    readers = Readership(consumers, build_graph(parse_texts(texts), Relations.of([relation])))
    chosen = GatePolicy(**{"readers": (), "readership": readers, **policy})  # type: ignore[arg-type]
    return check((history,), {ORDERS: take_snapshot(history, history.versions[0])}, ALL_RULES, chosen)


def severities(result: CheckResult) -> dict[str, str]:
    return {f"{f.rule} {'.'.join(f.path)}".strip(): severity for f, severity in result.findings}


DROP = ("id INT, name STRING, n BIGINT", "id INT, n BIGINT")
NARROW = ("id INT, n BIGINT", "id INT, n INT")


@pytest.mark.parametrize(
    ("consumer", "severity"),
    [
        (Consumer("a", "sql"), "break"),
        (Consumer("a", "sql", tables=("public.orders",)), "break"),
        (Consumer("a", "sql", tables=("other*", "orders")), "break"),
        (Consumer("a", "sql", tables=("other",)), "off"),
        (Consumer("a", "sql", columns=("id", "n")), "off"),
        (Consumer("a", "sql", columns=("na*",)), "break"),
        (Consumer("a", "merge-key"), "off"),
        (Consumer("a", "avro"), "danger"),
        (Consumer("a", "avro-backward"), "note"),
    ],
)
def test_a_finding_counts_for_the_consumers_that_read_its_column(consumer: Consumer, severity: str) -> None:
    result = judge(*DROP, consumers=(consumer,))
    assert severities(result) == {"column-dropped name": severity}
    assert result.passed == (severity != "break")
    (finding,) = (f for f, _ in result.findings)
    named = [one.consumer.name for one in result.readership.list_affected(finding)]
    assert named == (["a"] if severity != "off" else [])


def test_without_consumers_the_readers_of_the_settings_count_as_before() -> None:
    for readers in (("spark",), ("sql",), ("avro-backward",)):
        result = judge(*NARROW, readers=readers)
        assert severities(result) == severities(judge(*NARROW, consumers=(Consumer("a", readers[0]),)))


@pytest.mark.parametrize(
    ("level", "kinds", "severity"),
    [
        ("BACKWARD", ("avro",), "note"),
        ("FORWARD", ("avro",), "danger"),
        ("NONE", ("avro-forward",), "off"),
        ("BACKWARD", ("sql",), "break"),
        ("FORWARD", (), "danger"),
    ],
)
def test_a_level_alone_decides_about_avro(level: str, kinds: tuple[str, ...], severity: str) -> None:
    avro: dict[str, tuple[Reader, ...]] = {
        "BACKWARD": ("avro-backward",),
        "FORWARD": ("avro-forward",),
        "NONE": (),
    }
    consumers = tuple(Consumer(kind, kind) for kind in kinds)
    readers = Readership(consumers, avro=avro[level])
    assert severities(judge(*DROP, readership=readers, level=level)) == {"column-dropped name": severity}


SQL = Consumer("dash", "sql", tables=(), owner="ann", contact="#ann", sql=("a.sql",))


@pytest.mark.parametrize(
    ("sql", "severity", "is_certain"),
    [
        ("select name from orders", "break", True),
        ("select * from public.orders", "break", True),
        ("select id from orders where name = 'x'", "break", True),
        ("select id from orders", "off", None),
        ("select name from other_orders", "off", None),
        ("select name from where orders", "danger", False),
        ("select id from where other", "off", None),
        ("create view v as select * from orders; select * from v", "break", True),
        ("create view v as select * from orders; select name from v where id = 1", "break", True),
        ("select * from (select * from orders) t", "break", True),
        ("insert into orders values (1, 2, 3)", "break", True),
        ("create view v as select name as x from orders; select x from v", "break", True),
    ],
)
def test_the_sql_of_a_consumer_says_what_it_reads(sql: str, severity: str, is_certain: bool | None) -> None:
    result = judge(*DROP, consumers=(SQL,), sql=sql)
    assert severities(result) == {"column-dropped name": severity}
    (finding,) = (f for f, _ in result.findings)
    affected = result.readership.list_affected(finding)
    assert [one.is_certain for one in affected] == ([] if is_certain is None else [is_certain])
    assert all(one.owners == ("ann",) for one in affected)


def test_patterns_and_sql_of_one_consumer_add_up() -> None:
    both = replace(SQL, tables=("orders",), columns=("n",))
    assert severities(judge(*DROP, consumers=(both,), sql="select id from orders")) == {
        "column-dropped name": "off"
    }
    assert severities(judge(*NARROW, consumers=(both,), sql="select id from orders")) == {
        "integer-narrowed n": "danger"
    }


def test_an_override_by_the_name_of_a_rule_holds_for_everybody() -> None:
    result = judge(*DROP, consumers=(Consumer("a", "sql"),), overrides={"column-dropped": "note"})
    assert severities(result) == {"column-dropped name": "note"}


def test_the_dialects_of_the_settings_are_those_of_the_parser() -> None:
    no_tables = {"", "dax", "dune", "prql", "solr", "tableau"}
    assert {one.value for one in Dialects} - no_tables == set(LANGUAGES)
