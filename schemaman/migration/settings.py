"""Settings of migrations in `schemaman.toml`: `[[policy]]`, `[[projection]]`, `[[target]]`, `[catalogs]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from string import Formatter
from typing import Any, Literal, get_args

from schemaman.errors import BadConfiguration, BadReference
from schemaman.migration.policy import (
    ANY,
    KINDS,
    LEVELS,
    NEVER,
    WORDS,
    PolicyRule,
    ProjectionRule,
    suggest_word,
)
from schemaman.migration.spark_sql import split_table_name
from schemaman.migration.type_mapping import CHOICES, ROLES, Role, parse_decimal
from schemaman.model.ddl import quote_name
from schemaman.model.schema import TableId
from schemaman.model.table_patterns import is_matched

SELECTORS = ("tables", "targets")


def read_policies(value: object) -> tuple[PolicyRule, ...]:
    """Read the rules of all entries, in their order.

    Raises:
        ValueError: an entry without a level, an unknown kind or level, or a level that a kind cannot have.
    """
    if not isinstance(value, list | tuple):
        raise ValueError("policies are written as [[policy]]")
    return tuple(rule for number, entry in enumerate(value, 1) for rule in _read_policy(entry, number))


def _read_policy(entry: Any, number: int) -> Iterator[PolicyRule]:
    if not isinstance(entry, dict):
        raise ValueError(f"policy {number} is not a table")
    if not entry.keys() - set(SELECTORS):
        raise ValueError(f"policy {number} sets no level; write a kind of change = a level")
    tables, targets = (read_patterns(entry.get(key, ANY)) for key in SELECTORS)
    if not tables or not targets:
        raise ValueError(f"policy {number} selects no {'targets' if tables else 'tables'}")
    for kind, level_text in entry.items():
        if kind in SELECTORS:
            continue
        if not any(fnmatchcase(known, kind) for known in KINDS):
            hint = suggest_word(kind, (*KINDS, *SELECTORS)) or f"there are: {', '.join(KINDS)}"
            raise ValueError(f"policy {number} names an unknown kind of change {kind!r}; {hint}")
        words = next((each for known, each in WORDS.items() if known == kind), {})
        if isinstance(level_text, str) and level_text in words:
            for named, meant in words[level_text].items():
                yield PolicyRule(meant, (named,), tables, targets, f"[[policy]] {number}")
            continue
        level = next((known for known in LEVELS if known == level_text), None)
        if level is None:
            known_texts = (*LEVELS, *words)
            hint = suggest_word(str(level_text), known_texts) or f"there are: {', '.join(known_texts)}"
            raise ValueError(f"policy {number}: {kind}: unknown level {level_text!r}; {hint}")
        never = next((barred for known, barred in NEVER.items() if known == kind), frozenset())
        if level in never:
            able = ", ".join(each for each in LEVELS if each not in never)
            raise ValueError(f"policy {number}: {kind} cannot be {level}; it may be {able}")
        yield PolicyRule(level, (kind,), tables, targets, f"[[policy]] {number}")


def read_patterns(value: object) -> tuple[str, ...]:
    """Read one pattern or several, in a list or between commas. Raises `ValueError` for anything else."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise ValueError(f"expected a text or a list of texts, found {value!r}")


_OPTIONS = (*CHOICES, "numeric", "metadata")


def read_projections(value: object) -> tuple[ProjectionRule, ...]:
    """Read the rules of all entries, in their order.

    Raises:
        ValueError: an entry without an option, an unknown option, or a value that an option does not have.
    """
    if not isinstance(value, list | tuple):
        raise ValueError("projections are written as [[projection]]")
    return tuple(_read_projection(entry, number) for number, entry in enumerate(value, 1))


def _read_projection(entry: Any, number: int) -> ProjectionRule:
    if not isinstance(entry, dict):
        raise ValueError(f"projection {number} is not a table")
    if not entry.keys() - set(SELECTORS):
        raise ValueError(f"projection {number} sets nothing; it may hold {', '.join(_OPTIONS)}")
    tables, targets = (read_patterns(entry.get(key, ANY)) for key in SELECTORS)
    if not tables or not targets:
        raise ValueError(f"projection {number} selects no {'targets' if tables else 'tables'}")
    options = tuple(
        (key, _read_option(key, value, f"projection {number}"))
        for key, value in entry.items()
        if key not in SELECTORS
    )
    return ProjectionRule(options, tables, targets, f"[[projection]] {number}")


