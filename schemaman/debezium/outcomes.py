"""What becomes of a run that is no testimony: set aside, or rejected with a reason."""

from __future__ import annotations

import hashlib

from schemaman.evidence import Aside, Reject, Run


def aside(run: Run, kind: str) -> Aside:
    """The run, known and of no concern to the history of tables."""
    return Aside(kind, run.first, run.count)


def reject(run: Run, stream: str, reason: str) -> Reject:
    """The run, not understood; the hash is of its first record's value, or key where there is none."""
    record = run.sample
    data = record.value if record.value is not None else record.key or b""
    return Reject(
        stream=stream,
        topic=run.first.topic,
        partition=run.first.partition,
        offset=run.first.offset,
        count=run.count,
        reason=reason,
        sha256=hashlib.sha256(data).hexdigest(),
    )
