"""Faults that nobody foresaw: what is told of them, and what a person can do about one."""

from __future__ import annotations

REPORT = "please report it with the output of the same command and --debug"


def unforeseen(error: Exception) -> str:
    """What is told of a fault of our own."""
    return f"schemaman has a fault of its own: {type(error).__name__}: {error}"


def report_of(table: str) -> str:
    """What to do about one that has stopped a single table."""
    return f"please report it with the output of `schemaman plan {table} --debug`"