def _read_option(key: str, value: object, where: str) -> object:
    if key not in _OPTIONS:
        hint = suggest_word(key, (*_OPTIONS, *SELECTORS)) or f"there are: {', '.join(_OPTIONS)}"
        raise ValueError(f"{where} has an unknown option {key!r}; {hint}")
    if key == "metadata":
        return tuple(_read_metadata(value, where))
    if key == "numeric":
        if value in ("string", "double") or (isinstance(value, str) and parse_decimal(value)):
            return value
        raise ValueError(
            f"{where}: numeric is string, double or decimal(p,s) up to 38 digits, found {value!r}"
        )
    if value in CHOICES[key]:
        return value
    hint = suggest_word(str(value), CHOICES[key]) or f"there are: {', '.join(CHOICES[key])}"
    raise ValueError(f"{where}: {key} cannot be {value!r}; {hint}")


def _read_metadata(roles: object, where: str) -> Iterator[tuple[Role, str]]:
    """Read roles, and their names where a table gives them; each role once."""
    if isinstance(roles, list) and all(isinstance(role, str) for role in roles):
        roles = dict.fromkeys(roles, "")
    if not isinstance(roles, Mapping) or not all(isinstance(name, str) for name in roles.values()):
        raise ValueError(
            f'{where}: metadata is a list of {", ".join(ROLES)}, or a table like {{ op = "_op" }}'
        )
    names: set[str] = set()
    for word, given in roles.items():
        role = next((known for known in ROLES if known == word), None)
        if role is None:
            hint = suggest_word(word, ROLES) or f"there are: {', '.join(ROLES)}"
            raise ValueError(f"{where}: unknown metadata {word!r}; {hint}")
        name = given or ROLES[role][0]
        if name.lower() in names:
            raise ValueError(f"{where}: two metadata columns are called {name!r}")
        names.add(name.lower())
        yield role, name


TargetNames = Literal["source", "lower"]
PLACEHOLDERS = ("stream", "server", "database", "schema", "table")

TARGET_KEYS = ("name", "format", "tables", "table", "path", "names", "views", "view", "alias-old-names")
"""The keys that a `[[target]]` may contain."""

_PATH = re.compile(r"`?(/|[A-Za-z][A-Za-z0-9+.-]*:/)")

_WILD = re.compile(r"[*?\[]")

_PART = re.compile(r"`(?:[^`]|``)+`|[^.`]+")
"""A part of a name, in back-ticks or not."""


_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class ViewSetting:
    """The view of one lake table: its name, and how long (ms) it shows the old names of renamed columns."""

    name: str
    alias_ms: int = 0


@dataclass(frozen=True, slots=True)
class TargetSetting:
    """A `[[target]]`: the address of lake tables for some source tables. One of `table` and `path` is set.

    `tables` are patterns over the full name of a source table or any suffix of it. `table` and `path` may
    hold `{stream}`, `{server}`, `{database}`, `{schema}`, `{table}`. With the `names` `lower`, those and the
    names of new columns are written in small letters. `view` is the name of a view for readers, with the same
    placeholders; None for none. In it a renamed column keeps its old name, too, for `alias_old_names` days,
    such as `30d`.
    """

    name: str
    format: str
    tables: tuple[str, ...]
    table: str | None = None
    path: str | None = None
    names: TargetNames = "source"
    view: str | None = None
    alias_old_names: str = ""

    def has_table(self, table: TableId) -> bool:
        """Whether this target follows a table."""
        return any(is_matched(table, pattern) for pattern in self.tables)

    def address(self, table: TableId) -> str:
        """Return the lake table, or the path in the form of a `lake:` REF, that follows a table.

        In a path each name is one step, so a source table called `../t` does not leave the folder. In a table
        name each name is a piece of one part, so a table called `a.b` gets no namespace of its own.
        """
        names = {placeholder: getattr(table, placeholder) for placeholder in PLACEHOLDERS}
        if self.names == "lower":
            names = {placeholder: name.lower() for placeholder, name in names.items()}
        if self.table is None or _PATH.match(self.table):
            return _fill_path(self.table or self.path or "", names)
        return _PART.sub(lambda part: _fill_name(part[0], names), self.table)

    def find_view(self, table: TableId) -> ViewSetting | None:
        """Find the view of the lake table that follows a table; None without one."""
        if self.view is None:
            return None
        name = replace(self, table=self.view, path=None).address(table)
        return ViewSetting(name, _parse_days(self.alias_old_names))


def _fill_path(path: str, names: Mapping[str, str]) -> str:
    """Fill names into a path, each as one step."""
    return path.format(**{placeholder: _path_step(name) for placeholder, name in names.items()})


