"""Reads which columns the data frames of a PySpark program use, and says it as SQL. Nothing is run.

Law: each use of a data frame that begins at a table is a statement of SQL, or its table is named as one whose
columns are not known. A variable that several statements assign has what any of them gives it.
Source: PySpark API reference, `DataFrame`, `Column` and `functions`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

FoldText = Callable[[ast.expr], str | None]
"""Folds an expression into the text that it has in every run; None if it is not known."""


@dataclass(frozen=True, slots=True)
class FrameUse:
    """A use of data frames as SQL, with its line; without SQL, the columns of `tables` are not known."""

    line: int
    sql: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """A data frame: the tables that its columns come from, and the names that the program gave to columns.

    `is_narrow`: the program chose its columns. `has_others`: some columns come from elsewhere.
    """

    tables: tuple[str, ...]
    made: frozenset[str] = frozenset()
    is_narrow: bool = False
    has_others: bool = False


_NAMES = "SELECT {columns} FROM {tables}"
_TEMPLATES: Mapping[str, str] = {
    **dict.fromkeys(("select", "withColumn", "withColumnRenamed", "withColumns", "withWatermark"), _NAMES),
    **dict.fromkeys(("filter", "where"), "SELECT 1 FROM {tables} WHERE {condition}"),
    **dict.fromkeys(
        ("groupBy", "groupby", "cube", "rollup", "dropDuplicates", "drop_duplicates", "repartition"),
        "SELECT 1 FROM {tables} GROUP BY {columns}",
    ),
    **dict.fromkeys(("orderBy", "sort", "sortWithinPartitions"), "SELECT 1 FROM {tables} ORDER BY {columns}"),
    **dict.fromkeys(
        ("agg", "sum", "avg", "mean", "max", "min", "pivot"), "SELECT {aggregates} FROM {tables}"
    ),
    "selectExpr": "SELECT {raw} FROM {tables}",
}
"""What a method does with the columns in its arguments, as SQL."""

_SAME = frozenset({
    "alias", "cache", "checkpoint", "coalesce", "distinct", "hint", "limit", "localCheckpoint", "persist",
    "sample", "toDF", "unpersist", "dropna", "fillna", "exceptAll", "intersect", "subtract",
})  # fmt: skip
"""The methods that return the same columns, or use no column by its name."""

_WHOLE = frozenset({
    "collect", "first", "foreach", "foreachPartition", "head", "isEmpty", "show", "tail", "take", "toJSON",
    "toLocalIterator", "toPandas",
})  # fmt: skip
"""The methods that read every column that the data frame has."""

_QUIET = frozenset({"count", "explain", "printSchema"})
_WRITERS = frozenset({"write", "writeStream"})
_NARROWING = frozenset({"select", "selectExpr", "agg", "sum", "avg", "mean", "max", "min", "count", "pivot"})
_ALL_NAMES = frozenset({"array", "coalesce", "concat", "greatest", "least", "struct"})
"""The functions whose texts are all names of columns; of another function, the first one is."""


def find_frame_uses(
    tree: ast.Module, fold: FoldText, values: Mapping[str, ast.expr]
) -> tuple[tuple[FrameUse, ...], frozenset[str]]:
    """Find what a program does with the data frames of tables, in the order of its text, and these tables.

    `values` are those of the variables that it assigns once.
    """
    reader = _ProgramReader(fold, values, _list_functions(tree))
    reader.read_block(tree.body, {})
    found = sorted(dict.fromkeys(reader.found), key=lambda use: use.line)
    return tuple(found), frozenset(reader.tables)


def _list_functions(tree: ast.Module) -> frozenset[str]:
    """List the names of the functions of PySpark in a program, and of their module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("pyspark.sql", "pyspark.sql.functions"):
            wanted = node.module == "pyspark.sql.functions"
            found |= {a.asname or a.name for a in node.names if wanted or a.name == "functions"}
        elif isinstance(node, ast.Import):
            found |= {a.asname or "" for a in node.names if a.name == "pyspark.sql.functions"}
    return frozenset(found - {""})


