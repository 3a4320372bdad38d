"""Compares two results of `python -m bench`: `python -m bench.compare OLD NEW`."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(old: str, new: str) -> None:
    """Print every ratio of both results, and the difference in percent."""
    before, after = (_ratios(Path(path)) for path in (old, new))
    for name in sorted({*before, *after}):
        then, now = before.get(name), after.get(name)
        difference = f"{now / then - 1:+.0%}" if then and now else "new" if then is None else "gone"
        print(f"{then or 0:8.2f}  {now or 0:8.2f}  {difference:>6}  {name}")


def _ratios(path: Path) -> dict[str, float]:
    return dict(json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["ratios"])


if __name__ == "__main__":
    main(*sys.argv[1:])