def _fill_name(part: str, names: Mapping[str, str]) -> str:
    """Fill names of the source into a part of a lake table's name, in back-ticks if they need them."""
    if _PATH.match(part):
        return _fill_path(part, {placeholder: _escape_name(name) for placeholder, name in names.items()})
    if part.startswith("`"):
        return _path_dots(part[1:-1].format(**{p: _escape_name(name) for p, name in names.items()})).join(
            "``"
        )
    filled = _path_dots(part.format(**names))
    return quote_name(filled) if re.search("[.`]", filled) else filled


def _path_dots(name: str) -> str:
    """A name without the steps `.` and `..`, which lead out of the folder of the catalogue."""
    return "/".join("_" * len(step) if step and set(step) == {"."} else step for step in name.split("/"))


def _escape_name(name: str) -> str:
    """Escape a name between back-ticks."""
    return name.replace("`", "``")


def _path_step(name: str) -> str:
    """Turn a name into one step of a path, which cannot leave the folder."""
    step = name.replace("/", "_")
    return "_" * len(step) if set(step) == {"."} else step


def read_targets(value: object) -> tuple[TargetSetting, ...]:
    """Read the targets of all entries, in their order. Raises `ValueError`."""
    if not isinstance(value, list | tuple):
        raise ValueError("targets are written as [[target]]")
    found = tuple(_read_target(entry, number) for number, entry in enumerate(value, 1))
    names = [t.name for t in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two targets are called {name!r}")
    refuse_shared_tables(found)
    return found


def refuse_shared_tables(targets: Sequence[TargetSetting]) -> None:
    """Refuse targets that lead several source tables into one lake table.

    Rows of two sources with one key would overwrite each other, and one source would drop the columns of the
    other. Tables of one name in several databases or schemas are found only when they are planned.

    Raises:
        ValueError: the patterns of a target select several tables, and the address is the same for all; or
            two targets have one address.
    """
    for target in targets:
        several = _find_several(target)
        if several:
            raise ValueError(
                f"target {target.name!r} leads several tables ({several}) into one lake table, "
                f"{target.table or target.path}: {_SHARED}"
            )
    fixed = [t for t in targets if not _list_placeholders(t)]
    for number, target in enumerate(fixed):
        other = next((t for t in fixed[:number] if _has_same_address(t, target)), None)
        if other is not None:
            raise ValueError(
                f"targets {other.name!r} and {target.name!r} have one lake table, "
                f"{target.table or target.path}: {_SHARED}"
            )


_SHARED = (
    "their rows would overwrite each other; give each source a table of its own, with {table} (or {schema}, "
    "{database}, {server}) in the name, and read them together by a view with UNION ALL"
)


def _find_several(target: TargetSetting) -> str:
    """The patterns of a target that select several tables of one address; empty if none do."""
    placeholders = _list_placeholders(target)
    if "table" in placeholders:
        return ""
    wild = [p for p in target.tables if _WILD.search(p if not placeholders else p.rpartition(".")[2])]
    if wild:
        return ", ".join(wild)
    names = {pattern.rpartition(".")[2] for pattern in target.tables}
    short = min(target.tables, key=len, default="")
    alike = all(p == short or p.endswith((f".{short}", f":{short}")) for p in target.tables)
    return "" if alike or (placeholders and len(names) == 1) else ", ".join(target.tables)


def _list_placeholders(target: TargetSetting) -> frozenset[str]:
    parsed = Formatter().parse(target.table or target.path or "")
    return frozenset(placeholder for _, placeholder, _, _ in parsed if placeholder)


def _has_same_address(one: TargetSetting, other: TargetSetting) -> bool:
    """Whether two targets without placeholders have one address, whatever the case of its letters."""
    if one.format != other.format:
        return False
    addresses = [(t.table or t.path or "").replace("`", "").rstrip("/").lower() for t in (one, other)]
    return addresses[0] == addresses[1]


def _read_target(entry: Any, number: int) -> TargetSetting:
    if not isinstance(entry, dict):
        raise ValueError(f"target {number} is not a table")
    for key in entry:
        if key not in TARGET_KEYS:
            hint = suggest_word(key, TARGET_KEYS) or f"known keys: {', '.join(TARGET_KEYS)}"
            raise ValueError(f"target {number} has an unknown key {key!r}; {hint}")
    for key in ("name", "format"):
        if key not in entry:
            raise ValueError(f"target {number} has no {key}")
    if ("table" in entry) == ("path" in entry):
        raise ValueError(f"target {entry['name']!r} needs either table or path")
    address = _require_text(entry.get("table", entry.get("path")))
    for _, placeholder, form, conversion in Formatter().parse(address):
        if placeholder is not None and placeholder not in PLACEHOLDERS:
            raise ValueError(
                f"target {entry['name']!r}: {{{placeholder}}} is none of {', '.join(PLACEHOLDERS)}"
            )
        if form or conversion:
            raise ValueError(f"target {entry['name']!r}: write {{{placeholder}}} alone, without a format")
    if "path" in entry and not _PATH.match(address):
        raise ValueError(
            f"target {entry['name']!r}: the path {address!r} is relative; write /folder/{{table}} or "
            "s3a://bucket/{table}"
        )
    if "table" in entry and not _PATH.match(address):
        try:
            split_table_name(address)
        except BadReference as error:
            raise ValueError(f"target {entry['name']!r}: {error.message}") from error
    names = next((n for n in get_args(TargetNames) if n == entry.get("names", "source")), None)
    if names is None:
        hint = suggest_word(str(entry["names"]), get_args(TargetNames)) or "names is source or lower"
        raise ValueError(f"target {entry['name']!r}: unknown names {entry['names']!r}; {hint}")
    found = TargetSetting(
        name=_require_text(entry["name"]),
        format=_require_text(entry["format"]),
        tables=read_patterns(entry.get("tables", "*")),
        table=entry.get("table"),
        path=entry.get("path"),
        names=names,
    )
    return _read_view(found, entry)


def _read_view(target: TargetSetting, entry: Mapping[str, Any]) -> TargetSetting:
    """Read what an entry says of views. Raises `ValueError`."""
    views, days = entry.get("views", "view" in entry), entry.get("alias-old-names", "")
    if not isinstance(views, bool):
        raise ValueError(f"target {target.name!r}: views is true or false, found {views!r}")
    if not views and days:
        raise ValueError(f"target {target.name!r}: alias-old-names is for views alone: add views = true")
    if not views:
        return target
    table = "" if target.table is None or _PATH.match(target.table) else target.table
    default = f"{table[:-1]}_view`" if table.endswith("`") else f"{table}_view" if table else None
    view = entry.get("view", default)
    if view is None:
        raise ValueError(
            f'target {target.name!r} has tables by path: name their views, view = "lake.{{table}}"'
        )
    if not isinstance(days, str):
        raise ValueError(f"alias-old-names is a number of days, such as 30d; found {days!r}")
    return require_view(replace(target, view=_require_text(view), alias_old_names=days))


def require_view(target: TargetSetting) -> TargetSetting:
    """Check the view of a target, and return the target.

    Raises:
        ValueError: the view is no name, or that of the table, or one for several tables; or the time is none.
    """
    if target.view is None:
        return target
    where = f"target {target.name!r}: the view {target.view!r}"
    for _, placeholder, form, conversion in Formatter().parse(target.view):
        if (placeholder is not None and placeholder not in PLACEHOLDERS) or form or conversion:
            raise ValueError(f"{where} may hold {', '.join(f'{{{p}}}' for p in PLACEHOLDERS)} alone")
    try:
        split_table_name(target.view)
    except BadReference as error:
        raise ValueError(f"{where}: {error.message}") from error
    if _PATH.match(target.view):
        raise ValueError(f"{where} is a path, and no path has a view")
    named = replace(target, table=target.view, path=None)
    if _find_several(named):
        raise ValueError(f"{where} would be one for several tables; put {{table}} into its name")
    if target.table is not None and _has_same_address(target, named):
        raise ValueError(f"{where} has the name of the table")
    _parse_days(target.alias_old_names)
    return target


def _parse_days(text: str) -> int:
    """Parse a number of days, such as `30d`, in milliseconds; empty is none. Raises `ValueError`."""
    found = re.fullmatch(r"(\d{1,4})d", text)
    if text and found is None:
        raise ValueError(f"alias-old-names is a number of days, such as 30d; found {text!r}")
    return int(found[1]) * _DAY_MS if found else 0


def list_target_projections(targets: Iterable[TargetSetting]) -> tuple[ProjectionRule, ...]:
    """List the rules for column names that follow from the names of targets."""
    return tuple(
        ProjectionRule((("names", target.names),), targets=(target.name,), origin=f"[[target]] {target.name}")
        for target in targets
        if target.names != "source"
    )


def _require_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"expected a text, found {value!r}")


