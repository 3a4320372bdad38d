"""The completion of bash: its words are read from the whole line, since bash splits `orders@1` at the `@`.

Source: bash(1), "COMP_WORDBREAKS" and "COMP_LINE".
"""

from __future__ import annotations

import os
from typing import Any

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from schemaman.model.shell import quote_word

_SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response

    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_CURRENT="${COMP_WORDS[COMP_CWORD]}" \\
        %(complete_var)s=bash_complete $1 2>/dev/null)

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""
_BREAKS = ":@="


class LineComplete(BashComplete):
    """Completes the last word of `COMP_LINE`; a reply has only the part that bash replaces."""

    source_template = _SCRIPT
    _skipped = 0

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before, and the word that is being typed."""
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        incomplete = words.pop() if len(words) > 1 and not line[-1:].isspace() else ""
        current = os.environ.get("COMP_CURRENT", "").strip(_BREAKS)
        self._skipped = len(incomplete) - len(current) if incomplete.endswith(current) else 0
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a reply, quoted for the shell."""
        value = str(item.value)
        return f"{item.type},{quote_word(value[self._skipped :]) if item.type == 'plain' else value}"


add_completion_class(LineComplete)
__all__ = ["CompletionItem", "get_completion_class"]
