"""Hints for unexpected errors."""

from __future__ import annotations

REPORT = "please report it with the output of the same command and --debug"
REPORT_ONE_PLAN = "please report it with the output of `schemaman apply PLAN --debug` for that plan alone"
"""The hint for an unexpected error in one of several plans."""
