"""The pages `docs/policy.md` and `docs/projection.md`: prose, and tables that the code itself fills."""

from __future__ import annotations

from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.policy import (
    DESTRUCTIVE,
    KINDS,
    LEVELS,
    MEANINGS,
    NEVER,
    PROFILES,
    ChangeKind,
    Policy,
    ProjectionRule,
)
from schemaman.migration.target import Target
from schemaman.migration.targets import delta, iceberg
from schemaman.migration.type_mapping import CHOICES, DEFAULT, ROLES, VARIANT, Representation
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.types import Type

POLICY = """\
Each change that a plan could make has one or several kinds, and each kind has a level:

| level | effect |
|---|---|
| `auto` | it is made |
| `approve` | it is made once a person has approved the plan |
| `ignore` | it is not made; the plan says so in a note |
| `quarantine` | it is not made; the sink puts rows that need it into quarantine |
| `block` | it is not made, and the plan refuses |

Rules are in `schemaman.toml`, for all tables and targets or for some. A pattern matches the whole name of a
table or its last parts. A target is matched by its name or its format.

```toml
[[policy]]
tables = "billing.*"
targets = ["raw", "delta"]
drop-column = "approve"
"rename-*" = "block"
```

A profile sets the level of each kind that no rule decides:

```toml
profile = "autopilot"
```

| profile | what it does |
|---|---|
| `careful` | a person approves what could surprise a reader; it is the default |
| `autopilot` | it makes each change that loses no value, once the table itself proves it, and asks nobody |
| `additive` | it adds tables and columns, and relaxes NOT NULL; nothing else changes |

With `max_rewrite = "50GB"`, `max_scan` and `window = "22:00-06:00"` beside it, `retype` is `auto` under
`autopilot`: `schemaman sync` [rewrites columns](recipes.md#without-a-person) within these bounds.

In Python: `sm.Policy(profile="autopilot", max_rewrite="50GB")`. `schemaman config show` lists the level of
each kind, and the rule or profile that it comes from.

The rule with the narrowest table decides; then the one with the narrowest target; then the one that names
the kind itself; then the more restrictive one. The order of rules has no effect. A pattern of kinds
(`"*" = "auto"`) never makes a destructive kind automatic: only its own name does. A change of several
kinds follows the strictest of them. The plan names the rule for each change that is not `auto`
(`rulings` in its JSON). `schemaman config show` lists the rules and where they come from.

At `ignore`, rows that have no place in the lake without the change wait, too: rows under another key, those
of a table made anew, and values that a column's type does not hold. A level that would have no effect on a
kind is refused where settings are read. A pattern with such a level leaves the kind to the profile, but
blocks a destructive kind that would be automatic: `"*" = "approve"` under `autopilot` also stops TRUNCATE.

A rename that is not made (`ignore`) leaves the column under its old name, and the sink writes its values
there. Another source column with the new name is refused until the rename is made.

A new policy alone destroys nothing. A column that the source dropped and the lake kept is recorded in the
table's properties, and a later drop needs approval, whatever the level is then. `drops = "drop"`,
`comments = false` and `upgrades = false` are short forms of `drop-column = "approve"`,
`change-comment = "ignore"` and `upgrade = "block"`.
"""

PROJECTION = """\
schemaman first writes the source's schema as the lake would hold it, then compares the result with the lake
table. `[[projection]]` in `schemaman.toml` sets the options, for all tables and targets or for some, with the
patterns of [policies](policy.md). The narrowest entry decides each option. Two equally narrow entries that
disagree are an error.

```toml
[[projection]]
tables = "billing.*"
targets = "raw"
numeric = "decimal(38,10)"
names = "avro-lower"
metadata = ["op", "ts", "deleted"]
```

A note on the column states in every plan what a choice loses. Another choice never changes the meaning of a
table that has rows: the plan keeps the wider type, or refuses. It changes a type in place only if all old
values stay what they were. A column whose source became another number takes the narrowest type that holds
the old and the new numbers exactly: `DECIMAL(10,2)` and `BIGINT` become `DECIMAL(21,2)`, `INT` and `FLOAT`
become `DOUBLE`. Where no type does, the plan refuses and says so.
"""

NAMES = """\
## Names

`names` is `source` (as they are), `avro` (Debezium's `field.name.adjustment.mode=avro`), `lower`, or
`avro-lower`. Nested fields keep their names; a plan that adds such fields lists them in a note. A lake does
not distinguish `id` and `ID`: columns whose names become equal are refused (`collisions = "refuse"`), or
numbered by age (`"number"`): the oldest has the plain name, later ones `_2`, `_3`, …. A column in the lake
keeps its name until the source renames it, even if `names` changes. A rename that changes case alone goes
through a third name, since Spark ignores case; where the format refuses it, or needs a new feature for it,
the lake keeps its spelling. No other column gets that name before. The table property `schemaman.names`
maps the names.

A lake table is named by `table` or `path` of its `[[target]]`, with `{stream}`, `{server}`, `{database}`,
`{schema}` and `{table}` for the source's names. Each name stays inside its part of the table name or path:
for a source table `a.b`, `ice.raw.{table}` is ``ice.raw.`a.b` ``.

`names = "lower"` in a `[[target]]` writes these names in small letters, and the names of new columns of its
tables, too; nested fields keep theirs. If two source tables get the same lake table then, `schemaman plan`
refuses to create it. If only case tells two lake tables apart, the plan says so, because Hive and Glue take
them for one.

## Metadata columns

`metadata` lists what to keep beside each row, or gives it names: `metadata = { op = "_operation" }`. Metadata
columns are added after the present columns of the source. A source column never becomes one of them: a
name that is taken is refused. `_deleted`, which other tools use, is refused on Iceberg, which reserves it.
"""

