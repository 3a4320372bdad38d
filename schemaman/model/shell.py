"""Commands as text that a POSIX shell reads back as the same words.

Law: a shell that runs the text passes exactly the words, whatever names they hold, and the text has no
invisible character. A word of only line ends stays as it is: no shell expansion keeps a trailing one.
Source: POSIX.1-2017, Shell Command Language 2.2 (quoting) and 2.6.3 (command substitution); `printf`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from schemaman.model.printable import escape_invisible

PROGRAM = "schemaman"
_VERB = re.compile(rf"{PROGRAM} ([a-z-]+)(?= |$)")
_SPAN = re.compile(rf"`({PROGRAM} [^`\n]+)`")
_WITHOUT_STORE = frozenset(
    {"completion", "config", "demo", "git-diff", "rules", "schema", "store", "textconv"}
)
"""The commands without the option `--store`, or with it only behind another verb."""


def build_command(verb: Iterable[str], arguments: Iterable[str], *options: str, ending: str = "") -> str:
    """Build the line that runs a command; `options` are words, `ending` is a placeholder to replace.

    Arguments that begin with a dash stand behind `--`, so that they are no options.
    """
    words = tuple(arguments)
    guard = ("--",) if any(word.startswith("-") for word in words) else ()
    line = join_words((PROGRAM, *verb, *options, *guard, *words))
    return f"{line} {ending}" if ending else line


def add_options(line: str, options: Sequence[str]) -> str:
    """Add options behind the verb of a command line; one that has the first of them stays as it is.

    Any other text stays as it is, too, and a command that reads no store.
    """
    verb = _VERB.match(line)
    if not options or verb is None or verb[1] in _WITHOUT_STORE or f" {options[0]} " in line:
        return line
    return f"{verb[0]} {join_words(options)}{line[verb.end() :]}"


def add_options_in_spans(text: str, options: Sequence[str]) -> str:
    """Add options to the commands in the code spans of a text."""
    return _SPAN.sub(lambda found: f"`{add_options(found[1], options)}`", text) if options else text


def join_words(words: Iterable[str]) -> str:
    """Join words to a line."""
    return " ".join(map(quote_word, words))


def quote_word(word: str) -> str:
    """Quote a word; invisible characters are written as octal bytes for `printf`."""
    if escape_invisible(word) == word or word.endswith("\n"):
        return shlex.quote(word)
    text = "".join(map(_format_character, word))
    return f"\"$(printf '{text}')\""


def _format_character(ch: str) -> str:
    if ch in "\\%":
        return ch * 2
    if ch == "'" or escape_invisible(ch) != ch:
        # other lone surrogates come from no argument, so that no text is read back as one
        handler = "surrogateescape" if "\udc80" <= ch <= "\udcff" else "surrogatepass"
        return "".join(f"\\{byte:03o}" for byte in ch.encode("utf-8", handler))
    return ch
