"""Random MariaDB migrations: every form of the statements about tables, with hostile names and noise."""

from __future__ import annotations

from random import Random

TYPES = {
    "int": "INT", "INTEGER(3)": "INT", "int unsigned": "INT UNSIGNED", "bigint": "BIGINT",
    "int8": "BIGINT", "smallint zerofill": "SMALLINT UNSIGNED", "tinyint": "TINYINT", "boolean": "BOOLEAN",
    "mediumint": "INT", "varchar(20)": "VARCHAR(20)", "national varchar(7)": "VARCHAR(7)",
    "char(3)": "CHAR(3)", "character": "CHAR(1)", "decimal(10,2)": "DECIMAL(10,2)",
    "dec(5)": "DECIMAL(5,0)", "numeric": "DECIMAL(10,0)", "fixed(7,3) unsigned": "DECIMAL(7,3)",
    "float": "FLOAT", "double precision": "DOUBLE", "real": "DOUBLE", "date": "DATE", "time(3)": "TIME(3)",
    "datetime": "TIMESTAMP_NTZ(0)", "datetime(6)": "TIMESTAMP_NTZ(6)", "text": "STRING",
    "longtext character set utf8mb4": "STRING", "varchar(9) collate utf8mb4_bin": "VARCHAR(9)",
    "blob": "BINARY", "varbinary(5)": "BINARY(5)", "binary(4)": "BINARY(4)", "bit(5)": "BITS(5)",
    "bit": "BOOLEAN", "enum('x','it''s')": "ENUM('x','it''s')", "set('a','b;c')": "SET", "year": "INT",
}  # fmt: skip
"""Types as a statement spells them, and what they are."""

NAMES = ("id", "name", "`Na;me`", "`a``b`", "`select`", "Größe", "`it's`")
TABLES = ("orders", "`or;der`", "`drop table x`")
NOISE = ("", "-- a; comment 'it\n", "/* b; \" ' */ ", "\n\n", "SELECT 'x;', \"DROP TABLE a;\";\n", "# c;\n")
DEFAULTS = ("NULL", "1", "'a;b'", "'it''s'", "-3", "(1 + 2)", "'x'", '"b\\"c"')


