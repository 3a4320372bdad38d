"""The `[catalogs.NAME]` of the settings: Iceberg catalogues, as settings of Spark.

Source: Iceberg "Spark Configuration", "Catalogs", "AWS Integrations", "JDBC Integration".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from schemaman.errors import BadConfiguration

CatalogType = Literal["rest", "jdbc", "hadoop", "hive", "glue"]
CATALOG_TYPES: tuple[CatalogType, ...] = get_args(CatalogType)

_FROM_ENVIRONMENT = "env:"
_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    # Without the layout that knows views, asking for a missing table is an UnsupportedOperationException.
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

    `options` are Iceberg's own, without the beginning `spark.sql.catalog.NAME.`; one whose value is
    `env:VARIABLE` is read from the environment at the door. `packages` are Maven coordinates that it needs
    besides those that its type does.
    """

    name: str
    type: CatalogType
    options: tuple[tuple[str, str], ...] = ()
    packages: tuple[str, ...] = ()


def read_catalogs(value: object) -> tuple[CatalogSetting, ...]:
    """The catalogues of a settings file. Raises `ValueError` with what is wrong."""
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError("catalogues are written as [catalogs.NAME]")
    return tuple(_catalog(str(name), entry) for name, entry in value.items())


def spark_settings(catalog: CatalogSetting, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of Spark that make a session know a catalogue. It caches nothing: others may change it.

    Raises:
        BadConfiguration: a variable that an option names is not set.
    """
    prefix = f"spark.sql.catalog.{catalog.name}"
    options = {"type": catalog.type, "cache-enabled": "false", **_DEFAULTS.get(catalog.type, {})}
    for key, value in catalog.options:
        options[key] = _told(catalog.name, key, value, environment)
    named = {f"{prefix}.{key}": value for key, value in options.items()}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **named}


def packages_of(catalogs: Iterable[CatalogSetting]) -> tuple[str, ...]:
    """Maven coordinates that catalogues need besides Iceberg's own."""
    found: list[str] = []
    for catalog in catalogs:
        uri = dict(catalog.options).get("uri", "")
        found += _NEEDS.get(catalog.type, ())
        found += (jar for beginning, jar in _DRIVERS.items() if uri.startswith(beginning))
        found += catalog.packages
    return tuple(dict.fromkeys(found))


def _told(name: str, key: str, value: str, environment: Mapping[str, str]) -> str:
    if not value.startswith(_FROM_ENVIRONMENT):
        return value
    variable = value.removeprefix(_FROM_ENVIRONMENT)
    if variable not in environment:
        raise BadConfiguration(
            f"catalogs.{name}.{key} is to be read from the environment variable {variable}, which is not set",
            hint=f"export {variable}=…",
        )
    return environment[variable]


def _catalog(name: str, entry: Mapping[str, object]) -> CatalogSetting:
    if not re.fullmatch(r"\w+", name, re.ASCII) or name == "spark_catalog":
        raise ValueError(f"{name!r} cannot be the name of a catalogue: letters, digits and underscores only")
    type = next((known for known in CATALOG_TYPES if known == entry.get("type")), None)
    if type is None:
        known = ", ".join(CATALOG_TYPES)
        raise ValueError(f"[catalogs.{name}] needs a type, one of {known}; found {entry.get('type')!r}")
    packages = entry.get("packages", [])
    if not isinstance(packages, list) or not all(isinstance(p, str) for p in packages):
        raise ValueError(f"[catalogs.{name}]: packages is a list of Maven coordinates, found {packages!r}")
    options = {k: v for k, v in _flat(name, entry).items() if k not in ("type", "packages")}
    return CatalogSetting(name, type, tuple(options.items()), tuple(packages))


def _flat(name: str, entry: Mapping[str, object], above: str = "") -> dict[str, str]:
    """The options as texts; TOML reads a bare `s3.endpoint` as a table in a table."""
    found: dict[str, str] = {}
    for key, value in entry.items():
        match value:
            case dict():
                found |= _flat(name, value, f"{above}{key}.")
            case bool() | int():
                found[f"{above}{key}"] = str(value).lower()
            case str():
                found[f"{above}{key}"] = value
            case list() if key == "packages" and not above:
                pass
            case _:
                raise ValueError(f"[catalogs.{name}]: {above}{key} is no text: {value!r}")
    return found
