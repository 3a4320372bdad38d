"""Changes of the catalogue that have no rule, each with the reason; `docs/rules.md` lists them."""

from __future__ import annotations

from collections.abc import Mapping

_OF_THE_LAKE = "it compares with a table of the lake, which a check of the source does not see; plans do"

LEFT_OUT: Mapping[str, str] = {
    "array-element-changed": "the rules about types apply inside arrays, at the path `element`; "
    "a second rule would tell one cause twice",
    "capture-started": "no record tells it from a table that was quiet before",
    "charset-or-collation-changed": "columns of the history have neither; "
    "`tableChanges` prints a character set and no collation",
    "check-constraint-changed": "columns of the history have no constraints, and no connector sends them",
    "classification-changed": "tags are texts of people in comments; `column-comment-changed` tells of those",
    "column-became-generated": "the flag `generated` of records is wrong for generated columns, "
    "and their expressions are only in DDL",
    "date-name-changed": "both names become one type of the history, since both count days",
    "depth-limit-exceeded": "schemaman has no limit of depth: it reads every level of a document",
    "envelope-changed": "the history has one structure for flattened and for whole events",
    "generated-expression-changed": "expressions are in no record but in texts of DDL",
    "key-collation-mismatch": "columns of the history have no collation",
    "key-value-type-mismatch": "a note about the table tells of it when records are read, "
    "and the history keeps one type a column",
    "merge-key-mismatch": _OF_THE_LAKE,
    "native-enum-symbol-removed": "Avro's own verdict tells of it with the symbol: `avro-incompatible`",
    "partition-source-affected": _OF_THE_LAKE,
    "replica-identity-weakened": "the images before a change are not part of the history",
    "required-but-history-has-nulls": "it needs the rows of the lake; plans keep columns optional",
    "semantic-version-bumped": "no reader looks at the version of a Connect schema, "
    "and the history does not keep it",
    "sentinel-changed": "a placeholder is a value of rows, and the history has no values",
    "serde-changed": "the history has one structure for all converters",
    "storage-only-change": "it must be silent, and it is: no record changes the structure",
    "table-charset-default-changed": "it concerns later columns only, and those have no character set",
    "table-rename-suspected": "PostgreSQL and Db2 send no record when a table goes, so there is no pair",
    "target-generated-conflict": _OF_THE_LAKE,
    "user-type-redefined": "records have the base type of a domain, "
    "and labels of an enum have their own rules",
}
"""The name in the catalogue → why no rule has it."""
