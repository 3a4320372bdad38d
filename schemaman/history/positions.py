"""Positions as questions name them: which of them compare, and when a change could be seen.

Law: what does not compare has no rank.
"""

from __future__ import annotations

from schemaman.evidence import Mark, Position, PositionKind, Rank


def rank_of(mark: Mark, kind: PositionKind) -> Rank | None:
    """What orders a mark among positions of a kind; None if it has none of that kind."""
    return position_rank(mark.position) if mark.position.kind == kind else None


def position_rank(position: Position) -> Rank | None:
    """When a change could be seen at the earliest, so that a bare position can be compared with it.

    A change is seen when its transaction commits, behind the change itself and behind the commit
    before it. Source: Debezium PostgresSourceInfo `sequence` = [last commit lsn, lsn].
    """
    match position.kind:
        case "lsn":
            return (max(int(position.value), int(position.commit or position.value)),)
        case "commit_lsn":
            return None if position.commit is None else (position.commit,)
        case "binlog":
            return position.rank
        case "scn":
            return (int(position.value),) if position.value.isdecimal() else None
        case _:
            return None


def stands_at(position: Position, kind: PositionKind, value: str) -> bool:
    """Whether a question names this position; of a change also by that of its commit."""
    return position.kind == kind and value in (
        position.value,
        position.commit if kind == "commit_lsn" else None,
    )


def log_of(position: Position) -> str:
    """What the files of its binary log are called; positions in two such logs have no order. Else empty.

    Source: MySQL manual, `log_bin`: a file is called by the base name and a number.
    """
    if position.kind != "binlog":
        return ""
    file = position.value.rsplit(":", 2)[0]
    base, _, index = file.rpartition(".")
    return f"{base}.…" if index.isdecimal() else file
