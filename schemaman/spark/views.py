"""Reads the views of a lake catalogue as SQL, for the files of a consumer."""

from __future__ import annotations

from typing import Any

from schemaman.migration.spark_sql import split_table_name
from schemaman.model.ddl import quote_name


def read_views(spark: Any, namespace: str) -> str:
    """Read the views of a namespace as statements, to write into a file that a consumer names in `sql`.

    Args:
        spark: the session that knows the catalogue.
        namespace: the namespace, such as `lake` or `ice.mart`.

    Raises:
        BadReference: the namespace is not a name.
    """
    place = [quote_name(part) for part in split_table_name(namespace)]
    found = spark.sql(f"SHOW VIEWS IN {'.'.join(place)}").collect()
    names = [".".join([*place, quote_name(row["viewName"])]) for row in found if not row["isTemporary"]]
    texts = (spark.sql(f"SHOW CREATE TABLE {name}").first()[0] for name in names)
    return "".join(f"{text.rstrip()};\n" for text in texts)
