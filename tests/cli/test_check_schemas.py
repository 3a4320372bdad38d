"""`check` on schemas of files and lines: no store, no network, no Java."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from shlex import split

import pytest

from tests.support.command_line import Run
from tests.support.command_line import run as ask

__all__ = ["ask"]

OLD = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {
            "name": "state",
            "type": [
                "null",
                {"type": "record", "name": "State", "fields": [{"name": "code", "type": "int"}]},
            ],
        },
    ],
}


def with_text(default: bool) -> dict[str, object]:
    """The schema with one more member inside the nullable record."""
    changed: dict[str, object] = json.loads(json.dumps(OLD))
    member = {"name": "text", "type": "string"} | ({"default": ""} if default else {})
    changed["fields"][1]["type"][1]["fields"].append(member)  # type: ignore[index]
    return changed


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, schema in {
        "old": OLD, "new": with_text(False), "filled": with_text(True), "int": "int", "text": "string",
        "json": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
    }.items():  # fmt: skip
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
    (tmp_path / "a.sql").write_text("id BIGINT NOT NULL, n BIGINT")
    (tmp_path / "b.sql").write_text("id BIGINT NOT NULL, n INT")
    return tmp_path


@pytest.mark.parametrize(
    ("new", "old", "level", "code"),
    [
        ("new", "old", "FULL", 1),
        ("new", "old", "BACKWARD", 1),
        ("new", "old", "FORWARD", 0),
        ("new", "old", "NONE", 0),
        ("filled", "old", "FULL", 0),
        ("old", "old", "FULL_TRANSITIVE", 0),
        ("text", "int", "BACKWARD", 1),
        ("int", "int", "FULL", 0),
    ],
)
def test_a_level_alone_decides_about_two_avro_files(
    files: Path, ask: Run, new: str, old: str, level: str, code: int
) -> None:
    done = ask("check", f"file:{new}.avsc", "--against", f"file:{old}.avsc", "--level", level)
    assert done.code == code, done.out
    assert not (files / "schemaman.db").exists()


def test_the_cause_is_named_down_to_the_leaf(files: Path, ask: Run) -> None:
    done = ask("check", "file:new.avsc", "--against", "file:old.avsc", "--level", "FULL", "--format", "json")
    (finding,) = done.json["findings"]
    assert (finding["rule"], finding["path"]) == ("column-added-required", ["state", "text"])
    done = ask("check", "file:text.avsc", "--against", "file:int.avsc", "--level", "BACKWARD")
    assert "reader type: STRING not compatible with writer type: INT" in done.out


def test_other_schemas_are_compared_as_tables(files: Path, ask: Run) -> None:
    done = ask("check", "file:b.sql", "--against", "file:a.sql", "--format", "json")
    assert done.code == 1
    assert [f["rule"] for f in done.json["findings"]] == ["integer-narrowed"]


@pytest.mark.parametrize(("file", "word"), [("json", "JSON Schema"), ("absent", "no such file")])
def test_what_cannot_be_read_is_named(files: Path, ask: Run, file: str, word: str) -> None:
    done = ask("check", f"file:{file}.avsc", "--against", "file:old.avsc")
    assert done.code == 3
    assert word in done.err


def test_a_batch_answers_each_line_in_order(files: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [
        {"old": ["int"], "new": "long", "level": "BACKWARD"},
        {"old": ["long"], "new": "int", "level": "backward"},
        {"old": [OLD, with_text(True)], "new": json.dumps(with_text(False)), "level": "BACKWARD"},
        {"old": [OLD, with_text(True)], "new": with_text(False), "level": "BACKWARD_TRANSITIVE"},
        {"old": [], "new": '{"type": "fixed", "name": "A", "size": 4}', "level": "FULL"},
        {"old": [], "new": {"type": "record", "name": "A"}, "level": "FULL"},
        {"old": [], "new": 'syntax = "proto3";', "level": "FULL"},
        {"old": ["int"], "new": "int", "level": "SIDEWAYS"},
        {"new": "int"},
    ]
    text = "".join(json.dumps(question) + "\n" for question in questions) + "\nno JSON\n"
    (files / "questions.jsonl").write_text(text)
    done = ask("check", "--batch", "questions.jsonl")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer.get("compatible") for answer in answers] == [True, False, True, False, True] + [None] * 5
    assert answers[1]["reasons"] == [
        "TYPE_MISMATCH at /: reader type: INT not compatible with writer type: LONG"
    ]
    assert [bool(answer.get("error")) for answer in answers] == [False] * 5 + [True] * 5
    assert "Protobuf" in answers[6]["error"]
    assert done.code == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert ask("check", "--batch", "-").out == done.out


def test_a_line_of_a_batch_that_is_no_text_hides_no_other(
    files: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = b'{"old": ["int"], "new": "long", "level": "BACKWARD", "why": "\xc3\xa9 \xe2\x80\xa8"}'
    lines = b"\r\n".join([good, b"", good.replace(b"\xc3", b""), good, b"\xff\xfe"])
    (files / "q.jsonl").write_bytes(lines)
    done = ask("check", "--batch", "q.jsonl")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer.get("compatible") for answer in answers] == [True, None, True, None]
    assert answers[1]["error"] == "line 3 is not UTF-8 text (invalid start byte at byte 61)"
    assert answers[3]["error"].startswith("line 5 is not UTF-8 text")
    assert done.code == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert ask("check", "--batch", "-").out == done.out
    assert ask("check", "--batch", "missing.jsonl").code == 3


def iceberg(*fields: tuple[int, str, str]) -> str:
    listed = [{"id": id, "name": name, "required": False, "type": type} for id, name, type in fields]
    return json.dumps({"type": "struct", "schema-id": 0, "fields": listed})


BEFORE = ((1, "id", "long"), (2, "a", "int"), (3, "b", "int"))


@pytest.mark.parametrize(
    ("after", "rules"),
    [
        (BEFORE, []),
        (((1, "id", "long"), (2, "a", "int"), (4, "b", "int")), [("column-readded", "b")]),
        (((1, "id", "long"), (2, "c", "int"), (3, "b", "int")), [("column-renamed", "a")]),
        (((1, "id", "long"), (4, "c", "int"), (3, "b", "int")),
         [("column-added-nullable", "c"), ("column-dropped", "a")]),
        (((1, "id", "long"), (2, "a", "int"), (2, "b", "int")), []),
    ],
)  # fmt: skip
def test_the_field_ids_of_iceberg_say_which_column_is_which(
    tmp_path: Path, ask: Run, after: tuple[tuple[int, str, str], ...], rules: list[tuple[str, str]]
) -> None:
    (tmp_path / "old.json").write_text(iceberg(*BEFORE))
    (tmp_path / "new.json").write_text(iceberg(*after))
    done = ask("check", "file:new.json", "--against", "file:old.json", "--format", "json").json
    assert sorted((f["rule"], ".".join(f["path"])) for f in done["findings"]) == rules


def test_an_optional_field_of_avro_that_loses_its_default_is_told(tmp_path: Path, ask: Run) -> None:
    def write(name: str, with_default: bool) -> None:
        more = {"default": None} if with_default else {}
        zip_code = {"name": "zip", "type": "string", **({"default": ""} if with_default else {})}
        address = {"type": "record", "name": "Address", "fields": [zip_code]}
        fields = [
            {"name": "id", "type": "long"},
            {"name": "n", "type": ["null", "int"], **more},
            {"name": "home", "type": ["null", address], "default": None},
        ]
        (tmp_path / name).write_text(json.dumps({"type": "record", "name": "R", "fields": fields}))

    write("old.avsc", True)
    write("new.avsc", False)
    done = ask("check", "file:new.avsc", "--against", "file:old.avsc", "--format", "json").json
    found = sorted((f["rule"], ".".join(f["path"])) for f in done["findings"])
    assert found == [("default-removed", "home.zip"), ("default-removed", "n")]
    assert {f["severity"] for f in done["findings"]} == {"danger"}
    assert (
        ask("check", "file:old.avsc", "--against", "file:new.avsc", "--format", "json").json["findings"] == []
    )


def test_a_finding_of_files_is_explained_and_waived_by_the_printed_command(files: Path, ask: Run) -> None:
    words = ("file:text.avsc", "--against", "file:int.avsc")
    for pair in (words, ("file:b.sql", "--against", "file:a.sql")):
        found = ask("check", *pair, "--format", "json").json["findings"]
        command = ask("check", *pair).out.partition("schemaman explain ")[2].splitlines()[0]
        assert ask("explain", *split(command)).code == 0
        for finding in found:
            why = ("--reason", "unread", "--owner", "ann", "--expires", "30d")
            assert ask("waive", finding["fingerprint"], *pair, *why).code == 0
        done = ask("check", *pair)
        assert (done.code, "waived" in done.out) == (0, True)


TWO_CAUSES = """{{"type": "record", "name": "orders", "fields": [
  {{"name": "st", "type": {{"type": "enum", "name": "S", "symbols": [{symbols}]}}}}{more}]}}"""


def test_a_waived_or_unread_field_hides_no_refusal_of_avro_at_another_one(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.avsc").write_text(TWO_CAUSES.format(symbols='"A", "B"', more=""))
    Path("new.avsc").write_text(TWO_CAUSES.format(symbols='"A"', more=',\n {"name": "n", "type": "int"}'))
    words = ("file:new.avsc", "--against", "file:old.avsc")
    found = {f["rule"]: f for f in ask("check", *words, "--format", "json").json["findings"]}
    assert {rule: (f["path"], f["line"]) for rule, f in found.items()} == {
        "avro-incompatible": (["st"], 2),
        "column-added-required": (["n"], 3),
    }, "the labels of st are one finding, with the words of the rule as evidence"
    assert any("enum-value-removed at st" in line for line in found["avro-incompatible"]["evidence"])
    why = ("--reason", "filled", "--owner", "ann", "--expires", "30d")
    assert ask("waive", found["column-added-required"]["fingerprint"], *words, *why).code == 0
    assert ask("check", *words).code == ask("check", *words, "--level", "BACKWARD").code == 1
    Path("schemaman.toml").write_text('[consumers.jobs]\nkind = "avro-backward"\ncolumns = ["st"]\n')
    done = ask("check", *words)
    assert (done.code, "consumer  jobs (avro-backward) break" in done.out) == (1, True)


ENVELOPE = """{{"type": "record", "name": "Envelope", "fields": [
  {{"name": "before", "type": ["null", {{"type": "record", "name": "Value", "fields": [
    {{"name": "n", "type": "{n}"}}]}}], "default": null}},
  {{"name": "after", "type": ["null", "Value"], "default": null}},
  {{"name": "source", "type": {{"type": "record", "name": "Source", "fields": [
    {{"name": "lsn", "type": "{lsn}"}}]}}}},
  {{"name": "op", "type": "string"}}]}}"""


def test_a_change_beside_the_rows_of_an_envelope_concerns_every_reader(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.avsc").write_text(ENVELOPE.format(n="int", lsn="long"))
    Path("new.avsc").write_text(ENVELOPE.format(n="string", lsn="string"))
    found = ask("check", "file:new.avsc", "--against", "file:old.avsc", "--format", "json").json["findings"]
    assert {(f["rule"], tuple(f["path"])) for f in found} == {
        ("number-to-string", ("n",)), ("avro-incompatible", ()),
    }  # fmt: skip
    assert len(found) == 2


UNDECODED = {
    "bytes as text": ('"bytes"', '"string"', "bytes-to-string"),
    "another scale": (
        '{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}',
        '{"type":"bytes","logicalType":"decimal","precision":6,"scale":3}',
        "decimal-scale-changed",
    ),
    "an enum of another namespace": (
        '["null",{"type":"enum","name":"one.E","symbols":["A"]}]',
        '["null",{"type":"enum","name":"two.E","symbols":["A"]}]',
        "avro-incompatible",
    ),
    "a fixed of another namespace": (
        '["null",{"type":"fixed","name":"one.F","size":2}]',
        '["null",{"type":"fixed","name":"two.F","size":2}]',
        "avro-incompatible",
    ),
}
"""What Avro calls compatible and does not decode as written: types before and after, and the rule."""


@pytest.mark.parametrize("name", UNDECODED)
def test_a_level_follows_avro_and_a_finding_says_what_a_decoder_does(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    *types, rule = UNDECODED[name]
    for file, type in zip(("old.avsc", "new.avsc"), types, strict=True):
        field = f'{{"name":"a","type":{type}}}'
        Path(file).write_text(f'{{"type":"record","name":"V","fields":[{field}]}}')
    words = ("check", "file:new.avsc", "--against", "file:old.avsc", "--level", "FULL")
    assert ask(*words).code == 0
    findings = ask(*words, "--format", "json").json["findings"]
    assert [(f["rule"], f["severity"]) for f in findings] == [(rule, "danger")]
    assert ask(*words, "--fail-on", "danger").code == 1
    assert ask("explain", findings[0]["fingerprint"], *words[1:4]).code == 0


def test_a_batch_takes_no_table(ask: Run) -> None:
    done = ask("check", "orders", "--batch", "-")
    assert (done.code, "omit TABLE" in done.err) == (2, True)
