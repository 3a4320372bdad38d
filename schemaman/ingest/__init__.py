"""Reads records into the history: what is new of a source is probed, scanned, decoded and recorded.

`schemaman.ingest` is this package and the function of the API: call it with a source and a registry.
"""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class _IngestPackage(ModuleType):
    # A package that can be called: Python binds its name as soon as a module of it is loaded.

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Read records into the history; see `schemaman.api.functions.ingest`."""
        return import_module("schemaman.api.functions").ingest(*arguments, **options)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return str(import_module("schemaman.api.functions").ingest.__doc__)

    @property
    def __signature__(self) -> Signature:
        return signature(import_module("schemaman.api.functions").ingest)


sys.modules[__name__].__class__ = _IngestPackage
