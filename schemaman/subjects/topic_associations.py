"""The associations of a registry: which subjects the keys and the values of topics have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from schemaman.errors import SchemamanError
from schemaman.store.subjects import Association, SubjectName, SubjectRows, SubjectStore
from schemaman.subjects.associations import (
    AssociationFilter,
    AssociationRequest,
    Bound,
    Resource,
    bind_resource,
    list_associations,
    unbind_resource,
)
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import RegistrationGate
from schemaman.subjects.registration import prepare_registration, register_schema
from schemaman.subjects.requests import SchemaRequest

Bindings = tuple[tuple[SubjectName, Association, VersionedSchema | None], ...]
"""Each subject with its association, and the version that came with it."""
WriteVersions = Callable[
    [Callable[[SubjectRows], Mapping[int, VersionedSchema]]], Mapping[int, SchemamanError]
]
"""Writes new versions and their evidence with one commit; the faults of finding evidence."""


class TopicAssociations:
    """Answers for associations; each call is one transaction of the store.

    Each method raises `RefusedRequest`, whose `code` is that of the REST API. `write` runs a function in a
    transaction, and writes the evidence of the new versions that it returns with the same commit.
    """

    def __init__(
        self,
        store: SubjectStore,
        gate: RegistrationGate,
        write: WriteVersions,
    ) -> None:
        self._store = store
        self._gate = gate
        self._write = write

    def list(self, wanted: AssociationFilter) -> tuple[Bound, ...]:
        """List associations with their subjects."""
        with self._store.reading_subjects() as rows:
            return list_associations(rows, wanted)

    def bind(
        self,
        resource: Resource,
        requests: Sequence[AssociationRequest],
        *,
        is_upsert: bool = False,
        is_dry_run: bool = False,
        actor: str = "",
    ) -> Bindings:
        """Bind a resource to subjects: to all of them, or to none. A dry run says what would be."""
        found: dict[int, VersionedSchema] = {}
        bindings: Bindings = ()

        def bind(rows: SubjectRows) -> dict[int, VersionedSchema]:
            nonlocal bindings
            found.clear()

            def register(name: SubjectName, request: SchemaRequest, normalize: bool) -> VersionedSchema:
                prepared = prepare_registration(rows, name, request, normalize=normalize)
                registered = register_schema(rows, prepared, actor, self._gate)
                if prepared.is_new:
                    found[len(found)] = registered
                return registered

            bindings = bind_resource(rows, resource, requests, register, is_upsert=is_upsert)
            return found

        if is_dry_run:
            with self._writing(is_dry_run) as rows:
                bind(rows)
        else:
            for fault in self._write(bind).values():
                raise fault
        return bindings

    def unbind(
        self, wanted: AssociationFilter, *, is_cascading: bool = False, is_dry_run: bool = False
    ) -> None:
        """Remove associations; `is_cascading` deletes the subject of a STRONG one, too."""
        with self._writing(is_dry_run) as rows:
            unbind_resource(rows, wanted, is_cascading=is_cascading)

    @contextmanager
    def _writing(self, is_dry_run: bool) -> Iterator[SubjectRows]:
        """Begin a transaction; that of a dry run is taken back."""
        try:
            with self._store.writing_subjects() as rows:
                yield rows
                if is_dry_run:
                    raise _TakenBack
        except _TakenBack:
            pass


class _TakenBack(Exception):
    """Ends the transaction of a dry run."""
