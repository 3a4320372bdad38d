"""Judge every change since the accepted state: the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from schemaman.compat import gate
from schemaman.compat.judge import RULES
from schemaman.compat.snapshots import Snapshot, from_text, take_snapshot
from schemaman.errors import BadReference, UsageError
from schemaman.history.versions import TableHistory
from schemaman.io import git as gitrefs
from schemaman.model.schema import TableId
from schemaman.report.views.findings import build_check_report, sort_by_severity
from schemaman.report.views.table_changes import JudgedFinding
from schemaman_cli.findings import waivers_of
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import histories, open_registry, overrides_of, resolve


@verb("check", "schemaman check", "schemaman check orders --against orders@1 --format github")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option("--against", metavar="REF", help="The baseline of one TABLE; default the snapshots in git.")
@click.option("--level", metavar="LEVEL", help="Avro's compatibility level: BACKWARD, FULL_TRANSITIVE, ...")
@click.option(
    "--fail-on",
    type=click.Choice(["break", "danger", "note", "off"]),
    help="The mildest severity that fails; default break.",
)
@format_option("text", "json", "github", "markdown")
@door
def check(
    door: Door, tables: tuple[str, ...], against: str | None, level: str | None, format: str, **_: object
) -> int:
    """Judge every revision of each TABLE, or of all, since the baseline.

    The baseline is what the snapshot files say where this branch left the default one. The exit code is 1 for
    findings at or above --fail-on that nobody has waived, 2 without a baseline, 3 if nothing is known of a
    table.
    """
    settings = door.settings
    found = histories(door, open_registry(door), tables)
    baseline = _snapshots(door, found, bool(tables)) if against is None else _given(door, found, against)
    waivers = waivers_of(door)
    policy = gate.GatePolicy(
        settings.readers.value,
        overrides_of(settings),
        settings.fail_on.value,
        level and level.upper(),
        named=bool(tables),
        waived=waivers.keys(),
    )
    result = gate.check(found, baseline, RULES.load_all(), policy)
    judged = sort_by_severity(JudgedFinding(f, s) for f, s in result.findings)
    door.console.show(build_check_report(judged, result, policy.fail_on, waivers), format)
    return 1 if result.verdict == "fail" else 0


def _given(door: Door, found: Sequence[TableHistory], against: str) -> Mapping[TableId, Snapshot]:
    """The baseline that a REF names, for the one table that is checked."""
    if len(found) != 1:
        raise UsageError("--against is the baseline of a single table", hint="name it: schemaman check TABLE")
    table = found[0].table
    resolved = resolve(door, against)
    if resolved.version is None:
        return {table: Snapshot(table, resolved.schema)}
    if resolved.table != table:
        raise BadReference(f"{against} is another table than {table}", hint=f"--against {table}@1")
    return {table: take_snapshot(found[0], resolved.version, resolved.revision)}


def _snapshots(door: Door, found: Sequence[TableHistory], named: bool) -> Mapping[TableId, Snapshot]:
    """The snapshot files at the merge base; of the named tables only, if any are."""
    folder = door.path(door.settings.snapshots)
    try:
        commit = gitrefs.find_merge_base()
    except UsageError as error:
        hint = "commit what schemaman snapshot writes, or judge one table: --against orders@1"
        raise UsageError(f"there is no baseline: {error.message}", hint=hint) from error
    texts = gitrefs.read_folder(commit, str(folder))
    if not texts:
        raise UsageError(
            f"there is no baseline: git has no snapshots in {folder} at {commit[:12]}",
            hint="schemaman snapshot writes them; commit them, or say --against orders@1",
        )
    kept = [from_text(text, f"{folder}/{name}") for name, text in texts.items() if name.endswith(".json")]
    wanted = {history.table for history in found}
    return {s.table: s for s in kept if not named or s.table in wanted}


COMMAND = check
