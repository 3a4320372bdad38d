"""The broker of the live lane keeps what is written to it, byte by byte."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition


def test_a_record_comes_back_as_it_was_written(broker: str) -> None:
    producer = Producer({"bootstrap.servers": broker})
    producer.produce("live.broker", key=b"\x00k", value=b'{"a": 1}', headers=[("h", b"\xff")])
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "live"})
    consumer.assign([TopicPartition("live.broker", 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert (message.error(), message.offset(), message.key(), message.value(), message.headers()) == (
        None,
        0,
        b"\x00k",
        b'{"a": 1}',
        [("h", b"\xff")],
    )
