"""A pytest plug-in: the fixture `assert_compatible` checks schema files in a project's own tests.

The entry point `pytest11` loads this module in every run of pytest. It loads nothing else until a test uses
the fixture.

    def test_orders(assert_compatible):
        assert_compatible("schemas/orders.avsc", against="git:main", level="FULL")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import pytest


class AssertCompatible(Protocol):
    """The function that the fixture `assert_compatible` gives."""

    def __call__(
        self,
        *places: str,
        against: str | None = None,
        base: str | None = None,
        level: str | None = None,
        fail_on: str | None = None,
    ) -> None:
        """Check schema files as `schemaman check` does; without a place the folder of snapshots.

        `against` is `git:BRANCH` or the REF of one file, such as `file:old.avsc`; `base` names a branch.

        Raises:
            AssertionError: the check fails; the message is its report.
            SchemamanError: the check is impossible, as for the command.
        """


@pytest.fixture
def assert_compatible() -> AssertCompatible:
    """A function that fails the test if schema files break a reader; arguments as `schemaman check`."""
    return _assert_compatible


def _assert_compatible(
    *places: str,
    against: str | None = None,
    base: str | None = None,
    level: str | None = None,
    fail_on: str | None = None,
) -> None:
    __tracebackhide__ = True
    files: Any = import_module("schemaman.api.checking_files")
    gate: Any = import_module("schemaman.api.gate_settings")
    branch: Any = import_module("schemaman.api.checking_branch")
    workspace = import_module("schemaman.api.workspace").Workspace(
        import_module("schemaman.api.settings_files").load_settings({"fail_on": fail_on})
    )
    if len(places) == 1 and against is not None and not gate.is_branch(against):
        new = places[0] if gate.is_outside_history(places[0]) else f"file:{places[0]}"
        result = files.check_schemas(workspace, new, against, level=level)
    else:
        chosen = base if against is None else against.removeprefix("git:")
        result = branch.check_branch(workspace, places, base=chosen, level=level)
    if not result.passed:
        pytest.fail(f"schemaman check failed\n{result}", pytrace=False)
