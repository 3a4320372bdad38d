"""Text that is wrapped to a width: nothing is cut, and lines fit where words do."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.history.summary import summarize_history
from schemaman.report.document import Event, FactsBlock, Grid, Notice, Paragraph, Report, Text, TimelineBlock
from schemaman.report.formats._characters import measure_width
from schemaman.report.formats.text import TextFormat
from schemaman.report.views.listings import build_history_report, build_tables_report
from tests.support.report_example import history, orders_story

TONES = st.sampled_from(["plain", "good", "note", "danger", "break", "muted"])
WORD = st.text("abcé表-._", min_size=1, max_size=12)
INLINE = st.lists(
    st.builds(Text, st.lists(WORD, min_size=1, max_size=8).map(" ".join), TONES, st.booleans()),
    min_size=1,
    max_size=3,
).map(tuple)
NOTICE = st.builds(Notice, WORD, TONES, WORD, WORD, st.lists(st.tuples(WORD, INLINE), max_size=2).map(tuple))
EVENT = st.builds(Event, WORD, WORD, TONES, st.lists(INLINE, max_size=2).map(tuple))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """A table of a few columns and rows."""
    columns = draw(st.integers(1, 5))
    cells = st.lists(INLINE, min_size=columns, max_size=columns).map(tuple)
    header = draw(st.lists(WORD, min_size=columns, max_size=columns).map(tuple))
    return Grid(draw(WORD), header, draw(st.lists(cells, max_size=3).map(tuple)))


BLOCKS = st.one_of(
    st.builds(Paragraph, INLINE),
    st.builds(FactsBlock, st.lists(st.tuples(WORD, INLINE), min_size=1, max_size=3).map(tuple)),
    st.builds(TimelineBlock, WORD, st.lists(EVENT, max_size=2).map(tuple)),
    NOTICE,
)


def strip_blanks(text: str) -> str:
    """A text without its blanks and line ends."""
    return re.sub(r"\s", "", text)


@given(st.lists(BLOCKS, max_size=3).map(tuple), st.integers(20, 100), st.booleans())
def test_a_wrapped_report_has_the_same_characters(blocks, width: int, color: bool):
    report = Report("", blocks, {})
    wrapped = TextFormat(width=width).render(report)
    assert strip_blanks(wrapped) == strip_blanks(TextFormat().render(report))
    colored = TextFormat(color=True, width=width).render(report)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == wrapped or color is False


@given(grids(), st.integers(20, 100))
def test_a_wrapped_table_loses_no_word(grid: Grid, width: int):
    report = Report("", (grid,), {})
    wrapped, whole = (TextFormat(width=w).render(report) for w in (width, None))
    counts = {c: wrapped.count(c) for c in "abcé表"}
    assert all(counts[c] >= whole.count(c) for c in counts)
    if max(map(measure_width, whole.splitlines()), default=0) <= width:
        assert wrapped == whole


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_fit_into_a_terminal(width: int):
    for report in (build_history_report(orders_story()), build_tables_report([summarize_history(history())])):
        lines = TextFormat(width=width).render(report).splitlines()
        assert max(map(measure_width, lines)) <= width


def test_columns_keep_their_place_where_cells_wrap():
    cell = (Text("one two three four five six"),)
    grid = Grid("", ("a", "b"), ((cell, (Text("x"),)), ((Text("y"),), cell)))
    assert TextFormat(width=30).render(Report("", (grid,), {})) == (
        "a               b\n"
        "one two three   x\n"
        "four five six\n"
        "y               one two three\n"
        "                four five six\n"
    )


def test_a_table_that_is_too_wide_becomes_facts():
    grid = Grid("", ("first", "second"), (((Text("x" * 15),), (Text("y" * 15),)),))
    assert TextFormat(width=24).render(Report("", (grid,), {})) == (
        f"  first   {'x' * 15}\n  second  {'y' * 15}\n"
    )


def test_a_command_is_not_broken_while_it_fits():
    facts = FactsBlock((("yes", (Text("say it with "), Text("schemaman decide rename a b", code=True))),))
    assert TextFormat(width=36).render(Report("", (facts,), {})) == (
        "yes  say it with\n     schemaman decide rename a b\n"
    )