Variables = dict[str, frozenset[_Frame]]
_NO_FRAMES: frozenset[_Frame] = frozenset()


@dataclass
class _ProgramReader:
    """Reads the statements of a program in order, with the data frames that its variables hold."""

    fold: FoldText
    values: Mapping[str, ast.expr]
    functions: frozenset[str]
    found: list[FrameUse] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    open_names: set[str] = field(default_factory=set)

    def read_block(self, body: list[ast.stmt], variables: Variables) -> None:
        """Read statements; a statement that may not run adds to what a variable holds."""
        functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        for statement in body:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    variables[name] = self.read(value, variables)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    functions.append(statement)
                case ast.ClassDef():
                    self.read_block(statement.body, dict(variables))
                case _:
                    self.read_parts(statement, variables)
        for function in functions:  # they run after the block, as a rule
            parameters = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
            self.read_block(function.body, {n: f for n, f in variables.items() if n not in parameters})

    def read_parts(self, statement: ast.stmt, variables: Variables) -> None:
        """Read the expressions of a statement, then its blocks, each of which may run or not."""
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.withitem):
                self.read(part.context_expr, variables)
            elif isinstance(part, ast.expr):
                self.note_unknown(self.read(part, variables), part, isinstance(statement, ast.Expr))
        for block in _list_blocks(statement):
            before = dict(variables)
            self.read_block(block, variables)
            for name, frames in before.items():
                variables[name] = variables.get(name, _NO_FRAMES) | frames

    def note_unknown(self, frames: frozenset[_Frame], node: ast.expr, is_result_unused: bool) -> None:
        """Note that data frames go where they are not followed."""
        if not is_result_unused:
            self.add(node, frames, "")

    def read(self, node: ast.expr, variables: Variables) -> frozenset[_Frame]:
        """Return the data frames that an expression may be, and note what it does with others."""
        match node:
            case ast.Name(id=name):
                return variables.get(name, _NO_FRAMES)
            case ast.Call(func=ast.Attribute(value=value, attr=method)):
                return self.read_call(node, value, method, variables)
            case ast.Attribute(value=value, attr=attribute):
                frames = self.read(value, variables)
                if attribute in _WRITERS:
                    self.read_whole(node, frames)
                elif attribute in ("rdd", "na", "stat"):
                    self.add(node, frames, "")
                elif frames and attribute not in ("columns", "schema", "dtypes", "sparkSession"):
                    self.add(node, frames, _fill(_NAMES, [_quote(attribute)]), (attribute,))
                return _NO_FRAMES
            case ast.Subscript(value=value, slice=index):
                frames = self.read(value, variables)
                self.read_names(node, frames, [index], _NAMES, variables)
                return _NO_FRAMES
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.read(test, variables)
                return self.read(body, variables) | self.read(orelse, variables)
            case _:
                for part in ast.iter_child_nodes(node):
                    inner = part.value if isinstance(part, ast.keyword) else part
                    if isinstance(inner, ast.expr):
                        self.note_unknown(self.read(inner, variables), inner, False)
                return _NO_FRAMES

    def read_call(
        self, node: ast.Call, value: ast.expr, method: str, variables: Variables
    ) -> frozenset[_Frame]:
        arguments = [*node.args, *(k.value for k in node.keywords)]
        frames = self.read(value, variables)
        if not frames:
            return self.read_source(node, method, arguments, variables)
        if method in ("join", "crossJoin", "union", "unionByName", "unionAll"):
            return self.read_join(node, frames, method, variables)
        if method in _TEMPLATES:
            self.read_names(node, frames, arguments, _TEMPLATES[method], variables)
            return frozenset(_change(frame, method, arguments, self.fold) for frame in frames)
        if method in _WHOLE or method == "writeTo":
            self.read_whole(node, frames)
            return _NO_FRAMES
        if method in _QUIET:
            return _NO_FRAMES
        if method == "drop":
            return frames
        if method not in _SAME:
            self.add(node, frames, "")
            return _NO_FRAMES
        return frames

    def read_source(
        self, node: ast.Call, method: str, arguments: list[ast.expr], variables: Variables
    ) -> frozenset[_Frame]:
        """Return the data frame of a table, or read the arguments of another call."""
        name = self.fold(node.args[0]) if node.args else None
        if method == "table" and name:
            self.tables.add(name)
            return frozenset([_Frame((name,))])
        for argument in arguments:
            self.note_unknown(self.read(argument, variables), argument, False)
        return _NO_FRAMES

    def read_join(
        self, node: ast.Call, frames: frozenset[_Frame], method: str, variables: Variables
    ) -> frozenset[_Frame]:
        """Join data frames; one that comes from no known table may have any column."""
        other = self.read(node.args[0], variables) if node.args else _NO_FRAMES
        conditions = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "on")]
        joined = frozenset(
            _Frame(
                tuple(dict.fromkeys((*one.tables, *second.tables))),
                one.made | second.made,
                one.is_narrow and second.is_narrow,
                one.has_others or second.has_others or not other,
            )
            for one in frames
            for second in other or [_Frame(())]
        )
        if method == "join":
            template = "SELECT 1 FROM {tables} JOIN (SELECT 1) AS joined ON {condition}"
            for side in (frames, other):
                self.read_names(node, side, conditions, template, variables, is_shared=True)
        return joined

    def read_whole(self, node: ast.expr, frames: frozenset[_Frame]) -> None:
        """Note that every column is read, unless the program has chosen columns before."""
        self.add(node, frozenset(f for f in frames if not f.is_narrow), "SELECT * FROM {tables}")

    def read_names(
        self,
        node: ast.expr,
        frames: frozenset[_Frame],
        arguments: list[ast.expr],
        template: str,
        variables: Variables,
        *,
        is_shared: bool = False,
    ) -> None:
        """Note the columns in arguments: texts are names, or conditions and expressions of SQL."""
        names: list[str] = []
        raw: list[str] = []
        is_sql = "{raw}" in template or ("{condition}" in template and not is_shared)
        texts = list(_list_texts(arguments))
        if "withColumn" in getattr(getattr(node, "func", None), "attr", "") and arguments:
            is_rename = node.func.attr.endswith("Renamed")  # type: ignore[attr-defined]
            arguments = arguments[:1] if is_rename else arguments[1:]
            texts = arguments[:1] if is_rename else []
        for argument in arguments:
            for part in self.list_columns(argument, texts, variables, frames):
                if isinstance(part, str):
                    (raw if is_sql and argument in texts else names).append(part)
                elif part is None:
                    self.add(node, frames, "")
        made = frozenset().union(*(frame.made for frame in frames)) if frames else frozenset()
        wanted = [name for name in names if name.split(".")[0] not in made]
        if wanted or raw:
            self.add(node, frames, _fill(template, [_quote(name) for name in wanted], raw), ())

    def list_columns(
        self, node: ast.expr, texts: list[ast.expr], variables: Variables, frames: frozenset[_Frame]
    ) -> Iterator[str | None]:
        """List the columns that an expression names; None for a name that only a run shows."""
        match node:
            case ast.Constant(value=str(text)):
                if node in texts:
                    yield text
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                for part in parts:
                    yield from self.list_columns(part, texts, variables, frames)
            case ast.Starred(value=value):
                yield from self.list_columns(value, [*texts, *_list_texts([value])], variables, frames)
            case ast.Call(func=function, args=arguments) if self.name_function(function):
                word = self.name_function(function)
                yield from self.list_arguments(word, arguments, variables, frames)
            case ast.Name(id=name) if not variables.get(name):
                yield from self.list_named(node, texts, variables, frames)
            case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id=name)) if (
                variables.get(name)
            ):
                self.read(node, variables)
            case _:
                count, has_names = len(self.found), isinstance(node, ast.Constant)
                for child in ast.iter_child_nodes(node):
                    inside = child.value if isinstance(child, ast.keyword) else child
                    if isinstance(inside, ast.expr):
                        for column in self.list_columns(inside, [], variables, frames):
                            has_names = True
                            yield column
                if node in texts and not has_names and len(self.found) == count:
                    yield None  # such as a list that a run makes

    def list_named(
        self, node: ast.Name, texts: list[ast.expr], variables: Variables, frames: frozenset[_Frame]
    ) -> Iterator[str | None]:
        """List the columns in the value of a variable; None for one that is not known and may be a column."""
        value = self.values.get(node.id)
        if value is not None and node.id not in self.open_names:
            self.open_names.add(node.id)
            inner = [*texts, *_list_texts([value])] if node in texts else texts
            yield from self.list_columns(value, inner, variables, frames)
            self.open_names.discard(node.id)
        elif node in texts:
            yield None

    def name_function(self, function: ast.expr) -> str:
        """Name the function of PySpark that a call calls; empty for any other."""
        match function:
            case ast.Name(id=name) if name in self.functions or name in ("col", "column", "expr"):
                return name
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in self.functions:
                return name
            case _:
                return ""

    def list_arguments(
        self, word: str, arguments: list[ast.expr], variables: Variables, frames: frozenset[_Frame]
    ) -> Iterator[str | None]:
        if word in ("lit", "current_date", "current_timestamp"):
            return
        if word == "expr":
            text = self.fold(arguments[0]) if arguments else None
            if text is None:
                yield None
            else:
                self.add(arguments[0], frames, _fill("SELECT {raw} FROM {tables}", [], [text]))
            return
        for position, argument in enumerate(arguments):
            text = self.fold(argument)
            is_name = word in _ALL_NAMES or position == 0
            if text is not None and is_name:
                if text != "*":
                    yield text
            elif word in ("col", "column") and position == 0:
                yield None
            else:
                yield from self.list_columns(argument, [], variables, frames)

    def add(self, node: ast.expr, frames: frozenset[_Frame], sql: str, names: tuple[str, ...] = ()) -> None:
        """Add a use of each data frame; without SQL, what it uses is not known."""
        line = getattr(node, "end_lineno", None) or node.lineno
        for frame in frames:
            if not frame.tables or frame.made.intersection(names):
                continue
            tables = [_quote(table) for table in frame.tables]
            tables += ["`another data frame`"] if frame.has_others else []
            joined = f"{tables[0]}{''.join(f' CROSS JOIN {table}' for table in tables[1:])}"
            self.found.append(FrameUse(line, sql.replace("{tables}", joined), frame.tables))


