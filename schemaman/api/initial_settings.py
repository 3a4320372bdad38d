"""Writes the first `schemaman.toml`: few settings, each with a comment that says what it decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from schemaman.errors import BadReference
from schemaman.migration.policy import Profile
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId
from schemaman.model.table_patterns import is_matched
from schemaman.settings import Settings, SettingsFile, read_settings
from schemaman.store.urls import has_password, is_secret

DEFAULT_LAKE = "iceberg"
"""The format of a new lake: the session that schemaman starts has a lasting catalogue for it."""

ALL_TABLES = "*"
_NAMESPACE = "raw"
_TEMPLATES = (
    "{table}",
    "{schema}_{table}",
    "{database}_{table}",
    "{database}_{schema}_{table}",
    "{server}_{database}_{table}",
    "{server}_{database}_{schema}_{table}",
)
"""Names of lake tables from short to long; the first that tells all tables apart is chosen."""


@dataclass(frozen=True, slots=True)
class InitialSettings:
    """The choices of a first settings file.

    `store`, `stream`, `registry` and `kafka_config` are written unless they have their default or hold a
    secret. `tables` are patterns. `address` is the name or the path of a lake table, with placeholders.
    """

    store: str
    profile: Profile
    format: str
    tables: tuple[str, ...]
    address: str
    catalog: str
    warehouse: str
    stream: str = "main"
    registry: str = ""
    kafka_config: tuple[str, ...] = ()


def list_patterns(tables: Iterable[TableId]) -> tuple[str, ...]:
    """List a pattern for each database and schema; it matches their tables, also those that come later."""
    found: dict[str, None] = {}
    for table in tables:
        pattern = "".join(f"{_escape_pattern(part)}." for part in table.parts[:-1]) + "*"
        found[pattern if is_matched(table, pattern) else ALL_TABLES] = None
    return (ALL_TABLES,) if ALL_TABLES in found or not found else tuple(found)


def choose_address(tables: Sequence[TableId], format: str, catalog: str, folder: str) -> str:
    """Choose the names of lake tables: paths in the folder if the format takes them, else in the catalogue.

    The names are as short as they can be while they differ for these tables.
    """
    known = [t for t in _TEMPLATES if all(_has_names(table, t) for table in tables)]
    distinct = (t for t in known if len({_fill(t, table) for table in tables}) == len(tables))
    template = next(distinct, known[-1])
    if _takes_path(format):
        literal = folder.rstrip("/").replace("{", "{{").replace("}", "}}")
        return f"{literal}/{template}"
    return f"{catalog}.{_NAMESPACE}.{template}"


def write_settings(chosen: InitialSettings) -> str:
    """Write the settings as TOML and read them back.

    Raises:
        BadConfiguration: a choice is not allowed, such as a target without tables.
    """
    text = "\n".join(_write_lines(chosen))
    require_settings(text)
    return text


def require_settings(text: str) -> Settings:
    """Read the text of a settings file as a command does. Raises `BadConfiguration`."""
    return read_settings({}, {}, SettingsFile("schemaman.toml", text))


def _write_lines(chosen: InitialSettings) -> Iterator[str]:
    yield "# Settings of schemaman. `schemaman config show` lists all of them, and their origins."
    yield ""
    yield "# The store keeps the history of all tables and the journal of migrations. Teams use postgresql://…"
    if has_password(chosen.store):
        yield "# It has a password: set it as SCHEMAMAN_STORE."
    else:
        yield f"store = {quote_toml(chosen.store)}"
    if chosen.stream != "main":
        yield "\n# The name of the stream of records; production and test are different streams."
        yield f"stream = {quote_toml(chosen.stream)}"
    yield "\n# careful asks before surprises, additive only adds, autopilot goes on where nothing is lost."
    yield f"profile = {quote_toml(chosen.profile)}"
    yield "\n# The folder of the lake, when schemaman starts Spark by itself."
    yield f"warehouse = {quote_toml(chosen.warehouse)}"
    yield "\n# The name of the Iceberg catalogue in Spark. Other kinds of catalogues: [catalogs.NAME]."
    yield f"catalog = {quote_toml(chosen.catalog)}"
    if chosen.registry and not has_password(chosen.registry):
        yield "\n# The schema registry that explains Avro records: its address, or an exported file."
        yield f"registry = {quote_toml(chosen.registry)}"
    options = [word for word in chosen.kafka_config if not _is_secret_option(word)]
    if options:
        yield "\n# Options of librdkafka, or files with them. Secrets belong into a file outside of git."
        yield f"kafka_config = [{', '.join(map(quote_toml, options))}]"
    yield "\n# A target leads source tables into lake tables. Further targets may follow."
    yield "[[target]]"
    yield "# The name of this target in commands, plans and rules."
    yield 'name = "lake"'
    yield f"# The format of the lake tables: {' or '.join(TARGETS.names())}."
    yield f"format = {quote_toml(chosen.format)}"
    yield "# The source tables: patterns over server.database.schema.table, or over its last parts."
    yield f"tables = [{', '.join(map(quote_toml, chosen.tables))}]"
    yield "# The lake table of a source table: {server}, {database}, {schema}, {table} are its names."
    key = "path" if chosen.address.startswith("/") else "table"
    yield f"{key} = {quote_toml(chosen.address)}"
    yield ""


def quote_toml(text: str) -> str:
    """Write a text as a TOML string. Source: TOML 1.0, "String": control characters are escaped."""
    escaped = json.dumps(text, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]", lambda c: f"\\u{ord(c[0]):04x}", escaped)


def _is_secret_option(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and is_secret(name)


def _escape_pattern(name: str) -> str:
    """Escape wildcards; half a surrogate pair, which no file can hold, becomes any sign."""
    escaped = re.sub(r"[\[*?]", lambda sign: f"[{sign[0]}]", name)
    return re.sub("[\ud800-\udfff]", "?", escaped)


def _takes_path(format: str) -> bool:
    """Whether tables of a format have paths as names."""
    try:
        TARGETS.get(format).table_name("/lake/table")
    except BadReference:
        return False
    return True


def _has_names(table: TableId, template: str) -> bool:
    return all(getattr(table, name) for name in re.findall(r"{(\w+)}", template))


def _fill(template: str, table: TableId) -> str:
    names = {name: getattr(table, name) for name in ("server", "database", "schema", "table")}
    return template.format(**names).lower()
