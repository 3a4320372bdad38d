"""Reads records into the history: what is new of a source is probed, scanned, decoded and recorded.

`schemaman.ingest` is this package and the function of the API: call it with a source and a registry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Signature, signature
from types import ModuleType
from typing import Any

from schemaman.plugins import Port

INGEST: Port[Callable[..., Any]] = Port("ingest records")
"""The function of the API."""


class _IngestPackage(ModuleType):
    # A package that can be called: Python binds its name as soon as a module of it is loaded.

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Read records into the history; see `schemaman.api.functions.ingest`."""
        return INGEST.load()(*arguments, **options)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return INGEST.load().__doc__

    @property
    def __signature__(self) -> Signature:
        return signature(INGEST.load())


sys.modules[__name__].__class__ = _IngestPackage
