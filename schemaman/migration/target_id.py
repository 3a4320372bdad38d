"""One name for one target table, however it is spelled: by it leases are taken and journals kept.

Law: a canonical address is its own, and names the same table to an engine.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache

from schemaman.errors import BadReference
from schemaman.migration.spark_sql import split_table_name
from schemaman.model.ddl import quote_name

_SESSION = "spark_catalog"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//[^/]*)?(/.*)")


def target_id(format: str, table: str) -> str:
    """How journals and leases name a target table. What is no table name stays as it is."""
    return f"{format}:{_canonicalize_table(format, table)}"


def canonicalize_target(target: str) -> str:
    """A name as journals of any age tell it, as `target_id` gives it now."""
    format, colon, table = target.partition(":")
    return target_id(format, table) if colon else target


@cache
def _canonicalize_table(format: str, table: str) -> str:
    """A folder for a Delta path, else the parts of the name, in back-ticks only where they have to be.

    The session's own catalogue knows no case, and needs not be named; nobody knows that of another one.
    Source: Spark `SessionCatalog.formatTableName`, "Identifiers"; Hadoop `Path.normalizePath`.
    """
    if format == "delta" and (table.startswith("/") or _URI.fullmatch(table)):
        return _canonicalize_path(table)
    try:
        parts = split_table_name(table)
    except BadReference:
        return table
    if format == "delta":
        if len(parts) == 2 and parts[0].lower() == "delta" and "/" in parts[1]:
            return _canonicalize_path(parts[1])
        if len(parts) == 3 and parts[0].lower() == _SESSION:
            parts = parts[1:]
        if len(parts) < 3:
            parts = tuple(part.lower() for part in (("default", *parts) if len(parts) == 1 else parts))
    return ".".join(part if re.fullmatch(r"\w+", part, re.ASCII) else quote_name(part) for part in parts)


def _canonicalize_path(path: str) -> str:
    found = _URI.fullmatch(path)
    scheme, host, folder = (found[1].lower(), found[2] or "", found[3]) if found else ("file", "", path)
    folder = posixpath.normpath(f"/{folder.lstrip('/')}")
    if scheme == "file" and host in ("", "//", "//localhost"):
        return folder
    return f"{scheme}:{host}{folder}"
