"""The effect of a TRUNCATE of the source on the lake table, by the policy.

Law: a TRUNCATE empties a table only under the policy level `auto`; an ignored one is reported.
"""

from __future__ import annotations

from typing import Literal, assert_never

from schemaman.migration.policy import Policy
from schemaman.spark.streaming.sink_table import SinkTable

TRUNCATED = "the source table was emptied (TRUNCATE)"
"""How the reason begins of records that the policy keeps out of a table because of one."""

TruncateAction = Literal["empty", "leave", "set-aside", "stop"]


class TableTruncated(Exception):
    """A TRUNCATE that the policy does not allow; the message is the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def decide_truncate(policy: Policy, sink_table: SinkTable) -> tuple[TruncateAction, str]:
    """Decide the effect of a TRUNCATE on a lake table, with the reason.

    `empty`: its rows are deleted. `leave`: nothing happens. `set-aside`: only its record waits. `stop`: all
    records wait, also those of later batches, until the policy changes. A TRUNCATE has no plan, so that there
    is nothing to approve.
    """
    ruling = policy.find_ruling(
        "truncate", str(sink_table.table), sink_table.target.name, sink_table.target.format
    )
    why = f"{TRUNCATED}: {ruling.why}"
    match ruling.level:
        case "auto":
            return "empty", why
        case "ignore":
            return "leave", f"{why}; its rows stay"
        case "quarantine":
            return "set-aside", why
        case "block" | "approve":
            say = 'write truncate = "auto" into a [[policy]] for this table, or "ignore" to keep its rows'
            return "stop", f"{why}; {say}"
        case _:
            assert_never(ruling.level)
