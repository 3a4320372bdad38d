"""Reads settings and their origins: flag > environment > file > default.

Pure: callers read the files and the environment, and pass them as text and mapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, get_args

from schemaman.compat.verdicts import READERS, SEVERITIES, Reader, Severity
from schemaman.debezium.wire_format import FORMS, Form, Forms
from schemaman.errors import BadConfiguration, UnknownName
from schemaman.plugins import defer

if TYPE_CHECKING:  # each command reads settings, and few have sections about migrations and consumers
    from tomllib import loads

    from schemaman.compat.consumers import Consumer, read_consumers
    from schemaman.debezium.ddl.migrations.grammar import list_sql_names
    from schemaman.migration.bounds import parse_size, parse_window
    from schemaman.migration.policy import (
        DropPolicy,
        Policy,
        PolicyRule,
        Profile,
        ProjectionRule,
        suggest_word,
    )
    from schemaman.migration.setting_checks import is_target_key, require_known_targets
    from schemaman.migration.settings import (
        CatalogSetting,
        TargetSetting,
        list_target_projections,
        read_catalogs,
        read_policies,
        read_projections,
        read_targets,
    )
else:
    loads = defer("tomllib:loads")
    read_consumers = defer("schemaman.compat.consumers:read_consumers")
    list_sql_names = defer("schemaman.debezium.ddl.migrations.grammar:list_sql_names")
    parse_size = defer("schemaman.migration.bounds:parse_size")
    parse_window = defer("schemaman.migration.bounds:parse_window")
    Policy = defer("schemaman.migration.policy:Policy")
    suggest_word = defer("schemaman.migration.policy:suggest_word")
    is_target_key = defer("schemaman.migration.setting_checks:is_target_key")
    require_known_targets = defer("schemaman.migration.setting_checks:require_known_targets")
    list_target_projections = defer("schemaman.migration.settings:list_target_projections")
    read_catalogs = defer("schemaman.migration.settings:read_catalogs")
    read_policies = defer("schemaman.migration.settings:read_policies")
    read_projections = defer("schemaman.migration.settings:read_projections")
    read_targets = defer("schemaman.migration.settings:read_targets")

T = TypeVar("T")
Value = str | bool | tuple[str, ...] | tuple[tuple[str, str], ...]

PREFIX = "SCHEMAMAN_"
_DROPS: tuple[DropPolicy, ...] = ("keep", "drop")
_PROFILES: tuple[Profile, ...] = ("careful", "autopilot", "additive")
_ENGINES = ("auto", "local", "spark")
_COLORS = ("auto", "always", "never")
_STREAM_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A value and its origin: `--store`, `SCHEMAMAN_STORE`, `schemaman.toml`, `default`."""

    value: T
    origin: str


NotifyEvent = Literal["break", "block", "quarantine", "unknown", "digest"]
NOTIFY_EVENTS: tuple[NotifyEvent, ...] = get_args(NotifyEvent)


