"""Writes the figures of the Spark engine, or of long histories, into `docs/performance.md`.

python -m bench.cluster --mb 3000 --slow | tail -1 | python -m bench.performance_page
python -m bench.long_history | tail -1 | python -m bench.performance_page
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
FLOOR = "sum(crc32)"


def main() -> None:
    """Read one line of JSON from standard input, and replace the part of the page."""
    found = json.load(sys.stdin)
    is_long = "long_history" in found
    part, table = ("long_history", list_ratios(found)) if is_long else ("cluster", build_table(found))
    PAGE.write_text(replace_part(PAGE.read_text(encoding="utf-8"), part, table), "utf-8")


def list_ratios(found: Mapping[str, Any]) -> str:
    """Build the table from the last line of `bench.long_history`: each figure in a row, as it is named."""
    ratios: Mapping[str, float] = found["ratios"]
    rows = (
        f"| {name} | {value:,.0f} |" if value >= 100 else f"| {name} | {value:.2f} |"
        for name, value in ratios.items()
    )
    return "\n".join(["| | figure |", "|---|---:|", *rows, ""])


def build_table(found: Mapping[str, Any]) -> str:
    """Build the table from the last line of `bench.cluster`: ratios to the floor with as many files."""
    lines = [
        f"Spark {found['spark']}, `local[2]`, {found['mb']} MB of values, "
        f"ratios to `{FLOOR}` over the same files.",
        "",
        "| files | what | CPU seconds | CPU | time |",
        "|---:|---|---:|---:|---:|",
    ]
    figures: Mapping[str, Mapping[str, float]] = found["figures"]
    for title, one in figures.items():
        files, what = title.split(" files: ")
        floor = figures[f"{files} files: {FLOOR}"]
        cpu, wall = one["cpu"] / floor["cpu"], one["wall"] / floor["wall"]
        lines.append(f"| {files} | {what} | {one['cpu']:.1f} | {cpu:.1f} | {wall:.1f} |")
    return "\n".join([*lines, ""])


def replace_part(page: str, part: str, table: str) -> str:
    """Replace what is between the two marks of a page. Raises `ValueError` if they are missing."""
    begin, end = (f"<!-- figures of bench.{part}: {edge} -->\n" for edge in ("begin", "end"))
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}{table}{end}{after}"


if __name__ == "__main__":
    main()
