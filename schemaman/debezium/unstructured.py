"""Statements that came without a structure: what they drop, empty or rename, and what is to know of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemaman.decode.change import Change, excerpt, named, note, observation
from schemaman.decode.outcomes import aside
from schemaman.decode.stated import told
from schemaman.decode.statement import Subject, subjects, table_statements
from schemaman.evidence import Observation, Outcome

KIND = "ddl-without-structure"


def outcomes(change: Change, *, never: bool) -> tuple[Outcome, ...]:
    """What is left of a change with empty `tableChanges`; `never`: this connector tells no structures at all.

    DROP TABLE and TRUNCATE say something of a table, but for those with which a snapshot clears the way
    for what it is about to create. Renames, defaults and comments are evidence for the structure that
    events show.
    """
    ddl = change.ddl or ""
    found = table_statements(ddl)
    if found and change.origin.snapshot:
        return (aside(change.run, "snapshot-drop"),)
    said: list[Outcome] = [observation(change, named(change, s.parts), action=s.action) for s in found]
    said += _renamed_tables(change)
    said += _created_tables(change)
    said += _evidence(change)
    notes = [n for subject in subjects(ddl) if (n := _note(change, subject, never)) is not None]
    if not said:
        # each record is counted once among those that are no testimony
        said = [aside(change.run, KIND)]
    return (*said, *notes)


def _renamed_tables(change: Change) -> Iterator[Observation]:
    for old, new in change.told.tables or _bare_pairs(change):
        renamed = observation(change, named(change, new), action="rename")
        yield replace(renamed, previous=named(change, old))


def _created_tables(change: Change) -> Iterator[Observation]:
    """What bears the name of a table that is made anew is another table from there on."""
    for subject in () if change.origin.snapshot else subjects(change.ddl or ""):
        if subject.verb == "CREATE" and subject.kind == "table" and subject.anew and subject.parts:
            yield observation(change, named(change, subject.parts), action="create")


def _bare_pairs(change: Change) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The tables of a RENAME TABLE, which MySQL up to 1.4 publishes without these words: `d.a TO d.b;`."""
    ddl = change.ddl or ""
    if change.origin.connector != "mysql" or not change.touched[0] or subjects(ddl):
        return ()
    pairs = [pair for part in ddl.split(";") if part.strip() for pair in _pair(change, part)]
    return tuple(pairs)


def _pair(change: Change, part: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    found = told(f"RENAME TABLE {part}", change.origin.connector).tables
    return found if all(new[-1] in change.touched for _, new in found) else ()


def _evidence(change: Change) -> Iterator[Observation]:
    """What a single ALTER TABLE states of columns."""
    about = [s for s in subjects(change.ddl or "") if s.kind == "table" and s.verb == "ALTER" and s.parts]
    stated = change.told.stated
    if len(about) == 1 and (change.told.renames or stated):
        said = observation(change, named(change, about[0].parts), action="statement")
        yield replace(said, renames=change.told.renames, stated=stated)


def _note(change: Change, subject: Subject, never: bool) -> Outcome | None:
    match subject:
        case Subject("DROP", "database", parts) if parts and not change.origin.snapshot:
            message = (
                f"DROP DATABASE {parts[-1]}: its tables are gone, and none of them gets a DROP of its own"
            )
            return note(change, "database-dropped", message)
        case Subject("CREATE" | "ALTER" | "RENAME", "table", parts) if parts:
            return _missing(change, parts, _NEVER if never else _NOT_NOW)
        case Subject(_, "index", parts) if parts and not change.origin.snapshot:
            return _missing(change, parts, _INDEX)
        case _:
            return None


_NEVER = "this connector publishes statements without structures; events show what became of it"
_NOT_NOW = (
    "the connector told no structure: the table is outside its filters, or it could not parse the statement"
)
_INDEX = "the connector told no structure; if the index changes the key, only events show it"


def _missing(change: Change, parts: tuple[str, ...], why: str) -> Outcome:
    return note(change, KIND, f"{excerpt(change.ddl or '')}: {why}", named(change, parts))
