"""`python -m tests.lake_state [RECORDING …]`: what last states have, and what the events of each run lost."""

from __future__ import annotations

import sys

from tests.lake_state.fold import fold
from tests.lake_state.losses import expected
from tests.support.checkout import CAPTURES

KINDS = ("postgres", "mariadb")


def main(names: list[str]) -> None:
    """Print a line per recording, and per table where recordings are named."""
    print(f"{'recording':34} {'events':>6} {'tables':>6} {'rows':>6} {'cells':>7} {'losses':>6}")
    for folder in sorted(folder for kind in KINDS for folder in (CAPTURES / kind).iterdir()):
        if names and folder.name not in names:
            continue
        tables = fold(folder).tables.values()
        events, rows = sum(t.events for t in tables), sum(len(t.rows) for t in tables)
        cells, lost = sum(t.cells for t in tables), len(expected(folder.name))
        print(f"{folder.name:34} {events:6} {len(tables):6} {rows:6} {cells:7} {lost:6}")
        for table in tables if names else ():
            called = ".".join(table.name) + (f" (life {table.life})" if table.life > 1 else "")
            ended = "  gone" if table.ended else ""
            counts = f"{table.events:6} {'':6} {len(table.rows):6} {table.cells:7}"
            print(f"  {called:32} {counts}  key ({', '.join(table.key)}){ended}")
        for loss in expected(folder.name) if names else ():
            print(f"  - {loss.table} {loss.column} {loss.what} × {loss.count}: {loss.reason}")


main(sys.argv[1:])