CatalogType = Literal["rest", "jdbc", "hadoop", "hive", "glue"]

CATALOG_TYPES: tuple[CatalogType, ...] = get_args(CatalogType)

_FROM_ENVIRONMENT = "env:"

_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    # Without the layout for views, a query for a missing table raises UnsupportedOperationException.
    "jdbc": {"jdbc.schema-version": "V1"},
}

_NEEDS: Mapping[str, tuple[str, ...]] = {"glue": ("org.apache.iceberg:iceberg-aws-bundle:1.11.0",)}

_DRIVERS = {
    "jdbc:postgresql:": "org.postgresql:postgresql:42.7.8",
    "jdbc:mysql:": "com.mysql:mysql-connector-j:9.4.0",
}


@dataclass(frozen=True, slots=True)
class CatalogSetting:
    """A `[catalogs.NAME]`.

    `options` are Iceberg's own, without the prefix `spark.sql.catalog.NAME.`. A value `env:VARIABLE` is
    read from the environment when a session starts. `packages` are Maven coordinates that the catalogue needs
    besides those of its type.
    """

    name: str
    type: CatalogType
    options: tuple[tuple[str, str], ...] = ()
    packages: tuple[str, ...] = ()


def read_catalogs(value: object) -> tuple[CatalogSetting, ...]:
    """Read the catalogues of a settings file. Raises `ValueError` with the fault."""
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError("catalogues are written as [catalogs.NAME]")
    return tuple(_read_catalog(str(name), entry) for name, entry in value.items())


