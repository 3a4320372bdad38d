"""What differs between the databases' SQL, as far as statements about tables need it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Decimal,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    String,
    Time,
    Timestamp,
    Type,
)


@dataclass(frozen=True, slots=True)
class SqlGrammar:
    """The SQL of one connector's database.

    `case` is the case in which unquoted names are kept; `same_case` means that names which differ only in
    case are the same. `marks` are the opening quotes of names. `default_schema` is the schema of a name
    without one. `databases` are the names of the database in changesets of Liquibase.
    `line_words` begin statements that end with their line, as clients read them.
    `retype_nullable`: a new type without NOT NULL makes the column nullable. `redefine`: the new definition
    of a column replaces nullability and default. `inline_indexes`: INDEX and KEY
    are no names of columns. `key_shrinks`: a dropped column leaves the key, else the key
    is dropped with it. `micro_time`: times are always sent with microseconds. `small_numbers`: decimals
    without fraction are sent as integers. `as_text`: words of types that are sent as plain text, `as_signed`
    of unsigned types that are sent in 32 bits.
    """

    connector: str
    case: Literal["lower", "upper", "kept"]
    marks: str
    same_case: bool = False
    backslashes: bool = False
    hash_comments: bool = False
    nested_comments: bool = False
    dollar_quotes: bool = False
    default_schema: str = ""
    line_words: tuple[str, ...] = ()
    separators: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    optional_semicolons: bool = False
    slash_ends_body: bool = False
    retype_nullable: bool = False
    redefine: bool = False
    inline_indexes: bool = False
    key_shrinks: bool = False
    micro_time: bool = False
    small_numbers: bool = False
    as_text: tuple[str, ...] = ()
    as_signed: tuple[str, ...] = ()

    def fold_name(self, name: str) -> str:
        """Return an unquoted name in the case in which the database keeps it."""
        return {"lower": name.lower(), "upper": name.upper(), "kept": name}[self.case]

    def is_same_name(self, one: str, other: str) -> bool:
        """Return whether two kept names are one name."""
        return one == other or (self.same_case and one.lower() == other.lower())

    def find_emitted_type(self, type: Type, source_type: str | None = None) -> Type:
        """Find the type of a column in events, in the default modes of Debezium.

        Source: Debezium JdbcValueConverters and the value converters of each connector:
        `time.precision.mode=adaptive`, `decimal.handling.mode=precise`, `bigint.unsigned.handling.mode=long`.
        """
        word = re.split(r"[ (]", (source_type or "").lower())[0]
        if word in self.as_text:
            return String()
        if word == "money" and not isinstance(type, Decimal):
            return Decimal(38, 2)
        match type:
            case Floating(32) if self.redefine and "," in (source_type or ""):
                return Floating(64)  # FLOAT(10,2) of MySQL
            case Floating(64) if self.redefine and word == "real":
                return Floating(32)
            case Array(Floating(32), False) if word == "vector" and self.dollar_quotes:
                return Array(Floating(64), nullable=False)
            case Integer(32) if word in self.as_signed:
                return Integer(32)
            case Integer(bits, signed):
                return Integer(max(bits, 16) if signed else min(max(bits * 2, 16), 64))
            case String():
                return String()
            case Binary():
                return Binary()
            case Bits(1):
                return Boolean()
            case Decimal(precision, 0) if self.small_numbers:
                fitting = (bits for digits, bits in _INTEGER_DIGITS if precision <= digits)
                return next((Integer(bits) for bits in fitting), type)
            case Time(precision, zoned):
                return Time(6 if zoned or self.micro_time else _find_unit(precision), zoned)
            case Timestamp(precision, zoned):
                return Timestamp(6 if zoned else _find_unit(precision), zoned)
            case Interval():
                return Interval("DAY TO SECOND")
            case Map():
                return Json()
            case Array(element, nullable):
                return Array(self.find_emitted_type(element), nullable)
            case _:
                return type


_INTEGER_DIGITS = ((2, 8), (4, 16), (9, 32), (18, 64))


def _find_unit(precision: int) -> int:
    """Find the digits of the unit that holds a precision: milliseconds, microseconds or nanoseconds."""
    return next((digits for digits in (3, 6) if precision <= digits), 9)


_POSTGRESQL = SqlGrammar(
    "postgresql",
    "lower",
    '"',
    nested_comments=True,
    dollar_quotes=True,
    default_schema="public",
    databases=("postgresql", "postgres"),
)
_AS_SIGNED = ("mediumint", "middleint", "int3", "integer", "int4")
_MYSQL = SqlGrammar(
    "mysql", "kept", "`", same_case=True, backslashes=True, hash_comments=True, redefine=True,
    inline_indexes=True, key_shrinks=True, micro_time=True, line_words=("USE", "SOURCE"),
    as_signed=_AS_SIGNED, databases=("mysql",),
)  # fmt: skip
_MARIADB = SqlGrammar(
    "mariadb", "kept", "`", same_case=True, backslashes=True, hash_comments=True, redefine=True,
    inline_indexes=True, key_shrinks=True, micro_time=True, line_words=("USE", "SOURCE"),
    as_signed=_AS_SIGNED, databases=("mariadb", "mysql"),
)  # fmt: skip
_ORACLE = SqlGrammar(
    "oracle", "upper", '"', small_numbers=True, slash_ends_body=True, separators=("/",),
    line_words=("SET", "PROMPT", "SPOOL", "WHENEVER", "REM", "REMARK", "DEFINE", "UNDEFINE", "SHOW", "EXIT",
                "QUIT", "CONNECT", "COLUMN", "CLEAR", "TTITLE", "PAUSE"),
    databases=("oracle",),
)  # fmt: skip
_SQLSERVER = SqlGrammar(
    "sqlserver", "kept", '"[', same_case=True, default_schema="dbo", separators=("GO",),
    optional_semicolons=True, retype_nullable=True, inline_indexes=True, as_text=("uniqueidentifier",),
    databases=("mssql", "sqlserver"),
)  # fmt: skip
_DB2 = SqlGrammar("db2", "upper", '"', databases=("db2", "db2z"), line_words=("CONNECT",), separators=("@",))

GRAMMARS: Mapping[str, SqlGrammar] = {
    grammar.connector: grammar for grammar in (_POSTGRESQL, _MYSQL, _MARIADB, _ORACLE, _SQLSERVER, _DB2)
}
"""The grammars by the name of their connector.

Sources: the SQL references of PostgreSQL, MySQL, MariaDB, Oracle Database, SQL Server and Db2, lexical
structure and identifiers.
"""

ALIASES: Mapping[str, str] = {"postgres": "postgresql", "tsql": "sqlserver"}
"""Other words for a connector's SQL."""


def list_sql_names() -> tuple[str, ...]:
    """List the words that name a grammar."""
    return (*GRAMMARS, *ALIASES)


def find_grammar(word: str) -> SqlGrammar | None:
    """Find the grammar of a connector or of an alias; None for an unknown word."""
    return GRAMMARS.get(ALIASES.get(word, word))
