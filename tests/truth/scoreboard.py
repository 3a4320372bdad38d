"""The scoreboard: what the histories of all recordings say, fact by fact, beside what the databases said.

A fact is right if it was so and the history claims it. It is unknowable if two truths fit the same records:
the history itself does not claim it and no record proves it, or a reviewed entry tells why. All else is
wrong: said and not so, claimed and not so, provable and not claimed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from schemaman.names import Mode, adjust_field
from schemaman.versions import TableHistory
from tests import chain
from tests.house import CAPTURES, ROOT
from tests.truth.certainty import provable
from tests.truth.changes import changes
from tests.truth.compare import TypeOf, name_of, structures
from tests.truth.declared import declared_by
from tests.truth.documented import documented
from tests.truth.inferred import DECIMALS, members, shown_as
from tests.truth.judged import Judged, reviewed
from tests.truth.recording import facts
from tests.truth.truth import read_truth, spelled, truth_lines
from tests.truth.wire import as_mysql_emits, on_the_wire

Verdict = Literal["right", "wrong", "unknowable"]
ADJUSTED: dict[str, Mode] = {
    "postgres/shop-names-avro": "avro",
    "postgres/shop-names-unicode": "avro_unicode",
    "postgres/shop-upgrade-avro": "avro",
}
"""Recordings in which the names of columns travel only as `field.name.adjustment.mode` makes them."""
FORMS = "The form of a column changed, and no other table of the server tells whether a setting did that."
UNCONFIRMED = "Nothing confirms it: no record of this structure was committed after it had first been read."
NEVER_CLAIMED = (
    "Only key or nullability make this version, and nothing confirms them: no record tells since when they "
    "were so, or whether they ever were."
)
SUSPECTED = (
    "The stream tells names, and numbers neither of columns nor of tables. The history says what it suspects."
)


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


def _against_steps(run: str, histories: Sequence[TableHistory]) -> Iterator[tuple[Judged, bool]]:
    mode = ADJUSTED.get(run, "none")
    truth = spelled(read_truth(CAPTURES / run), lambda name: adjust_field(name, mode))
    records, types = facts(CAPTURES / run), type_of(run)
    proven = {
        (name_of(h.table), number, fact)
        for h in histories
        for number, fact in provable(h, records.values(), truth)
    }
    for part in (structures, changes):
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
    known = reviewed(listed_in(run))
    for fact, proven in judged(run, histories):
        yield _verdict(fact, proven, known.get((fact.listed, fact.version), ""))


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


def board(told: dict[str, list[Line]]) -> str:
    """A line a recording, and the sum."""
    rows: list[tuple[str, ...]] = [("recording", "versions", "facts", "right", "wrong", "unknowable")]
    rows += [(run, *map(str, _score(found))) for run, found in told.items()]
    sums = [_score(found) for found in told.values()]
    rows.append((f"{len(told)} recordings", *(str(sum(column)) for column in zip(*sums, strict=True))))
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|---" + "|---:" * 5 + "|", *rest])


def _score(found: Sequence[Line]) -> tuple[int, ...]:
    verdicts = Counter(line.verdict for line in found)
    versions = {(line.fact.table, line.fact.version) for line in found}
    return len(versions), len(found), verdicts["right"], verdicts["wrong"], verdicts["unknowable"]


def unknowable(told: dict[str, list[Line]]) -> Iterator[str]:
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
            yield f"- {text} ({', '.join(runs)})"


def _both(fact: Judged) -> str:
    place = f"`{fact.table}@{fact.version}` {fact.fact}"
    if not fact.agrees:
        return f"{place}: {fact.says}, or {fact.truth} (which it was)"
    if fact.fact.startswith("type:"):
        return f"{place}: {fact.says} (which it was), or as before in the form of another mode"
    other = {"NOT NULL": "nullable", "nullable": "NOT NULL"}.get(fact.says, "another")
    return f"{place}: {fact.says} (which it was), or {other} until it was read"


def all_lines(histories: Callable[[str], Iterable[TableHistory]] = chain.histories) -> dict[str, list[Line]]:
    """The lines of every recording."""
    return {run: list(lines(run, histories(run))) for run in recordings()}


def page(told: dict[str, list[Line]]) -> str:
    """The scoreboard as a page of the documentation."""
    return "\n".join([_HEAD, board(told), "\n## What no record tells", *unknowable(told)]) + "\n"


_HEAD = """# Scoreboard

<!-- Written by `make bless`; change the source of what it shows. -->

What the histories of all recordings say, fact by fact, beside what the databases said of themselves at every
step: columns, types, nullability and keys of each version where it began and where it was last seen; the
interval in which it began; which column, and which table, is which from version to version; when a table
ended. `make scoreboard` prints it, and fails when a fact is wrong.

- **right**: it was so, and the history claims it.
- **wrong**: it was not so; or the history doubts what its records prove.
- **unknowable**: two truths fit the same records. Each is listed below with both.
"""


def main(histories: Callable[[str], Iterable[TableHistory]] = chain.histories) -> int:
    """Print the scoreboard, what is wrong and what nobody can know; 1 if anything is wrong."""
    told = all_lines(histories)
    wrong = [(run, line) for run, found in told.items() for line in found if line.verdict == "wrong"]
    out = [board(told), "\nWhat no record tells:", *unknowable(told)]
    if wrong:
        out += ["\nWrong:\n", *(f"- {run} {line.fact} {line.why}".rstrip() for run, line in wrong)]
    sys.stdout.write("\n".join(out) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
