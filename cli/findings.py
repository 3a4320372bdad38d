"""One finding by its fingerprint, and the waivers that stand, for the commands about findings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from schemaman.compat.waivers import Waiver, parse_waivers, select_unexpired
from schemaman.errors import UnknownName
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman_cli.options import Door
from schemaman_cli.wiring import histories, judge_of, now_ms, open_registry, read_file


def finding_of(door: Door, fingerprint: str) -> JudgedFinding:
    """The finding whose fingerprint begins so. Raises `UnknownName`: there is none, or several."""
    judge = judge_of(door.settings)
    found: dict[str, JudgedFinding] = {}
    for history in histories(door, open_registry(door)):
        for judged in build_chapter(history, judge).findings:
            if judged.finding.fingerprint.startswith(fingerprint):
                found.setdefault(judged.finding.fingerprint, judged)
    if len(found) != 1:
        told = "several findings begin with" if found else "no finding is called"
        listed = ", ".join(found) or "schemaman report lists them, as schemaman check does"
        raise UnknownName(f"{told} {fingerprint!r}", hint=listed)
    return next(iter(found.values()))


def waivers_of(door: Door) -> Mapping[str, Waiver]:
    """The waivers that have not expired, by fingerprints. Raises `BadConfiguration`."""
    path = door.path(door.settings.waivers)
    known = parse_waivers(read_file(str(path)), str(path)) if path.exists() else ()
    return select_unexpired(known, datetime.fromtimestamp(now_ms() / 1000, UTC).date())
