"""Every story as golden text: what comes out of the real chain is what the page says."""

from __future__ import annotations

import pytest

from tests.support.checkout import STORIES
from tests.support.story import BLOCKS, Story, stories, told_blocks

ALL = stories()


def test_there_are_stories_from_every_source() -> None:
    assert len(ALL) >= 8
    assert {s.facts["recording"].split("/")[0] for s in ALL} == {"postgres", "db2", "mariadb", "written"}


@pytest.mark.parametrize("story", ALL, ids=lambda s: s.name)
def test_the_page_says_what_comes_out(story: Story, bless: bool) -> None:
    told = told_blocks(story)
    if bless:
        (STORIES / f"{story.name}.md").write_text(story.with_blocks(told), encoding="utf-8")
        return
    assert set(story.blocks) == set(BLOCKS)
    for name, block in story.blocks.items():
        assert told[name] == block, f"{story.name}, block {name}: look at it, then `make bless`"
