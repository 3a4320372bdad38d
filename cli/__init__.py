"""The command line."""

from schemaman_cli.cycle_collection import COLLECT as COLLECT