def spark_settings(catalog: CatalogSetting, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark for a catalogue, which caches nothing, since others may change tables.

    Raises:
        BadConfiguration: a variable that an option names is not set.
    """
    prefix = f"spark.sql.catalog.{catalog.name}"
    options = {"type": catalog.type, "cache-enabled": "false", **_DEFAULTS.get(catalog.type, {})}
    for key, value in catalog.options:
        options[key] = _resolve_option(catalog.name, key, value, environment)
    named = {f"{prefix}.{key}": value for key, value in options.items()}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **named}


def list_packages(catalogs: Iterable[CatalogSetting]) -> tuple[str, ...]:
    """List the Maven coordinates that catalogues need besides Iceberg's own."""
    found: list[str] = []
    for catalog in catalogs:
        uri = dict(catalog.options).get("uri", "")
        found += _NEEDS.get(catalog.type, ())
        found += (jar for beginning, jar in _DRIVERS.items() if uri.startswith(beginning))
        found += catalog.packages
    return tuple(dict.fromkeys(found))


def _resolve_option(name: str, key: str, value: str, environment: Mapping[str, str]) -> str:
    if not value.startswith(_FROM_ENVIRONMENT):
        return value
    variable = value.removeprefix(_FROM_ENVIRONMENT)
    if variable not in environment:
        raise BadConfiguration(
            f"catalogs.{name}.{key} refers to the environment variable {variable}, which is not set",
            hint=f"export {variable}=…",
        )
    return environment[variable]


def _read_catalog(name: str, entry: Mapping[str, object]) -> CatalogSetting:
    if not re.fullmatch(r"\w+", name, re.ASCII) or name == "spark_catalog":
        raise ValueError(f"{name!r} cannot be the name of a catalogue: letters, digits and underscores only")
    type = next((known for known in CATALOG_TYPES if known == entry.get("type")), None)
    if type is None:
        known = ", ".join(CATALOG_TYPES)
        raise ValueError(f"[catalogs.{name}] needs a type, one of {known}; found {entry.get('type')!r}")
    packages = entry.get("packages", [])
    if not isinstance(packages, list) or not all(isinstance(p, str) for p in packages):
        raise ValueError(f"[catalogs.{name}]: packages is a list of Maven coordinates, found {packages!r}")
    options = {k: v for k, v in _flatten_options(name, entry).items() if k not in ("type", "packages")}
    return CatalogSetting(name, type, tuple(options.items()), tuple(packages))


def _flatten_options(name: str, entry: Mapping[str, object], above: str = "") -> dict[str, str]:
    """Read the options as texts; TOML reads a bare `s3.endpoint` as a table in a table."""
    found: dict[str, str] = {}
    for key, value in entry.items():
        match value:
            case dict():
                found |= _flatten_options(name, value, f"{above}{key}.")
            case bool() | int():
                found[f"{above}{key}"] = str(value).lower()
            case str():
                found[f"{above}{key}"] = value
            case list() if key == "packages" and not above:
                pass
            case _:
                raise ValueError(f"[catalogs.{name}]: {above}{key} is no text: {value!r}")
    return found
