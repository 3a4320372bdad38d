"""Faults that nobody foresaw: what is told of them, and what a person can do about one."""

from __future__ import annotations

from schemaman.errors import message_of

REPORT = "please report it with the output of the same command and --debug"
ALONE = "please report it with the output of `schemaman apply PLAN --debug` for that plan alone"
"""What to do about a fault that has stopped one plan of several."""


def unforeseen(error: Exception) -> str:
    """What is told of a fault of our own."""
    return message_of(error)


def report_of(table: str) -> str:
    """What to do about one that has stopped a single table."""
    return f"please report it with the output of `schemaman plan {table} --debug`"
