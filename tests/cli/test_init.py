"""`init`: what it writes is read back, explained line by line, asked about at most thrice, and never lost."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pytest

from schemaman.api.initial_settings import (
    InitialSettings,
    choose_address,
    list_patterns,
    quote_toml,
    require_settings,
    write_settings,
)
from schemaman.io import files, kafka
from schemaman.model.schema import TableId
from schemaman.model.table_patterns import is_matched
from schemaman.settings import Settings
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run
from tests.support.hostile_names import HOSTILE

FILE = Path("schemaman.toml")
SHOP = CAPTURES / "postgres" / "shop-crash"
BOOKS = CAPTURES / "mariadb" / "bookshop-mariadb-3.5.0-json"
AVRO = CAPTURES / "postgres" / "shop-avro"


class Terminal(io.StringIO):
    """A terminal at which somebody types these answers."""

    def isatty(self) -> bool:
        return True


def read_written() -> Settings:
    """The settings in the file, whose every line has a comment of at most 25 words above it."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    for above, line in pairwise(lines):
        assert len(line) <= 200
        if line.startswith("#"):
            assert len(line.split()) <= 26
        elif line:
            assert above.startswith("# "), line
    return require_settings(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("source", [SHOP, BOOKS, AVRO], ids=lambda p: p.name)
def test_the_tables_of_a_recording_have_lake_tables_of_their_own(run: Run, source: Path, format: str) -> None:
    done = run("init", source, "--lake", format, "--profile", "autopilot", "--format", "json")
    assert done.code == 0, done
    settings, found = read_written(), done.json["found"]["tables"]
    (target,) = settings.targets.value
    assert (target.format, settings.profile.value) == (format, "autopilot")
    assert run("ingest", source, "-q").code == 0
    histories = [t["id"] for t in run("tables", "--format", "json").json["tables"] if not t.get("ended")]
    assert {t["table"] for t in found} <= set(histories)
    assert len(found) > 1
    for each in found:
        table = TableId(*_split(each["table"]))
        assert target.has_table(table)
    assert done.json["next"][0].startswith("schemaman stream ")


def _split(name: str) -> tuple[str, str, str, str]:
    parts = name.split(".")
    server, database, *schema, table = parts
    return server, database, schema[0] if schema else "", table


def test_a_file_that_is_there_keeps_its_bytes(run: Run) -> None:
    assert run("init", SHOP).code == 0
    before = FILE.read_bytes()
    assert run("init", SHOP).code == 0
    other = run("init", SHOP, "--profile", "additive", "--format", "json")
    assert (other.code, other.json["state"]) == (1, "differs")
    assert '-profile = "careful"' in other.json["differences"]
    assert '+profile = "additive"' in other.json["differences"]
    assert FILE.read_bytes() == before


def test_settings_of_the_project_are_not_hidden(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / ".git").mkdir()
    (place / "pyproject.toml").write_text("[tool.schemaman]\n")
    (place / "below").mkdir()
    monkeypatch.chdir(place / "below")
    done = run("init")
    assert done.code == 2
    assert "pyproject.toml has the settings of this folder" in " ".join(done.err.split())
    assert not FILE.exists()


@pytest.mark.parametrize(
    ("words", "answers", "asked"),
    [
        ((), "delta\nshop.*, inventory.*\nautopilot\n", 3),
        (("--lake", "delta", "--profile", "autopilot"), "shop.*, inventory.*\n", 1),
        (("--lake", "delta", "--tables", "shop.*,inventory.*", "--profile", "autopilot"), "", 0),
    ],
)
def test_a_terminal_is_asked_only_what_no_option_says(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], answers: str, asked: int
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answers))
    done = run("init", SHOP, *words)
    assert done.code == 0
    settings = read_written()
    (target,) = settings.targets.value
    assert (target.format, target.tables) == ("delta", ("shop.*", "inventory.*"))
    assert settings.profile.value == "autopilot"
    assert done.err.count("]:") == asked


