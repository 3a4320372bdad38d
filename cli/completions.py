"""The words that a shell may offer: tables, versions, targets, runs, leases, rules. Loaded on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

from schemaman.api.settings_files import load_settings, resolve_store_url
from schemaman.compat.judge import RULES
from schemaman.history.references import parse_name
from schemaman.migration.target import TARGETS
from schemaman.registry import Registry
from schemaman.report.json import schemas
from schemaman.report.views.overview import shorten_names
from schemaman.settings import KEYS, Settings
from schemaman.store.sql.store import SqlStore

BUSY_MS = 200
"""The longest wait for a writer: a person waits for the words."""


def list_words(kind: str, arguments: Mapping[str, object], incomplete: str) -> list[str]:
    """List the words of a kind that begin as typed; `arguments` are those before.

    Raises any error of the settings and of the store; the caller is silent about it.
    """
    flags = {key: value for key, value in arguments.items() if key in KEYS and key != "target"}
    found = _LISTS[kind](load_settings(flags), incomplete)
    return [word for word in dict.fromkeys(found) if word.startswith(incomplete)]


def _list_tables(settings: Settings, incomplete: str) -> Iterable[str]:
    """List the shortest names of tables, and the whole ones once a character is typed."""
    with _open(settings) as store:
        tables = store.tables()
    short = shorten_names(tables).values()
    return chain(short, map(str, tables)) if incomplete else short


def _list_references(settings: Settings, incomplete: str) -> Iterable[str]:
    """List tables, and behind an `@` the versions of the table before it."""
    name, at, _ = incomplete.rpartition("@")
    if not at:
        return _list_tables(settings, incomplete)
    with _open(settings) as store:
        registry = Registry(store, lambda: 0)
        versions = registry.history(registry.find(parse_name(name.rpartition("..")[2]))).versions
    return [f"{name}@latest", *(f"{name}@{v.number}" for v in reversed(versions))]


def _list_targets(settings: Settings, _: str) -> Iterable[str]:
    return chain((target.name for target in settings.targets.value), TARGETS.names())


def _list_runs(settings: Settings, _: str) -> Iterable[str]:
    with _open(settings) as store:
        lines = Registry(store, lambda: 0).journal()
    return (line.run for line in reversed(lines))


def _list_leases(settings: Settings, _: str) -> Iterable[str]:
    with _open(settings) as store:
        return [lease.token for lease in store.leases()]


def _list_rules(_: Settings, __: str) -> Iterable[str]:
    return RULES.names()


def _list_outputs(_: Settings, __: str) -> Iterable[str]:
    return schemas.list_names()


@contextmanager
def _open(settings: Settings) -> Iterator[SqlStore]:
    with SqlStore.open(resolve_store_url(settings.store), busy_ms=BUSY_MS) as store:
        yield store


_LISTS: Mapping[str, Callable[[Settings, str], Iterable[str]]] = {
    "tables": _list_tables,
    "references": _list_references,
    "targets": _list_targets,
    "runs": _list_runs,
    "leases": _list_leases,
    "rules": _list_rules,
    "outputs": _list_outputs,
}
