"""Facts that the tokens of a DDL text state: renames of columns and tables, and columns created again.

The tokens state these facts even in a statement that a full parser cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schemaman.debezium.ddl.event_grammar import StatementGrammar

Parts = tuple[str, ...]


def find_column_renames(ddl: str, grammar: StatementGrammar) -> tuple[tuple[str, str], ...]:
    """Find the column renames (old, new) of a DDL text, as it spells the names.

    It reads `CHANGE [COLUMN] a b …` and `RENAME COLUMN a TO b` of `ALTER TABLE`, and composes the renames of
    several statements. A text that cannot be read gives no rename; the history then suspects renames from the
    structure. Source: MySQL and MariaDB manuals, ALTER TABLE; Oracle SQL reference, rename_column_clause.
    """
    result: dict[str, str] = {}
    for words in _split_statements(ddl, grammar):
        step = dict(_list_column_renames(words))
        result = {a: step.pop(b, b) for a, b in result.items()} | step
    return tuple((a, b) for a, b in result.items() if a != b)


def find_recreated_columns(ddl: str, grammar: StatementGrammar) -> tuple[str, ...]:
    """Find the columns that a DDL text drops and adds again, by their final names, as it spells them.

    It reads `DROP [COLUMN] a, ADD [COLUMN] a …` of `ALTER TABLE` in both orders: the dropped column is one of
    the table before the statement. A text about several tables gives no column. Source: MySQL and MariaDB
    manuals, ALTER TABLE; Oracle combines a drop with nothing (ORA-12987).
    """
    dropped_before: set[str] = set()
    made: dict[str, str] = {}
    statements = list(_split_statements(ddl, grammar))
    if len({table[-1].lower() for words in statements if (table := _find_altered_table(words))}) > 1:
        return ()
    for words in statements:
        actions = _list_actions(words)
        dropped = {name.lower() for action in actions for name in _list_dropped(action)}
        renames = {old.lower(): new for old, new in _list_column_renames(words)}
        kept = [renames.get(name, spelled) for name, spelled in made.items() if name not in dropped]
        dropped_before |= dropped
        added = (n for action in actions for n in _list_added(action) if n.lower() in dropped_before)
        made = {name.lower(): name for name in (*kept, *added)}
    return tuple(made.values())


def find_table_renames(ddl: str, grammar: StatementGrammar) -> tuple[tuple[Parts, Parts], ...]:
    """Find the table renames (old, new) of a DDL text, each name as its parts: `('shop', 'orders')`.

    It reads `RENAME TABLE a TO b[, c TO d]` in order and `ALTER TABLE a RENAME [TO|AS|=] b`. An unqualified
    name has one part. Source: MySQL and MariaDB manuals, RENAME TABLE, ALTER TABLE.
    """
    return tuple(
        pair for words in _split_statements(ddl, grammar) for pair in _list_table_renames(words, grammar)
    )


def renames_tables_alone(ddl: str, grammar: StatementGrammar) -> bool:
    """Return whether each statement of a DDL text renames tables, and changes nothing else.

    A text without a verb, `d.a TO d.b;`, is what MySQL up to 1.4 publishes of a RENAME TABLE.
    """
    statements = list(_split_statements(ddl, grammar))
    return bool(statements) and all(_renames_alone(words, grammar) for words in statements)


def _renames_alone(words: list[_Word], grammar: StatementGrammar) -> bool:
    if words[0].is_keyword("ALTER"):
        return len(_list_actions(words)) == 1 and any(_list_table_renames(words, grammar))
    named = words[0].is_keyword("RENAME")
    items = _split_at_commas(words[1:] if named else words)
    return all(any(word.is_keyword("TO") for word in item) for item in items)


@dataclass(frozen=True, slots=True)
class _Word:
    """A token of SQL: `text` without its quotes; `name` if it can be an identifier."""

    text: str
    name: bool
    quoted: bool = False

    def is_keyword(self, *keywords: str) -> bool:
        return not self.quoted and self.text.upper() in keywords


# A server executes comments such as `/*!50001 … */` and `/*M! … */`: skip only their delimiters.
_SQL = re.compile(
    r"""(?P<skip>\s+|--(?:\s[^\n]*|$|(?=\n))|\#[^\n]*|/\*M?!\d*|\*/|/\*.*?\*/)
    |(?P<text>'(?:[^'\\]|\\.|'')*')
    |(?P<quoted>`(?:[^`]|``)*`|"(?:[^"\\]|\\.|"")*")
    |(?P<word>[\w$]+)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_ORACLE = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"[^"]*")
    |(?P<word>[\w$\#]+)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_INNER = ("COLUMN", "INDEX", "KEY", "CONSTRAINT", "PARTITION")
_NO_COLUMNS = ("INDEX", "KEY", "FULLTEXT", "SPATIAL", "CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_BEHIND = ("FOR", "VERSIONING")
"""Words behind PERIOD and SYSTEM, which may be unquoted names: before these words they are no columns."""

_BODIES = ("PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE")


def _split_statements(ddl: str, grammar: StatementGrammar) -> Iterator[list[_Word]]:
    """Split a text into statements; yield none if it has unbalanced quotes."""
    words = list(_split_words(ddl, grammar))
    if any(w.text in "`\"'" and not w.name for w in words):
        return
    statement: list[_Word] = []
    for word in [*words, _Word(";", False)]:
        if word.text != ";" or word.name:
            statement.append(word)
            continue
        if statement and statement[0].is_keyword("CREATE") and any(w.is_keyword(*_BODIES) for w in statement):
            return  # the rest is the body of a stored program
        if statement:
            yield statement
        statement = []


