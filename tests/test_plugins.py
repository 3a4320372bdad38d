"""Shelves: what stands on one is found by its name, and nothing else is."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

from schemaman.debezium.connector import Connector
from schemaman.errors import UnknownName
from schemaman.plugins import Plugins, Port
from schemaman.report.display import render
from tests.support.checkout import ROOT


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with two things, a module of shared words, and a name with a dash."""
    folder = tmp_path / "fruit_shop"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_words.py").write_text("raise RuntimeError('nobody asked for me')")
    (folder / "apple.py").write_text("FRUIT = 'an apple'")
    (folder / "blood_orange.py").write_text("FRUIT = 'a blood orange'")
    monkeypatch.syspath_prepend(tmp_path)
    yield "fruit_shop"
    for name in [m for m in sys.modules if m.split(".")[0] == "fruit_shop"]:
        del sys.modules[name]


def test_things_by_name(package):
    shelf: Plugins[str] = Plugins(package, "FRUIT")
    assert shelf.names() == ("apple", "blood-orange")
    assert shelf.get("blood-orange") == "a blood orange"
    assert shelf.load_all() == ("an apple", "a blood orange")


def test_only_what_is_asked_for_is_imported(package):
    Plugins[str](package, "FRUIT").get("apple")
    assert "fruit_shop.apple" in sys.modules
    assert "fruit_shop.blood_orange" not in sys.modules


@pytest.mark.parametrize("name", ["appel", "blood_orange", "_words", "", "apple.FRUIT"])
def test_an_unknown_name_lists_what_there_is(package, name):
    with pytest.raises(UnknownName, match=r"no fruit .*; there are: apple, blood-orange"):
        Plugins[str](package, "FRUIT").get(name)


def test_the_nearest_name_is_the_hint(package):
    with pytest.raises(UnknownName) as caught:
        Plugins[str](package, "FRUIT").get("appel")
    assert caught.value.hint == "did you mean 'apple'?"
    with pytest.raises(UnknownName) as caught:
        Plugins[str](package, "FRUIT").get("zebra")
    assert caught.value.hint is None


def test_plug_ins_stand_beside_but_never_replace(package, tmp_path, monkeypatch):
    (tmp_path / "far_fruit.py").write_text("MANGO = 'a mango'\nFALSE = 'no apple'")
    found = [
        EntryPoint("mango", "far_fruit:MANGO", package),
        EntryPoint("apple", "far_fruit:FALSE", package),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found if group == package else [])
    shelf: Plugins[str] = Plugins(package, "FRUIT")
    assert shelf.names() == ("apple", "blood-orange", "mango")
    assert shelf.get("mango") == "a mango"
    assert shelf.get("apple") == "an apple"
    del sys.modules["far_fruit"]


def test_the_dialects():
    shelf: Plugins[Connector] = Plugins("schemaman.debezium.connectors", "CONNECTOR")
    assert shelf.names() == (
        "db2", "informix", "mariadb", "mongodb", "mysql", "oracle", "postgresql",
        "sqlserver", "unknown", "vitess",
    )  # fmt: skip
    with pytest.raises(UnknownName, match="no connector 'postgres'") as caught:
        shelf.get("postgres")
    assert caught.value.hint == "did you mean 'postgresql'?"


def test_no_package_names_a_module_above_it_in_a_text():
    """Upward calls go through ports, which the root alone connects; a package loads its own modules late."""
    named = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "schemaman").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
        for argument in node.args
        if isinstance(argument, ast.Constant)
        if not str(argument.value).startswith(".".join((*path.relative_to(ROOT).parent.parts[:3], "")))
        or path.parent == ROOT / "schemaman"
    }
    # The store loads the fold only when it writes.
    assert named == {"schemaman/store/folding.py"}
    assert Port[Callable[[object, str], str]]("render a report").load() is render
