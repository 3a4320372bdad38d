"""A check skips a table that did not change: only where a check of its history has nothing to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from schemaman.api.accepted_snapshots import find_unchanged
from schemaman.compat.gate import CheckResult, check
from schemaman.compat.judge import RULES
from schemaman.compat.snapshots import Snapshot, build_file_name, from_text, take_snapshot, to_text
from schemaman.history.summary import summarize_history
from schemaman.history.versions import TableEvent, TableHistory
from schemaman.store.summary_json import make_stored_summary
from tests.support import chain
from tests.support.all_schemas import runs
from tests.support.histories import mark, told

ALL_RULES = RULES.load_all()


def list_accepted(history: TableHistory) -> Iterator[Snapshot]:
    """Every snapshot that somebody may have accepted, also one of a release without the count."""
    for version in history.versions:
        for revision in version.revisions:
            kept = take_snapshot(history, version, revision.number)
            yield from (kept, replace(kept, occurrences=None))


def is_skipped(history: TableHistory, accepted: Snapshot) -> bool:
    texts = {build_file_name(history.table): to_text(accepted)}
    return history.table in find_unchanged([make_stored_summary(history)], texts)


def check_against(history: TableHistory, accepted: Snapshot) -> CheckResult:
    return check((history,), {history.table: from_text(to_text(accepted))}, ALL_RULES)


@pytest.mark.parametrize("run", runs())
def test_a_skipped_table_has_no_findings(run: str) -> None:
    for history in chain.histories(run):
        skipped = 0
        for accepted in list_accepted(history):
            if is_skipped(history, accepted):
                result = check_against(history, accepted)
                assert (result.steps, result.findings, result.remarks) == (0, (), ())
                skipped += 1
        assert bool(skipped) == summarize_history(history).is_settled


def test_what_shows_in_no_structure_is_not_skipped() -> None:
    before = told("id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL, n INT, PRIMARY KEY (id)")
    after = replace(before, events=(TableEvent("truncated", mark(9), 1),))
    (kept, _), (accepted, _) = ((take_snapshot(h, h.latest), h) for h in (before, after))
    assert is_skipped(before, kept)
    assert not is_skipped(after, kept)
    assert [f.rule for f, _ in check_against(after, kept).findings] == ["table-truncated"]
    assert is_skipped(after, accepted)
    assert check_against(after, accepted).findings == ()


def test_a_phantom_is_no_accepted_structure() -> None:
    history = told("id INT", "id INT, n INT")
    last = replace(history.latest, status="phantom")
    ended = replace(history, versions=(*history.versions[:-1], last))
    assert not is_skipped(ended, take_snapshot(ended, last))
