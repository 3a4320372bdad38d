"""The scoreboard: compares the histories of all recordings with what the databases reported, fact by fact.

A fact is right if it was so and the history claims it. It is unknowable if two truths fit the same records:
the history itself does not claim it and no record proves it, or a reviewed entry tells why. All else is
wrong: said and not so, claimed and not so, provable and not claimed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from schemaman.history.fold.ambiguity import ALTERED_UNSEEN_MESSAGE
from schemaman.history.versions import TableHistory
from schemaman.model.name_adjustment import Mode, adjust_field
from tests.support import chain
from tests.support.checkout import CAPTURES, ROOT
from tests.truth.certainty import provable
from tests.truth.changes import changes
from tests.truth.compare import TypeOf, name_of, structures
from tests.truth.declared import declared_by
from tests.truth.defaults import defaults
from tests.truth.documented import documented
from tests.truth.facts import Judged, reviewed
from tests.truth.inferred import DECIMALS, members, shown_as
from tests.truth.positions import Asked, asked
from tests.truth.recording import Fact, Place, facts
from tests.truth.truth import Truth, read_truth, spelled, truth_lines
from tests.truth.wire import as_mysql_emits, on_the_wire

Verdict = Literal["right", "wrong", "unknowable", "refused"]
ADJUSTED: dict[str, Mode] = {
    "postgres/shop-names-avro": "avro",
    "postgres/shop-names-unicode": "avro_unicode",
    "postgres/shop-upgrade-avro": "avro",
}
"""Recordings in which the names of columns travel only as `field.name.adjustment.mode` makes them."""
FORMS = "The form of a column changed, and no other table of the server shows whether a setting did that."
UNCONFIRMED = "Nothing confirms this fact: no record of this structure was committed after its first reading."
NEVER_CLAIMED = (
    "Only the key or nullability makes this version, and nothing confirms them. No record shows when they "
    "became so, or whether they ever were so."
)
SUSPECTED = "The stream has names, and no numbers of columns or tables. The history lists what it suspects."


@dataclass(frozen=True, slots=True)
class Line:
    """A fact with its verdict; `why` tells what makes it unknowable or wrong."""

    fact: Judged
    verdict: Verdict
    why: str = ""


def recordings() -> list[str]:
    """All recordings with a truth, by source and name."""
    return sorted(str(p.parent.relative_to(CAPTURES)) for p in CAPTURES.glob("*/*/truth.jsonl*"))


def type_of(run: str) -> TypeOf:
    """The oracle of types: what the wire can carry, or what a schema change declares."""
    source = run.split("/")[0]
    if run.endswith("mysql-1.4.2-json"):
        return as_mysql_emits(declared_by(source))
    return on_the_wire if source == "postgres" else declared_by(source)


def judged(run: str, histories: Iterable[TableHistory]) -> Iterator[tuple[Judged, bool]]:
    """Every fact that the histories of a recording state, and whether its records prove it."""
    told, texts = tuple(histories), truth_lines(CAPTURES / run)
    if run.startswith("mongodb/"):
        yield from ((fact, True) for fact in members(told, texts))
    elif "/documented" in run:
        yield from ((fact, True) for fact in documented(told, texts))
    else:
        yield from _against_steps(run, told)


@cache
def truth_of(run: str) -> Truth:
    mode = ADJUSTED.get(run, "none")
    return spelled(read_truth(CAPTURES / run), lambda name: adjust_field(name, mode))


@cache
def records_of(run: str) -> dict[Place, Fact]:
    return facts(CAPTURES / run)


def _against_steps(run: str, histories: Sequence[TableHistory]) -> Iterator[tuple[Judged, bool]]:
    truth, records, types = truth_of(run), records_of(run), type_of(run)
    proven = {
        (name_of(h.table), number, fact)
        for h in histories
        for number, fact in provable(h, records.values(), truth)
    }
    for part in (structures, defaults, changes):
        for fact in part(histories, truth, records, types):
            found = _of_rows(fact, DECIMALS[run]) if run in DECIMALS else fact
            if found is not None:
                yield found, (found.table, found.version, found.fact) in proven


def _of_rows(fact: Judged, decimals: set[str]) -> Judged | None:
    """A fact as JSON without schemas can state it: kinds of values for types, and no word on nullability."""
    if fact.fact.startswith("type:"):
        return replace(fact, truth=fact.says) if shown_as(fact.says, fact.truth, decimals) else fact
    return None if fact.fact.startswith("nullable:") and fact.says == "nullable" else fact


def lines(run: str, histories: Iterable[TableHistory]) -> Iterator[Line]:
    """Every fact of a recording with its verdict."""
    known, told = reviewed(listed_in(run)), tuple(histories)
    found = [_verdict(f, proven, known.get((f.listed, f.version), "")) for f, proven in judged(run, told)]
    yield from found
    if not run.startswith("mongodb/") and "/documented" not in run:
        open_ones = {
            (x.fact.table, x.fact.version, x.fact.fact): x.why for x in found if x.verdict == "unknowable"
        }
        for answer in asked(told, truth_of(run), list(records_of(run).values()), type_of(run)):
            yield _answered(answer, open_ones, DECIMALS.get(run))


def _answered(
    answer: Asked, open_ones: Mapping[tuple[str, int, str], str], decimals: set[str] | None
) -> Line:
    """The verdict on an answer: what no record tells of its version, none tells of a place of it."""
    differing = {
        fact: pair
        for fact, pair in answer.differing.items()
        if not (decimals and fact.startswith("type:") and shown_as(*pair, decimals))
    }
    says, truth = (", ".join(f"{f} {pair[i]}" for f, pair in differing.items()) for i in (0, 1))
    fact = Judged(answer.table, answer.version, f"{AT}{answer.place}", "both", says, truth)
    if answer.version == 0:
        return Line(fact, "refused")
    if not differing:
        return Line(fact, "right")
    if answer.doubted:
        return Line(fact, "unknowable", ALTERED_UNSEEN_MESSAGE)
    whys = [open_ones.get((answer.table, answer.version, name), "") for name in differing]
    return Line(fact, "unknowable", min(whys)) if all(whys) else Line(fact, "wrong")


AT = "at "
"""How a question for a place of the log begins, where facts have their name."""


def _verdict(fact: Judged, proven: bool, why: str) -> Line:
    if fact.agrees and fact.sure:
        return Line(fact, "right")
    if not fact.sure and fact.fact == "began":
        return Line(fact, "unknowable", NEVER_CLAIMED)
    if not fact.sure and fact.fact.startswith(("same:", "table:same")):
        return Line(fact, "unknowable", SUSPECTED)
    if fact.agrees and fact.fact.startswith("type:"):
        return Line(fact, "unknowable", FORMS)
    if fact.agrees:
        return (
            Line(fact, "wrong", "its records prove it") if proven else Line(fact, "unknowable", UNCONFIRMED)
        )
    return Line(fact, "unknowable", why) if why else Line(fact, "wrong")


def to_review(run: str, histories: Iterable[TableHistory]) -> list[Judged]:
    """The facts of which a person has to say why both truths fit."""
    found = (fact for fact, proven in judged(run, histories) if _verdict(fact, proven, "").verdict == "wrong")
    return [fact for fact in found if not fact.agrees]


def listed_in(run: str) -> Path:
    """Where the reviewed differences of a recording lie."""
    return ROOT / "tests" / "truth" / f"{run.replace('/', '-')}.toml"


def board(told: Mapping[str, Sequence[Line]]) -> str:
    """A line a recording, and the sum."""
    facts = ("versions", "facts", "right", "wrong", "unknowable")
    rows: list[tuple[str, ...]] = [("recording", *facts, "positions", "answered", "open", "refused")]
    rows += [(run, *map(str, _score(found))) for run, found in told.items()]
    sums = [_score(found) for found in told.values()]
    rows.append((f"{len(told)} recordings", *(str(sum(column)) for column in zip(*sums, strict=True))))
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|---" + "|---:" * 9 + "|", *rest])


def _score(found: Sequence[Line]) -> tuple[int, ...]:
    stated = [line for line in found if not line.fact.fact.startswith(AT)]
    places = [line for line in found if line.fact.fact.startswith(AT)]
    versions = {(line.fact.table, line.fact.version) for line in stated}
    answers = Counter(line.verdict for line in places)
    verdicts = Counter(line.verdict for line in stated)
    wrong = sum(line.verdict == "wrong" for line in found)
    facts = len(versions), len(stated), verdicts["right"], wrong, verdicts["unknowable"]
    return *facts, len(places), answers["right"], answers["unknowable"], answers["refused"]


def unknowable(told: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """Each fact that no record tells, with both truths, under its reason; once for all recordings."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for run, found in told.items():
        for line in found:
            if line.verdict == "unknowable":
                runs = reasons.setdefault(line.why, {}).setdefault(_both(line.fact), [])
                runs.append(run.split("/")[1])
    for why, entries in sorted(reasons.items(), key=lambda item: -len(item[1])):
        yield f"\n**{why}**\n"
        for text, runs in entries.items():
            counted = Counter(runs).items()
            where = (run if number == 1 else f"{run}, {number} positions" for run, number in counted)
            yield f"- {text} ({'; '.join(where) if max(n for _, n in counted) > 1 else ', '.join(where)})"


