"""Adds the store and the stream that the user named to the commands that a report prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from schemaman.model.shell import add_options, add_options_in_spans
from schemaman.report.document import Report, Text

T = TypeVar("T")


def complete_commands(report: Report, options: Sequence[str]) -> Report:
    """Return the report with the options in each command of it that reads the store."""
    if not options:
        return report
    blocks, gate = _complete(report.blocks, options), _complete(report.gate, options)
    if gate is not None:
        gate = replace(gate, command=add_options(gate.command, options))
    return replace(report, blocks=blocks, gate=gate, data=_complete_data(report.data, options))


def _complete(value: T, options: Sequence[str]) -> T:
    """Complete a part of a report, whatever it is made of."""
    found: Any = value
    if isinstance(found, Text):
        return replace(found, text=_complete_text(found, options))  # type: ignore[return-value]
    if isinstance(found, tuple):
        return tuple(_complete(part, options) for part in found)  # type: ignore[return-value]
    if is_dataclass(found) and not isinstance(found, type):
        changed = {f.name: _complete(getattr(found, f.name), options) for f in fields(found)}
        return replace(found, **changed)  # type: ignore[return-value]
    return value


def _complete_text(text: Text, options: Sequence[str]) -> str:
    return add_options(text.text, options) if text.code else add_options_in_spans(text.text, options)


def _complete_data(value: Any, options: Sequence[str]) -> Any:
    """Complete the `commands` and `fixes` of findings in a document."""
    if isinstance(value, list):
        return [_complete_data(part, options) for part in value]
    if not isinstance(value, dict):
        return value
    document = {name: _complete_data(part, options) for name, part in value.items()}
    commands, fixes = value.get("commands"), value.get("fixes")
    if isinstance(commands, list) and isinstance(fixes, list):
        document["commands"] = [add_options(command, options) for command in commands]
        document["fixes"] = [_complete_fix(fix, commands, options) for fix in fixes]
    return document


def _complete_fix(fix: str, commands: Sequence[str], options: Sequence[str]) -> str:
    command = next((c for c in commands if fix.endswith(c)), "")
    return fix.removesuffix(command) + add_options(command, options) if command else fix
