"""A process that appends to a store until it is killed; it prints the end of the log after each append."""

from __future__ import annotations

import sys

from schemaman.store.sql.store import SqlStore
from tests.support.log_entries import batch, fold


def main(path: str) -> None:
    _tell("ready")
    store = SqlStore.open(path, create=True, fold=fold)
    end = store.end()
    while True:
        end = store.append(batch(end // 4), end)
        _tell(end)


def _tell(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
