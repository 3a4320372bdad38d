"""A template matches tails only if the pattern of their form matches each of them, with the same texts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from schemaman.debezium.connector import find_connector
from schemaman.ingest.column_matching import match_columns_of
from schemaman.ingest.probe import ProbeForm
from schemaman.ingest.probe_patterns import BARE, QUOTED, Spelling, TailPatterns, Texts, learn_outline
from schemaman.ingest.tail_templates import TailTemplate, learn_template
from schemaman.ingest.value_columns import WholeValues
from tests.support.checkout import PROOF
from tests.support.recordings import recorded

_RUNS = {
    "postgresql": "postgres/shop-json",
    "mariadb": "mariadb/bookshop-mariadb-3.5.0-json",
    "db2": "db2/shop-3.4.1-json",
    "mongodb": "mongodb/inventory-2.5.4-update-full",
}
_SOURCES: dict[str, dict[str, object]] = {
    "sqlserver": {"commit_lsn": "0000002c:000005d8:0010", "change_lsn": "0000002c:000005d8:0010",
                  "event_serial_no": 1},
    "oracle": {"scn": "170", "commit_scn": "171"},
    "mysql": {"file": "binlog.000010", "pos": 10, "row": 0, "thread": -7, "query": "a \"1\" b"},
}  # fmt: skip


def find_tails(connector: str) -> list[bytes]:
    """Some tails of recorded changes, and tails with sources that no recording has."""
    if source := _SOURCES.get(connector):
        document = {"source": {"version": "3.4.1", "name": "s2", **source}, "op": "u", "ts_ms": 1700000000}
        return [json.dumps(document, separators=separators).encode()[1:] for separators in ((",", ":"), None)]
    values = [r.value for r in recorded(_RUNS[connector]) if b'"op":' in (r.value or b"")]
    found = {v[v.rindex(b'"source":{"version"') :] for v in values if v and b'"source":{"version"' in v}
    return sorted(found)[:: len(found) // 3 or 1]


def learn_both(
    connector: str, tail: bytes, spelling: Spelling = BARE
) -> tuple[TailTemplate | None, Callable[[bytes], Texts | None]]:
    outline = learn_outline(tail, ("t",), find_connector(connector).order)
    assert outline is not None
    columns = outline.learn_columns(spelling)

    def match(other: bytes) -> Texts | None:
        found = columns.match(other, 0) if other.startswith(columns.opening) else None
        if found is None or (columns.take_names is not None and columns.take_names(found) != columns.names):
            return None
        return outline.texts(found)

    learned = columns.match(spelling.quote(tail), 0)
    assert learned is not None
    return learn_template(columns, learned), match


@pytest.mark.parametrize("spelling", [BARE, QUOTED], ids=["bare", "quoted"])
@pytest.mark.parametrize("connector", [*_RUNS, *_SOURCES])
def test_a_template_matches_what_the_pattern_matches(connector: str, spelling: Spelling) -> None:
    chance = random.Random(connector)
    for bare in find_tails(connector):
        template, match = learn_both(connector, bare, spelling)
        tail = spelling.quote(bare)
        if connector == "oracle":  # the greater one of two numbers orders the changes
            assert template is None
            continue
        assert template is not None
        assert template.match(WholeValues([b"{}" + tail, b"[]" + tail]), 2) == [match(tail)] * 2
        assert template.match(WholeValues([b"{}" + tail, tail]), 1) is None
        accepted = 0
        for at in range(len(tail)):
            for byte in (b"0", b"%d" % chance.randrange(10), *((b"c", b"u", b'"') if PROOF else (b"d",))):
                changed = tail[:at] + byte + tail[at + 1 :]
                got = template.match(WholeValues([tail, changed]), 0)
                assert got is None or got == [match(tail), match(changed)], changed
                accepted += got is not None and changed != tail
        assert accepted > 10
        every = [
            bytes(chance.choice(b"123456789") if c in b"123456789" else c for c in tail) for _ in range(9)
        ]
        for changed in every:
            got = template.match(WholeValues([changed]), 0)
            assert got is None or got == [match(changed)]


def test_the_digits_of_numbers_change_together_and_those_of_names_do_not() -> None:
    tail = (b'"source":{"version":"3.4.1","table":"t1","sequence":"[\\"12\\",\\"12\\"]","lsn":12},'
            b'"op":"c","ts_ms":70,"ts_us":0}}')  # fmt: skip
    template, _ = learn_both("postgresql", tail)
    assert template is not None
    moved = tail.replace(b"12", b"35")
    assert template.match(WholeValues([tail, moved]), 0) == [b"12", b"35"]
    assert template.match(
        WholeValues([moved.replace(b'"op":"c"', b'"op":"d"').replace(b"70", b"81")]), 0
    ) == [b"35"]
    for other in (
        tail.replace(b'"lsn":12', b'"lsn":13'),
        tail.replace(b"t1", b"t2"),
        tail.replace(b"3.4.1", b"3.4.2"),
        tail.replace(b"70", b"07"),
        tail.replace(b"12", b"02"),
        tail.replace(b'"op":"c"', b'"op":"r"'),
        tail[:-1],
        tail + b" ",
    ):
        assert template.match(WholeValues([tail, other, tail]), 0) is None, other


def test_columns_go_on_when_the_sizes_of_tails_change() -> None:
    """Templates are learned again; the pattern alone decides what matches."""
    prefix = b'{"payload":{'
    tails = [b'"source":{"version":"1","lsn":%d},"op":"c","ts_ms":%d}}' % (100 + i, 10**(i // 9 % 4 + 1) + i)
             for i in range(200)]  # fmt: skip
    outline = learn_outline(tails[0], ("t",), find_connector("postgresql").order)
    assert outline is not None
    form = ProbeForm(prefix, {})
    match = match_columns_of(form, outline, None)
    before: Texts | None = None
    for at in range(0, 200, 4):
        values = [prefix + tail for tail in tails[at : at + 4]]
        count, before = match([None] * 4, WholeValues(values), before)
        assert (count, before) == (4, b"%d" % (103 + at))
    assert match([None] * 2, WholeValues([prefix + tails[150]] * 2), before) == (0, ())
    assert match([None] * 3, WholeValues([prefix + tails[n] for n in (199, 199, 198)]), before)[0] == 2


def test_the_last_source_block_counts() -> None:
    """A column of the table may be called `source`; `find_source` finds the block behind it, too."""
    prefix, row = b'{"payload":{', b'"after":{"source":{"version":"1","lsn":900}},'
    tails = [b'"source":{"version":"1","lsn":%d},"op":"c","ts_ms":70}}' % n for n in range(100, 104)]
    outline = learn_outline(tails[0], ("t",), find_connector("postgresql").order)
    assert outline is not None
    match = match_columns_of(ProbeForm(prefix, {}), outline, None)
    assert match([None] * 2, WholeValues([prefix + tail for tail in tails[:2]]), None) == (2, b"101")
    assert match([None] * 2, WholeValues([prefix + row + tail for tail in tails[2:]]), b"101") == (2, b"103")


def test_a_tail_that_holds_another_source_block_has_no_template() -> None:
    tail = b'"source":{"version":"1","lsn":100},"transaction":{"source": {"id":1}},"op":"c","ts_ms":70}}'
    template, match = learn_both("postgresql", tail)
    assert (template, match(tail)) == (None, b"100")


@pytest.mark.parametrize("spelling", [BARE, QUOTED], ids=["bare", "quoted"])
def test_tables_of_one_kind_share_a_pattern_and_no_outline(spelling: Spelling) -> None:
    order = find_connector("postgresql").order
    one, other, quoted, elsewhere = (
        b'"source":{"version":"1","name":"s","db":"d","lsn":100,"table":%s},"op":"c","ts_ms":70}}' % name
        for name in (b'"a"', b'"b"', b'"b\\""', b'"b"')
    )
    elsewhere = elsewhere.replace(b'"name":"s"', b'"name":"z"')
    patterns = TailPatterns()
    assert patterns.find_outline(other, ("s", "d", "", "b"), order) is None
    first = next(filter(None, (learn_outline(one, ("s", "d", "", "a"), order, patterns) for _ in range(9))))
    found = patterns.find_outline(other, ("s", "d", "", "b"), order)
    assert found is not None
    assert (found.table, found.layout, first.table) == (
        ("s", "d", "", "b"),
        first.layout,
        ("s", "d", "", "a"),
    )
    for tail, is_first, is_found in ((one, 1, 0), (other, 0, 1), (elsewhere, 0, 0), (quoted, 0, 0)):
        written = spelling.quote(tail)
        for outline, is_match in ((first, is_first), (found, is_found)):
            match = outline.match_quoted if spelling is QUOTED else outline.match
            columns = outline.learn_columns(spelling)
            assert (match(written, 0, len(written)) is not None) == bool(is_match), tail
            in_column = columns.match(written) if written.startswith(columns.opening) else None
            assert columns.take_names is not None
            assert (in_column is not None and columns.take_names(in_column) == columns.names) == bool(
                is_match
            )
    assert patterns.find_outline(elsewhere, ("z", "d", "", "b"), order) is None
    assert patterns.find_outline(quoted, ("s", "d", "", 'b"'), order) is None