def test_yes_asks_nothing_and_takes_the_defaults(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    assert run("init", "--yes").code == 0
    (target,) = read_written().targets.value
    assert (target.format, target.tables, target.table) == ("iceberg", ("*",), "ice.raw.{table}")


def test_a_pattern_that_names_no_table_is_told(run: Run) -> None:
    done = run("init", SHOP, "--yes", "--tables", "shop.*,shp.*", "--format", "json")
    assert (done.code, done.json["notes"]) == (
        0,
        ["shp.* names none of the tables that were found: check its spelling"],
    )
    assert run("ingest", SHOP, "-q").code == 0
    FILE.write_text(FILE.read_text().replace('"shop.*", ', ""))
    told = " ".join(run("plan").err.split())
    assert "target lake includes none of the known tables: its tables are 'shp.*'" in told


def test_the_store_shows_what_was_ingested(run: Run) -> None:
    assert run("ingest", SHOP, "-q").code == 0
    done = run("init", "--format", "json")
    assert [t["connector"] for t in done.json["found"]["tables"]] == ["postgresql"] * 3


def test_a_folder_of_recordings_is_read_whole(run: Run, place: Path) -> None:
    for source in (SHOP, BOOKS):
        (place / "seen" / source.name).mkdir(parents=True)
        found = files.find_file(str(source))
        Path("seen", source.name, Path(found.path).name).symlink_to(found.path)
    done = run("init", "seen", "--format", "json")
    assert {t["connector"] for t in done.json["found"]["tables"]} == {"postgresql", "mariadb"}
    assert len(done.json["next"][0].split()) == 5


def test_topics_are_named_by_few_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [r for r in files.read_records(files.find_file(str(BOOKS))) if hasattr(r, "topic")]
    monkeypatch.setattr(kafka, "read_sample", lambda *_: iter(records))
    Path("client.properties").write_text("security.protocol=PLAINTEXT\n")
    done = run("init", "--kafka", "broker:9092", "--kafka-config", "client.properties", "--format", "json")
    assert done.json["next"] == [
        "schemaman stream 'kafka://broker:9092/books.*,books'",
        "schemaman sync 'kafka://broker:9092/books.*,books'",
    ]
    assert read_written().kafka_config.value == ("client.properties",)


def test_records_that_need_a_registry_are_told(run: Run, place: Path) -> None:
    found = files.find_file(str(AVRO))
    lone = place / Path(found.path).name
    lone.symlink_to(found.path)
    done = run("init", lone, "--format", "json")
    assert any("run init with --registry" in note for note in done.json["notes"])


@pytest.mark.parametrize(
    ("words", "code"),
    [(["missing"], 3), (["--lake", "hudi"], 2), ([".", "--kafka", "b:1"], 2), (["--kafka", "b:99999"], 2)],
)
def test_wrong_words_write_nothing(run: Run, words: list[str], code: int) -> None:
    assert run("init", *words).code == code
    assert not FILE.exists()


def test_no_password_is_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMAMAN_STORE", "postgresql://ann:hunter2@db/schemaman")
    assert run("init", SHOP).code == 0
    assert "hunter2" not in FILE.read_text()
    assert "store = " not in FILE.read_text()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_quoted_and_select_themselves(name: str) -> None:
    tables = [TableId(name, name, name, each) for each in (name, "plain")]
    other = TableId("xx", "yy", "zz", "plain")
    chosen = InitialSettings(
        "sqlite:///s.db", "careful", "iceberg", list_patterns(tables),
        choose_address(tables, "iceberg", "ice", "/lake"), "ice", "warehouse",
    )  # fmt: skip
    (target,) = require_settings(write_settings(chosen)).targets.value
    assert all(target.has_table(table) for table in tables)
    assert not target.has_table(other)
    assert len({target.address(table) for table in tables}) == 2
    if name != "\ud800":
        assert require_settings(f"store = {quote_toml(name)}").store.value == name


def test_a_wildcard_in_a_name_is_no_wildcard() -> None:
    (pattern,) = list_patterns([TableId("s", "a*b[1]?", "", "t")])
    assert is_matched(TableId("s", "a*b[1]?", "", "u"), pattern)
    assert not is_matched(TableId("s", "axxb1x", "", "u"), pattern)


def test_a_folder_with_braces_stays_a_folder() -> None:
    tables = [TableId("s", "d", "a", "t"), TableId("s", "d", "b", "t")]
    address = choose_address(tables, "delta", "ice", "/home/{me}/lake")
    chosen = InitialSettings("s.db", "additive", "delta", list_patterns(tables), address, "ice", "w")
    (target,) = require_settings(write_settings(chosen)).targets.value
    assert [target.address(t) for t in tables] == ["/home/{me}/lake/a_t", "/home/{me}/lake/b_t"]
