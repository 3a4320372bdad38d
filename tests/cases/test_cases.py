"""`docs/cases.md`: each situation that a stream can be in, with the tests and stories that hold it.

A test says with `@pytest.mark.case(12)` which situations it shows, a story with `cases: 12` in its front
matter. `--bless` writes the last column anew.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.support.checkout import ROOT, STORIES

PAGE = ROOT / "docs" / "cases.md"
CASES = range(1, 72)
_ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|(.*)\|$", re.MULTILINE)


def marked() -> Iterator[tuple[int, str]]:
    """Each case with a test that shows it, in the order of files and lines."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT).as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for number in _cases_of(node):
                    yield number, f"[{node.name.removeprefix('test_').replace('_', ' ')}](../{place})"


def _cases_of(function: ast.FunctionDef) -> Iterator[int]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.case":
            yield from (ast.literal_eval(argument) for argument in decorator.args)


def told() -> Iterator[tuple[int, str]]:
    """Each case with a story that tells it."""
    for path in sorted(STORIES.glob("*.md")):
        found = re.search(r"^cases: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        for number in found[1].split(",") if found else ():
            yield int(number), f"[story: {path.stem.replace('-', ' ')}](../fixtures/stories/{path.name})"


def holders() -> dict[int, list[str]]:
    """What holds each case."""
    found = defaultdict(list)
    for number, holder in (*marked(), *told()):
        found[number].append(holder)
    return found


def test_every_case_is_held(bless: bool) -> None:
    held = holders()
    assert sorted(held) == list(CASES)
    text = PAGE.read_text(encoding="utf-8")
    filled = _ROW.sub(lambda m: f"| {m[1]} | {m[2]} | {m[3]} | {'<br>'.join(held[int(m[1])])} |", text)
    if bless:
        PAGE.write_text(filled, encoding="utf-8")
    assert filled == PAGE.read_text(encoding="utf-8"), "the table is stale: `make bless`"


def test_the_page_names_every_case_once() -> None:
    rows = [int(m[1]) for m in _ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    assert rows == list(CASES)
