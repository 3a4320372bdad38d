"""Builds the grids of a table's epochs of the connector and of its keys."""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.history.versions import TableHistory
from schemaman.report.document import Block, Grid, Inline, Text
from schemaman.report.views import late_facts as late
from schemaman.report.views import words

_NOTHING: Inline = (Text("—", "muted"),)


def build_epochs_grid(history: TableHistory) -> Iterator[Block]:
    """Lists each epoch with its connector and its changed encoding; nothing for a single epoch."""
    if len(history.epochs) < 2:
        return
    rows = []
    for epoch in history.epochs:
        release = f"{words.name_connector(epoch.connector)} {epoch.connector_version}".strip()
        changes: Inline = (Text("; ".join(epoch.changes)),) if epoch.changes else _NOTHING
        first = epoch.after is None
        since = (
            f"first seen {words.format_coordinates(epoch.at)}"
            if first
            else words.format_coordinates(epoch.at)
        )
        rows.append(((Text(str(epoch.number)),), (Text(release),), (Text(since),), changes))
    caption = "Epochs: changes in how the connector encodes events, not changes of the table"
    yield Grid(caption, ("epoch", "connector", "since", "encoding changes"), tuple(rows))


def build_keys_grid(history: TableHistory) -> Iterator[Block]:
    """Lists each key with its possible origins; nothing for a single key."""
    if len(history.keys) < 2:
        return
    rows = []
    for key in history.keys:
        status: Inline = () if key.is_confirmed else (Text(" "), Text("provisional", "note"))
        evidence = "events; the declared key differs" if key.evidence == "events" else key.evidence
        origins = " or ".join(origin.replace("-", " ") for origin in key.origins)
        since = (Text(late.describe_since(key)),)
        rows.append(
            ((Text(words.format_key(key.columns)), *status), (Text(origins),), (Text(evidence),), since)
        )
    yield Grid("Keys over time", ("key", "origin", "evidence", "since"), tuple(rows))
