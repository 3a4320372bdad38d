"""What the gate reads in a migration is what MariaDB made of it: names, types, NULL and keys of all tables.

The outcomes are recorded from a real server, MariaDB 10.11 of Debian 12 (`tests/support/record_mariadb.py`).
"""

from __future__ import annotations

import json
import re

from schemaman.debezium.ddl.migrations.grammar import GRAMMARS
from schemaman.debezium.ddl.migrations.script import split_script
from schemaman.debezium.ddl.migrations.statement_applier import StatementApplier
from schemaman.model.ddl import format_type
from tests.support.checkout import FIXTURES

CATALOGUE = {
    "int": "INT", "int unsigned": "INT UNSIGNED", "mediumint": "INT",
    "smallint unsigned zerofill": "SMALLINT UNSIGNED", "tinyint(1)": "BOOLEAN", "double": "DOUBLE",
    "float": "FLOAT", "date": "DATE", "datetime": "TIMESTAMP_NTZ(0)", "datetime(6)": "TIMESTAMP_NTZ(6)",
    "text": "STRING", "longtext": "STRING", "blob": "BINARY", "varbinary(5)": "BINARY(5)",
    "bit(5)": "BITS(5)", "bit(1)": "BOOLEAN", "year": "INT", "decimal(7,3) unsigned": "DECIMAL(7,3)",
    "enum('x','it''s')": "ENUM('x','it\\'s')", "set('a','b;c')": "SET('a','b;c')",
}  # fmt: skip
"""Types as `information_schema` prints them, and what they are; others are printed alike."""

_WIDTH = re.compile(r"^((?:big|medium|small|tiny)?int|year)\((?!1\))\d+\)")


def test_a_migration_is_read_as_the_server_ran_it() -> None:
    lines = (FIXTURES / "migrations" / "mariadb.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        recorded = json.loads(line)
        applier = StatementApplier(GRAMMARS["mariadb"], ())
        for part in split_script(recorded["script"], GRAMMARS["mariadb"]):
            applier.apply(part, "V1.sql")
        assert applier.unread == [], (number, recorded["script"])
        found = {
            t.id.table: (
                [[c.name, format_type(c.type), c.nullable] for c in t.schema.columns], list(t.primary)
            )
            for t in applier.tables.values()
        }  # fmt: skip
        expected = {
            name: ([[c, read_type(type), null] for c, type, null in table["columns"]], table["key"])
            for name, table in recorded["tables"].items()
        }
        assert found == expected, (number, recorded["script"])
    assert len(lines) == 60


def read_type(text: str) -> str:
    """The type of the model for one of the catalogue, whose widths of integers say nothing."""
    plain = _WIDTH.sub(r"\1", text)
    return CATALOGUE.get(plain, plain.upper())
