"""What waits in a quarantine is told with its age, its reason and the command that settles it."""

from __future__ import annotations

import pytest

from schemaman.sink.waiting_records import WaitingRecords, fill_commands, find_command, read_waiting


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("needs approval: add-columns: ALTER TABLE `t` …", "schemaman approve PLAN_FILE"),
        ("not confirmed: run `schemaman decide confirm t key`, or wait", "schemaman decide confirm t key"),
        ("a value was not sent because it did not change", ""),
    ],
)  # fmt: skip
def test_the_command_is_the_one_that_the_reason_names(reason: str, command: str) -> None:
    assert find_command(reason) == command


def test_records_tell_since_when_they_wait() -> None:
    rows = [
        ("", "", 1, None, "no schema"),
        ("ice.raw.t", "('main', 'srv', '', 'public', 't')", 3, 1_700_000_000_000, "it waits"),
    ]
    unknown, known = read_waiting(rows)
    assert known == WaitingRecords("ice.raw.t", "srv.public.t", 3, 1_700_000_000_000, "it waits")
    assert str(known).startswith(
        "3 records wait in quarantine for ice.raw.t, the oldest since 2023-11-14 22:13:20Z: it waits; records"
    )
    assert str(unknown).startswith("1 record waits in quarantine, not decoded: no schema; ")


def test_the_commands_of_a_reason_name_the_table() -> None:
    reason = "it waits for `schemaman decide confirm TABLE key`; ALTER TABLE t, and `schemaman plan TABLE`"
    assert fill_commands(reason, "srv.shop.my table") == (
        "it waits for `schemaman decide confirm 'srv.shop.my table' key`; ALTER TABLE t, and "
        "`schemaman plan 'srv.shop.my table'`"
    )
    assert fill_commands(reason, "") == reason
