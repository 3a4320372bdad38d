"""Addresses as they may be shown: without their passwords."""

from __future__ import annotations

import re

POSTGRESQL_SCHEMES = ("postgresql", "postgres")

_PASSWORD = re.compile(r"(//[^:/@\s]*:|^[^:/@\s]*:(?!//)).*@", re.DOTALL)
"""The password in an address, or in a malformed one: after the user, up to the last @."""

_IN_TEXT = re.compile(r"(//[^:/@\s]*:)[^/@\s]*@")
"""The password in an address inside of a message."""

_PARAMETER = re.compile(
    r"((?:^|[?&;\s])[^=&?;\s]*(?:password|passphrase|secret|token)[^=&?;\s]*=)[^&;\s]+", re.I
)
"""Among the parameters of an address: `?password=…`, or libpq's `host=… password=…`."""

_PORT = re.compile(r"(?<=//)([^:/@\s]*):\d+(?=[/?])")
_SECRET = re.compile(
    r"secret|password|passphrase|token|credential|user\.info|\.pem$|assertion|access.?key|account.?key"
    r"|authorization",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Returns whether the name of an option denotes a secret."""
    return _SECRET.search(name) is not None


def without_password(address: str) -> str:
    """Replace each password in an address, even a malformed one, by asterisks."""
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1***@", address))


def without_secrets(text: str) -> str:
    """Replace the passwords of addresses in a message by asterisks."""
    return _PARAMETER.sub(r"\1***", _IN_TEXT.sub(r"\1***@", text))


def has_password(address: str) -> bool:
    """Whether an address, even a malformed one, contains a password; the path of a SQLite file never does."""
    if address.startswith("sqlite:///"):
        return _PARAMETER.search(address) is not None
    portless = _PORT.sub(r"\1", address, 1)
    return without_password(portless) != portless
