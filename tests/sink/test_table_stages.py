"""The order of the stages is one, whoever runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from schemaman.sink.table_stages import STAGES, Stage, run_stages


@dataclass(frozen=True)
class Log:
    """The stages that ran."""

    ran: tuple[Stage, ...] = ()
    last: Stage | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the last stage has run."""
        return self.last is not None and self.last in self.ran


def note(name: Stage) -> Callable[[Log], Log]:
    return lambda log: replace(log, ran=(*log.ran, name))


@given(st.permutations(STAGES), st.integers(0, len(STAGES)), st.sampled_from(STAGES))
def test_stages_run_in_their_order_until_one_stops_the_table(
    names: list[Stage], count: int, last: Stage
) -> None:
    chosen = names[:count]
    ran = run_stages(Log(last=last), {name: note(name) for name in chosen}).ran
    end = STAGES.index(last) + 1 if last in chosen else len(STAGES)
    assert ran == tuple(name for name in STAGES[:end] if name in chosen)


def test_each_stage_has_a_place() -> None:
    assert set(STAGES) == set(get_args(Stage))
    assert STAGES[0] == "move-tables"
    assert STAGES[-1] == "change-key"
