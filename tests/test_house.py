"""The house itself: every thing where its name says, nothing pulled in unasked, the layers kept."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from schemaman.debezium.connector import CONNECTORS
from schemaman.migration.target import TARGETS
from tests.support.checkout import ROOT

PLUGINS = {
    "debezium/connectors": ("CONNECTOR", "_"),
    "compat/rules": ("RULE", "-"),
    "migration/targets": ("TARGET", "-"),
    "report/formats": ("FORMAT", "-"),
    "languages/exporters": ("LANGUAGE", "-"),
}
"""Folder → what each of its files offers, and what stands between the words of a name users type."""


def python_files(*roots: str) -> list[Path]:
    return sorted(p for root in roots for p in (ROOT / root).rglob("*.py") if "__pycache__" not in p.parts)


def plugin_files(folder: str) -> list[Path]:
    return [p for p in python_files(f"schemaman/{folder}") if not p.name.startswith("_")]


PLUGIN_FILES = [(folder, path.stem) for folder in PLUGINS for path in plugin_files(folder)]


@pytest.mark.parametrize(("folder", "stem"), PLUGIN_FILES, ids=lambda part: part)
def test_the_name_users_type_is_the_name_of_the_file(folder: str, stem: str) -> None:
    attribute, dash = PLUGINS[folder]
    thing = getattr(importlib.import_module(f"schemaman.{folder.replace('/', '.')}.{stem}"), attribute)
    assert thing.name == stem.replace("_", dash)


def test_every_plugin_folder_holds_something() -> None:
    assert {folder for folder, _ in PLUGIN_FILES} == set(PLUGINS)


@pytest.mark.parametrize("path", plugin_files("compat/rules"), ids=lambda p: p.stem)
def test_every_rule_is_documented_and_shown_by_examples(path: Path) -> None:
    rule = importlib.import_module(f"schemaman.compat.rules.{path.stem}").RULE
    page = (rule.page or "").lower()
    for question in ("what happened", "why it hurts", "what to do", "sources"):
        assert question in page, question
    assert any(e.fires for e in rule.examples)
    assert sum(not e.fires and bool(e.why) for e in rule.examples) >= 2


EXTRAS = {"pyarrow", "zstandard", "confluent_kafka", "httpx2", "psycopg", "fsspec"}
"""Packages that a bare install does not have; their adapter asks for them when they are needed."""


def lazy(path: Path, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import inside a function is a lazy load: of a command, of a plug-in, or of an extra."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    extra = path.parent.name == "io" and {name.split(".")[0] for name in names} <= EXTRAS
    spark = path.parent.name == "api" and all(name.startswith("schemaman.spark") for name in names)
    return ROOT / "cli" in path.parents or path.name == "plugins.py" or extra or spark


@cache
def modules() -> tuple[tuple[Path, ast.Module], ...]:
    """Every module of the product, parsed."""
    paths = python_files("schemaman", "cli")
    return tuple((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Every function, and whether it can be seen from outside its module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, not node.name.startswith("_")
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield inner, not node.name.startswith("_") and not inner.name.startswith("_")


def test_a_module_says_its_duty_and_its_functions_what_they_give() -> None:
    silent = []
    for path, tree in modules():
        if path.name != "__init__.py" and not ast.get_docstring(tree):
            silent.append(f"{path.relative_to(ROOT)}: no module docstring")
        named = [f.name for f, public in functions(tree) if public and not ast.get_docstring(f)]
        silent += [f"{path.relative_to(ROOT)}: {name}" for name in named]
    assert silent == []


def test_imports_stand_at_the_top() -> None:
    inside = [
        f"{path.relative_to(ROOT)}, line {node.lineno}"
        for path, tree in modules()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and not lazy(path, node)
    ]
    assert inside == []


def module_name(path: Path) -> str:
    """The name under which a file is imported."""
    first, *others = path.relative_to(ROOT).with_suffix("").parts
    package = "schemaman_cli" if first == "cli" else first
    return ".".join((package, *(part for part in others if part != "__init__")))


def is_for_types(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, with or without `else`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def module_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The imports of a module as package or module and name, also those for annotations alone."""
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.If) and is_for_types(node) else [node]:
            if isinstance(inner, ast.ImportFrom):
                yield from ((inner.module or "", alias.name) for alias in inner.names)


