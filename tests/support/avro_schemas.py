"""Random Avro schemas, changed copies of them, and data that they write; the same for the same seed."""

from __future__ import annotations

import json
import random
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LETTERS = "uvwxyz"
_SYMBOLS = ("R", "S", "T", "U")
_DEFAULTS: dict[str, Any] = {
    "null": None, "boolean": True, "int": 1, "long": 2, "float": 1.5, "double": 2, "bytes": "a",
    "string": "s", "array": [], "map": {}, "enum": "R", "fixed": "aaaa", "record": {},
}  # fmt: skip


class SchemaMaker:
    """Makes schemas; a quarter of them is invalid on purpose: a name twice, a default of another type."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names: list[str] = []

    def root(self) -> Any:
        """A whole schema, mostly a record."""
        self.names = []
        return self.record(0) if self.chance.random() < 0.7 else self.node(0)

    def node(self, depth: int) -> Any:
        """A schema inside another one."""
        kind = self.chance.random()
        if kind < 0.35 or depth > 4:
            return self.chance.choice(PRIMITIVES)
        if kind < 0.42:
            logical = self.chance.choice(["decimal", "date", "uuid", "timestamp-millis"])
            scale = self.chance.randint(0, 3)
            primitive = self.chance.choice(PRIMITIVES)
            return {"type": primitive, "logicalType": logical, "precision": 4, "scale": scale}
        if kind < 0.50:
            return {"type": "array", "items": self.node(depth + 1)}
        if kind < 0.56:
            return {"type": "map", "values": self.node(depth + 1)}
        if kind < 0.70:
            return self.union(depth)
        if kind < 0.76 and self.names:
            return self.chance.choice(self.names)
        if kind < 0.82:
            return self.enum()
        if kind < 0.87:
            return self.named("fixed") | {"size": self.chance.choice([4, 8, 8])}
        return self.record(depth)

    def union(self, depth: int) -> list[Any]:
        """A union, often with null."""
        branches = ["null"] if self.chance.random() < 0.6 else []
        branches += [self.node(depth + 1) for _ in range(self.chance.randint(1, 3))]
        found: dict[str, Any] = {}
        for branch in (b for b in branches if not isinstance(b, list)):
            found.setdefault(_name_branch(branch), branch)
        result = list(found.values()) or ["string"]
        if self.chance.random() < 0.03:
            result.append(result[0])
        if self.chance.random() < 0.3:
            self.chance.shuffle(result)
        return result

    def enum(self) -> dict[str, Any]:
        """An enum, often with a default."""
        symbols = self.chance.sample(_SYMBOLS, self.chance.randint(1, 4))
        found = self.named("enum") | {"symbols": symbols}
        if self.chance.random() < 0.3:
            found["default"] = self.chance.choice(symbols) if self.chance.random() < 0.95 else "Z"
        return found

    def record(self, depth: int) -> dict[str, Any]:
        """A record with up to four fields."""
        found = self.named("record")
        fields = []
        for name in self.chance.sample(_LETTERS, self.chance.randint(0, 4)):
            type = self.node(depth + 1)
            field: dict[str, Any] = {"name": name, "type": type}
            if self.chance.random() < 0.4:
                field["default"] = self.default(type)
            if self.chance.random() < 0.12:
                field["aliases"] = self.chance.sample(_LETTERS, self.chance.randint(1, 2))
            if self.chance.random() < 0.02:
                field["order"] = self.chance.choice(["ignore", "up"])
            fields.append(field)
        return found | {"fields": fields}

    def named(self, type: str) -> dict[str, Any]:
        """The beginning of a named type: name, perhaps a namespace and aliases."""
        short = type + self.chance.choice("ABC")
        found: dict[str, Any] = {"type": type, "name": short}
        where = self.chance.random()
        if where < 0.2:
            found["namespace"] = self.chance.choice(["a", "b.c", ""])
        elif where < 0.3:
            found["name"] = self.chance.choice(["a.", "b.c."]) + short
        if self.chance.random() < 0.15:
            found["aliases"] = [self.chance.choice(["", "a."]) + type + self.chance.choice("ABC")]
        self.names.append(short if self.chance.random() < 0.8 else found["name"])
        return found

    def default(self, type: Any) -> Any:
        """A default that mostly fits."""
        first = type[0] if isinstance(type, list) and type else type
        kind = first if isinstance(first, str) else first.get("type") if isinstance(first, dict) else None
        wild: Any = self.chance.choice([None, 1, "x", {}])
        return _DEFAULTS.get(kind, wild) if isinstance(kind, str) else wild

    def changed(self, schema: Any) -> Any:
        """A copy of a schema with some changes of all kinds."""
        copy = json.loads(json.dumps(schema))
        self._change(copy)
        return copy

    def _happens(self, share: float) -> bool:
        return self.chance.random() < share

    def _change(self, node: Any) -> None:
        if isinstance(node, list):
            self._change_union(node)
        elif isinstance(node, dict):
            for member in ("items", "values"):
                if member in node and self._happens(0.12):
                    node[member] = self.chance.choice(PRIMITIVES)
                elif member in node:
                    self._change(node[member])
            if "fields" in node:
                self._change_fields(node["fields"])
            if "symbols" in node and self._happens(0.3):
                node["symbols"] = self.chance.sample(_SYMBOLS, self.chance.randint(1, 4))
            if "size" in node and self._happens(0.3):
                node["size"] = 4
            if node.get("type") in ("record", "enum", "fixed"):
                self._change_name(node)

    def _change_union(self, branches: list[Any]) -> None:
        for position, branch in enumerate(branches):
            if self._happens(0.15):
                branches[position] = self.node(3) if self._happens(0.5) else self.chance.choice(PRIMITIVES)
            else:
                self._change(branch)
        if branches and self._happens(0.1):
            branches.pop(self.chance.randrange(len(branches)))
        elif self._happens(0.1):
            branches.append(self.chance.choice(PRIMITIVES))

    def _change_fields(self, fields: list[dict[str, Any]]) -> None:
        for field in list(fields):
            kind = self.chance.random()
            if kind < 0.06:
                fields.remove(field)
            elif kind < 0.12:
                field["type"] = self.chance.choice(PRIMITIVES)
                field.pop("default", None)
            elif kind < 0.16:
                field["name"] = self.chance.choice(_LETTERS)
            elif kind < 0.20:
                field.pop("default", None)
            elif kind < 0.24:
                field["aliases"] = [self.chance.choice(_LETTERS)]
            else:
                self._change(field["type"])
        if self._happens(0.15):
            name, type = self.chance.choice(_LETTERS + "k"), self.chance.choice(PRIMITIVES)
            fields.append({"name": name, "type": type})

    def _change_name(self, node: dict[str, Any]) -> None:
        if self._happens(0.08):
            node["name"] = node["type"] + self.chance.choice("ABC")
        if self._happens(0.08):
            node["namespace"] = self.chance.choice(["a", "b.c"])
        if self._happens(0.08):
            node["aliases"] = [node["type"] + self.chance.choice("ABC")]


def _name_branch(branch: Any) -> str:
    if isinstance(branch, str):
        return branch
    return str(branch["name"] if branch["type"] in ("record", "enum", "fixed") else branch["type"])


def make_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of reader and writer, as texts; each pair comes in both directions."""
    maker = SchemaMaker(random.Random(seed))
    pairs: list[tuple[str, str]] = []
    while len(pairs) < count:
        one = maker.root()
        other = maker.changed(one)
        texts = json.dumps(one), json.dumps(other)
        pairs += [texts, (texts[1], texts[0])]
    return pairs
