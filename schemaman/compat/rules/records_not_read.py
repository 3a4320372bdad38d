"""Records of a table could not be read, and no later one shows its structure.

What happened: The topic of the table has records that could not be decoded, and the table's newest readable
record is older. The schema registry may lack a schema, or the records may be damaged.

Why it hurts: These records may have another structure. A gate that could not read them has not seen the last
change, so it can neither pass nor fail: it says unknown.

What to do: List the records with their reasons, mend the cause, and ingest again. A later record that can be
read makes the finding go away, since it shows the structure.

Sources: Apache Kafka documentation, Connect, errors.tolerance; Confluent Schema Registry, error 40403.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, RejectedRecords, Rule, Transition, parse_verdicts
from schemaman.model.display import count_noun
from schemaman.model.shell import build_command

NAME = "records-not-read"
VERDICTS = parse_verdicts("D D D D D D D")
_WAITING = RejectedRecords("shop.public.orders", 0, 7, 2, "no schema with the id 5")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the unread records behind the newest readable one, once for each partition."""
    for unread in transition.unread_records:
        first = f"{unread.topic}[{unread.partition}]@{unread.offset}"
        command = build_command(("rejects", "--topic"), (), unread.topic)
        yield Finding(
            NAME,
            transition.table,
            (),
            "",
            first,
            f"{count_noun(unread.count, 'record')} of {unread.topic} could not be read, from {first} on: "
            "whether the structure changed there is not known",
            VERDICTS,
            fixes=(f"list them: {command}", "mend the cause, then ingest the topic again"),
            commands=(command,),
            evidence=(f"{first}: {unread.reason}",),
        )


RULE = Rule(
    name=NAME,
    title="records of the table could not be read",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("a INT", "a INT", fires=((),), unread_records=(_WAITING,)),
        Example("a INT", "a INT", why="all records could be read"),
        Example("a INT", "a BIGINT", why="the records show a change: integer-widened"),
    ),
)