def test_no_modules_import_each_other() -> None:
    """There is no circle, not even one that only annotations or deferred functions would close."""
    trees = {module_name(path): tree for path, tree in modules()}
    imports = {
        name: {whole if (whole := f"{package}.{thing}") in trees else package for package, thing in found}
        for name, tree in trees.items()
        if (found := [*module_imports(tree)])
    }
    order = TopologicalSorter({name: found & trees.keys() - {name} for name, found in imports.items()})
    assert set(order.static_order()) <= trees.keys()


def test_a_deferred_function_has_its_type() -> None:
    """`name = defer("module:name")` stands behind an import of the same name for types."""
    found = {}
    for path, tree in modules():
        typed = {f"{package}:{thing}" for package, thing in module_imports(tree)}
        for node in tree.body:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "defer":
                    place = ast.literal_eval(inner.args[0])
                    name = place.rpartition(":")[2]
                    found[f"{path.name}: {name}"] = is_for_types(node) and place in typed
    assert found
    assert [place for place, is_typed in found.items() if not is_typed] == []


LAZY_PACKAGES = {"schemaman/__init__.py", "schemaman/spark/__init__.py", "schemaman/ingest/__init__.py"}
"""Packages that programs import: their names are loaded when they are used, and typed in a stub."""


@pytest.mark.parametrize(
    "path",
    [
        p
        for p in python_files("schemaman", "cli")
        if p.name == "__init__.py" and str(p.relative_to(ROOT)) not in LAZY_PACKAGES
    ],
    ids=str,
)
def test_a_package_file_holds_nothing_but_names(path: Path) -> None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        listed = (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        )
        assert docstring or listed or isinstance(node, ast.Import | ast.ImportFrom), ast.unparse(node)


def test_the_root_has_at_most_eight_modules() -> None:
    assert len(list((ROOT / "schemaman").glob("*.py"))) <= 8


def test_no_file_is_large() -> None:
    """What is fetched or built is not committed by mistake; recordings are small."""
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    sizes = {
        name: (ROOT / name).stat().st_size for name in told.stdout.split("\0") if (ROOT / name).is_file()
    }
    assert {name: size for name, size in sizes.items() if size > 2_000_000} == {}


def test_every_package_is_shipped() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(p.parent.relative_to(ROOT).parts)
        for p in python_files("schemaman", "cli")
        if p.name == "__init__.py"
    }
    assert {
        name.replace("cli", "schemaman_cli", 1) if name.startswith("cli") else name for name in found
    } == set(told)
    assert {str(p.parent.relative_to(ROOT)) for p in python_files("schemaman", "cli")} <= {
        n.replace(".", "/") for n in found
    }


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_schemaman_pulls_in_no_third_party_package() -> None:
    told = run_python(
        "import sys; before = set(sys.modules); import schemaman, pkgutil\n"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    assert set(told.split()) <= {"schemaman"}


@pytest.mark.parametrize(
    "module",
    [
        "model.types",
        "model.ddl",
        "model.schema",
        "model.diff",
        "debezium.records",
        "debezium.observation",
        "debezium.connector",
        "history.versions",
        "history.fold.fold",
        "compat.judge",
        "migration.plan",
        "migration.target",
        "report.document",
        "store.log",
    ],
)
def test_the_ground_and_the_ports_need_the_standard_library_alone(module: str) -> None:
    told = run_python(
        f"import sys; before = set(sys.modules); import schemaman.{module}\n"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    assert set(told.split()) <= {"schemaman"}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """The import contract over a tree; `schemaman_cli` is found beside `schemaman`."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "schemaman", folder / "schemaman", ignore=ignore)
    shutil.copytree(ROOT / "cli", folder / "schemaman_cli", ignore=ignore)
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    return folder


def test_the_layers_are_kept(copied_tree: Path) -> None:
    told = lint_imports(copied_tree)
    assert told.returncode == 0, told.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("model/types", "from schemaman.history import versions", "layers"),
        ("model/diff", "from schemaman.migration import plan", "layers"),
        ("migration/plan", "from schemaman.migration import planner", "layers of migration"),
        ("registry", "import schemaman_cli.main", "the library does not know the command line"),
        ("compat/judge", "import os", "only io, store, spark and the root touch the world"),
        ("migration/plan", "import pyspark", "client libraries"),
        ("registry", "import sqlalchemy", "client libraries"),
    ],
)
def test_a_planted_violation_turns_the_contract_red(
    copied_tree: Path, module: str, line: str, contract: str
) -> None:
    path = copied_tree / "schemaman" / f"{module}.py"
    clean = path.read_text(encoding="utf-8")
    path.write_text(
        clean.replace("from __future__ import annotations\n", f"from __future__ import annotations\n{line}\n")
    )
    try:
        told = lint_imports(copied_tree)
    finally:
        path.write_text(clean)
    assert told.returncode != 0
    assert f"{contract} BROKEN" in told.stdout


def test_no_page_holds_both_sides_of_a_merge() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("fixtures/**/*.md")]
    assert pages
    for page in pages:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(("<<<<<<< ", ">>>>>>> "))], page


VOCABULARY = ROOT / "tests" / "vocabulary.toml"
"""What is left of former words, by word; it may only shrink. `--bless` takes out what is gone."""
BANNED = {
    "told", "tell", "tells", "said", "saying", "bears", "stands", "standing", "nobody", "somebody",
    "whoever", "aside", "asides", "grave", "graves", "tenure", "shelf", "shelves", "floor", "floors",
    "dialect", "dialects", "notation", "notations", "face", "faces", "life", "lives", "footprint",
    "carriage", "witness", "witnesses", "rival", "rivals", "doubt", "doubts", "glance", "looker",
    "member", "members", "mirror", "mirrored", "retired",
}  # fmt: skip
CHANGING_ATTRIBUTES = 8
"""How many attributes a class may change outside its definition."""
CHANGING_METHODS = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popleft", "remove", "setdefault",
    "update",
}  # fmt: skip
"""Methods that change a collection in place."""


def words_of(identifier: str) -> set[str]:
    """The words of a name in snake case or camel case, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)}


