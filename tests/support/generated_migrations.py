"""Random PostgreSQL migrations: every form of the statements about tables, with hostile names and noise."""

from __future__ import annotations

from random import Random

TYPES = {
    "integer": "INT", "int8": "BIGINT", "smallint": "SMALLINT", "boolean": "BOOLEAN", "text": "STRING",
    "varchar(20)": "VARCHAR(20)", "character varying": "STRING", "char(3)": "CHAR(3)",
    "character": "CHAR(1)", "numeric(10,2)": "DECIMAL(10,2)", "DECIMAL(5)": "DECIMAL(5,0)",
    "numeric": "NUMERIC", "real": "FLOAT", "double precision": "DOUBLE", "float(20)": "FLOAT",
    "date": "DATE", "time(3)": "TIME(3)", "time": "TIME(6)", "timestamp": "TIMESTAMP_NTZ(6)",
    "timestamp(3) without time zone": "TIMESTAMP_NTZ(3)", "timestamptz": "TIMESTAMP(6)",
    "timestamp(0) with time zone": "TIMESTAMP(0)", "uuid": "UUID", "jsonb": "JSON", "bytea": "BINARY",
    "int[]": "ARRAY<INT>", "text[][3]": "ARRAY<STRING>", "varbit(5)": "BITS(5)", "bit": "BOOLEAN",
    "interval": "INTERVAL", "xml": "XML", "inet": "STRING", "pg_catalog.int4": "INT",
    '"varchar"(7)': "VARCHAR(7)",
}  # fmt: skip
"""Types as a statement spells them, and what they are."""

CATALOGUE = {
    "integer": "INT", "bigint": "BIGINT", "smallint": "SMALLINT", "boolean": "BOOLEAN", "text": "STRING",
    "character varying(20)": "VARCHAR(20)", "character varying(7)": "VARCHAR(7)",
    "character varying": "STRING", "character(3)": "CHAR(3)", "character(1)": "CHAR(1)",
    "numeric(10,2)": "DECIMAL(10,2)", "inet": "STRING", "numeric(5,0)": "DECIMAL(5,0)",
    "numeric": "NUMERIC", "real": "FLOAT", "double precision": "DOUBLE", "date": "DATE",
    "time(3) without time zone": "TIME(3)", "time without time zone": "TIME(6)",
    "timestamp without time zone": "TIMESTAMP_NTZ(6)", "timestamp(3) without time zone": "TIMESTAMP_NTZ(3)",
    "timestamp with time zone": "TIMESTAMP(6)", "timestamp(0) with time zone": "TIMESTAMP(0)",
    "uuid": "UUID", "jsonb": "JSON", "bytea": "BINARY", "integer[]": "ARRAY<INT>",
    "text[]": "ARRAY<STRING>", "xml": "XML", "bit varying(5)": "BITS(5)", "bit(1)": "BOOLEAN",
    "interval": "INTERVAL",
}  # fmt: skip
"""Types as `format_type` of PostgreSQL prints them, and what they are."""

NAMES = (
    "id",
    "name",
    "total",
    '"Na;me"',
    '"a""b"',
    '"select"',
    "Größe",
    '"$(x)"',
    "note",
    '"it\'s"',
    "added",
    "key",
)
TABLES = ("orders", '"Or;der"', "customers", '"drop table x"')
NOISE = (
    "",
    "-- a; comment 'it\n",
    '/* b; /* nested " */ $$ */ ',
    "\n\n",
    "SELECT 'x;', $q$ DROP TABLE a; $q$;\n",
)
DEFAULTS = ("NULL", "now()", "'a;b'", "E'it\\'s'", "$d$x;y$d$", "(1 + 2)", "1::int", "-3", "'{}'")


