"""Delete versions and subjects: first softly, then for good.

Laws: what another schema refers to stays; a schema stays readable by its id until its last version is deleted
for good, and then the settings of its subject go, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemaman.store.subjects import SubjectName, SubjectRows, SubjectSettings, SubjectVersion
from schemaman.subjects.faults import RefusedRequest, make_subject_missing, make_version_missing
from schemaman.subjects.requests import LATEST
from schemaman.subjects.scopes import require_writable


def delete_subject(rows: SubjectRows, subject: SubjectName, *, permanent: bool) -> tuple[int, ...]:
    """Delete the versions of a subject, and return their numbers.

    Raises:
        RefusedRequest: 40401 for a missing subject, 40404 and 40405 for the wrong order of deletions, 42205
            for a read-only subject, 42206 for one that a schema refers to, 40904 for one with an association.
    """
    require_writable(rows, subject)
    if rows.read_settings(str(subject)).associations:
        raise RefusedRequest(40904, f"An association exists for subject '{subject}'")
    versions = rows.list_versions(subject)
    live = tuple(version.number for version in versions if not version.is_deleted)
    if not versions:
        raise make_subject_missing(subject)
    if permanent and live:
        raise RefusedRequest(40405, f"Subject '{subject}' is not soft-deleted yet")
    if not permanent and not live:
        raise RefusedRequest(40404, f"Subject '{subject}' is soft-deleted already")
    numbers = tuple(version.number for version in versions) if permanent else live
    _require_unreferenced(rows, subject, numbers, deleted=permanent)
    if permanent:
        _remove(rows, subject, versions)
    else:
        rows.mark_deleted(subject, numbers)
    return numbers


def delete_version(rows: SubjectRows, subject: SubjectName, number: int, *, permanent: bool) -> int:
    """Delete a version, and return its number.

    Raises:
        RefusedRequest: 40401 or 40402 for what is missing, 40406 and 40407 for the wrong order of deletions,
            42205 for a read-only subject, 42206 for a version that a schema refers to.
    """
    require_writable(rows, subject)
    versions = rows.list_versions(subject)
    if not versions:
        raise make_subject_missing(subject)
    if number == LATEST:
        near = [version for version in versions if version.is_deleted == permanent] or versions
        number = near[-1].number
    version = next((version for version in versions if version.number == number), None)
    if version is None:
        raise make_version_missing(number)
    if permanent and not version.is_deleted:
        raise RefusedRequest(40407, f"Version {number} of subject '{subject}' is not soft-deleted yet")
    if not permanent and version.is_deleted:
        raise RefusedRequest(40406, f"Version {number} of subject '{subject}' is soft-deleted already")
    _require_unreferenced(rows, subject, (number,), deleted=permanent)
    if permanent:
        _remove(rows, subject, [version])
    else:
        rows.mark_deleted(subject, (number,))
    return number


def empty_context(rows: SubjectRows, subjects: Iterable[SubjectName]) -> None:
    """Remove the soft-deleted versions of subjects for good, also those that one of them refers to."""
    for subject in subjects:
        _remove(rows, subject, rows.list_versions(subject))


def _require_unreferenced(
    rows: SubjectRows, subject: SubjectName, numbers: Iterable[int], *, deleted: bool
) -> None:
    for number in numbers:
        ids = rows.list_referrers(subject, number, deleted)
        if ids:
            raise RefusedRequest(
                42206, f"The schema with id {ids[0]} refers to version {number} of subject '{subject}'"
            )


def _remove(rows: SubjectRows, subject: SubjectName, versions: Iterable[SubjectVersion]) -> None:
    gone = list(versions)
    rows.remove_versions(subject, tuple(version.number for version in gone))
    for id in dict.fromkeys(version.schema_id for version in gone):
        if not rows.list_uses(subject.context, id):
            rows.remove_schema(subject.context, id)
    if not rows.list_versions(subject):
        associations = rows.read_settings(str(subject)).associations
        rows.write_settings(str(subject), SubjectSettings(associations=associations))
