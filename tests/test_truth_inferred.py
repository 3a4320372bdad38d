"""Rows in JSON without schemas against what the database said: names, keys, and what JSON tells of types."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests import chain
from tests.house import CAPTURES
from tests.truth.compare import differences
from tests.truth.recording import facts
from tests.truth.truth import read_truth
from tests.truth.wire import on_the_wire

RUNS = {"postgres/shop-modes": {"number", "string"}, "postgres/shop-flat-plain": {"string"}}
"""Recordings, and how decimals travel in them: as numbers of which NaN is a text, or as base64."""

_KINDS = (
    (r"BOOLEAN", {"boolean"}),
    (r"(SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DATE|TIME\(\d\)|TIMESTAMP_NTZ\(\d\))", {"number"}),
    (r"(STRING|ENUM|UUID|XML|BINARY|BITS.*|INTERVAL.*|TIMETZ.*|TIMESTAMP\(\d\))", {"string"}),
    (r"JSON", {"string", "object"}),
    (r"ARRAY.*", {"array"}),
    (r"STRUCT.*", {"object"}),
)


def kinds(word: str, decimals: set[str]) -> set[str]:
    """The kinds of JSON values in which a type may travel; a null says nothing."""
    if re.fullmatch(r"DECIMAL.*|NUMERIC", word):
        return decimals | {"null"}
    return next(found for pattern, found in _KINDS if re.fullmatch(pattern, word)) | {"null"}


@pytest.mark.parametrize("run", RUNS)
def test_names_and_keys_are_true_and_types_are_what_json_tells(
    run: str, figure: Callable[[str, object], None]
) -> None:
    folder, histories = CAPTURES / run, chain.histories(run)
    found = list(differences(histories, read_truth(folder), facts(folder), on_the_wire))
    types = [d for d in found if d.fact.startswith("type:")]
    for d in types:
        # rows of a type that was changed meanwhile make a union of both
        assert set(re.findall(r"json:(\w+)", d.says)) & kinds(d.truth, RUNS[run]), str(d)
        assert "UNION" in d.says or re.fullmatch(r"UNKNOWN\('json:\w+'\)", d.says), str(d)
    other = [d for d in found if d not in types and d.says != "nullable"]
    assert [str(d) for d in other if d.truth != "generated"] == []
    assert {v.status for h in histories for v in h.versions} == {"inferred"}
    told = sum(len(v.schema.columns) + 1 for h in histories for v in h.versions)
    figure(
        f"compared with the truth, {run}",
        f"{told} names and keys, all true; {len(types)} types are JSON's own",
    )
