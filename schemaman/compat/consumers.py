"""The consumers that `schemaman.toml` declares: who reads which tables and columns, and who owns it.

Verdicts for a consumer are derived from the verdicts of a finding; nothing stores them twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase

from schemaman.compat.impact.graph import ConsumerUse, ImpactGraph
from schemaman.compat.judge import READERS, SEVERITIES, Finding, Reader, Severity, Verdict
from schemaman.model.schema import Path, TableId, TableSchema, walk_fields
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

SchemaReader = Callable[[], Sequence[TableSchema]]
"""Reads the accepted and the present schema of a table; empty if they are not known."""

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


@dataclass(frozen=True, slots=True)
class AffectedConsumer:
    """A consumer that a finding concerns, with the worst verdict of its readers.

    `uses` show where its SQL reads the column. `is_certain` is false if only a statement that could not be
    read names the table: the verdict is then at most `danger`.
    """

    consumer: Consumer
    verdict: Verdict
    uses: tuple[ConsumerUse, ...] = ()
    is_certain: bool = True

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners of what breaks, as the uses or the settings name them."""
        named = [use.owner for use in self.uses if use.owner]
        return tuple(dict.fromkeys(named or [self.consumer.owner])) if named or self.consumer.owner else ()


@dataclass(frozen=True, slots=True)
class Readership:
    """All declared consumers, and what their SQL reads.

    `avro` are the readers that a compatibility level protects; None without a level. A level alone decides
    about Avro.
    """

    consumers: tuple[Consumer, ...] = ()
    graph: ImpactGraph = field(default_factory=ImpactGraph)
    avro: tuple[Reader, ...] | None = None

    def list_affected(self, finding: Finding) -> tuple[AffectedConsumer, ...]:
        """List the consumers that a finding concerns, the worst verdict first."""
        found = tuple(self._find_affected(finding))
        return tuple(sorted(found, key=lambda one: (-SEVERITIES.index(one.verdict), one.consumer.name)))

    def list_remarks(self, tables: Mapping[TableId, SchemaReader]) -> tuple[str, ...]:
        """List the patterns of consumers that select nothing: a misspelt name hides findings."""
        return tuple(text for c in self.consumers for text in _list_remarks(c, tables)) if tables else ()

    def rate(self, finding: Finding) -> Severity:
        """Return the worst verdict of a finding among the consumers; `off` if it concerns none."""
        verdicts: list[Severity] = [one.verdict for one in self._find_affected(finding)]
        return max(verdicts, key=SEVERITIES.index, default="off")

    def _find_affected(self, finding: Finding) -> Iterator[AffectedConsumer]:
        paths = tuple(dict.fromkeys(f.path for f in (finding, *finding.claimed)))
        for consumer in self.consumers:
            verdict = self._find_verdict(consumer, finding)
            if verdict is None:
                continue
            uses = tuple(
                dict.fromkeys(
                    use for path in paths for use in self.graph.find_uses(str(finding.table), path)
                    if use.consumer == consumer.name
                )
            )  # fmt: skip
            if uses or any(consumer.declares(finding.table, path) for path in paths):
                yield AffectedConsumer(consumer, verdict, uses)
            elif any(self.graph.may_read(consumer.name, str(finding.table), path) for path in paths):
                capped = min(verdict, "danger", key=SEVERITIES.index)
                yield AffectedConsumer(consumer, capped, is_certain=False)

    def _find_verdict(self, consumer: Consumer, finding: Finding) -> Verdict | None:
        """Find the worst verdict of the consumer's readers; None if a level leaves them out."""
        counted = [
            finding.verdicts[reader]
            for reader in consumer.readers
            if reader in finding.verdicts
            and (self.avro is None or not reader.startswith("avro-") or reader in self.avro)
        ]
        return max(counted, key=SEVERITIES.index, default=None)


def _list_remarks(consumer: Consumer, tables: Mapping[TableId, SchemaReader]) -> Iterator[str]:
    where, listed = f"[consumers.{consumer.name}]", ", ".join(consumer.tables)
    declared = [table for table in tables if consumer.declares(table)]
    if not declared:
        if consumer.tables:
            yield f"{where} reads none of the checked tables: none matches {listed}"
        return
    for pattern in consumer.tables:
        if not any(is_matched(table, pattern) for table in declared):
            yield f"{where}: no checked table matches {pattern}"
    unmatched = [pattern for pattern in consumer.columns if pattern != "*"]
    for table in declared if unmatched else ():
        schemas = tables[table]()
        if not schemas:
            return
        names = {
            ".".join(path[:length])
            for schema in schemas
            for path, _, _ in walk_fields(schema)
            for length in range(1, len(path) + 1)
        }
        unmatched = [p for p in unmatched if not any(fnmatchcase(name, p) for name in names)]
        if not unmatched:
            return
    for pattern in unmatched:
        yield f"{where}: no column of its tables matches {pattern}"


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
