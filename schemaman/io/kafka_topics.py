"""The addresses of Kafka topics."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemaman.errors import BadReference

SCHEME = "kafka://"
_TOPIC = re.compile(r"[A-Za-z0-9._*-]{1,249}")
"""Source: Kafka, org.apache.kafka.common.internals.Topic: legal characters and maximum length."""

_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Topics:
    """A Kafka SOURCE: the bootstrap brokers, and topics by name or by a pattern with `*`."""

    brokers: str
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{SCHEME}{self.brokers}/{','.join(self.topics)}"


def find_topics(source: str) -> Topics:
    """Finds the topics of `kafka://HOST:PORT[,HOST:PORT…]/TOPIC[,TOPIC…]` ; `*` matches any characters.

    Raises:
        BadReference: the address is malformed.
    """
    brokers, slash, rest = source.removeprefix(SCHEME).partition("/")
    if "@" in brokers:
        raise BadReference(
            "kafka://: an address must not contain a user or a password", hint="use --kafka-config FILE"
        )
    if "?" in rest:
        raise BadReference(
            f"{SCHEME}{brokers}: an address has no options", hint="use --kafka-config NAME=VALUE or FILE"
        )
    topics = tuple(topic.strip() for topic in rest.split(",") if topic.strip())
    if not brokers or not slash or not topics:
        raise BadReference(
            f"{source}: the broker or the topic is missing", hint="kafka://HOST:PORT/TOPIC[,TOPIC…|*]"
        )
    for broker in brokers.split(","):
        port = broker.rpartition(":")[2]
        if port.isdecimal() and ":" in broker and not 0 < int(port) <= _LAST_PORT:
            raise BadReference(
                f"{source}: {port} is not a port",
                hint=f"ports are 1 to {_LAST_PORT}; Kafka's default is 9092",
            )
    for topic in topics:
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise BadReference(
                f"{source}: {topic!r} is not a valid topic name",
                hint="use letters, digits, dots, dashes and underscores; * matches any of them",
            )
    return Topics(brokers, topics)