def _change(frame: _Frame, method: str, arguments: list[ast.expr], fold: FoldText) -> _Frame:
    """Return the data frame after a method that chooses or makes columns."""
    made = set(frame.made)
    for node in ast.walk(ast.Tuple(elts=arguments, ctx=ast.Load())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "alias":
            made |= {text for part in node.args if (text := fold(part)) is not None}
    if method in ("withColumn", "withColumnRenamed") and arguments:
        new = fold(arguments[1 if method.endswith("Renamed") else 0]) if len(arguments) > 1 else None
        made |= {new} if new is not None else set()
    return replace(frame, made=frozenset(made), is_narrow=frame.is_narrow or method in _NARROWING)


def _list_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block:
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _list_texts(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    """List the arguments that are texts: alone, or in a list."""
    for argument in arguments:
        if isinstance(argument, ast.List | ast.Tuple):
            yield from argument.elts
        yield argument


def _fill(template: str, names: list[str], raw: list[str] | None = None) -> str:
    """Fill a template: all columns in a list, or conditions with AND."""
    parts = [*names, *(raw or [])]
    conditions = [*(f"{name} IS NOT NULL" for name in names), *(f"({text})" for text in raw or [])]
    return (
        template.replace("{columns}", ", ".join(parts))
        .replace("{raw}", ", ".join(parts))
        .replace("{aggregates}", ", ".join(f"max({name})" for name in parts))
        .replace("{condition}", " AND ".join(conditions))
    )


def _quote(name: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in name.replace("`", "").split("."))