@dataclass(frozen=True, slots=True)
class NotifySetting:
    """The `[notify]` of a settings file.

    `webhook` and the values of `headers` may be `env:VARIABLE`, which is read when a message is sent.
    `timeout` is in seconds, for each of `attempts`.
    """

    webhook: str
    events: tuple[NotifyEvent, ...] = NOTIFY_EVENTS
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 10.0
    attempts: int = 3


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file with settings: its path for messages, its text, and the TOML table to read."""

    path: str
    text: str
    section: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, each value with its origin."""

    store: Setting[str]
    stream: Setting[str]
    engine: Setting[str]
    registry: Setting[str]
    registry_config: Setting[tuple[str, ...]]
    kafka_config: Setting[tuple[str, ...]]
    format_key: Setting[Form]
    format_value: Setting[Form]
    added_prefix: Setting[str]
    flattened: Setting[tuple[str, ...]]
    record_limit: Setting[int]
    color: Setting[str]
    snapshots: Setting[str]
    migrations: Setting[tuple[tuple[str, str], ...]]
    decisions: Setting[str]
    waivers: Setting[str]
    fail_on: Setting[Severity]
    readers: Setting[tuple[Reader, ...]]
    rules: Setting[tuple[tuple[str, Severity], ...]]
    warehouse: Setting[str]
    catalog: Setting[str]
    catalogs: Setting[tuple[CatalogSetting, ...]]
    master: Setting[str]
    spark: Setting[tuple[tuple[str, str], ...]]
    profile: Setting[Profile]
    max_rewrite: Setting[str]
    max_scan: Setting[str]
    window: Setting[str]
    drops: Setting[DropPolicy]
    comments: Setting[bool]
    upgrades: Setting[bool]
    policies: Setting[tuple[PolicyRule, ...]]
    plan_expires: Setting[str]
    plan_key_file: Setting[str]
    projections: Setting[tuple[ProjectionRule, ...]]
    targets: Setting[tuple[TargetSetting, ...]]
    notify: Setting[tuple[NotifySetting, ...]]
    consumers: Setting[tuple[Consumer, ...]]

    @property
    def forms(self) -> Forms:
        """The encodings of keys and values, and what is configured of flattened rows."""
        return Forms(
            self.format_key.value, self.format_value.value, self.added_prefix.value, self.flattened.value
        )

    @property
    def policy(self) -> Policy:
        """The policy of plans."""
        return Policy(
            self.drops.value,
            self.comments.value,
            self.upgrades.value,
            self.policies.value,
            (*self.projections.value, *list_target_projections(self.targets.value)),
            self.profile.value,
            self.max_rewrite.value,
            self.max_scan.value,
            self.window.value,
        )

    def target(self, name: str) -> TargetSetting:
        """Return the target with that name. Raises `UnknownName`."""
        found = next((t for t in self.targets.value if t.name == name), None)
        if found is not None:
            return found
        names = tuple(t.name for t in self.targets.value)
        known = f"targets are: {', '.join(names)}" if names else "the settings have no [[target]]"
        hint = (
            suggest_word(name, names)
            or "add a [[target]] to schemaman.toml, or use --target delta --table TABLE"
        )
        raise UnknownName(f"there is no target {name!r}; {known}", hint=hint)

    def origins(self) -> tuple[tuple[str, object, str], ...]:
        """Return name, value and origin of every setting, in the order for printing."""
        found = ((name, getattr(self, name)) for name in self.__slots__)
        return tuple((name, setting.value, setting.origin) for name, setting in found)


def read_settings(
    flags: Mapping[str, object], environment: Mapping[str, str], file: SettingsFile | None = None
) -> Settings:
    """Reads the effective settings; a flag that is None was not given.

    Raises:
        BadConfiguration: a value is not allowed, a key is unknown, or a file is not TOML.
    """
    sources = _Sources(flags, environment, {} if file is None else _read_section(file), file)
    found = Settings(
        store=sources.get("store", _read_text, "sqlite:///schemaman.db"),
        stream=sources.get("stream", parse_stream, "main"),
        engine=sources.get("engine", _one_of(_ENGINES), "auto"),
        registry=sources.get("registry", _read_text, ""),
        registry_config=sources.get("registry_config", _read_options, ()),
        kafka_config=sources.get("kafka_config", _read_options, ()),
        format_key=sources.get("format_key", _one_of(FORMS), "auto"),
        format_value=sources.get("format_value", _one_of(FORMS), "auto"),
        added_prefix=sources.get("added_prefix", _read_text, "__"),
        flattened=sources.get("flattened", _read_words, ()),
        record_limit=sources.get("record_limit", _read_size, 64 * 2**20),
        color=sources.get("color", _one_of(_COLORS), "auto"),
        snapshots=sources.get("snapshots", _read_text, "schemas"),
        migrations=sources.get("migrations", _read_migrations, ()),
        decisions=sources.get("decisions", _read_text, "schemaman.decisions.toml"),
        waivers=sources.get("waivers", _read_text, "schemaman.waivers.toml"),
        fail_on=sources.get("fail_on", _one_of(SEVERITIES), "break"),
        readers=sources.get("readers", _several_of(READERS), READERS),
        rules=sources.get("rules", _read_rules, ()),
        warehouse=sources.get("warehouse", _read_text, "warehouse"),
        catalog=sources.get("catalog", _read_text, "ice"),
        catalogs=sources.get("catalogs", read_catalogs, ()),
        master=sources.get("master", _read_text, "local[2]"),
        spark=sources.get("spark", _read_pairs, ()),
        profile=sources.get("profile", _one_of(_PROFILES), "careful"),
        max_rewrite=sources.get("max_rewrite", _checked_by(parse_size), ""),
        max_scan=sources.get("max_scan", _checked_by(parse_size), ""),
        window=sources.get("window", _checked_by(parse_window), ""),
        drops=sources.get("drops", _one_of(_DROPS), "keep"),
        comments=sources.get("comments", _read_boolean, True),
        upgrades=sources.get("upgrades", _read_boolean, True),
        policies=sources.get("policy", read_policies, ()),
        plan_expires=sources.get("plan_expires", _read_text, "30d"),
        plan_key_file=sources.get("plan_key_file", _read_text, ""),
        projections=sources.get("projection", read_projections, ()),
        targets=sources.get("target", read_targets, ()),
        notify=sources.get("notify", _read_notify, ()),
        consumers=sources.get("consumers", read_consumers, ()),
    )
    rules: tuple[PolicyRule | ProjectionRule, ...] = (*found.policies.value, *found.projections.value)
    if rules:
        require_known_targets(rules, found.targets.value)
    return found


