"""Matches many lines of a block at once, as `column_matching` does rows: each test goes over all of them.

Law: a line is matched only if it would be matched alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import add, eq, itemgetter, methodcaller

from schemaman.ingest.column_matching import MatchValues, count_true, match_quoted_of, match_values_of
from schemaman.ingest.console_lines import NULL, SEPARATOR
from schemaman.ingest.line_forms import LineForm
from schemaman.ingest.probe import ProbeForm
from schemaman.ingest.probe_patterns import Outline, Texts
from schemaman.ingest.value_columns import BlockValues

MatchLines = Callable[[BlockValues, int, Texts | None], tuple[int, Texts]]
"""Matches lines of a block, the first of which has an offset, behind a line with these texts of its position.

It returns how many lines from the first one on match, and the texts of the last one of them.
"""

_TAKE_OFFSET = itemgetter(1)
_FIND_END = methodcaller("end")


def match_value_lines(form: ProbeForm, outline: Outline) -> MatchLines:
    """Makes the function that matches lines which are values of a form."""
    match = match_values_of(form, outline)
    return lambda lines, offset, before: match(lines, before)


def match_key_lines(form: ProbeForm, outline: Outline, key_form: ProbeForm | None) -> MatchLines:
    """Makes the function that matches lines of a key and a value; without a `key_form` the key is null."""
    match_values = match_values_of(form, outline)

    def match(lines: BlockValues, offset: int, before: Texts | None) -> tuple[int, Texts]:
        block, ends = lines.block, lines.ends
        tabs = list(map(block.find, repeat(SEPARATOR), lines.begins, ends))
        if -1 in tabs:
            del tabs[tabs.index(-1) :]
        begins = [at + 1 for at in tabs]
        count = count_true([at < 0 for at in map(block.find, repeat(SEPARATOR), begins, ends)])
        count = _count_keys(block, lines.begins, tabs[:count], key_form)
        return match_values(BlockValues(block, begins[:count], ends[:count]), before)

    return match


def match_form_lines(form: LineForm, outline: Outline) -> MatchLines:
    """Makes the function that matches lines of a form with payloads of one table and shape."""
    match_values: MatchValues = match_quoted_of(form.start, outline)
    head, ending, match_opening = form.head, form.ending, form.match_opening
    key_start, match_key = form.key_start, form.match_key
    head_size, key_size, ending_size = len(head), len(key_start), len(ending)

    def match(lines: BlockValues, offset: int, before: Texts | None) -> tuple[int, Texts]:
        block = lines.block
        count = count_true(lines.have_prefix(head))
        openings = list(map(match_opening, repeat(block), map(add, lines.begins[:count], repeat(head_size))))
        if None in openings:
            del openings[openings.index(None) :]
        offsets = list(map(int, map(_TAKE_OFFSET, openings)))  # type: ignore[arg-type]
        rising = list(range(offset, offset + len(offsets)))
        count = len(offsets) if offsets == rising else count_true(list(map(eq, offsets, rising)))
        ends = [end - ending_size for end in lines.ends[:count]]
        count = count_true(list(map(block.startswith, repeat(ending), ends)))
        begins = list(map(_FIND_END, openings[:count]))
        if match_key is not None:
            count = count_true(list(map(block.startswith, repeat(key_start), begins)))
            texts = map(add, begins[:count], repeat(key_size))
            behind = list(map(match_key, repeat(block), texts))
            if None in behind:
                del behind[behind.index(None) :]
            begins = list(map(_FIND_END, behind))
            count = len(begins)
        return match_values(BlockValues(block, begins, ends[:count]), before)

    return match


def _count_keys(block: bytes, begins: Sequence[int], ends: Sequence[int], form: ProbeForm | None) -> int:
    """Counts the keys between two indexes of a block before the first one that has another form."""
    if form is None or form.behind is None:
        return count_true([block[start:end] == NULL for start, end in zip(begins, ends, strict=False)])
    keys = BlockValues(block, begins[: len(ends)], ends)
    keys = keys.select_first(count_true(keys.have_prefix(form.prefix)))
    found = list(map(form.behind.match, repeat(block), [at + form.size for at in keys.begins], keys.ends))
    return len(found) if all(found) else found.index(None)
