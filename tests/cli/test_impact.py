"""`impact`, and consumers in `check` and `report`, from settings and files as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_check_branch import ACCEPTED, make_repository, write
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run, place
from tests.support.command_line import run as ask

__all__ = ["ask", "place"]

SETTINGS = """
[[target]]
name = "lake"
format = "delta"
tables = "*"
table = "ice.raw.{table}"

[consumers.dash]
sql = ["views/*.sql"]
dialect = "trino"
owner = "ann"
contact = "ann@example.com"

[consumers.jobs]
kind = "spark"
sql = "jobs/**/*.py"

[consumers.stream]
kind = "avro"
tables = ["refunds"]
owner = "eve"
"""
FILES = {
    "views/a.sql": "create view notes as select id, photo as p from ice.raw.returns where reason <> ''",
    "views/b.sql": "select p from notes",
    "jobs/deep/x.py": 'spark.sql("""SELECT r.order_no\nFROM shop.returns r""")',
}


@pytest.fixture
def folder(place: Path, ask: Run) -> Path:
    """A folder with a history, settings and the files of consumers."""
    (place / "schemaman.toml").write_text(SETTINGS)
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    assert ask("ingest", CAPTURES / "postgres" / "shop-crash").code == 0
    return place


def test_impact_names_who_reads_a_column_through_views(folder: Path, ask: Run) -> None:
    done = ask("impact", "returns.photo", "--format", "json").json
    uses = [(use["consumer"], use["file"], use["hops"], use["through"], use["roles"]) for use in done["uses"]]
    assert uses == [
        ("dash", "views/a.sql", 1, [], ["projected"]),
        ("dash", "views/b.sql", 2, ["notes"], ["projected"]),
    ]
    assert done["coverage"] == {
        "consumers": 3, "statements": 3, "unread": 0, "columns": 5, "unresolved": 0, "elsewhere": 0,
    }  # fmt: skip
    text = ask("impact", "shop.returns.photo").out
    assert "1 consumer of 3 declared: dash" in text
    assert "ann <ann@example.com>" in text


def test_none_known_is_not_none(folder: Path, ask: Run) -> None:
    assert "No declared consumer reads it" in ask("impact", "returns.note").out
    (folder / "views" / "c.sql").write_bytes(b"select \xff from returns")
    done = ask("impact", "returns.note")
    assert "No reader is known, but 1 text that may read it could not be read" in done.out
    assert "not UTF-8 text" in done.out
    (folder / "schemaman.toml").write_text("")
    assert "No consumer is declared" in ask("impact", "returns.note").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("impact", "returns.nothing"), 2, "has no column nothing"),
        (("impact", "nothing.photo"), 3, "there is no table nothing.photo"),
        (("impact", ""), 2, "name"),
    ],
)
def test_a_wrong_name_is_named(
    folder: Path, ask: Run, words: tuple[str, ...], code: int, message: str
) -> None:
    done = ask(*words)
    assert (done.code, message in done.err) == (code, True), done.err


def test_a_pattern_without_a_file_is_an_error(folder: Path, ask: Run) -> None:
    (folder / "views" / "a.sql").unlink()
    (folder / "views" / "b.sql").unlink()
    for words in (("impact", "returns"), ("check", "returns", "--against", "returns@1"), ("report",)):
        done = ask(*words)
        assert (done.code, "no file matches 'views/*.sql'" in done.err) == (2, True), done.err


def test_a_check_names_the_consumers_that_break(folder: Path, ask: Run) -> None:
    words = ("check", "returns", "--against", "returns@1")
    found = {f["path"][0]: f for f in ask(*words, "--format", "json").json["findings"]}
    broken = {name: [c["name"] for c in f["consumers"]] for name, f in found.items()}
    assert broken["order_no"] == ["jobs"]
    assert found["order_no"]["consumers"][0]["verdict"] == "break"
    for format in ("text", "markdown"):
        out = ask(*words, "--format", format).out
        assert "dash (sql)" in out
        assert "views/b.sql:1 through notes, 2 hops" in out
    fingerprint = found["order_no"]["fingerprint"]
    assert "jobs (spark) break" in ask("explain", fingerprint).out
    report = ask("report", "returns", "--format", "json").json["tables"][0]["findings"]
    assert ["jobs"] in [[c["name"] for c in f["consumers"]] for f in report]


def test_nobody_breaks_where_nobody_reads(folder: Path, ask: Run) -> None:
    (folder / "jobs" / "deep" / "x.py").write_text('spark.sql("select id from shop.returns")')
    (folder / "views" / "a.sql").write_text("select id from returns")
    (folder / "views" / "b.sql").write_text("select reason from returns")
    assert ask("check", "returns", "--against", "returns@1").code == 0


def test_a_pull_request_is_checked_against_the_sql_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Run
) -> None:
    home = make_repository(tmp_path, "", ACCEPTED)
    monkeypatch.chdir(home)
    write(home, "id INT NOT NULL, n BIGINT, PRIMARY KEY (id)")
    assert ask("check", "--base", "main").code == 1
    (home / "schemaman.toml").write_text('[consumers.dash]\nsql = "q.sql"\nowner = "ann"\n')
    for sql, code in (("select name from orders", 1), ("select n from orders", 0)):
        (home / "q.sql").write_text(sql)
        done = ask("check", "--base", "main")
        assert (done.code, "dash (sql) break · ann" in done.out) == (code, code == 1), done.out + done.err
