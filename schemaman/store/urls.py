"""Addresses as they may be shown: without their passwords."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(//[^:/@\s]*:|^[^:/@\s]*:(?!//)).*@", re.DOTALL)
"""In an address, or in what was meant as one: behind the user, up to the last @."""

_IN_TEXT = re.compile(r"(//[^:/@\s]*:)[^/@\s]*@")
"""In an address that stands in a message."""

_PARAMETER = re.compile(
    r"((?:^|[?&;\s])[^=&?;\s]*(?:password|passphrase|secret|token)[^=&?;\s]*=)[^&;\s]+", re.I
)
"""Among the parameters of an address: `?password=…`, or libpq's `host=… password=…`."""

_PORT = re.compile(r"(?<=//)([^:/@\s]*):\d+(?=[/?])")


def without_password(address: str) -> str:
    """An address as it may be shown: stars for each password, whatever else may be wrong with it."""
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1***@", address))


def without_secrets(text: str) -> str:
    """A message as it may be shown: stars for what addresses in it say of passwords, the rest as it is."""
    return _PARAMETER.sub(r"\1***", _IN_TEXT.sub(r"\1***@", text))


def has_password(address: str) -> bool:
    """Whether an address, or what was meant as one, says a password; the path of a SQLite file says none."""
    if address.startswith("sqlite:///"):
        return _PARAMETER.search(address) is not None
    portless = _PORT.sub(r"\1", address, 1)
    return without_password(portless) != portless