class Migrations:
    """Statements for a schema: many fit what earlier ones made, and the server refuses the rest."""

    def __init__(self, random: Random, schema: str) -> None:
        self.random = random
        self.schema = schema

    def statement(self) -> str:
        """One statement."""
        make = self.random.choice(
            [self._create, self._alter, self._alter, self._alter, self._alter, self._alter, self._other]
        )
        return make()

    def script(self, statements: list[str]) -> str:
        """The statements as one script with comments, other statements and empty ones between."""
        return "".join(
            f"{self.random.choice(NOISE)}{s}{self.random.choice([';', ' ;', ';;'])}\n" for s in statements
        )

    def _table(self) -> str:
        return f"{self.schema}.{self.random.choice(TABLES)}"

    def _column(self) -> str:
        return self.random.choice(NAMES)

    def _create(self) -> str:
        names = self.random.sample(NAMES, self.random.randint(1, 5))
        parts = [self._definition(name) for name in names]
        key = ", ".join(self.random.sample(names, self.random.randint(1, len(names))))
        extra = self.random.choice(
            [
                "",
                f"PRIMARY KEY ({key})",
                f"CONSTRAINT c1 PRIMARY KEY ({key})",
                f"UNIQUE ({key})",
                "CHECK (1 > 0)",
            ]
        )
        exists = self.random.choice(["", "IF NOT EXISTS "])
        return f"CREATE TABLE {exists}{self._table()} ({', '.join([*parts, *([extra] if extra else [])])})"

    def _definition(self, name: str) -> str:
        type = self.random.choice([*TYPES, "serial"])
        words = [name, type]
        words += (
            self.random.choice([[], ["NOT NULL"], ["NULL"], ["CONSTRAINT n1 NOT NULL"]])
            if type != "serial"
            else []
        )
        if type != "serial" and self.random.random() < 0.4:
            words += ["DEFAULT", self.random.choice(DEFAULTS)]
        words += self.random.choice(
            [[], [], [], ["PRIMARY KEY"], ["UNIQUE"], ['COLLATE "C"'], ["CHECK (true)"]]
        )
        return " ".join(words)

    def _alter(self) -> str:
        actions = [self._action() for _ in range(self.random.choice([1, 1, 1, 2, 3]))]
        head = self.random.choice(["ALTER TABLE", "alter table", "ALTER TABLE IF EXISTS", "ALTER TABLE ONLY"])
        if self.random.random() < 0.25:
            old, new = self._column(), self._column()
            return f"{head} {self._table()} RENAME {self.random.choice(['', 'COLUMN '])}{old} TO {new}"
        return f"{head} {self._table()} {', '.join(actions)}"

    def _action(self) -> str:
        column, random = self._column(), self.random
        alter = f"ALTER {random.choice(['', 'COLUMN '])}{column}"
        type = random.choice(list(TYPES))
        return random.choice(
            [
                f"ADD {random.choice(['', 'COLUMN ', 'COLUMN IF NOT EXISTS '])}{self._definition(column)}",
                f"ADD COLUMN {self._definition(column)}",
                f"DROP COLUMN {random.choice(['', 'IF EXISTS '])}{column}{random.choice(['', ' CASCADE'])}",
                f"{alter} {random.choice(['TYPE', 'SET DATA TYPE'])} {type} USING NULL",
                f"{alter} SET NOT NULL",
                f"{alter} DROP NOT NULL",
                f"{alter} SET DEFAULT {random.choice(DEFAULTS)}",
                f"{alter} DROP DEFAULT",
                f"ADD PRIMARY KEY ({column})",
                f"ADD CONSTRAINT c2 PRIMARY KEY ({column})",
                f"DROP CONSTRAINT {random.choice(['c1', 'c2', 'orders_pkey', 'customers_pkey'])}",
                f"{alter} SET STATISTICS 100",
                "OWNER TO CURRENT_USER",
                "SET (fillfactor = 70)",
            ]
        )

    def _other(self) -> str:
        column, random = self._column(), self.random
        return random.choice(
            [
                f"ALTER TABLE {self._table()} RENAME TO {random.choice(TABLES)}",
                f"DROP TABLE {random.choice(['', 'IF EXISTS '])}{self._table()} CASCADE",
                f"COMMENT ON COLUMN {self._table()}.{column} IS 'it''s; a comment'",
                f"CREATE INDEX ON {self._table()} ({column})",
                f"GRANT SELECT ON {self._table()} TO PUBLIC",
                f"TRUNCATE {self._table()}",
                f"CREATE OR REPLACE FUNCTION {self.schema}.f() RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql",
                f"CREATE OR REPLACE VIEW {self.schema}.v AS SELECT 1 AS a",
                "SET LOCAL work_mem = '4MB'",
            ]
        )
