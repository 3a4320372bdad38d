"""Generated tables that somebody made before schemaman: another layout, constraints, order, case and types.

Everything follows from one seed: the source, the table of other hands, what they do to it later, and what
changes at the source.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from schemaman.migration.spark_sql import literal, type_name
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import (
    Array,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    String,
    Struct,
    Timestamp,
    Type,
)

NAMES = ("a", "b", "Total", "order no", "größe", "since", "note")
INT, LONG, NTZ = Integer(32), Integer(64), Timestamp(6, False)
TYPES: tuple[Type, ...] = (
    INT, INT, LONG, Integer(16), Floating(32), Floating(64), Decimal(5, 0), Decimal(10, 2), String(20),
    String(), Boolean(), Date(), NTZ, Timestamp(6), Array(INT),
    Struct((Field("x", INT), Field("y", String()))),
)  # fmt: skip
WIDER: dict[Type, tuple[Type, ...]] = {
    Integer(16): (INT, LONG, Decimal(12, 2)), INT: (LONG, Decimal(20, 0), Floating(64)),
    LONG: (Decimal(22, 2),), Floating(32): (Floating(64),),
    Decimal(5, 0): (Decimal(12, 4), LONG), Decimal(10, 2): (Decimal(38, 10),),
    Date(): (NTZ,), String(20): (String(),),
}  # fmt: skip
"""The types that hold all values of another one."""
CHANGES = ("add", "drop", "rename", "swap", "widen", "type", "null", "comment", "case")


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """A table of other hands: its statements in turn, and which columns it computes itself.

    `later` are what others do to it behind the first plan.
    """

    statements: tuple[str, ...]
    later: tuple[str, ...]
    computed: frozenset[str] = frozenset()


@dataclass(slots=True)
class Draw:
    """Draws one table and its source from a seed; `what` tells the choices, for a report."""

    format: str
    name: str
    rng: random.Random
    what: list[str] = field(default_factory=list)

    def chance(self, part: float) -> bool:
        return self.rng.random() < part

    def source(self) -> TableSchema:
        """The first version of the source."""
        names = self.rng.sample(NAMES, self.rng.randint(2, 5))
        columns = [Column("id", self.rng.choice((INT, LONG)), nullable=False, id=1)]
        for number, name in enumerate(names, 2):
            comment = self.rng.choice((None, None, f"the {name}"))
            columns.append(Column(name, self.rng.choice(TYPES), self.chance(0.7), comment=comment, id=number))
        keys = [c.name for c in columns[1:] if not c.nullable and isinstance(c.type, Integer | String)]
        key = ("id", keys[0]) if keys and self.chance(0.3) else ("id",)
        return TableSchema(tuple(columns), key)

    def changed(self, schema: TableSchema, first_id: int) -> TableSchema:
        """A later version of the source, after one to three changes; `first_id` is that of a new column."""
        columns = list(schema.columns)
        keyed = [c.id for k in schema.key for c in schema.columns if c.name == k]
        for number in range(self.rng.randint(1, 3)):
            at = self.rng.randrange(1, len(columns))
            column = columns[at]
            free = [name for name in NAMES if name.lower() not in {c.name.lower() for c in columns}]
            match self.rng.choice(CHANGES):
                case "add" if free:
                    added = Column(self.rng.choice(free), self.rng.choice(TYPES), id=first_id + number)
                    columns.insert(self.rng.randint(1, len(columns)), added)
                case "drop" if len(columns) > 2 and column.id not in keyed:
                    columns.pop(at)
                case "rename" if free:
                    columns[at] = replace(column, name=self.rng.choice(free))
                case "swap" if len(columns) > 2:
                    other = self.rng.choice([n for n in range(1, len(columns)) if n != at])
                    name = columns[other].name
                    columns[other] = replace(columns[other], name=column.name)
                    columns[at] = replace(column, name=name)
                case "widen" if column.type in WIDER:
                    columns[at] = replace(column, type=self.rng.choice(WIDER[column.type]))
                case "type":
                    columns[at] = replace(column, type=self.rng.choice(TYPES))
                case "null" if column.id not in keyed:
                    columns[at] = replace(column, nullable=not column.nullable)
                case "comment":
                    columns[at] = replace(column, comment=self.rng.choice((None, "another")))
                case "case":
                    columns[at] = replace(column, name=column.name.swapcase())
                case _:
                    pass
        names = {c.id: c.name for c in columns}
        key = [names[id] for id in keyed]
        if self.chance(0.5):
            key.reverse()
        self.what.append(f"source: {_describe(schema)} became {_describe(TableSchema(tuple(columns)))} {key}")
        return TableSchema(tuple(columns), tuple(key), self.rng.choice((None, None, "all of it")))

    def table(self, source: TableSchema) -> ExistingTable:
        """A table with most of the columns of the source, as other people make one."""
        columns = [replace(c, name=self.spelled(c.name), type=self.wider(c.type)) for c in source.columns]
        missing = self.rng.choice(columns[1:]) if len(columns) > 2 and self.chance(0.2) else None
        columns = [c for c in columns if c is not missing or c.name.lower() in map(str.lower, source.key)]
        columns = [replace(c, nullable=c.nullable or self.chance(0.5)) for c in columns]
        if self.chance(0.3):
            columns.append(Column("loaded_at", self.rng.choice((NTZ, String(), INT))))
        if self.chance(0.5):
            self.rng.shuffle(columns)
        make = self.delta if self.format == "delta" else self.iceberg
        made = make(columns, source.key)
        self.what += made.statements
        self.what += [f"later: {statement}" for statement in made.later]
        return made

    def spelled(self, name: str) -> str:
        return self.rng.choice((name, name, name, name.upper(), name.lower()))

    def wider(self, type: Type) -> Type:
        if self.format == "iceberg" and type == Integer(16):
            type = INT
        return self.rng.choice(WIDER[type]) if type in WIDER and self.chance(0.3) else type

    def iceberg(self, columns: Sequence[Column], key: Sequence[str]) -> ExistingTable:
        flat = [c for c in columns if not isinstance(c.type, Struct | Array | Boolean)]
        whole = [c for c in flat if isinstance(c.type, Integer | String | Decimal)]
        parted = ""
        if self.chance(0.5):
            parted = f" PARTITIONED BY ({self.transform(self.rng.choice(flat))})"
        version = self.rng.choice(("2", "2", "3"))
        ddl = f"CREATE TABLE {self.name} ({_ddl(columns)}) USING iceberg{parted}"
        ddl += f" TBLPROPERTIES ('format-version' = '{version}')"
        statements, alter = [ddl], f"ALTER TABLE {self.name}"
        if self.chance(0.3) and whole:
            statements.append(f"{alter} WRITE ORDERED BY {quote_name(self.rng.choice(whole).name)}")
        named = [c for c in columns if c.name.lower() in map(str.lower, key)]
        if self.chance(0.4) and all(not c.nullable and isinstance(c.type, Integer | String) for c in named):
            statements.append(f"{alter} SET IDENTIFIER FIELDS {', '.join(quote_name(c.name) for c in named)}")
        later = self.rng.choice((
            (),
            (),
            (f"{alter} ADD COLUMNS (`extra` INT)",),
            (f"{alter} WRITE UNORDERED",),
            tuple(f"{alter} ADD PARTITION FIELD truncate(5, {quote_name(c.name)})" for c in whole[:1]),
            (f"{alter} WRITE ORDERED BY `id`",),
            (f"{alter} ALTER COLUMN {quote_name(columns[-1].name)} COMMENT 'by hand'",),
            tuple(
                f"{alter} ALTER COLUMN {quote_name(c.name)} DROP NOT NULL"
                for c in columns
                if not c.nullable and c.name.lower() not in map(str.lower, key)
            ),
        ))  # fmt: skip
        return ExistingTable(tuple(statements), later)

    def transform(self, column: Column) -> str:
        name = quote_name(column.name)
        match column.type:
            case Date() | Timestamp():
                return self.rng.choice((name, f"days({name})", f"months({name})"))
            case Integer() | String():
                return self.rng.choice((name, f"bucket(4, {name})", f"truncate(3, {name})"))
            case _:
                return name

    def delta(self, columns: Sequence[Column], key: Sequence[str]) -> ExistingTable:
        flat = [c for c in columns if not isinstance(c.type, Struct | Array | Boolean)]
        texts, computed, properties = [_ddl([c]) for c in columns], [], {}
        whole = [c for c in columns if isinstance(c.type, Integer)]
        if whole and self.chance(0.2):
            base = quote_name(whole[-1].name)
            texts.append(f"`computed` BIGINT GENERATED ALWAYS AS (CAST({base} AS BIGINT) + 1)")
            computed.append("computed")
        if self.chance(0.2):
            texts.append("`state` STRING DEFAULT 'new'")
            properties["delta.feature.allowColumnDefaults"] = "supported"
        layout = self.rng.choice(("", "PARTITIONED BY ({})", "CLUSTER BY ({})"))
        if layout and len(flat) < len(texts):
            layout = layout.format(quote_name(self.rng.choice(flat).name))
        else:
            layout = ""
        if self.chance(0.4) or any(" " in c.name for c in columns):
            properties["delta.columnMapping.mode"] = "name"
        if self.chance(0.3):
            properties["delta.enableTypeWidening"] = "true"
        if self.chance(0.2):
            properties["delta.enableChangeDataFeed"] = "true"
        shown = ", ".join(f"'{k}' = '{v}'" for k, v in properties.items())
        ddl = f"CREATE TABLE {self.name} ({', '.join(texts)}) USING delta {layout}"
        ddl += f" TBLPROPERTIES ({shown})" if shown else ""
        alter, statements = f"ALTER TABLE {self.name}", [ddl]
        if self.chance(0.3):
            checked = quote_name(self.rng.choice(columns).name)
            statements.append(f"{alter} ADD CONSTRAINT theirs CHECK ({checked} IS NOT NULL OR `id` > -5)")
        later = self.rng.choice((
            (),
            (),
            (f"{alter} ADD COLUMNS (`extra` INT)",),
            (f"OPTIMIZE {self.name}",),
            (f"{alter} ADD CONSTRAINT later CHECK (`id` > -9)",),
            (f"{alter} ALTER COLUMN {quote_name(columns[-1].name)} COMMENT 'by hand'",),
            tuple(
                f"{alter} ALTER COLUMN {quote_name(c.name)} DROP NOT NULL"
                for c in columns
                if not c.nullable and c.name.lower() not in map(str.lower, key)
            ),
        ))  # fmt: skip
        return ExistingTable(tuple(statements), later, frozenset(computed))


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(
        f"{quote_name(c.name)} {type_name(c.type)}{'' if c.nullable else ' NOT NULL'}"
        f"{f' COMMENT {literal(c.comment)}' if c.comment else ''}"
        for c in columns
    )


def _describe(schema: TableSchema) -> str:
    return ", ".join(
        f"{c.name} {format_type(c.type)}{'' if c.nullable else ' NOT NULL'}" for c in schema.columns
    )
