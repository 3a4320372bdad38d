"""The micro-batches of a query over Kafka topics, read into the history one after another.

Source: Spark "Structured Streaming Programming Guide": `foreachBatch`, checkpoints, triggers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from queue import Empty, Queue
from threading import Semaphore
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from schemaman.errors import CouldNotDo, EngineUnavailable, UsageError
from schemaman.ingest.ingest import Summary
from schemaman.io.kafka import Topics, list_spans
from schemaman.spark.frame_ingest import ingest_frame
from schemaman.spark.ingest import Destination
from schemaman.spark.session import find_first_line, is_classic
from schemaman.store.offsets import Partition

try:
    from schemaman.spark.data_source import RecordDataSource
    from schemaman.spark.topic_stream import STARTING_OFFSETS, pack_offsets
except ImportError as error:
    raise EngineUnavailable(
        "a stream of topics needs PySpark 4.0 or later", hint="omit --checkpoints: the store has the offsets"
    ) from error

_POLL_SECONDS = 0.1
_OWNER = "schemaman.json"
"""The file in a checkpoint that names its store, stream and topics. Spark ignores it."""


def ingest_stream(
    spark: SparkSession,
    source: Topics,
    options: Mapping[str, str],
    destination: Destination,
    checkpoint: Path,
    *,
    pause: float | None,
    since_ms: int | None = None,
    unread: dict[Partition, int] | None = None,
    begin: Callable[[], None] = lambda: None,
) -> Generator[Summary, None, None]:
    """Read topics as a query of Structured Streaming; give the summary of each micro-batch that is recorded.

    A batch is due each `pause` seconds; None reads what is there, then ends. A new `checkpoint` begins at the
    first record that the stream lacks. The history has each record once, wherever the query was ended.
    `begin` is called before each batch. Client options are those of librdkafka.

    Raises:
        UsageError: the checkpoint belongs to another store, stream or source; or as `ingest_frame`.
        UnreadableInput: as `kafka.read_records`, before the first batch.
        CouldNotDo: the query failed, or as `ingest_frame`.
        EngineUnavailable: this is a session of Spark Connect.
    """
    if not is_classic(spark):
        raise EngineUnavailable("topics are a stream of a classic session of Spark, not of Spark Connect")
    known = destination.open_intake().known.ranges
    starting: dict[Partition, int] = {}
    for span in list_spans(source, options, known, since_ms, unread):
        starting.setdefault((span.topic, span.partition), span.start)
    _claim(checkpoint, destination, source)
    records = _open_stream(spark, source, starting, options)
    number = -1
    while number:  # a query that repeats a batch at first may end behind it
        number = 0
        with closing(_run_query(records, checkpoint, pause)) as batches:
            for number, batch in enumerate(batches, 1):  # noqa: B007
                begin()
                if unread is not None:
                    list_spans(source, options, destination.open_intake().known.ranges, None, unread)
                yield ingest_frame(batch, destination)


def _claim(checkpoint: Path, destination: Destination, source: Topics) -> None:
    """Writes into a new checkpoint whose it is. Another one's would pass over records."""
    owner = {"store": destination.registry.store.id, "stream": destination.stream, "topics": source.topics}
    text, path = json.dumps(owner, sort_keys=True), checkpoint / _OWNER
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise UsageError(
            f"{checkpoint} belongs to another store, stream or list of topics",
            hint="name another folder with --checkpoints: the history has each record once all the same",
        )
    checkpoint.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _open_stream(
    spark: SparkSession, source: Topics, starting: Mapping[Partition, int], client: Mapping[str, str]
) -> DataFrame:
    """Opens topics as a streaming frame with the columns of Spark's Kafka source."""
    spark.dataSource.register(RecordDataSource)
    options = {f"kafka.{name}": value for name, value in client.items()}
    stream = spark.readStream.format(RecordDataSource.name()).options(**options)
    return stream.option(STARTING_OFFSETS, json.dumps(pack_offsets(starting))).load(str(source))


def _run_query(records: DataFrame, checkpoint: Path, pause: float | None) -> Generator[DataFrame, None, None]:
    """Runs a query and gives its micro-batches; each is done when the next one is asked for.

    Spark calls `foreachBatch` in another thread, in which neither signals nor errors reach the caller.
    """
    batches: Queue[DataFrame] = Queue()
    done, is_ended = Semaphore(0), False

    def hand_over(batch: DataFrame, number: int) -> None:
        batches.put(batch)
        done.acquire()
        if is_ended:
            raise CouldNotDo(f"the micro-batch {number} was not recorded")

    trigger: dict[str, Any] = (
        {"availableNow": True} if pause is None else {"processingTime": f"{round(pause * 1000)} milliseconds"}
    )
    writer = records.writeStream.foreachBatch(hand_over).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(**trigger).start()
    try:
        while True:
            try:
                batch = batches.get(timeout=_POLL_SECONDS)
            except Empty:
                if query.isActive:
                    continue
                break
            yield batch
            done.release()
        failure = query.exception()
        if failure is not None:
            raise CouldNotDo(f"the query has failed: {find_first_line(failure)}")
    except PySparkException as error:
        raise CouldNotDo(f"the query has failed: {find_first_line(error)}") from error
    finally:
        is_ended = True
        done.release()
        query.stop()
