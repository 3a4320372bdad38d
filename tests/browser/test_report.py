"""The HTML report in a real browser: nothing runs over, nothing is fetched, nothing is barred to anybody.

Part of `make proof`: it needs Chromium (Debian: apt install chromium).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from tests.support.checkout import CAPTURES

Figure = Callable[[str, object], None]
RECORDINGS = ("postgres/shop-json", "mariadb/bookshop-mariadb-3.5.0-json", "db2/shop-3.4.1-json")
SIZES = ((1280, 900), (390, 844))
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of three recordings, as the command writes it."""
    folder = tmp_path_factory.mktemp("report")
    command = [sys.executable, "-m", "schemaman_cli.main"]
    sources = [str(CAPTURES / recording) for recording in RECORDINGS]
    subprocess.run([*command, "ingest", *sources], cwd=folder, check=True, capture_output=True)
    html = [*command, "report", "--format", "html"]
    told = subprocess.run(html, cwd=folder, check=True, capture_output=True)
    file = folder / "report.html"
    file.write_bytes(told.stdout)
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it, without its own network traffic."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found is not None, "the browser tests need Chromium: apt install chromium"
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_report_is_whole_without_script_and_fetches_nothing(
    browser: Browser, page_file: Path, theme: str, width: int, height: int
) -> None:
    size = {"width": width, "height": height}
    page = browser.new_page(viewport=size, color_scheme=theme, java_script_enabled=False)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert asked == [page_file.as_uri()]
    assert page.locator("h1").count() == 1
    assert page.get_by_text("shopdb.shop.shop.customers").first.is_visible()
    assert len(page.screenshot(full_page=True)) > 10_000
    page.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_runs_over_the_edge_and_axe_finds_nothing(
    browser: Browser, page_file: Path, theme: str, width: int, height: int, figure: Figure
) -> None:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
    page.goto(page_file.as_uri())
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    figure(f"axe violations of the report, {theme}, {width} px", results.violations_count)
    page.close()


def test_a_keyboard_reaches_the_content_first(browser: Browser, page_file: Path) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.getAttribute('href')")
    assert focused is not None
    assert focused.startswith("#")
    page.close()
