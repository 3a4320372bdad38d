"""A process that appends to a store until it is killed; it prints the end of the log after each append."""

from __future__ import annotations

import sys

from schemaman.stores.sql import SqlStore
from tests.orders import batch, fold


def main(path: str) -> None:
    print("ready", flush=True)  # noqa: T201
    store = SqlStore.open(path, create=True, fold=fold)
    end = store.end()
    while True:
        end = store.append(batch(end // 4), end)
        print(end, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
