"""Builds the graph of consumers from the texts of their files and the known tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.compat.impact.column_roles import StatementReads
from schemaman.compat.impact.graph import GraphStatement, ImpactGraph, Place, Unread
from schemaman.compat.impact.parsing import (
    FAULTS,
    ParsedStatement,
    UnparsedStatement,
    find_folding,
    list_words,
    parse_statements,
)
from schemaman.compat.impact.relations import Relation, Relations, SqlName
from schemaman.compat.impact.statement_reads import read_statement
from schemaman.compat.impact.texts import FoundText, SqlText


@dataclass(frozen=True, slots=True)
class _Located:
    """A statement with its place, its dialect, and the relation that it makes: parts and key."""

    place: Place
    parsed: ParsedStatement
    language: str
    defined: tuple[SqlName, ...] = ()
    is_temporary: bool = False
    is_insert: bool = False


@dataclass
class ParsedTexts:
    """The statements of all texts, and what could not be parsed: place, reason and words."""

    statements: list[_Located] = field(default_factory=list)
    failed: list[tuple[Place, str, frozenset[str]]] = field(default_factory=list)

    def list_words(self) -> frozenset[str]:
        """List the last parts of all names of tables, in small letters, and the words of failed texts."""
        named = {name[-1].text.lower() for one in self.statements for name in one.parsed.named}
        return frozenset(named.union(*(words for _, _, words in self.failed)))


def parse_texts(texts: Iterable[FoundText]) -> ParsedTexts:
    """Parse all texts, statement by statement."""
    found = ParsedTexts()
    for text in texts:
        if not isinstance(text, SqlText):
            found.failed.append((text.place, text.reason, list_words(text.text)))
            continue
        for parsed in parse_statements(text.text, text.language):
            place = replace(text.place, line=text.place.line + parsed.line - 1)
            if isinstance(parsed, UnparsedStatement):
                found.failed.append((place, parsed.reason, parsed.words))
            else:
                found.statements.append(_locate(text, parsed, place))
    return found


def build_graph(texts: ParsedTexts, relations: Relations) -> ImpactGraph:
    """Read all statements, those that make a view before those that read it."""
    unread: list[Unread] = []
    statements: list[GraphStatement] = []
    visible = _VisibleRelations(relations)
    ordered, circular = _sort_by_need(texts.statements, visible)
    for located in circular:
        visible.add(located, StatementReads(), is_open=True)
    for located in (*ordered, *circular):
        if located in circular and not located.is_insert:
            name = ".".join(part.text for part in located.defined)
            unread.append(
                Unread(
                    located.place, f"{name} is made from itself through other views", _keys(located, visible)
                )
            )
        try:
            reads = read_statement(located.parsed.tree, visible.of(located.place.file), located.language)
        except FAULTS as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
            unread.append(Unread(located.place, reason, _keys(located, visible)))
            continue
        defined = visible.add(located, reads, is_open=reads.is_open) if located.defined else ""
        statements.append(GraphStatement(located.place, reads, defined))
        unread += (
            Unread(located.place, reason, reads.relations, column, is_whole=False)
            for reason, column in reads.unresolved
        )
    unread += (
        Unread(place, reason, _find_mentioned(words, visible.of(place.file)))
        for place, reason, words in texts.failed
    )
    return ImpactGraph.build(statements, unread)


class _VisibleRelations:
    """The known tables, and the views that statements make: everywhere, or in one file."""

    def __init__(self, relations: Relations) -> None:
        self.everywhere = Relations({name: list(found) for name, found in relations.by_name.items()})
        self.local: dict[str, Relations] = {}

    def of(self, file: str) -> Relations:
        """Return what a statement of a file may name."""
        local = self.local.get(file)
        return self.everywhere if local is None else Relations(self.everywhere.by_name, local)

    def find_key(self, located: _Located) -> str:
        """Find the key of the relation that a statement makes; a table that exists keeps its own."""
        if located.is_insert:
            known = self.of(located.place.file).find(located.defined, find_folding(located.language))
            if len(known) == 1:
                return known[0].key
        name = ".".join(part.text.lower() for part in located.defined)
        return f"{located.place.file}:{name}" if located.is_temporary else f"view {name}"

    def add(self, located: _Located, reads: StatementReads, *, is_open: bool) -> str:
        """Add the relation that a statement makes; return its key."""
        key = self.find_key(located)
        names = (tuple(part.text for part in located.defined),)
        relations = self.everywhere
        if located.is_temporary:
            relations = self.local.setdefault(located.place.file, Relations())
        known = [r for r in relations.by_name.get(names[0][-1].lower(), ()) if r.key == key]
        if known and known[0].outputs is None:
            return key
        earlier = known[0].outputs or () if known else ()
        seen = {one.name.lower() for one in earlier}
        merged = (*earlier, *(one for one in reads.outputs if one.name.lower() not in seen))
        was_open = known[0].is_open if known else False
        is_open = is_open or (was_open and bool(earlier))
        relations.add(Relation(key, names, former=reads.former, outputs=merged, is_open=is_open))
        return key


def _locate(text: SqlText, parsed: ParsedStatement, place: Place) -> _Located:
    from_text = tuple(SqlName(part, True) for part in text.defined)
    defined = from_text or parsed.defined
    name = place.name or ".".join(part.text for part in defined)
    return _Located(
        replace(place, name=name),
        parsed,
        text.language,
        defined,
        text.is_temporary if from_text else parsed.is_temporary,
        not from_text and parsed.is_insert,
    )


def _sort_by_need(
    statements: Sequence[_Located], visible: _VisibleRelations
) -> tuple[list[_Located], list[_Located]]:
    """Sort statements so that the makers of a relation come first; return those in a circle apart."""
    makers: dict[str, list[int]] = {}
    for number, located in enumerate(statements):
        if located.defined:
            makers.setdefault(located.defined[-1].text.lower(), []).append(number)
    needs: list[set[int]] = [
        set(_find_makers(number, located, statements, makers)) for number, located in enumerate(statements)
    ]
    users: dict[int, list[int]] = {}
    for number, needed in enumerate(needs):
        for one in needed:
            users.setdefault(one, []).append(number)
    ready = [number for number, needed in enumerate(needs) if not needed]
    ordered: list[int] = []
    for number in ready:  # the list grows while it is read
        ordered.append(number)
        for user in users.get(number, ()):
            needs[user].discard(number)
            if not needs[user]:
                ready.append(user)
    placed = set(ordered)
    rest = [statements[n] for n in range(len(statements)) if n not in placed]
    return [statements[n] for n in ordered], rest


def _find_makers(
    number: int, located: _Located, statements: Sequence[_Located], makers: Mapping[str, list[int]]
) -> Iterator[int]:
    """Find the statements that make what a statement names; the last part of the name decides."""
    own = tuple(part.text.lower() for part in located.defined)
    for name in located.parsed.named:
        for maker in makers.get(name[-1].text.lower(), ()):
            made = tuple(part.text.lower() for part in statements[maker].defined)
            written = tuple(part.text.lower() for part in name)
            length = min(len(made), len(written))
            if maker != number and made != own and made[-length:] == written[-length:]:
                yield maker


def _keys(located: _Located, visible: _VisibleRelations) -> frozenset[str]:
    """Find the keys of what a statement names."""
    relations, folding = visible.of(located.place.file), find_folding(located.language)
    return frozenset(r.key for name in located.parsed.named for r in relations.find(name, folding))


def _find_mentioned(words: frozenset[str], relations: Relations) -> frozenset[str]:
    """Find the relations whose last name is among words; a name of several words by all of them."""
    local = relations.local.by_name if relations.local is not None else {}
    return frozenset(
        relation.key
        for name, found in (*relations.by_name.items(), *local.items())
        if name in words or ((split := list_words(name)) and split <= words)
        for relation in found
    )
