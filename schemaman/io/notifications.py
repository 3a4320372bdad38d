"""Sends a message about an event to the webhook of the settings.

A message that cannot be sent is a warning. It changes no result and no exit code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence

from schemaman.errors import CouldNotDo, SchemamanError
from schemaman.io.webhook import post_json
from schemaman.model.printable import escape_invisible
from schemaman.settings import NotifyEvent, NotifySetting

MOST_ENTRIES = 20
LONGEST_TEXT = 500
_FROM_ENVIRONMENT = "env:"

Entry = Mapping[str, str]
"""What happened to one table: `table`, `message`, and further texts."""
Warn = Callable[[str, str | None], None]
"""Takes a warning and a hint."""


def send_notification(
    settings: Sequence[NotifySetting], event: NotifyEvent, summary: str, entries: Sequence[Entry], warn: Warn
) -> None:
    """Post one message about an event if the settings ask for it and there is an entry."""
    for setting in settings:
        if event in setting.events and entries:
            try:
                _post(setting, build_body(event, summary, entries))
            except SchemamanError as error:
                warn(f"the notification was not sent: {error.message}", error.hint)


def build_body(event: NotifyEvent, summary: str, entries: Sequence[Entry]) -> bytes:
    """Build the message: bounded in entries and in the length of each text.

    `text` is the whole message for services that show only that, such as Slack and Mattermost.
    """
    shown = [{name: _cut_text(text) for name, text in entry.items()} for entry in entries[:MOST_ENTRIES]]
    lines = [f"{entry['table']}: {entry['message']}" for entry in shown]
    more = len(entries) - len(shown)
    lines += [f"and {more} more"] if more else []
    document = {
        "schema_version": 1,
        "event": event,
        "text": "\n".join([f"schemaman: {summary}", *lines]),
        "entries": shown,
        "more": more,
    }
    return json.dumps(document).encode("ascii")


def _post(setting: NotifySetting, body: bytes) -> None:
    headers = {name: _resolve(value) for name, value in setting.headers}
    post_json(_resolve(setting.webhook), body, headers, timeout=setting.timeout, attempts=setting.attempts)


def _resolve(value: str) -> str:
    """Return a value, or that of the variable that it names. Raises `CouldNotDo`."""
    if not value.startswith(_FROM_ENVIRONMENT):
        return value
    name = value.removeprefix(_FROM_ENVIRONMENT)
    found = os.environ.get(name, "")
    if not found:
        raise CouldNotDo(f"the environment variable {name} is not set", hint="[notify] names it")
    return found


def _cut_text(text: str) -> str:
    shown = escape_invisible(text)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[: LONGEST_TEXT - 1]}…"