def _split_words(ddl: str, grammar: StatementGrammar) -> Iterator[_Word]:
    for match in (_SQL if grammar.hash_comments else _ORACLE).finditer(ddl):
        text = match[0]
        match match.lastgroup:
            case "skip":
                continue
            case "quoted":
                yield _Word(text[1:-1].replace(text[0] * 2, text[0]), True, quoted=True)
            case "text":
                yield _Word(text, False, quoted=True)
            case "word":
                yield _Word(text.upper() if grammar.upper_names else text, True)
            case _:
                yield _Word(text, False)


def _list_column_renames(words: list[_Word]) -> Iterator[tuple[str, str]]:
    for action in _list_actions(words):
        match [w.text.upper() if not w.quoted else "" for w in action[:4]]:
            case ["RENAME", "COLUMN", *_]:
                names = _skip_if_exists(action[2:])
                if len(names) >= 3 and names[0].name and names[1].is_keyword("TO") and names[2].name:
                    yield names[0].text, names[2].text
            case ["CHANGE", *rest]:
                names = _skip_if_exists(action[2 if rest[:1] == ["COLUMN"] else 1 :])
                if len(names) >= 2 and names[0].name and names[1].name:
                    yield names[0].text, names[1].text
            case _:
                continue


def _list_dropped(action: list[_Word]) -> Iterator[str]:
    """List the column that an action drops; drops of keys, indexes, partitions or periods have more words."""
    if action[0].is_keyword("DROP"):
        rest = _skip_condition(action[2 if len(action) > 1 and action[1].is_keyword("COLUMN") else 1 :])
        if len(rest) > 1 and rest[-1].is_keyword("RESTRICT", "CASCADE"):
            rest = rest[:-1]
        if len(rest) == 1 and rest[0].name:
            yield rest[0].text


def _list_added(action: list[_Word]) -> Iterator[str]:
    """List the columns that an action adds: one column, or a list in brackets."""
    if not action[0].is_keyword("ADD"):
        return
    rest = _skip_condition(action[2 if len(action) > 1 and action[1].is_keyword("COLUMN") else 1 :])
    listed = len(rest) > 2 and rest[0].text == "(" and not rest[0].quoted
    for item in _split_at_commas(rest[1:-1]) if listed else [rest]:
        if (
            len(item) > 1
            and item[0].name
            and not item[0].is_keyword(*_NO_COLUMNS)
            and not item[1].is_keyword(*_BEHIND)
        ):
            yield item[0].text


def _list_table_renames(words: list[_Word], grammar: StatementGrammar) -> Iterator[tuple[Parts, Parts]]:
    if words[0].is_keyword("RENAME"):
        tables = len(words) > 1 and words[1].is_keyword("TABLE", "TABLES")
        if tables or grammar.bare_renames:
            for item in _split_at_commas(_skip_if_exists(words[2 if tables else 1 :])):
                old, rest = _read_name(item)
                to = next((i for i, w in enumerate(rest) if w.is_keyword("TO")), None)
                new = _read_name(rest[to + 1 :])[0] if to is not None else ()
                if old and new:
                    yield old, new
        return
    table = _find_altered_table(words)
    for action in _list_actions(words):
        if action[0].is_keyword("RENAME") and len(action) > 1 and not action[1].is_keyword(*_INNER):
            skip = 2 if action[1].is_keyword("TO", "AS") or action[1].text == "=" else 1
            new = _read_name(action[skip:])[0]
            if table and new:
                yield table, new


def _find_altered_table(words: list[_Word]) -> Parts:
    """Find the table of an `ALTER TABLE` statement; empty for any other statement."""
    return _read_name(_skip_to_table(words))[0]


def _list_actions(words: list[_Word]) -> list[list[_Word]]:
    """List the comma-separated actions of an `ALTER TABLE` statement."""
    _, rest = _read_name(_skip_to_table(words))
    # MariaDB: WAIT n and NOWAIT come between the name and the first action
    waits = (i for i, w in enumerate(rest) if not w.is_keyword("WAIT", "NOWAIT") and not w.text.isdecimal())
    return _split_at_commas(rest[next(waits, len(rest)) :])


def _skip_to_table(words: list[_Word]) -> list[_Word]:
    if not words[0].is_keyword("ALTER"):
        return []
    at = next((i for i, w in enumerate(words[:4]) if w.is_keyword("TABLE")), None)
    return [] if at is None else _skip_if_exists(words[at + 1 :])


def _skip_if_exists(words: list[_Word]) -> list[_Word]:
    return (
        words[2:] if len(words) > 2 and words[0].is_keyword("IF") and words[1].is_keyword("EXISTS") else words
    )


def _skip_condition(words: list[_Word]) -> list[_Word]:
    """Skip `IF EXISTS` or `IF NOT EXISTS`."""
    for at, condition in ((2, ("EXISTS",)), (3, ("NOT", "EXISTS"))):
        pairs = zip(words[:at], ("IF", *condition), strict=False)
        if len(words) > at and all(word.is_keyword(keyword) for word, keyword in pairs):
            return words[at:]
    return words


def _read_name(words: list[_Word]) -> tuple[Parts, list[_Word]]:
    """Read a dotted name at the beginning, and return it with the words behind it."""
    if not words or not words[0].name:
        return (), words
    parts, at = [words[0].text], 1
    while at + 1 < len(words) and words[at].text == "." and words[at + 1].name:
        parts.append(words[at + 1].text)
        at += 2
    return tuple(parts), words[at:]


def _split_at_commas(words: list[_Word]) -> list[list[_Word]]:
    """Split words at the commas outside of brackets."""
    parts: list[list[_Word]] = [[]]
    depth = 0
    for word in words:
        bare = "" if word.quoted else word.text
        depth += (bare == "(") - (bare == ")")
        if bare == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [p for p in parts if p]