_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _read_size(value: object) -> int:
    """A size in bytes: a number, or a text such as `64MiB`. Raises `ValueError`."""
    found = re.fullmatch(r"([1-9]\d{0,18}) ?(KiB|MiB|GiB|)", str(value).strip())
    if found is None or isinstance(value, bool):
        raise ValueError(f"{value!r} is no size in bytes: write 64MiB")
    return int(found[1]) * _UNITS[found[2]]


def _checked_by(parse: Callable[[object], object]) -> Callable[[object], str]:
    """Read a text that a function parses, which raises `ValueError`."""

    def read(value: object) -> str:
        parse(value)
        return str(value)

    return read


_ENTRIES = {"policies": "policy", "projections": "projection", "targets": "target"}
KEYS = tuple(_ENTRIES.get(name, name) for name in Settings.__slots__)
"""The keys that `schemaman.toml` may contain."""


@dataclass(frozen=True, slots=True)
class _Sources:
    flags: Mapping[str, object]
    environment: Mapping[str, str]
    section: Mapping[str, object]
    file: SettingsFile | None

    def get(self, key: str, read: Callable[[object], T], default: T) -> Setting[T]:
        """Read the value from the highest source that has one; a `ValueError` of `read` becomes a message."""
        variable = PREFIX + key.upper()
        found: list[tuple[object, str, str]] = []
        if self.flags.get(key) not in (None, ()):
            flag = "--" + key.replace("_", "-")
            found.append((self.flags[key], flag, flag))
        if key in KEYS and self.environment.get(variable):
            found.append((self.environment[variable], variable, f"environment variable {variable}"))
        if self.file is not None and key in self.section:
            found.append((self.section[key], self.file.path, f"{self.file.path}: {key}"))
        if not found:
            return Setting(default, "default")
        value, origin, where = found[0]
        try:
            return Setting(read(value), origin)
        except ValueError as error:
            raise BadConfiguration(f"{where}: {error}", hint="correct that value") from error


def _read_section(file: SettingsFile) -> Mapping[str, object]:
    try:
        document: object = loads(file.text)
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(f"{file.path} is not valid TOML: {error}", hint="correct that line") from error
    for name in file.section:
        document = document.get(name, {}) if isinstance(document, dict) else {}
    if not isinstance(document, dict):
        raise BadConfiguration(f"{file.path}: [{'.'.join(file.section)}] is not a table", hint=None)
    for key in document:
        if key not in KEYS:
            hint = suggest_word(key, KEYS) or f"known keys: {', '.join(KEYS)}"
            if is_target_key(key):
                hint = f"{key} belongs to a target: write it under [[target]]"
            raise BadConfiguration(f"{file.path}: unknown key {key!r}", hint=hint)
    return document


def _read_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"expected a string, found {value!r}")


