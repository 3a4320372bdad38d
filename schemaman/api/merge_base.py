"""Finds the merge base of a branch: the commit whose files are the accepted state."""

from __future__ import annotations

import os

from schemaman.errors import UsageError
from schemaman.io import git

_BASE_VARIABLES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "SYSTEM_PULLREQUEST_TARGETBRANCH",
)
"""The branch that a pull request goes to.

Source: GitHub Actions, GitLab CI/CD and Azure Pipelines, predefined variables.
"""
_NO_BASELINE = "commit the files of schemaman snapshot, or check one table: --against orders@1"


def find_base(base: str | None) -> str:
    """Find the merge base with a branch, by default with the target of the pull request.

    Raises:
        UsageError: there is no repository, no such branch, or no common commit; the hint says what to fetch.
    """
    name = base or next((value for name in _BASE_VARIABLES if (value := os.environ.get(name))), None)
    try:
        return git.find_merge_base(branch=name and name.removeprefix("refs/heads/"))
    except UsageError as error:
        raise UsageError(f"there is no baseline: {error.message}", hint=error.hint or _NO_BASELINE) from error
