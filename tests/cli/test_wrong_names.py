"""Every command, asked for what is not there, is several things or no name: one answer, with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from schemaman.report.json import schemas
from schemaman_cli.main import main
from tests.support.checkout import CAPTURES, PROOF
from tests.support.command_line import Done, Run
from tests.support.command_line import run as ask

__all__ = ["ask"]

RECORDINGS = {
    "main": "mariadb/bookshop-mariadb-3.5.0-json",
    "shop": "postgres/shop-json",
    "file": "db2/shop-3.4.1-json",
    "mongo": "mongodb/inventory-2.5.4-pre-image",
}
"""Stream → recording; all of them lie in one store."""

OF_A_TABLE = (
    ["history", "{}"],
    ["show", "{}"],
    ["show", "{}@1", "--as", "avro"],
    ["blame", "{}"],
    ["names", "{}"],
    ["diff", "{}"],
    ["diff", "{}@1", "{}@1"],
    ["check", "{}", "--against", "{}@1"],
    ["report", "{}"],
    ["snapshot", "{}"],
    ["accept", "{}"],
    ["decide", "rename", "{}", "a", "b"],
    ["decide", "confirm", "{}", "key"],
    ["rejects", "{}"],
    ["drift", "{}"],
    ["plan", "{}", "--target", "delta", "--table", "lake.orders"],
)
"""Every command that takes the name of a table."""


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of several recordings."""
    path = tmp_path_factory.mktemp("several") / "schemaman.db"
    for stream, recording in RECORDINGS.items():
        place = ["--store", f"sqlite:///{path}", "--stream", stream]
        assert main(["ingest", str(CAPTURES / recording), *place]) == 0
    return path


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has read nothing."""
    folder = tmp_path_factory.mktemp("blank")
    (folder / "nothing.jsonl").touch()
    assert main(["ingest", str(folder / "nothing.jsonl"), "--store", f"sqlite:///{folder}/schemaman.db"]) == 0
    return folder / "schemaman.db"


NO_NAMES = ("", " ", ".", ".a", "a.", "@", "@3", "a@b@c", '"', '"a', 'a"b', ":", ":a", "a:")
UNKNOWN = ("ordes", "a\nb", "a\x00b", "\x1b[31ma", "ü😀", "x" * 5000, "*", "%", "'; drop table log", "../x")


def fits(command: list[str], name: str) -> list[str]:
    return [word.replace("{}", name) for word in command]


def assert_said(said: Done, code: int, name: str) -> None:
    """One error with a hint, nothing else."""
    assert (said.code, said.out) == (code, ""), (name, said)
    assert said.err.startswith("error: ")
    assert "\n  hint: " in said.err
    assert "Traceback" not in said.err
    assert "fault of its own" not in said.err
    assert not set(said.err) & {"\x1b", "\x00"}


@pytest.mark.parametrize("command", OF_A_TABLE, ids=" ".join)
def test_what_is_no_name_is_a_wrong_question_on_any_store(
    ask: Run, several: Path, blank: Path, command: list[str]
) -> None:
    for store in (several, blank):
        for name in NO_NAMES:
            assert_said(ask(*fits(command, name), "--store", f"sqlite:///{store}"), 2, name)


@pytest.mark.parametrize("command", OF_A_TABLE, ids=" ".join)
def test_what_nobody_knows_is_said_with_the_nearest_or_where_to_look(
    ask: Run, several: Path, blank: Path, command: list[str]
) -> None:
    for name in UNKNOWN:
        quoted = '"' + name + '"'
        said = ask(*fits(command, quoted), "--store", f"sqlite:///{several}")
        assert_said(said, 3, name)
        assert "hint: similar names: " in said.err or "hint: `schemaman tables" in said.err
    assert (
        "shop:shopdb.shop.shop.orders" in ask(*fits(command, "ordes"), "--store", f"sqlite:///{several}").err
    )
    empty = ask(*fits(command, "orders"), "--store", f"sqlite:///{blank}")
    assert_said(empty, 3, "orders")
    store = f"--store sqlite:///{blank}"
    assert f"the history is empty: run `schemaman ingest {store} SOURCE` first" in empty.err
    assert_said(ask(*fits(command, "orders"), "--store", "sqlite:///none.db"), 3, "orders")
    assert not Path("none.db").exists()


@pytest.mark.parametrize("command", OF_A_TABLE, ids=" ".join)
def test_what_may_be_several_tables_is_said_with_all_of_them(
    ask: Run, several: Path, command: list[str]
) -> None:
    said = ask(*fits(command, "suppliers"), "--store", f"sqlite:///{several}")
    assert_said(said, 2, "suppliers")
    for table in ("shop:shopdb.shop.shop.suppliers", "shop:shopdb.shop.inventory.suppliers"):
        assert table in said.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["explain", "0123456789abcdef"], 2),
        (["explain", ""], 2),
        (["explain", "*"], 2),
        (["rules", "column-droped"], 2),
        (["schema", "histroy"], 2),
        (["resume", "nonsense"], 2),
        (["resume", ""], 2),
        (["apply", "missing.json"], 3),
        (["apply", ""], 2),
        (["report", "--plan", "missing.json"], 3),
        (["completion", "cmd"], 2),
        (["store", "chekc"], 2),
        (["store", "check", "file"], 2),
        (["store", "import", "missing.gz"], 3),
        (["config", "shwo"], 2),
        (["status", "orders"], 2),
        (["tables", "--format", "yaml"], 2),
        (["ingest", "missing.jsonl"], 3),
        (["ingest", ""], 2),
        (["ingest", "kafka://"], 2),
        (["ingest", "gopher://host/x"], 2),
        (["ingest", "http://127.0.0.1:9/x"], 3),
        (["show", "file:missing"], 3),
        (["show", "git:HEAD:missing"], 2),
        (["show", "registry:missing"], 2),
        (["diff", "file:missing", "file:missing"], 3),
        (["check", "--against", "orders@1"], 2),
        (["check", "--level", "BACKWARDS"], 2),
        (["decide", "renmae", "orders", "a", "b"], 2),
        (["show", "orders", "--as", "protobuf"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_what_is_named_wrongly_besides_tables(
    ask: Run, several: Path, blank: Path, words: list[str], code: int
) -> None:
    for store in (several, blank):
        assert_said(ask(*words, "--store", f"sqlite:///{store}"), code, words[-1])


ALL = (
    ["tables"], ["names"], ["rules"], ["rejects"], ["report"], ["status"], ["config", "show"],
)  # fmt: skip
EACH = (
    ["history", "{}"],
    ["show", "{}"],
    ["show", "{}@1"],
    ["blame", "{}"],
    ["blame", "{}@1"],
    ["names", "{}"],
    ["diff", "{}"],
    ["diff", "{}@1", "{}@latest"],
    ["check", "{}", "--against", "{}@1"],
    ["report", "{}"],
    ["rejects", "{}"],
)


def test_every_json_of_several_recordings_is_as_its_schema_says(ask: Run, several: Path, blank: Path) -> None:
    fingerprints: set[str] = set()
    for store in (several, blank):
        at = ("--format", "json", "--store", f"sqlite:///{store}")
        tables = [t["id"] for t in ask("tables", *at).json["tables"]]
        # of every table in a proof: the next test asks all of them in text
        some = tables[:: 1 if PROOF else 3]
        asked = [*ALL, *(fits(command, table) for table in some for command in EACH)]
        for words in asked:
            said = ask(*words, *at)
            assert said.code in (0, 1), (words, said.err)
            Draft202012Validator(schemas.read_schema(words[0])).validate(said.json)
            if words[0] == "check":
                fingerprints |= {f["fingerprint"] for f in said.json["findings"]}
        assert len(tables) == (0 if store == blank else 47)
    for fingerprint in fingerprints:
        said = ask("explain", fingerprint, "--format", "json", "--store", f"sqlite:///{several}")
        Draft202012Validator(schemas.read_schema("explain")).validate(said.json)
    assert fingerprints


@pytest.mark.parametrize("stream", RECORDINGS)
def test_what_tables_prints_can_be_pasted_into_every_command(ask: Run, several: Path, stream: str) -> None:
    store = f"sqlite:///{several}"
    listed = ask("tables", "--stream", stream, "--store", store, "--format", "json").json["tables"]
    assert listed
    for table in listed:
        for words in EACH:
            assert ask(*fits(words, table["id"]), "--store", store).code in (0, 1)
        shown = ask("show", f"{table['id']}@1", "--store", store, "--format", "json").json
        assert shown["table"] == table["id"]