def parse_stream(value: object) -> str:
    """Read a name that every store, terminal and log can represent, and that a person can type."""
    name = _read_text(value)
    if not name.strip():
        raise ValueError("a stream needs a name; omit the setting for the default")
    if len(name) > _STREAM_LENGTH or not name.isprintable():
        raise ValueError(
            f"the name of a stream is at most {_STREAM_LENGTH} printable characters, found {name[:40]!r}"
        )
    return name


def _read_boolean(value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    found = words.get(value.lower()) if isinstance(value, str) else value
    if isinstance(found, bool):
        return found
    raise ValueError(f"expected true or false, found {value!r}")


def _one_of(choices: tuple[T, ...]) -> Callable[[object], T]:
    def read_settings(value: object) -> T:
        found = next((c for c in choices if c == value), None)
        if found is not None:
            return found
        near = get_close_matches(str(value), [str(c) for c in choices], 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"expected one of {', '.join(map(str, choices))}, found {value!r}{meant}")

    return read_settings


def _several_of(choices: tuple[T, ...]) -> Callable[[object], tuple[T, ...]]:
    one = _one_of(choices)

    def read_settings(value: object) -> tuple[T, ...]:
        return tuple(one(word) for word in _read_words(value))

    return read_settings


def _read_words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, list | tuple):
        return tuple(_read_text(word) for word in value)
    raise ValueError(f"expected a list of strings, found {value!r}")


def _read_pairs(value: object) -> tuple[tuple[str, str], ...]:
    """Read a TOML table of strings; in a flag or variable `name=value,name=value`."""
    if isinstance(value, dict):
        return tuple((str(name), _read_text(text)) for name, text in value.items())
    parts = [word.partition("=") for word in _read_words(value)]
    if all(sign for _, sign, _ in parts):
        return tuple((name.strip(), text.strip()) for name, _, text in parts)
    raise ValueError(f"expected name=value, found {value!r}")


def _read_options(value: object) -> tuple[str, ...]:
    """Read files of options and single options `name=value`; a TOML table contains only options."""
    if isinstance(value, dict):
        return tuple(f"{name}={_format_scalar(text)}" for name, text in value.items())
    return _read_words(value)


def _format_scalar(value: object) -> str:
    if isinstance(value, bool | int):
        return str(value).lower()
    return _read_text(value)


def _read_rules(value: object) -> tuple[tuple[str, Severity], ...]:
    severity = _one_of(SEVERITIES)
    return tuple((name, severity(text)) for name, text in _read_pairs(value))


def _read_notify(value: object) -> tuple[NotifySetting, ...]:
    """Read `[notify]`. Raises `ValueError`."""
    if not isinstance(value, dict) or not isinstance(value.get("webhook"), str) or not value["webhook"]:
        raise ValueError('write [notify] with webhook = "https://…" or "env:VARIABLE"')
    if unknown := sorted(value.keys() - {"webhook", "events", "headers", "timeout", "attempts"}):
        raise ValueError(f"[notify] has the unknown key {unknown[0]!r}")
    webhook, timeout, attempts = value["webhook"], value.get("timeout", 10.0), value.get("attempts", 3)
    if not re.match(r"https?://[^/]|env:.", webhook):
        raise ValueError("the webhook of [notify] is an address, https://…, or env:VARIABLE")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 60:
        raise ValueError(f"the timeout of [notify] is in seconds, up to 60, found {timeout!r}")
    if isinstance(attempts, bool) or not isinstance(attempts, int) or not 1 <= attempts <= 10:
        raise ValueError(f"the attempts of [notify] are a number from 1 to 10, found {attempts!r}")
    events = _several_of(NOTIFY_EVENTS)(value.get("events", NOTIFY_EVENTS))
    return (NotifySetting(webhook, events, _read_pairs(value.get("headers", {})), float(timeout), attempts),)


def _read_migrations(value: object) -> tuple[tuple[str, str], ...]:
    """Read folders of SQL migrations, each with the connector or the dialect of its SQL."""
    word = _one_of(list_sql_names())
    return tuple((folder, word(text)) for folder, text in _read_pairs(value))
