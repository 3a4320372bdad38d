"""Files at an address such as `s3://bucket/folder`, which fsspec opens: S3, Azure, Google Cloud, HDFS, SFTP.

Source: fsspec "API Reference": `url_to_fs`, `find`, `glob`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from schemaman.errors import BadReference, EngineUnavailable, UnreadableInput
from schemaman.plugins import install_hint

_SEPARATOR = "://"
_MAGIC = re.compile(r"[*?\[]")


def is_remote(path: str) -> bool:
    """Return whether a path is an address."""
    return _SEPARATOR in path


def open_binary(path: str) -> BinaryIO:
    """Open a file, or what is at an address. Raises `OSError`, and as `list_addresses`."""
    if not is_remote(path):
        return Path(path).open("rb")
    system, name = _open_system(path)
    with _translate_errors(path):
        return cast("BinaryIO", system.open(name, "rb"))


def measure_bytes(path: str) -> int:
    """Measure a file, or what is at an address. Raises as `open_binary`."""
    if not is_remote(path):
        return Path(path).stat().st_size
    system, name = _open_system(path)
    with _translate_errors(path):
        return int(system.size(name) or 0)


def read_facts(address: str) -> dict[str, object]:
    """Read what the file system tells about a file now: `size`, and tags and times under its own names.

    Some file systems tell the time of a change only on request: it is added as `modified`.

    Raises as `open_binary`.
    """
    system, name = _open_system(address)
    with _translate_errors(address):
        system.invalidate_cache()
        facts = dict(system.info(name))
        try:
            facts.setdefault("modified", system.modified(name))
        except (NotImplementedError, KeyError, AttributeError, TypeError):
            return facts
        return facts


def list_addresses(address: str) -> dict[str, str]:
    """List the files at an address: the one file, those below a folder, or those of a pattern; unordered.

    Returns the address of each with its path below the folder; a pattern begins with its folder.

    Raises:
        BadReference: the address has a password, or fsspec knows no such kind.
        UnreadableInput: there is nothing, or it cannot be read.
        EngineUnavailable: fsspec, or its package for this kind of address, is not installed.
    """
    magic = _MAGIC.search(address)
    base = address.rstrip("/") if magic is None else address[: magic.start()].rpartition("/")[0]
    if not is_remote(base):
        raise BadReference(f"{address}: a pattern needs the name of a bucket or a host before it")
    system, folder = _open_system(base)
    with _translate_errors(address):
        if magic is not None:
            pattern = folder.rstrip("/") + address[len(base) :]
            found = [match for match in system.glob(pattern) if system.isfile(match)]
        elif system.isfile(folder):
            return {address: address.rpartition("/")[2]}
        else:
            found = list(system.find(folder))
    if not found:
        raise UnreadableInput(f"{address}: there is no such file or folder")
    below = [match[len(folder.rstrip("/")) :].lstrip("/") for match in found]
    return {f"{base}/{path}": path for path in below}


def _open_system(address: str) -> tuple[Any, str]:
    """Open the file system of an address; also returns the name of the file in it."""
    user, _, host = urlsplit(address).netloc.rpartition("@")
    if ":" in user:
        shown = address.replace(f"{user}@{host}", host, 1)
        raise BadReference(
            f"{shown}: the address has a password, which would be recorded",
            hint="put it where the file system looks for it, such as the environment",
        )
    try:
        from fsspec.core import url_to_fs  # loaded only for addresses
    except ImportError as error:
        raise EngineUnavailable(f"{address} needs fsspec", hint=install_hint("remote")) from error
    try:
        system, name = url_to_fs(address)
    except ImportError as error:
        raise EngineUnavailable(
            f"{address} needs another package: {error}", hint="install that package, and read it again"
        ) from error
    except ValueError as error:
        raise BadReference(
            f"{address}: this kind of address is not supported", hint="use a file, or kafka://BROKERS/TOPIC"
        ) from error
    return system, str(name)


@contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each file system raises errors of its own client
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UnreadableInput(f"{address}: {why}") from error
