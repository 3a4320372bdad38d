"""Matches many keys and values of one form at once: each test goes over a whole column.

Law: a row is matched only if it would be matched alone. The interpreter runs no loop of its own here, because
its steps would cost more than the comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, repeat
from operator import ge

from schemaman.debezium.raw_record import SOURCE, SPACED_SOURCE
from schemaman.ingest.line_forms import find_content_check
from schemaman.ingest.probe import ProbeForm
from schemaman.ingest.probe_patterns import BARE, QUOTED, Outline, Spelling, Texts
from schemaman.ingest.tail_templates import learn_template
from schemaman.ingest.value_columns import ValueColumn

_LONGEST_PAUSE = 63
"""The largest number of columns that are matched without a template, after one did not match."""

_WORTH_A_TEMPLATE = 64
"""The number of rows in a column from which a template is learned: many runs end before it pays."""

MatchColumns = Callable[[Sequence[bytes | None], ValueColumn, Texts | None], tuple[int, Texts]]
"""Matches keys and values that begin together, after a row with these texts of its position.

It returns how many rows from the first one on match, and the texts of the last one of them.
"""


MatchValues = Callable[[ValueColumn, Texts | None], tuple[int, Texts]]
"""Matches values as `MatchColumns` does."""


def match_columns_of(form: ProbeForm, outline: Outline, key_form: ProbeForm | None) -> MatchColumns:
    """Makes the function that matches columns of these forms; without a `key_form` each key is null."""
    match_values = match_values_of(form, outline)

    def match(keys: Sequence[bytes | None], values: ValueColumn, before: Texts | None) -> tuple[int, Texts]:
        return match_values(values.select_first(_count_keys(keys, key_form)), before)

    return match


def match_values_of(form: ProbeForm, outline: Outline) -> MatchValues:
    """Makes the function that matches values of a form."""
    return _match_tails(form.prefix, outline, BARE)


def match_quoted_of(start: bytes, outline: Outline) -> MatchValues:
    """Makes the function that matches values in JSON strings, which begin with `start`."""
    return _match_tails(start, outline, QUOTED)


def _match_tails(prefix: bytes, outline: Outline, spelling: Spelling) -> MatchValues:
    size, texts_of = len(prefix), outline.texts
    columns = outline.learn_columns(spelling)
    opening, match_tail, take_names, names = columns.opening, columns.match, columns.take_names, columns.names
    other_source = spelling.quote(SOURCE) if outline.source == SPACED_SOURCE else b""  # see `find_source`
    is_content = find_content_check(outline.source)
    learned = columns.learned

    def match(values: ValueColumn, before: Texts | None) -> tuple[int, Texts]:
        template = learned.template
        count = count_true(values.have_prefix(prefix))
        values = values.select_first(count)
        if other_source:
            count = count_true([at < 0 for at in values.find(other_source, size)])
            values = values.select_first(count)
        if template is not None and count > 1:
            matched = template.match(values, size)
            if matched is not None and spelling is QUOTED:
                rows = values.cut(values.find_ends(len(template.text)), size)
                matched = matched if count_contents(rows, is_content) == count else None
            if matched is not None:
                learned.pause = 0
                return _count_rising(matched, before)
            # tails whose sizes differ often would be read twice
            learned.template, learned.waiting = None, learned.pause
            learned.pause = min(2 * learned.pause + 1, _LONGEST_PAUSE)
        starts = values.find(opening, size)
        if -1 in starts:
            del starts[starts.index(-1) :]
        if spelling is QUOTED:
            del starts[count_contents(values.cut(starts, size), is_content) :]
        found = values.match(match_tail, starts)
        if not all(found):
            del found[found.index(None) :]
        if take_names is not None:
            of_tables = list(map(take_names, found))  # type: ignore[arg-type]
            if of_tables.count(names) != len(of_tables):
                del found[count_true([each == names for each in of_tables]) :]
        if len(found) >= _WORTH_A_TEMPLATE and learned.waiting == 0:
            learned.template = learn_template(columns, found[-1])  # type: ignore[arg-type]
        learned.waiting = max(learned.waiting - 1, 0)
        return _count_rising(list(map(texts_of, found)), before)  # type: ignore[arg-type]

    return match


def count_contents(pieces: list[bytes], is_content: Callable[[bytes], bool]) -> int:
    """Counts the pieces before the first one that is not surely content of a JSON string, by a check.

    No content is valid only together with the next one: no escape has a space.
    """
    return len(pieces) if is_content(b" ".join(pieces)) else count_true(list(map(is_content, pieces)))


def _count_rising(texts: list[Texts], before: Texts | None) -> tuple[int, Texts]:
    """Counts the texts from the first one on that do not go back; returns the last one of them, too."""
    if not texts or (before is not None and texts[0] < before):  # type: ignore[operator]
        return 0, ()
    count = 1 + count_true(list(map(ge, islice(texts, 1, None), texts)))
    return count, texts[count - 1]


def _count_keys(keys: Sequence[bytes | None], form: ProbeForm | None) -> int:
    if form is None or form.behind is None:
        return count_true([key is None for key in keys])
    try:
        count = count_true(list(map(bytes.startswith, keys, repeat(form.prefix))))  # type: ignore[arg-type]
    except TypeError:  # a null among the bytes
        return 0
    found = list(map(form.behind.match, keys[:count], repeat(form.size)))  # type: ignore[arg-type]
    return count if all(found) else found.index(None)


def count_true(answers: list[bool]) -> int:
    """Counts the true answers before the first false one."""
    return len(answers) if all(answers) else answers.index(False)
