"""An HTTP client with the options that users give for a schema registry."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from schemaman.errors import BadConfiguration, EngineUnavailable
from schemaman.io.registry_client import TIMEOUT
from schemaman.plugins import install_hint

OPTIONS = ("basic.auth.user.info", "bearer.auth.token", "ssl.ca.location", "ssl.certificate.location",
           "ssl.key.location", "ssl.key.password", "timeout")  # fmt: skip
"""The option names are those of Confluent's client, so that users need only one set."""


def open_http_client(options: Mapping[str, str]) -> Any:
    """Open a client, which threads may share.

    Raises:
        BadConfiguration: an option is unknown or invalid.
        EngineUnavailable: the client is not installed.
    """
    try:
        import httpx2  # loaded only for a registry server
    except ImportError as fault:
        raise EngineUnavailable(
            "access to a schema registry needs httpx2", hint=install_hint("kafka")
        ) from fault
    unknown = next((name for name in options if name not in OPTIONS), None)
    if unknown is not None:
        raise BadConfiguration(
            f"unknown option {unknown} of the registry client", hint=f"options: {', '.join(OPTIONS)}"
        )
    try:
        return httpx2.Client(**_build_arguments(options))
    except (ValueError, TypeError, OSError) as fault:
        raise BadConfiguration(
            f"invalid option of the registry client: {fault}", hint="check --registry-config"
        ) from None


def _build_arguments(options: Mapping[str, str]) -> dict[str, Any]:
    context = ssl.create_default_context(cafile=options.get("ssl.ca.location"))
    if "ssl.certificate.location" in options:
        context.load_cert_chain(
            options["ssl.certificate.location"],
            options.get("ssl.key.location"),
            options.get("ssl.key.password"),
        )
    arguments: dict[str, Any] = {"verify": context, "timeout": float(options.get("timeout", TIMEOUT))}
    if "basic.auth.user.info" in options:
        user, _, password = options["basic.auth.user.info"].partition(":")
        arguments["auth"] = (user, password)
    if "bearer.auth.token" in options:
        arguments["headers"] = {"Authorization": f"Bearer {options['bearer.auth.token']}"}
    return arguments