def _both(fact: Judged) -> str:
    place = f"`{fact.table}@{fact.version}` {'as of a position' if fact.fact.startswith(AT) else fact.fact}"
    if not fact.agrees:
        return f"{place}: {fact.says}, or {fact.truth} (which it was)"
    if fact.fact.startswith("type:"):
        return f"{place}: {fact.says} (which it was), or as before in the form of another mode"
    other = {"NOT NULL": "nullable", "nullable": "NOT NULL"}.get(fact.says, "another")
    return f"{place}: {fact.says} (which it was), or {other} until it was read"


@cache
def scored(run: str) -> tuple[Line, ...]:
    """The lines of a recording as its histories are."""
    return tuple(lines(run, chain.histories(run)))


def all_lines() -> Mapping[str, Sequence[Line]]:
    """The lines of every recording."""
    return {run: scored(run) for run in recordings()}


def page(told: Mapping[str, Sequence[Line]]) -> str:
    """The scoreboard as a page of the documentation."""
    return "\n".join([_HEAD, board(told), "\n## What no record shows", *unknowable(told)]) + "\n"


_HEAD = """# Scoreboard

<!-- Written by `make bless`; change the source of what it shows. -->

This page compares the histories of all recordings, fact by fact, with what the databases reported at each
step. The facts are the columns, types, nullability and keys of each version, where it began and where it was
last seen. Further facts are its defaults, the interval in which it began, and the end of a table. The last
facts are which column, and which table, is the same from version to version. `make scoreboard` prints the
board, and fails when a fact is wrong.

- **right**: the fact was so, and the history claims it.
- **wrong**: the fact was not so, or the history is unsure of what its records prove.
- **unknowable**: two truths fit the same records. The list below gives both. Values of rows are not examined:
  a null would prove that a column is nullable.

The second part asks each history for the structure at the position of each streamed record, as in
`show TABLE@lsn:…`. An answer is wrong if a column, type, key, nullability or default differs and the answer
does not mark it as unconfirmed. It is open if the list below has the fact. The history refuses an
answer where two versions are possible: at one position with records of two versions, and between them.
"""


def main(told: Mapping[str, Sequence[Line]]) -> int:
    """Print the scoreboard, what is wrong and what nobody can know; 1 if anything is wrong."""
    wrong = [(run, line) for run, found in told.items() for line in found if line.verdict == "wrong"]
    out = [board(told), "\nWhat no record shows:", *unknowable(told)]
    if wrong:
        out += ["\nWrong:\n", *(f"- {run} {line.fact} {line.why}".rstrip() for run, line in wrong)]
    sys.stdout.write("\n".join(out) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(all_lines()))
