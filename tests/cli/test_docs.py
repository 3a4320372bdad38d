"""The pages that are written by the product itself: every rule, and every command's help."""

from __future__ import annotations

import contextlib
import io

import pytest

from schemaman.compat.judge import RULES
from schemaman.compat.rules._left_out import LEFT_OUT
from schemaman_cli.main import main
from tests.support.checkout import ROOT
from tests.support.policy_pages import policy_page, projection_page

WRITTEN = "<!-- Written by `make bless`; change the source of what it shows. -->\n\n"
COMMANDS = tuple(
    sorted(
        p.stem.replace("_", "-")
        for p in (ROOT / "cli" / "commands").glob("*.py")
        if not p.stem.startswith("_")
    )
)


def printed(*words: str) -> str:
    """What the command line prints for people."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(output):
        assert main(words) == 0
        output.flush()
    return output.buffer.getvalue().decode().strip() + "\n"


def rules_page() -> str:
    """The catalogue and every rule's page."""
    names = RULES.names()
    pages = [printed("rules", name, "--format", "markdown") for name in names]
    families: dict[str, list[str]] = {}
    for rule in RULES.load_all():
        families.setdefault(rule.family or "", []).append(f"`{rule.name}`")
    listed = [f"- **{family}**: {', '.join(found)}" for family, found in sorted(families.items())]
    missing = [f"- `{name}`: {reason}." for name, reason in LEFT_OUT.items()]
    return "\n".join(
        [
            "# Rules\n\n" + WRITTEN + printed("rules", "--format", "markdown"),
            "## Families\n", *listed,
            "\n## Changes without a rule\n", *missing, "",
            *pages,
        ]
    )  # fmt: skip


def commands_page() -> str:
    """The help of every command."""
    pages = [f"## {name}\n\n```text\n{printed(name, '--help')}```\n" for name in COMMANDS]
    return "# Commands\n\n" + WRITTEN + f"```text\n{printed('--help')}```\n\n" + "\n".join(pages)


def test_readers_are_told_to_see_rows_that_no_batch_has_touched() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.*")]
    told = [page.read_text(encoding="utf-8") for page in pages if page.suffix in (".md", ".py", ".sql")]
    assert any("_row_deleted IS NOT TRUE" in text for text in told)
    assert not [text for text in told if "NOT _row_deleted" in text]


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("rules.md", rules_page),
        ("cli.md", commands_page),
        ("policy.md", lambda: policy_page(WRITTEN)),
        ("projection.md", lambda: projection_page(WRITTEN)),
    ],
)
def test_a_written_page_is_as_the_product_writes_it(
    name: str, page, bless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    path = ROOT / "docs" / name
    if bless:
        path.write_text(page(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page(), f"docs/{name} is stale: `make bless`"
