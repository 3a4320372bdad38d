"""Names of subjects with their contexts: `orders-value`, or `:.team:orders-value` in the context `.team`.

Source: Confluent documentation, "Schema contexts".
"""

from __future__ import annotations

from schemaman.store.subjects import DEFAULT_CONTEXT, SubjectName

GLOBAL_CONTEXT = ".__GLOBAL"
"""The context whose settings hold for all contexts."""
ALL_CONTEXTS = "*"
"""The context of a prefix that means every context."""


def parse_subject(text: str, context: str = DEFAULT_CONTEXT) -> SubjectName:
    """Split a subject from its context; one without a context is in `context`.

    `:.team:` is the context `.team` itself, with an empty name.
    """
    if text.startswith(":"):
        found, end, name = text[1:].partition(":")
        if end and (found.startswith(".") or found == ALL_CONTEXTS):
            return SubjectName(found, name)
    return SubjectName(context, text)


def format_context(context: str) -> str:
    """The scope of a context's settings."""
    return f":{context}:"