class Migrations:
    """Statements for a database: many fit what earlier ones made, and the server refuses the rest."""

    def __init__(self, random: Random, database: str) -> None:
        self.random = random
        self.database = database

    def statement(self) -> str:
        """One statement."""
        make = self.random.choice([self._create, *[self._alter] * 5, self._other])
        return make()

    def script(self, statements: list[str]) -> str:
        """The statements as one script with comments, other statements and empty ones between."""
        return "".join(
            f"{self.random.choice(NOISE)}{s}{self.random.choice([';', ' ;'])}\n" for s in statements
        )

    def _table(self) -> str:
        name = self.random.choice(TABLES)
        return self.random.choice([name, f"{self.database}.{name}", f"`{self.database}` . {name}"])

    def _column(self) -> str:
        return self.random.choice(NAMES)

    def _create(self) -> str:
        random = self.random
        names = random.sample(NAMES, random.randint(1, 5))
        parts = [self._definition(name) for name in names]
        key = ", ".join(random.sample(names, random.randint(1, len(names))))
        extra = random.choice(
            ["", f"PRIMARY KEY ({key})", f"CONSTRAINT c1 PRIMARY KEY USING BTREE ({key})", f"KEY ({key})",
             f"UNIQUE KEY u1 ({key})", f"UNIQUE ({key})", "CHECK (1 > 0)", f"INDEX i ({key}) COMMENT 'a,b'"]
        )  # fmt: skip
        exists = random.choice(["", "IF NOT EXISTS ", ""])
        options = random.choice(["", " ENGINE=InnoDB", " COMMENT='it''s; x' DEFAULT CHARSET=utf8mb4"])
        if random.random() < 0.2:  # a valid one: the server drops the table although a wrong one fails
            body = "id int, name varchar(20), PRIMARY KEY (id)"
            return f"CREATE OR REPLACE TABLE {self._table()} ({body}){options}"
        body = ", ".join([*parts, *([extra] if extra else [])])
        return f"CREATE TABLE {exists}{self._table()} ({body}){options}"

    def _definition(self, name: str, type: str = "") -> str:
        random = self.random
        words = [name, type or random.choice(list(TYPES))]
        words += random.choice([[], [], ["NOT NULL"], ["NULL"]])
        if random.random() < 0.12:
            words += ["DEFAULT", random.choice(DEFAULTS)]
        words += random.choice(
            [[]] * 12 + [["PRIMARY KEY"], ["UNIQUE"], ["COMMENT 'x; ''y'"], ["INVISIBLE"], ["KEY"]]
        )
        return " ".join(words)

    def _alter(self) -> str:
        random = self.random
        head = random.choice(
            [
                "ALTER TABLE",
                "alter table",
                "ALTER ONLINE TABLE",
                "ALTER TABLE IF EXISTS",
                "ALTER IGNORE TABLE",
            ]
        )
        actions = [self._action() for _ in range(random.choice([1, 1, 1, 2, 3]))]
        actions += (
            random.choice([[], [], ["ALGORITHM=INPLACE"], ["LOCK=NONE"]]) if random.random() < 0.1 else []
        )
        return f"{head} {self._table()} {', '.join(actions)}"

    def _action(self) -> str:
        random, column, other = self.random, self._column(), self._column()
        place = random.choice(["", "", "", " FIRST", f" AFTER {other}"])
        word = random.choice(["", "COLUMN "])
        return random.choice(
            [
                f"ADD {word}{random.choice(['', 'IF NOT EXISTS '])}{self._definition(column)}{place}",
                f"ADD {word}({self._definition(column)}, {self._definition(other)})",
                f"DROP {word}{random.choice(['', 'IF EXISTS '])}{column}",
                f"MODIFY {word}{random.choice(['', 'IF EXISTS '])}{self._definition(column)}{place}",
                f"CHANGE {word}{column} {self._definition(other)}{place}",
                f"CHANGE {word}IF EXISTS {column} {self._definition(column)}",
                f"RENAME COLUMN {random.choice(['', 'IF EXISTS '])}{column} TO {other}",
                f"ALTER {word}IF EXISTS {column} SET DEFAULT {random.choice(DEFAULTS)}",
                f"ALTER {word}{column} DROP DEFAULT",
                f"ADD PRIMARY KEY ({column}, {other})",
                f"ADD CONSTRAINT PRIMARY KEY ({column})",
                "DROP PRIMARY KEY",
                "DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
                f"ADD UNIQUE INDEX u2 ({column})",
                f"ADD INDEX ({column})",
                "DROP INDEX u1",
                "DROP KEY IF EXISTS u2",
                f"COMMENT 'a, b; {random.randint(0, 9)}'",
                "ENGINE=InnoDB",
                "CONVERT TO CHARACTER SET utf8mb4",
                "DEFAULT CHARACTER SET utf8mb4",
                f"RENAME {random.choice(['TO', 'AS', ''])} {random.choice(TABLES)}",
                "FORCE",
            ]
        )

    def _other(self) -> str:
        random, column = self.random, self._column()
        return random.choice(
            [
                f"RENAME TABLE {self._table()} TO {random.choice(TABLES)}",
                f"DROP TABLE {random.choice(['', 'IF EXISTS '])}{self._table()}",
                f"CREATE INDEX i{random.randint(0, 99)} ON {self._table()} ({column})",
                f"CREATE UNIQUE INDEX u3 ON {self._table()} ({column})",
                f"DROP INDEX u3 ON {self._table()}",
                f"TRUNCATE {self._table()}",
                f"CREATE OR REPLACE VIEW {self.database}.v AS SELECT 1 AS a",
                "SET @a = 'DROP TABLE orders;'",
                f"ANALYZE TABLE {self._table()}",
            ]
        )
