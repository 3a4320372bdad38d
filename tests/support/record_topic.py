"""A process that records every record of a topic, one by one, beside another that begins at the other end.

It records the first one, says so, goes on when it is told to, and then says how many records it added: two
of them meet, however slow one is.
"""

from __future__ import annotations

import sys

from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.support.log_entries import covered, fold, said, schema


def main(path: str, offsets: range) -> None:
    added = 0
    with SqlStore.open(path, fold=fold) as store:
        registry = Registry(store, lambda: 0)
        for number, offset in enumerate(offsets):
            recorded = registry.record([said(schema("id"), offset)], [covered(offset, offset)])
            added += recorded.observations
            if number == 0:
                print("begun", flush=True)  # noqa: T201 - whoever started it waits for this line
                sys.stdin.readline()
    print(added)  # noqa: T201 - its answer


if __name__ == "__main__":
    main(sys.argv[1], range(*map(int, sys.argv[2:])))
