"""Show every setting and where its value comes from."""

from __future__ import annotations

import click

from schemaman.compat.consumers import Consumer
from schemaman.migration.policy import PolicyRule, ProjectionRule
from schemaman.migration.settings import CatalogSetting, TargetSetting
from schemaman.report.document import Grid, Report, Text
from schemaman.settings import NotifySetting
from schemaman.store.urls import is_secret, without_password
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, with_context


@command("config", "schemaman config show", "schemaman config show --format json")
@click.argument("action", type=click.Choice(["show"]))
@format_option("text", "json", "markdown")
@with_context
def config(context: CommandContext, action: str, format: str) -> None:
    """Show every setting with its value and the origin of the value. Passwords are not shown."""
    origins = context.settings.origins()
    rows = tuple(
        ((Text(name, code=True),), (Text(_format_value(value), code=True),), (Text(origin, "muted"),))
        for name, value, origin in origins
    )
    data: dict[str, object] = {
        "schema_version": 1,
        "settings": [{"name": n, "value": _build_value(v), "origin": o} for n, v, o in origins],
    }
    grid = Grid(
        "A flag overrides the environment, the environment a file, a file the default",
        ("setting", "value", "from"),
        rows,
    )
    levels = context.settings.policy.list_levels()
    data["levels"] = [{"change": r.kind, "level": r.level, "why": r.why} for r in levels]
    by_kind = Grid(
        "Levels where no rule selects tables or targets",
        ("change", "level", "why"),
        tuple(
            ((Text(r.kind, code=True),), (Text(r.level, code=True),), (Text(r.why, "muted"),)) for r in levels
        ),
    )
    context.console.show(Report("config", (grid, by_kind), data), format)


def _format_value(value: object) -> str:
    if isinstance(value, TargetSetting):
        view = f", with the view {value.view}" if value.view else ""
        return (
            f"{value.name} ({value.format}): {', '.join(value.tables)} to {value.table or value.path}{view}"
        )
    if isinstance(value, PolicyRule):
        where = f"{', '.join(value.tables)} to {', '.join(value.targets)}"
        return f"{', '.join(value.changes)} = {value.level} for {where}"
    if isinstance(value, ProjectionRule):
        chosen = ", ".join(f"{option} = {_format_option(choice)}" for option, choice in value.options)
        return f"{chosen} for {', '.join(value.tables)} to {', '.join(value.targets)}"
    if isinstance(value, NotifySetting):
        return f"{', '.join(value.events)} to {_mask_webhook(value.webhook)}"
    if isinstance(value, CatalogSetting):
        return ", ".join(
            [f"{value.name} ({value.type})", *(f"{k}={_mask_pair((k, v))}" for k, v in value.options)]
        )
    if isinstance(value, Consumer):
        read = ", ".join((*value.tables, *value.sql))
        return f"{value.name} ({value.kind}): {read}"
    if isinstance(value, tuple):
        pairs = [f"{v[0]}={_mask_pair(v)}" if isinstance(v, tuple) else _format_value(v) for v in value]
        return ", ".join(pairs) or "none"
    return _mask_text(value) or "none"


def _format_option(choice: object) -> str:
    pairs = choice if isinstance(choice, tuple) else ()
    return " ".join(f"{role}={name}" for role, name in pairs) if pairs else str(choice)


def _build_value(value: object) -> object:
    if isinstance(value, TargetSetting):
        return {
            "name": value.name,
            "format": value.format,
            "tables": list(value.tables),
            "table": value.table,
            "path": value.path,
            "view": value.view,
            "alias_old_names": value.alias_old_names or None,
        }
    if isinstance(value, PolicyRule):
        return {
            "changes": list(value.changes),
            "level": value.level,
            "tables": list(value.tables),
            "targets": list(value.targets),
        }
    if isinstance(value, ProjectionRule):
        options = {o: dict(c) if isinstance(c, tuple) else c for o, c in value.options}
        return options | {"tables": list(value.tables), "targets": list(value.targets)}
    if isinstance(value, NotifySetting):
        return {"webhook": _mask_webhook(value.webhook), "events": list(value.events)}
    if isinstance(value, CatalogSetting):
        return {
            "name": value.name,
            "type": value.type,
            "options": {name: _mask_pair((name, text)) for name, text in value.options},
            "packages": list(value.packages),
        }
    if isinstance(value, Consumer):
        return {
            "name": value.name,
            "kind": value.kind,
            "tables": list(value.tables),
            "columns": list(value.columns),
            "owner": value.owner,
            "contact": value.contact,
            "sql": list(value.sql),
            "dialect": value.language,
        }
    if isinstance(value, tuple):
        if all(isinstance(v, tuple) for v in value) and value:
            return {pair[0]: _mask_pair(pair) for pair in value}
        return [_build_value(v) for v in value]
    return value if isinstance(value, bool) else _mask_text(value)


def _mask_webhook(webhook: str) -> str:
    """Return a webhook without its path, which is the secret of many services."""
    scheme, sign, rest = webhook.partition("://")
    host, slash, _ = without_password(rest).partition("/")
    return f"{scheme}{sign}{host}{slash and '/***'}" if sign else webhook


def _mask_pair(pair: tuple[str, object]) -> str:
    """Return the value of a pair; asterisks if its name denotes a secret."""
    return "***" if is_secret(pair[0]) else _mask_text(pair[1])


def _mask_text(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    name, sign, _ = text.partition("=")
    if sign and is_secret(name):
        return f"{name}=***"
    return without_password(text)


COMMAND = config
