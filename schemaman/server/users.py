"""Users of the server: a file with a line `NAME:ROLE:HASH` each, where a role is `write` or `read`.

The hash is `scrypt$N$R$P$SALT$KEY` with salt and key in base64. Source: RFC 7914, RFC 7617.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schemaman.errors import BadConfiguration

ROLES = ("read", "write")
_N, _R, _P = 1 << 14, 8, 1
_LARGEST_MEMORY = 1 << 26
_KEY_BYTES = 64
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class User:
    """A user with a role and the hash of a password."""

    name: str
    role: str
    hash: str

    @property
    def may_write(self) -> bool:
        """Whether the user may change what is registered."""
        return self.role == "write"


def hash_password(password: str) -> str:
    """Hash a password with a new salt."""
    salt = secrets.token_bytes(16)
    key = _derive(password, salt, _N, _R, _P)
    return f"scrypt${_N}${_R}${_P}${_encode(salt)}${_encode(key)}"


def format_user(name: str, role: str, password: str) -> str:
    """Format the line of a user. Raises `BadConfiguration` for a name that the file cannot hold."""
    if not name or ":" in name or not name.isprintable():
        raise BadConfiguration(f"{name!r} cannot be the name of a user", hint="use a name without a colon")
    return f"{name}:{role}:{hash_password(password)}"


def add_line(path: Path, line: str) -> None:
    """Add the line of a user to a file that only its owner can read; it replaces one with the same name."""
    name = line.partition(":")[0]
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = [*(each for each in before if each.partition(":")[0] != name), line]
    path.touch(mode=0o600, exist_ok=True)
    path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")


def read_users(path: Path) -> tuple[User, ...]:
    """Read a file of users.

    Raises:
        BadConfiguration: the file cannot be read, or a line is malformed; no message has a hash.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"the users in {path} cannot be read: {error}") from error
    found: dict[str, User] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.strip().partition(":")
        role, _, hash = rest.partition(":")
        fault = _find_fault(name, role, hash)
        if fault or name in found:
            raise BadConfiguration(
                f"{path}, line {number}: {fault or f'{name} is there twice'}; a line is NAME:ROLE:HASH",
                hint="`schemaman serve --add-user NAME` writes such a line",
            )
        found[name] = User(name, role, hash)
    if not found:
        raise BadConfiguration(f"{path} has no users", hint="add one: schemaman serve --add-user NAME")
    return tuple(found.values())


class Authenticator:
    """Checks the `Authorization` header of requests; a header that was right is not hashed again."""

    def __init__(self, users: tuple[User, ...]) -> None:
        self._users: Mapping[str, User] = {user.name: user for user in users}
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bytes, User] = {}

    def find_user(self, header: str) -> User | None:
        """Find the user whose name and password a header has; None for a wrong one."""
        remembered = self.find_remembered(header)
        if remembered is not None:
            return remembered
        name, password = _parse_header(header)
        user = self._users.get(name)
        # An unknown name takes as long as a wrong password.
        hash = user.hash if user is not None else next(iter(self._users.values())).hash
        if not _is_password(password, hash) or user is None:
            return None
        if len(self._remembered) >= _REMEMBERED:
            self._remembered.clear()
        self._remembered[self._compute_digest(header)] = user
        return user

    def find_remembered(self, header: str) -> User | None:
        """Find the user of a header that was right before; this takes no time."""
        return self._remembered.get(self._compute_digest(header)) if header else None

    def _compute_digest(self, header: str) -> bytes:
        return hmac.digest(self._key, header.encode("utf-8", "replace"), "sha256")


def _parse_header(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except ValueError:
        return "", ""
    name, _, password = text.partition(":")
    return name, password


def _is_password(password: str, hash: str) -> bool:
    _, n, r, p, salt, key = hash.split("$")
    found = _derive(password, base64.b64decode(salt), int(n), int(r), int(p))
    return hmac.compare_digest(found, base64.b64decode(key))


def _find_fault(name: str, role: str, hash: str) -> str:
    """Tell what is wrong with the parts of a line; empty for nothing, and never with a part of the hash."""
    if not name:
        return "the name is missing"
    if role not in ROLES:
        return f"the role of {name} is neither read nor write"
    return "" if _is_hash(hash) else f"the hash of {name} is none of scrypt that can be checked"


def _is_hash(text: str) -> bool:
    """Whether a password can be compared with a hash, at a cost that a server can bear."""
    try:
        kind, *numbers, salt, key = text.split("$")
        n, r, p = map(int, numbers)
        is_cheap = 0 < 128 * n * r * p <= _LARGEST_MEMORY and n > 1 and r > 0 and not n & (n - 1)
        sizes = len(base64.b64decode(salt, validate=True)), len(base64.b64decode(key, validate=True))
    except ValueError:
        return False
    return kind == "scrypt" and is_cheap and sizes[0] > 0 and sizes[1] == _KEY_BYTES


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=n,
        r=r,
        p=p,
        maxmem=2 * _LARGEST_MEMORY,
        dklen=_KEY_BYTES,
    )


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
