"""What people see: nothing is cut, nothing is hidden in colour, and a hostile name is only text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from schemaman.compat.gate import CheckResult
from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.model.schema import TableId
from schemaman.report.document import (
    FORMATS,
    Block,
    Code,
    Event,
    FactsBlock,
    Format,
    Grid,
    Heading,
    Notice,
    Paragraph,
    Report,
    Text,
    TimelineBlock,
)
from schemaman.report.formats import github, html, markdown, text
from schemaman.report.formats._characters import SIGNS, measure_width
from schemaman.report.formats.json import FORMAT as JSON
from schemaman.report.formats.text import TextFormat
from schemaman.report.views.findings import build_check_report
from schemaman.report.views.overview import build_report
from tests.support.hostile_names import HOSTILE
from tests.support.report_example import ORDERS, judged, orders_story

FAILED = CheckResult("fail", (), (ORDERS,), 3)
names = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=30))


def telling(name: str) -> Report:
    """A report in which a name stands wherever one can stand."""
    words = (
        Text(name),
        Text(name, code=True),
        Text(name, "break"),
        Text(name, "muted"),
        Text(name, link="t1"),
    )
    blocks: tuple[Block, ...] = (
        Heading(name, 1),
        Paragraph(words),
        FactsBlock(((name, words),)),
        Heading(name, 2, "t1"),
        Heading(name, 3),
        Grid(name, (name, "b"), ((words, words),)),
        Code(f"SELECT {name}", "sql"),
        TimelineBlock(name, (Event(name, name, "danger", (words,), words[:1]),)),
        Notice(name, "break", name, name, ((name, words),), "f1"),
    )
    return Report(name, blocks, {"name": name})


@pytest.mark.parametrize("name", sorted(FORMATS.names()))
def test_a_format_is_found_by_its_file_name(name: str) -> None:
    found: Format = FORMATS.get(name)
    assert found.name == name
    assert found.render(build_report([orders_story()]))


class Page(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(name: str) -> Page:
    page = Page()
    page.feed(html.FORMAT.render(telling(name)))
    page.close()
    assert not page.open
    return page


@given(names)
@example("<img src=x onerror=1>")
@example("</style><script>alert(1)</script>")
def test_html_has_the_same_tags_whatever_a_name_is(name: str) -> None:
    page = parsed(name)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in parsed("x").tags]
    assert {key for _, attributes in page.tags for key in attributes} <= {
        "aria-hidden", "aria-label", "aria-labelledby", "charset", "class", "content", "href", "http-equiv",
        "id", "lang", "name", "reversed", "role", "scope", "tabindex",
    }  # fmt: skip
    shown = escape_invisible(name, lines=True).strip()
    assert shown in "".join(page.words)


@given(names)
def test_html_asks_nobody_for_anything(name: str) -> None:
    page = parsed(name)
    assert {"script", "link", "img", "iframe", "base", "object"}.isdisjoint(tag for tag, _ in page.tags)
    assert all((a.get("href") or "#").startswith("#") for _, a in page.tags)
    style = html.FORMAT.render(build_report([orders_story()])).partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_html_is_made_for_every_reader() -> None:
    page = Page()
    page.feed(html.FORMAT.render(build_report([orders_story()])))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("h1") == 1
    assert tags.count("table") == tags.count("caption") > 2
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")
    regions = [a for _, a in page.tags if a.get("role") == "group"]
    assert regions
    assert all(
        a.get("tabindex") == "0" and (a.get("aria-label") or a.get("aria-labelledby")) for a in regions
    )
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {str(a["href"])[1:] for _, a in page.tags if a.get("href")} <= set(ids)
    assert ("a", {"class": "skip", "href": "#content"}) in page.tags


def test_html_keeps_the_order_of_what_follows_the_head() -> None:
    blocks = (Paragraph((Text("first"),)), Heading("second", 3), Paragraph((Text("third"),)))
    page = html.FORMAT.render(Report("zeroth", blocks, {})).partition("<main")[2]
    places = [page.index(word) for word in ("zeroth", "first", "second", "third")]
    assert places == sorted(places)
    assert "<nav" not in page


def test_html_of_a_hundred_tables_stays_small() -> None:
    stories = [orders_story(TableId("shop", "app", "public", f"table_{i:03}")) for i in range(100)]
    assert len(html.FORMAT.render(build_report(stories)).encode()) < 200_000


def test_a_verdict_has_sign_and_word_and_colour() -> None:
    page = html.FORMAT.render(build_check_report(judged(), FAILED, "break"))
    assert '<span class="b break"><span aria-hidden="true">✗</span> break</span>' in page
    assert '<span class="b danger"><span aria-hidden="true">▲</span> danger</span>' in page


def tokens(source: str) -> list[Token]:
    parser = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
    found: list[Token] = []
    for token in parser.parse(source):
        found += [token, *(token.children or [])]
    return found


@given(names)
def test_markdown_has_the_same_structure_whatever_a_name_is(name: str) -> None:
    def kinds(found: list[Token]) -> list[str]:
        return [t.type for t in found if t.type not in ("text", "text_special")]

    found = tokens(markdown.FORMAT.render(telling(name)))
    assert not [t for t in found if t.type in ("html_block", "html_inline", "link_open", "image")]
    blank = not escape_invisible(name).strip()
    if not blank:
        assert kinds(found) == kinds(tokens(markdown.FORMAT.render(telling("x"))))


@given(names)
def test_markdown_shows_the_name_itself(name: str) -> None:
    found = tokens(markdown.FORMAT.render(Report("", (Paragraph((Text("a "), Text(name), Text(" z"))),), {})))
    words = "".join(t.content for t in found if t.type in ("text", "text_special")).replace("\u200b", "")
    assert words.split() == f"a {escape_invisible(name)} z".split()


@given(names)
def test_github_writes_one_command_a_notice_and_no_other(name: str) -> None:
    lines = github.FORMAT.render(telling(name)).splitlines()
    commands = [line for line in lines if line.lstrip().startswith(("::", "##["))]
    assert len(commands) == 1
    assert re.fullmatch(r"::error title=[^:,\r\n]*::[^\r\n]*", commands[0])
    assert len(lines) == 2


def test_github_annotates_by_gravity() -> None:
    lines = github.FORMAT.render(build_check_report(judged(), FAILED, "break")).splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::error", "::warning", "fail"]
    assert "%0Afix: Keep the column in the lake" in lines[0]
    assert "title=column-dropped%3A shop.app.public.orders.sku" in lines[0]


@given(names)
def test_text_never_cuts_and_never_moves_a_cursor(name: str) -> None:
    shown = text.FORMAT.render(telling(name))
    assert all(ch == "\n" or ch.isprintable() or ch not in map(chr, range(32)) for ch in shown)
    assert shown.count(escape_commands(escape_invisible(name))) >= 10
    assert "\x1b" not in shown


def test_colour_adds_nothing_but_colour() -> None:
    told = build_report([orders_story()])
    coloured = TextFormat(color=True).render(told)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == text.FORMAT.render(told)


def test_columns_stand_under_each_other_also_for_wide_letters() -> None:
    rows = tuple(((Text(name),), (Text("end"),)) for name in ("漢字", "abc", "e\u0301"))
    lines = text.FORMAT.render(Report("", (Grid("", ("name", "x"), rows),), {})).splitlines()
    assert {measure_width(line.rpartition("end")[0]) for line in lines[1:]} == {6}


def test_json_is_the_data_and_can_always_be_written() -> None:
    told = build_report([orders_story()])
    assert json.loads(JSON.render(told)) == json.loads(json.dumps(told.data))
    odd: Any = Report("", (), {"name": "\ud800"})
    assert json.loads(JSON.render(odd).encode()) == {"name": "\ud800"}


@given(st.text())
def test_what_is_visible_stays_and_what_is_not_is_written_out(name: str) -> None:
    shown = escape_invisible(name)
    assert shown == name or "\\" in shown
    assert escape_invisible(shown) == shown


def test_no_two_grave_tones_share_a_sign() -> None:
    signs = [SIGNS[tone] for tone in ("good", "note", "danger", "break", "muted")]
    assert len(set(signs)) == len(signs)


PAIRS = (
    ("ink", "paper"), ("ink", "panel"), ("soft", "paper"), ("soft", "panel"), ("accent", "paper"),
    ("break", "panel"), ("danger", "panel"), ("good", "good-bg"), ("note", "note-bg"),
    ("danger", "danger-bg"), ("break", "break-bg"),
)  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("words", "ground"), PAIRS)
def test_words_stand_out_from_their_ground(theme: int, words: str, ground: str) -> None:
    page = html.FORMAT.render(Report("", (), {}))
    palette = dict(
        re.findall(r"--([\w-]+): (#\w{6})", re.findall(r":root \{(.*?)\}", page, re.DOTALL)[theme])
    )
    bright, dark = sorted((luminance(palette[words]), luminance(palette[ground])), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance of a colour. Source: WCAG 2.2, "relative luminance"."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
