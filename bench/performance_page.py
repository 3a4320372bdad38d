"""Writes the figures of the Spark engine into `docs/performance.md`.

python -m bench.cluster --mb 3000 --slow | tail -1 | python -m bench.performance_page
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- figures of bench.cluster: begin -->\n", "<!-- figures of bench.cluster: end -->\n"
FLOOR = "sum(crc32)"


def main() -> None:
    """Read one line of JSON from standard input, and replace the part of the page."""
    PAGE.write_text(
        replace_part(PAGE.read_text(encoding="utf-8"), build_table(json.load(sys.stdin))), "utf-8"
    )


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


def replace_part(page: str, table: str) -> str:
    """Replace what is between the two marks of a page. Raises `ValueError` if they are missing."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{table}{END}{after}"


if __name__ == "__main__":
    main()
