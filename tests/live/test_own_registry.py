"""Debezium with Confluent's AvroConverter registers at schemaman's own server while tables change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import schemaman as sm
from schemaman.server.running import serve_in_thread
from tests.live import shop
from tests.live.confluent import CONVERTER, avro_by_registry, converter_jars
from tests.live.connect import Worker, connect_in
from tests.live.process import NotReady
from tests.live.recorded_history import Told
from tests.live.streaming import streaming


@pytest.fixture(scope="module")
def converting(tmp_path_factory: pytest.TempPathFactory, broker: str) -> Iterator[Worker]:
    """A worker that has Confluent's converter."""
    folder = tmp_path_factory.mktemp("converting")
    with connect_in(folder, broker, converter=(CONVERTER, converter_jars())) as worker:
        yield worker


def test_the_converter_registers_and_ingest_reads_what_the_catalogue_said(
    database: str,
    converting: Worker,
    broker: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    figure: Callable[[str, object], None],
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    registry = sm.open_schema_registry(f"sqlite:///{tmp_path / 'registry.db'}", create=True)
    registry.update_config({"compatibility": "NONE"})
    with serve_in_thread(registry) as url:
        form = avro_by_registry(url, lambda id: registry.find_schema(id)[0].content.text)
        with streaming("shop_registry", database, converting, broker, form) as stream:
            shop.play(stream)
            told = Told.now(stream, tmp_path)
    assert [str(each) for each in told.differences()] == []
    assert told.histories.keys() == {fact.source["table"] for fact in told.facts.values()}
    subjects = [str(subject) for subject in registry.list_subjects()]
    assert {f"shop_registry.shop.{table}-value" for table in told.histories} <= set(subjects)
    numbers = [version.number for version in registry.list_versions("shop_registry.shop.orders-value")]
    assert len(numbers) > 6
    assert numbers == list(range(1, len(numbers) + 1))
    figure("subjects that a live AvroConverter has registered", len(subjects))


def test_a_task_is_told_why_its_schema_is_refused(
    database: str, converting: Worker, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The level BACKWARD: a column of another type stops the task, and its trace has the reason."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    registry = sm.open_schema_registry()
    with serve_in_thread(registry) as url:
        form = avro_by_registry(url, lambda id: registry.find_schema(id)[0].content.text)
        with streaming("shop_refused", database, converting, broker, form) as stream:
            stream.tell("CREATE TABLE shop.a (id int PRIMARY KEY, n int)", "INSERT INTO shop.a VALUES (1, 1)")
            stream.start(1)
            stream.tell("ALTER TABLE shop.a ALTER n TYPE text", "INSERT INTO shop.a VALUES (2, 'x')")
            with pytest.raises(NotReady, match="incompatible with version 1 of subject") as refused:
                stream.until("a record", lambda: len(stream.topics.facts()) > 1)
    assert "MISSING_UNION_BRANCH" in str(refused.value)
    assert [v.number for v in registry.list_versions("shop_refused.shop.a-value")] == [1]
