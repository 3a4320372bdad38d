"""What a request is when it was matched, which endpoint answers it, and answers of other kinds than JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from schemaman.store.subject_names import ALL_CONTEXTS
from schemaman.store.subjects import DEFAULT_CONTEXT
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.requests import LARGEST_VERSION, parse_version
from schemaman.subjects.schema_registry import SchemaRegistry

NO_CONTENT = object()
"""The answer without a body, status 204."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was matched: its registry, the parts of its path, its query, its body and its user."""

    registry: SchemaRegistry
    parts: Mapping[str, str]
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    body: object = None
    actor: str = ""

    def is_true(self, name: str) -> bool:
        """Whether a parameter is true, in any case of letters."""
        return self.read_text(name).lower() == "true"

    def read_text(self, *names: str) -> str:
        """The text of the first of these parameters that is there; empty for none."""
        return next((self.query[name][0] for name in names if self.query.get(name)), "")

    def read_page(self, largest: int | None = None) -> tuple[int, int | None]:
        """The offset and the limit of a list; a limit out of range means the default."""
        offset, limit = _read_integer(self.read_text("offset")), _read_integer(self.read_text("limit"))
        is_usual = limit <= 0 or (largest is not None and limit > largest)
        return max(offset, 0), largest if is_usual else limit

    @property
    def prefix(self) -> str:
        """The prefix of subjects to list; without one, all of this context; of the default one, all."""
        is_default = self.registry.context == DEFAULT_CONTEXT
        return self.read_text("subjectPrefix", "subject") or (f":{ALL_CONTEXTS}:" if is_default else "")

    @property
    def subject(self) -> str:
        """The subject in the path."""
        return self.parts["subject"]

    @property
    def version(self) -> int:
        """The version in the path. Raises `RefusedRequest` with 42202."""
        return parse_version(self.parts["version"])

    @property
    def id(self) -> int:
        """The id in the path. Raises `RefusedRequest` with 40403 for what is no id."""
        text = self.parts["id"]
        if not (text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= LARGEST_VERSION):
            raise RefusedRequest(40403, f"Schema {text[:40]} not found")
        return int(text)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method, a path with parts in braces, and the function that answers; `note` names a deviation.

    The server gives an answer that `is_kept` again until the registry changes. One that is also `is_lasting`
    may be a few seconds old if another server has made the change.
    """

    method: str
    path: str
    answer: Callable[[Call], object]
    is_write: bool = False
    note: str = ""
    is_kept: bool = False
    is_lasting: bool = False


def _read_integer(text: str) -> int:
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(text) if is_number else 0


@dataclass(frozen=True, slots=True)
class RawText:
    """A text that is itself the body of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ManyAnswers:
    """The answers to several requests in one, each with its result or its fault: status 207."""

    body: object