RAW = (
    "BOOLEAN",
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "SMALLINT UNSIGNED",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(10,2)",
    "DECIMAL(50,2)",
    "NUMERIC",
    "STRING",
    "VARCHAR(20)",
    "CHAR(5)",
    "BINARY",
    "BITS(8)",
    "DATE",
    "TIME(6)",
    "TIMETZ(6)",
    "TIMESTAMP(6)",
    "TIMESTAMP(9)",
    "TIMESTAMP_NTZ(6)",
    "INTERVAL",
    "INTERVAL DAY TO SECOND",
    "UUID",
    "JSON",
    "XML",
    "ENUM('a','b')",
    "SET('a','b')",
    "ARRAY<INT>",
    "MAP<STRING, INT>",
    "STRUCT<a: INT>",
    "STRUCT<wkb: BINARY NOT NULL, srid: INT>",
    "UNION<INT, STRING>",
    "UNKNOWN('name')",
)
WAYS = (
    *((option, word) for option, words in CHOICES.items() for word in words[1:]),
    ("numeric", "double"),
    ("numeric", "decimal(38,10)"),
)


def policy_page(written: str) -> str:
    """Levels, rules, and every kind with its default."""
    rows = "".join(f"| `{kind}` | {MEANINGS[kind]} | {_levels(kind)} | {_able(kind)} |\n" for kind in KINDS)
    names = " | ".join(f"`{profile}`" for profile in PROFILES)
    head = f"| kind | what it is | {names} | may be |\n|---|---|{'---|' * len(PROFILES)}---|\n"
    return f"# Policy\n\n{written}{POLICY}\n## Kinds\n\nDestructive ones are marked with *.\n\n{head}{rows}"


def _levels(kind: ChangeKind) -> str:
    return " | ".join(f"`{levels[kind]}`" for levels in PROFILES.values())


def _able(kind: ChangeKind) -> str:
    able = ", ".join(level for level in LEVELS if level not in NEVER.get(kind, ()))
    return f"{able} *" if kind in DESTRUCTIVE else able


def projection_page(written: str) -> str:
    """Options, names, metadata columns, and each type on both formats."""
    choices = "".join(f"| `{o}` | {', '.join(f'`{w}`' for w in words)} |\n" for o, words in CHOICES.items())
    choices += "| `numeric` | `string`, `double`, `decimal(p,s)` |\n"
    roles = "".join(f"| `{role}` | `{name}` | {sql.type_name(t)} |\n" for role, (name, t) in ROLES.items())
    return (
        f"# Projection\n\n{written}{PROJECTION}\n## Options\n\nThe first word is the default.\n\n"
        f"| option | words |\n|---|---|\n{choices}\n"
        f"## Types\n\n| source | Delta | Iceberg | what is said |\n|---|---|---|---|\n{_types()}\n"
        f"{NAMES}\n| what | default name | type |\n|---|---|---|\n{roles}"
    )


def _types() -> str:
    lines = []
    for told in RAW:
        raw = parse_type(told)
        lines.append(_line(f"`{told}`", raw, DEFAULT))
        for option, word in WAYS:
            how = Policy(projections=(ProjectionRule(((option, word),)),)).find_representation("t", "delta")
            if any(t.hold_type(raw, how) != t.hold_type(raw) for t in (delta.TARGET, iceberg.TARGET)):
                lines.append(_line(f"`{told}`, {option} = {word}", raw, how))
    return "".join(f"{line}\n" for line in lines)


def _line(what: str, raw: Type, how: Representation) -> str:
    cells = [_cell(target, raw, how) for target in (delta.TARGET, iceberg.TARGET)]
    said = next((note for _, note in cells if note), "")
    return f"| {what} | {cells[0][0]} | {cells[1][0]} | {said} |"


def _cell(target: Target, raw: Type, how: Representation) -> tuple[str, str]:
    answer = target.hold_type(raw, how)
    if isinstance(answer, Refusal):
        return "refused", f"{answer.reason}; {answer.instead}"
    only = " (version 3)" if answer.type == VARIANT and target.name == "iceberg" else ""
    name = "VARIANT" if answer.type == VARIANT else format_type(answer.type)
    return f"`{name}`{only}", answer.note or ""
