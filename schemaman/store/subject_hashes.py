"""What identifies the content of a schema: its fingerprint in a context, and its guid everywhere."""

from __future__ import annotations

import hashlib
import json
import uuid

from schemaman.store.subjects import SchemaContent


def compute_fingerprint(content: SchemaContent) -> str:
    """SHA-256 over all that identifies a content, as hexadecimal digits."""
    parts: list[object] = [
        content.type,
        content.text,
        [[r.name, r.subject, r.version] for r in content.references],
    ]
    parts += [content.metadata, content.rule_set]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def compute_guid(content: SchemaContent) -> str:
    """The MD5 over text, references, metadata and rule set as a UUID; of a plain schema, over its text."""
    digest = hashlib.md5(content.text.encode(), usedforsecurity=False)
    for reference in content.references:
        digest.update(f"{reference.name}{reference.subject}{reference.version}".encode())
    for part in (content.metadata, content.rule_set):
        if part is not None:
            digest.update(json.dumps(part, sort_keys=True).encode())
    return str(uuid.UUID(bytes=digest.digest()))
