"""The facts in a DDL text; the parser is loaded with the first text.

Its library takes a tenth of the start of a command, and most commands read no DDL.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from schemaman.debezium.observation import StatedAttribute

Parts = tuple[str, ...]
"""The parts of a table's name."""


@dataclass(frozen=True, slots=True)
class DdlFacts:
    """The facts in a DDL text: renames of columns and tables, old name first, and stated attributes.

    `parsed` is False if the text could not be parsed, so that only renames were looked for. `renames_alone`:
    its statements rename tables, and change nothing else.
    """

    renames: tuple[tuple[str, str], ...] = ()
    tables: tuple[tuple[Parts, Parts], ...] = ()
    stated_attributes: tuple[StatedAttribute, ...] = ()
    parsed: bool = False
    renames_alone: bool = False


def read_ddl(ddl: str, connector: str) -> DdlFacts:
    """Read the facts in the statements of a DDL text, in order: see `parse_ddl`."""
    found: DdlFacts = import_module("schemaman.debezium.ddl.event_parser").parse_ddl(ddl, connector)
    return found
