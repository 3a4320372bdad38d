"""Which statements of a plan a person has to approve, and why.

Law: what an earlier plan kept is dropped with an approval alone, whatever the policy says by now.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from schemaman.diff import Change, ChangeKey, DropColumn, RenameColumn
from schemaman.policy import ChangeKind
from schemaman.rulings import Judge
from schemaman.schema import Path

_KEPT_BEFORE = "it was kept when the source dropped it, and another policy alone drops nothing"


@dataclass(slots=True)
class Approving:
    """Keeps of each change what a person has to approve of it; `kept` places were to be dropped before."""

    judge: Judge
    kept: Collection[Path]
    whys: dict[tuple[type[Change], Path], str] = field(default_factory=dict)

    def ask(self, change: Change, kinds: Sequence[ChangeKind]) -> None:
        """Keep what is to be approved of a change of these kinds; an upgrade is a step of its own."""
        asked = [self.judge.ask(kind) for kind in kinds if kind != "upgrade"]
        why = "; ".join(r.why for r in asked if r.level == "approve")
        if isinstance(change, DropColumn) and change.path in self.kept:
            why = why or _KEPT_BEFORE
        if why and not isinstance(change, ChangeKey):
            self.whys[type(change), change.path] = why

    def needed(self, changes: Sequence[Change]) -> str:
        """Why a statement for these changes needs approval; renames hang together, of columns or of members.

        By its turn a rename may have another place than it was asked about: what holds it has its old name
        yet, or it goes by a temporary one.
        """
        whys: list[str] = []
        for change in changes:
            match change:
                case ChangeKey():
                    continue
                case RenameColumn():
                    whys += self._renames(whole=len(change.path) == 1)
                case _:
                    whys.append(self.whys.get((type(change), change.path), ""))
        return "; ".join(dict.fromkeys(why for why in whys if why))

    def _renames(self, *, whole: bool) -> list[str]:
        """What is to be approved of the renames of columns, or of those of members."""
        told = [(at, why) for (kind, at), why in self.whys.items() if kind is RenameColumn]
        return [why for at, why in told if (len(at) == 1) is whole]
