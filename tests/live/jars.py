"""Jars of the live lane, fetched once into a cache folder; each has the checksum that `jars.toml` names.

`python -m tests.live.jars` resolves the coordinates in `jars.toml` anew and writes the file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pyspark

LOCK = Path(__file__).with_name("jars.toml")
_ATTEMPTS = 3
_SECONDS = 60


class JarsUnreachable(Exception):
    """A jar could not be fetched, or is not the one that was meant; the message is one line."""


def repository() -> str:
    """Where Maven artifacts come from: Spark's variable for a mirror, else what its Ivy asks.

    Source: Spark `MavenUtils.createRepoResolvers`, which reads that variable; Ivy
    `IBiblioResolver.DEFAULT_M2_ROOT`, which it falls back to.
    """
    mirror = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY") or _repository_of_ivy()
    return mirror.rstrip("/")


@cache
def _repository_of_ivy() -> str:
    (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    with zipfile.ZipFile(ivy) as jar:
        resolver = jar.read("org/apache/ivy/plugins/resolver/IBiblioResolver.class")
    root, *_ = re.findall(rb"https?://[\x21-\x7e]+", resolver)
    return str(root.decode())


def jars(name: str) -> tuple[Path, ...]:
    """The jars of one set of `jars.toml`, in its order, fetched if they are not there yet.

    Raises:
        JarsUnreachable: the repository does not answer or gives other bytes.
    """
    wanted: Mapping[str, str] = tomllib.loads(LOCK.read_text(encoding="utf-8"))[name]["jars"]
    with ThreadPoolExecutor(8) as pool:
        return tuple(pool.map(_jar, wanted, wanted.values()))


def classpath(*names: str) -> str:
    """The jars of these sets as Java wants them. Raises as `jars`."""
    return os.pathsep.join(str(path) for name in names for path in jars(name))


def cache_folder() -> Path:
    """Where jars lie that were fetched once."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "schemaman" / "jars"


def _jar(path: str, checksum: str) -> Path:
    place = cache_folder() / path
    if not (place.exists() and checksum_of(place) == checksum):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            fetched = Path(folder) / place.name
            _fetch(f"{repository()}/{path}", fetched)
            if (found := checksum_of(fetched)) != checksum:
                raise JarsUnreachable(f"{repository()}/{path} has the checksum {found}, expected {checksum}")
            fetched.replace(place)
    return place


def _fetch(url: str, place: Path) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            with urlopen(url, timeout=_SECONDS) as answer, place.open("wb") as file:
                shutil.copyfileobj(answer, file)
            return
        except (URLError, TimeoutError, ConnectionError) as error:
            if attempt == _ATTEMPTS - 1:
                why = error.reason if isinstance(error, URLError) else error
                raise JarsUnreachable(
                    f"the live tests need {url} once ({why}): check the network, or let "
                    "DEFAULT_ARTIFACT_REPOSITORY name a mirror of Maven Central"
                ) from None


def checksum_of(path: Path) -> str:
    """The SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lock() -> None:
    sets = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    head = "".join(line for line in LOCK.read_text(encoding="utf-8").splitlines(True) if line.startswith("#"))
    written = [_section(name, each, _kept(each, _resolved(each))) for name, each in sets.items()]
    LOCK.write_text(head + "".join(written), encoding="utf-8")


def _kept(each: Mapping[str, list[str]], found: Mapping[str, str]) -> dict[str, str]:
    """A set that runs no connector may name the beginnings of the paths that it needs."""
    beginnings = tuple(each.get("kept", [""]))
    return {path: checksum for path, checksum in found.items() if path.startswith(beginnings)}


def _section(name: str, each: Mapping[str, list[str]], found: Mapping[str, str]) -> str:
    lines = [f"\n[{name}]", *(["alone = true"] if "alone" in each else [])]
    for key in ("wanted", "kept"):
        if key in each:
            lines += [f"{key} = [", *(f'    "{text}",' for text in each[key]), "]"]
    lines += ["", f"[{name}.jars]"]
    lines += [f'"{path}" = "{checksum}"' for path, checksum in found.items()]
    return "\n".join(lines) + "\n"


def _resolved(each: Mapping[str, list[str]]) -> dict[str, str]:
    """Path in a Maven repository → checksum, of the coordinates and, unless `alone`, all they need to run."""
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "ivy.xml"
        module.write_text(_module(each["wanted"], alone="alone" in each))
        pattern = (
            f"{folder}/jars/[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
        )
        subprocess.run(
            [
                "java",
                "-jar",
                ivy,
                "-ivy",
                module,
                "-confs",
                "default",
                "-types",
                "jar",
                "bundle",
                "-retrieve",
                pattern,
            ],
            check=True,
            stdout=sys.stderr,
        )
        root = Path(folder) / "jars"
        found = {p.relative_to(root): checksum_of(p) for p in sorted(root.glob("*/*/*/*.jar"))}
    return {f"{p.parts[0].replace('.', '/')}/{Path(*p.parts[1:])}": checksum for p, checksum in found.items()}


def _module(wanted: Iterable[str], *, alone: bool) -> str:
    """The module that asks for `group:name:version` and `group:name:version:classifier`."""
    named: dict[str, list[str]] = {}
    for coordinate in wanted:
        module, classifier = ":".join(coordinate.split(":")[:3]), coordinate.split(":")[3:]
        named.setdefault(module, []).extend(classifier or [""])
    needs = "".join(_need(module.split(":"), classifiers, alone) for module, classifiers in named.items())
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="schemaman" module="live"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{needs}</dependencies></ivy-module>"
    )


def _need(module: Sequence[str], classifiers: Sequence[str], alone: bool) -> str:
    """A dependency. With an artifact named, Ivy takes no other one of the module: then all are named."""
    group, name, version = module
    told = ["" if not each else f' m:classifier="{each}"' for each in classifiers]
    artifacts = "".join(f'<artifact name="{name}" type="jar"{each}/>' for each in told) if any(told) else ""
    words = f'org="{group}" name="{name}" rev="{version}" conf="default->default"'
    words += ' transitive="false"' if alone else ""
    return f"<dependency {words}>{artifacts}</dependency>"


if __name__ == "__main__":
    _lock()