def identifiers(tree: ast.Module) -> Iterator[str]:
    """Names that a module gives: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case _:
                pass


def changing_attributes(node: ast.ClassDef) -> set[str]:
    """Attributes of `self` that methods besides `__init__` and `__post_init__` assign or change in place."""
    return {
        target.attr
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name not in ("__init__", "__post_init__")
        for target in changed_places(method)
        if isinstance(target, ast.Attribute)
        if isinstance(target.value, ast.Name) and target.value.id == "self"
    }


def changed_places(method: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a method assigns, deletes or changes in place: the collection itself, not its item."""
    for node in ast.walk(method):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield node
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                yield value
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING_METHODS:
                yield value
            case _:
                pass


@cache
def house() -> dict[str, dict[str, list[str]]]:
    """What breaks the rules of naming: former words, names of two classes, classes that change too much."""
    former: dict[str, set[str]] = defaultdict(set)
    classes: dict[str, list[str]] = defaultdict(list)
    changing: dict[str, list[str]] = {}
    for path, tree in modules():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in identifiers(tree):
            for word in words_of(name) & BANNED:
                former[word].add(f"{module}:{name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(module)
                if len(attributes := changing_attributes(node)) > CHANGING_ATTRIBUTES:
                    changing[f"{module}:{node.name}"] = sorted(attributes)
    return {
        "former words": {word: sorted(found) for word, found in sorted(former.items())},
        "class names": {name: found for name, found in sorted(classes.items()) if len(found) > 1},
        "changing classes": changing,
    }


def test_the_house_has_one_word_for_a_thing(bless: bool) -> None:
    """One name is one class, no name is a former word, and no class changes more than a few attributes."""
    found, allowed = house(), tomllib.loads(VOCABULARY.read_text(encoding="utf-8"))
    news = {
        rule: {
            key: sorted(more)
            for key, names in entries.items()
            if (more := set(names) - set(allowed.get(rule, {}).get(key, ())))
        }
        for rule, entries in found.items()
    }
    if bless:
        left = {
            rule: {k: [n for n in v if n in found[rule].get(k, ())] for k, v in allowed.get(rule, {}).items()}
            for rule in found
        }
        VOCABULARY.write_text(vocabulary_text(left), encoding="utf-8")
    assert news == {rule: {} for rule in found}


def vocabulary_text(rules: dict[str, dict[str, list[str]]]) -> str:
    """The list of exceptions as TOML, without empty entries."""
    lines = ["# Exceptions to the vocabulary, which may only shrink: see tests/test_house.py."]
    for rule, entries in rules.items():
        lines += ["", f'["{rule}"]']
        for key, names in entries.items():
            if names:
                lines += [f'"{key}" = [', *(f'    "{name}",' for name in names), "]"]
    return "\n".join(lines) + "\n"


def test_no_module_compares_the_name_of_a_format() -> None:
    """What differs between formats is asked of the target, or of the format of the session."""
    own = ("schemaman/migration/targets/", "schemaman/spark/formats/")
    formats = set(TARGETS.names())
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in modules()
        if not str(path.relative_to(ROOT)).startswith(own)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare | ast.MatchValue)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value in formats
    ]
    assert found == []


