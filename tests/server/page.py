"""The tables of docs/registry-api.md, made from the endpoints, the codes and the tests themselves."""

from __future__ import annotations

import re
from pathlib import Path

from schemaman.server.routes import ROUTED
from schemaman.server.table_endpoints import OWN
from schemaman.subjects.faults import FAULTS

_FOLDER = Path(__file__).parent
_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)


def list_tests(pattern: str) -> list[str]:
    """The tests in whose text a pattern occurs, as `file::test`."""
    found = []
    for path in sorted(_FOLDER.glob("test_*.py")):
        parts = _TEST.split(path.read_text(encoding="utf-8"))
        found += [
            f"{path.stem}::{name}"
            for name, text in zip(parts[1::2], parts[2::2], strict=True)
            if re.search(pattern, text)
        ]
    return found


def find_tests_of(method: str, path: str) -> list[str]:
    """The tests that ask an endpoint with a plain request, or register with the helper."""
    words = re.escape(path)
    words = re.sub(r"\\\{\w+\\\}", r"[^\"/?]*", words)
    asked = rf'ask(?:ed)?\((?:"[^"]*", )?"{method}", f?"{words}/?(?:\?[^"]*)?"'
    if (method, path) == ("POST", "/subjects/{subject}/versions"):
        asked = rf"{asked}|register\(ask"
    return list_tests(asked)


def tables() -> str:
    """The table of endpoints and the table of codes."""
    lines = ["| method | path | status | first test |", "|---|---|---|---|"]
    for endpoint in ROUTED:
        tests = find_tests_of(endpoint.method, endpoint.path)
        status = f"deviates: {endpoint.note}" if endpoint.note else "as Confluent's"
        status = "schemaman's own" if endpoint.path.startswith(OWN) else status
        lines.append(f"| {endpoint.method} | `{endpoint.path}` | {status} | {tests[0] if tests else '—'} |")
    lines += ["", "| code | meaning | first test |", "|---|---|---|"]
    for code, meaning in FAULTS.items():
        tests = list_tests(rf"\b{code}\b")
        lines.append(f"| {code} | {meaning} | {tests[0] if tests else '—'} |")
    return "\n".join(lines) + "\n"
