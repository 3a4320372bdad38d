"""Fixtures of the tests of commands."""

from tests.support.command_line import place, run

__all__ = ["place", "run"]
