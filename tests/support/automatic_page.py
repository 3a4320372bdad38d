"""The page `docs/automatic.md`: its parts, and the records that its topics hold in each of them."""

from __future__ import annotations

import re

from schemaman.debezium.records import Record
from schemaman.io import files
from tests.support.checkout import CAPTURES, ROOT

PAGE = ROOT / "docs" / "automatic.md"
OFFLINE, CHANGED = "## Rows and structure", "Then the source changes:"
_TOPICS = ("shopdb.shop.refunds", "shopdb.shop.returns")


def split_page() -> tuple[str, str, str]:
    """What needs no Spark, what runs on the first records, and what runs after the source has changed."""
    text = PAGE.read_text(encoding="utf-8")
    plain, rest = text.split(OFFLINE)
    first, second = rest.split(CHANGED)
    return plain, OFFLINE + first, CHANGED + second


def list_records() -> tuple[list[Record], list[Record]]:
    """The records before the source changes, and those after it."""
    recording = files.find_file(str(CAPTURES / "postgres" / "shop-crash"))
    found = [r for r in files.read_records(recording) if isinstance(r, Record) and r.topic in _TOPICS]
    changed = next(n for n, record in enumerate(found) if b'"photo"' in (record.value or b""))
    return found[:changed], found[changed:]


def list_commands(text: str) -> list[str]:
    """The commands of schemaman in a part of the page."""
    return re.findall(r"^\$ (schemaman .*)$", text, re.MULTILINE)
