"""Epochs, wire faces and footprints as JSON, for the codec of histories.

Law: `x_from_json(x_to_json(x)) == x`. What equals its default is left out.
"""

from __future__ import annotations

from schemaman.ddl import format_type, parse_type
from schemaman.epochs import Epoch, Footprint, FormChange, Shown, WireFace, WireField
from schemaman.structure_codec import Json, Parsed, given, mark_from_json, mark_to_json, maybe


def epoch_to_json(epoch: Epoch) -> Json:
    """How a connector wrote the events of a table from a mark on."""
    return {
        "number": epoch.number,
        "connector": epoch.connector,
        "connector_version": epoch.connector_version,
        "at": mark_to_json(epoch.at),
        **given(after=maybe(mark_to_json, epoch.after), changes=list(epoch.changes) or None),
    }


def epoch_from_json(value: Parsed) -> Epoch:
    """The epoch that `epoch_to_json` wrote."""
    after, at = maybe(mark_from_json, value.get("after")), mark_from_json(value["at"])
    release = value["connector"], value["connector_version"]
    return Epoch(value["number"], *release, after, at, tuple(value.get("changes", ())))


def face_to_json(face: WireFace) -> Json:
    """How events carried a version from a mark on."""
    fields = [
        {"column": f.column, **given(name=f.name, type=maybe(format_type, f.type))} for f in face.fields
    ]
    return {"epoch": face.epoch, "at": mark_to_json(face.at), "fields": fields}


def face_from_json(value: Parsed) -> WireFace:
    """The face that `face_to_json` wrote."""
    fields = (
        WireField(f["column"], f.get("name"), maybe(parse_type, f.get("type"))) for f in value["fields"]
    )
    return WireFace(value["epoch"], mark_from_json(value["at"]), tuple(fields))


def footprint_to_json(footprint: Footprint) -> Json:
    """What a table shows of its connector's settings; empty if that is nothing."""
    return given(
        changes=[_change_to_json(c) for c in footprint.changes] or None,
        shown=[[s.form, s.first_ms, s.last_ms] for s in footprint.shown] or None,
    )


def footprint_from_json(value: Parsed) -> Footprint:
    """The footprint that `footprint_to_json` wrote."""
    shown = (Shown(form, first, last) for form, first, last in value.get("shown", ()))
    return Footprint(tuple(_change(c) for c in value.get("changes", ())), tuple(shown))


def _change_to_json(change: FormChange) -> Json:
    c = change
    times = [c.since_ms, c.after_ms, c.at_ms, c.until_ms]
    return {
        "columns": list(c.columns),
        "was": c.was,
        "now": c.now,
        "at": mark_to_json(c.at),
        "ms": times,
    }


def _change(value: Parsed) -> FormChange:
    at = mark_from_json(value["at"])
    return FormChange(tuple(value["columns"]), value["was"], value["now"], at, *value["ms"])
