"""A process that records every record of a topic, one by one, beside another that begins at the other end.

It says when it is ready, begins when it is told to, and then says how many records it added.
"""

from __future__ import annotations

import sys

from schemaman.registry import Registry
from schemaman.stores.sql import SqlStore
from tests.orders import covered, fold, said, schema


def main(path: str, offsets: range) -> None:
    added = 0
    with SqlStore.open(path, fold=fold) as store:
        registry = Registry(store, lambda: 0)
        print("ready", flush=True)  # noqa: T201
        sys.stdin.readline()
        for offset in offsets:
            recorded = registry.record([said(schema("id"), offset)], [covered(offset, offset)])
            added += recorded.observations
    print(added)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], range(*map(int, sys.argv[2:])))
