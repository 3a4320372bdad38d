"""What a person can do about an unexpected error."""

from __future__ import annotations

REPORT = "please report it with the output of the same command and --debug"
REPORT_ONE_PLAN = "please report it with the output of `schemaman apply PLAN --debug` for that plan alone"
"""The hint where an unexpected error has stopped one plan of several."""
