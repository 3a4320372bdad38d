"""The consumers that `schemaman.toml` declares: who reads which tables and columns, and who owns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from schemaman.compat.verdicts import READERS, Reader
from schemaman.model.schema import Path, TableId
from schemaman.model.table_patterns import is_matched

KINDS: Mapping[str, tuple[Reader, ...]] = {
    "avro": ("avro-backward", "avro-forward"),
    **{reader: (reader,) for reader in READERS},
}
"""The readers of each kind of consumer; `avro` reads old data with a new schema, and the reverse."""

LANGUAGES = (
    "athena", "bigquery", "clickhouse", "databricks", "doris", "dremio", "drill", "druid", "duckdb", "exasol",
    "fabric", "hive", "materialize", "mysql", "oracle", "postgres", "presto", "redshift", "risingwave",
    "snowflake", "spark", "spark2", "sqlite", "starrocks", "teradata", "trino", "tsql",
)  # fmt: skip
"""The SQL dialects of `dialect`. Source: sqlglot, `dialects.dialect.Dialects`."""

_KEYS = ("kind", "tables", "columns", "owner", "contact", "sql", "dialect")


@dataclass(frozen=True, slots=True)
class Consumer:
    """A `[consumers.NAME]`: a reader of tables.

    `tables` are patterns over the name of a source table or any suffix of it; `columns` are patterns over
    dotted paths. Both select nothing besides the SQL if only `sql` is given: patterns of files, of
    `language`, which is the `dialect` of the settings.
    """

    name: str
    kind: str
    tables: tuple[str, ...] = ("*",)
    columns: tuple[str, ...] = ("*",)
    owner: str = ""
    contact: str = ""
    sql: tuple[str, ...] = ()
    language: str = ""

    @property
    def readers(self) -> tuple[Reader, ...]:
        """The readers whose verdicts concern this consumer."""
        return KINDS[self.kind]

    def declares(self, table: TableId, path: Path = ()) -> bool:
        """Whether the patterns select a column, or a table for the empty path."""
        if not any(is_matched(table, pattern) for pattern in self.tables):
            return False
        names = [".".join(path[:length]) for length in range(1, len(path) + 1)]
        return not path or any(fnmatchcase(name, pattern) for name in names for pattern in self.columns)


def read_consumers(value: object) -> tuple[Consumer, ...]:
    """Read the consumers of a settings file. Raises `ValueError` with the fault."""
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError("consumers are written as [consumers.NAME]")
    return tuple(_read_consumer(str(name), entry) for name, entry in value.items())


def _read_consumer(name: str, entry: Mapping[str, object]) -> Consumer:
    where = f"[consumers.{name}]"
    for key in entry:
        if key not in _KEYS:
            raise ValueError(f"{where} has an unknown key {key!r}; {_suggest(key, _KEYS)}")
    sql = _read_patterns(where, "sql", entry.get("sql", ()), may_be_empty="sql" not in entry)
    kind = _read_word(where, "kind", entry.get("kind", "sql" if sql else None), KINDS)
    every = () if sql and "tables" not in entry and "columns" not in entry else ("*",)
    return Consumer(
        name,
        kind,
        _read_patterns(where, "tables", entry.get("tables", every), may_be_empty="tables" not in entry),
        _read_patterns(where, "columns", entry.get("columns", ("*",))),
        _read_text(where, "owner", entry.get("owner", "")),
        _read_text(where, "contact", entry.get("contact", "")),
        sql,
        _read_word(where, "dialect", entry["dialect"], LANGUAGES) if "dialect" in entry else "",
    )


def _read_word(where: str, key: str, value: object, known: Mapping[str, object] | tuple[str, ...]) -> str:
    if isinstance(value, str) and value in known:
        return value
    if value is None:
        raise ValueError(f"{where} has no {key}; there are: {', '.join(known)}")
    raise ValueError(f"{where}: unknown {key} {value!r}; {_suggest(str(value), tuple(known))}")


def _read_patterns(where: str, key: str, value: object, *, may_be_empty: bool = False) -> tuple[str, ...]:
    """Read one pattern or several. Raises `ValueError` for no pattern and for an empty one."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(word, str) for word in listed):
        raise ValueError(f"{where}: {key} is a text or a list of texts, found {value!r}")
    if not all(word.strip() for word in listed) or not (listed or may_be_empty):
        raise ValueError(f"{where}: {key} has an empty pattern; write '*' for all, or omit {key}")
    return tuple(listed)


def _read_text(where: str, key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"{where}: {key} is a text, found {value!r}")


def _suggest(word: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(word, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