OTHER_WORDS = {
    "schemaman/compat/consumers.py": "the SQL of consumers, as people name it",
    "schemaman/compat/impact/texts.py": "the adapters of dbt",
    "schemaman/debezium/ddl/migrations/grammar.py": "the SQL of migrations, as people and Liquibase name it",
    "schemaman/store/sql/postgresql.py": "the name of SQLAlchemy's dialect",
    "schemaman/store/urls.py": "the addresses of stores",
}
"""Modules in which a word that is also the name of a connector means something else."""


def connector_decisions(tree: ast.Module) -> Iterator[int]:
    """Lines that compare the name of a connector, use it as a key, or collect or keep it to do so later.

    A name that is passed on or returned is data. `unknown` is a common word: only its comparison with
    something called connector counts.
    """
    names = set(CONNECTORS.names()) - {"unknown"}
    for node in ast.walk(tree):
        parts: list[ast.expr | None] = []
        match node:
            case ast.Compare(left=left, comparators=others):
                parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
                sides = {ast.unparse(side) for side in (left, *others)}
                if any(side.endswith("connector") for side in sides) and any(map(is_constant, sides)):
                    yield node.lineno
            case ast.Subscript(slice=value) | ast.Assign(value=value):
                parts = [value]
            case ast.MatchValue(value=value) | ast.Call(func=ast.Attribute(attr="get"), args=[value, *_]):
                parts = [value]
            case ast.Dict(keys=values):
                parts = values
            case ast.Set(elts=elements) | ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = [*elements]
            case _:
                pass
        yield from (p.lineno for p in parts if isinstance(p, ast.Constant) and p.value in names)


def is_constant(side: str) -> bool:
    """Whether one side of a comparison is a text or the name of a constant."""
    return side.isupper() or (side.startswith("'") and side != "'connector'")


def test_no_module_compares_the_name_of_a_connector() -> None:
    """What differs between connectors is asked of the connector."""
    trees = {str(path.relative_to(ROOT)): tree for path, tree in modules()}
    found = {
        name: list(connector_decisions(tree))
        for name, tree in trees.items()
        if not name.startswith("schemaman/debezium/connectors/")
    }
    assert {name: lines for name, lines in found.items() if lines and name not in OTHER_WORDS} == {}
    assert [name for name in OTHER_WORDS if not found[name]] == []


@pytest.mark.parametrize(("code", "is_decision"), [
    ("origin.connector != 'mysql'", True), ("connector in ('mysql', 'x')", True),
    ("'db2' in {one, other}", True), ("observed.connector == UNKNOWN", True),
    ("origin.connector == 'unknown'", True),
    ("readers = {'vitess': read}", True), ("readers.get('vitess')", True), ("readers['vitess']", True),
    ("DOCUMENTS = 'mongodb'", True), ("match word:\n case 'oracle': pass", True),
    ("last.connector != observation.connector", False), ("'connector' in added.source", False),
    ("source.get('connector')", False), ("SqlGrammar('mysql')", False), ("release == 'unknown'", False),
])  # fmt: skip
def test_a_decision_by_the_name_of_a_connector_is_seen(code: str, is_decision: bool) -> None:
    assert bool([*connector_decisions(ast.parse(code))]) == is_decision


def test_the_list_of_exceptions_has_nothing_that_is_gone() -> None:
    """An exception that is no longer needed goes: `pytest tests/test_house.py --bless` takes it out."""
    found, allowed = house(), tomllib.loads(VOCABULARY.read_text(encoding="utf-8"))
    gone = {
        f"{key}: {name}"
        for rule, entries in allowed.items()
        for key, names in entries.items()
        for name in set(names) - set(found[rule].get(key, ()))
    }
    assert gone == set()
