"""The bounds of what is done without a person: what is beyond one says how much it would be."""

from __future__ import annotations

import pytest

from schemaman.errors import BadConfiguration
from schemaman.migration.bounds import Bounds, format_size, parse_size, parse_window
from schemaman.migration.policy import Policy, PolicyRule

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "size"), [("50GB", 50 * 10**9), ("1.5 TiB", 3 * 2**39), ("7", 7), (7, 7), ("", None), ("0", 0)]
)
def test_a_size_is_read_as_people_write_it(text: object, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["50 gigabytes", "-1", "GB", True, "1e9"])
def test_another_text_is_no_size(text: object) -> None:
    with pytest.raises(ValueError, match="write 50GB"):
        parse_size(text)
    with pytest.raises(BadConfiguration):
        Policy(max_rewrite=str(text))


@pytest.mark.parametrize("text", ["22-06", "25:00-06:00", "06:00-06:00", "00:00-24:00"])
def test_another_text_is_no_window(text: str) -> None:
    with pytest.raises(ValueError, match="write 22:00-06:00"):
        parse_window(text)


@pytest.mark.parametrize(
    ("window", "open_hours"),
    [("22:00-02:00", (22, 23, 0, 1)), ("01:00-03:00", (1, 2)), ("22:00-24:00", (22, 23))],
)
def test_a_window_may_go_over_midnight(window: str, open_hours: tuple[int, ...]) -> None:
    bounds = Bounds(10, None, parse_window(window))
    found = [hour for hour in range(24) if not bounds.explain_rewrite(10, hour * HOUR_MS)]
    assert found == sorted(open_hours)


def test_what_is_beyond_a_bound_says_how_much_it_would_be() -> None:
    bounds = Policy(max_rewrite="50GB", max_scan="60GB").bounds
    assert bounds.explain_rewrite(50 * 10**9, 0) == ""
    assert bounds.explain_rewrite(73_400_000_000, 0) == "73.4 GB would be rewritten, and max_rewrite is 50 GB"
    assert bounds.explain_scan(61 * 10**9) == "61 GB would be read, and max_scan is 60 GB"
    assert "does not tell its size" in bounds.explain_rewrite(None, 0)
    assert Bounds().explain_rewrite(0, 0)
    assert not Bounds().explain_scan(None)
    assert (format_size(999), format_size(1)) == ("999 bytes", "1 byte")
    close = Policy(max_rewrite="50GB").bounds.explain_rewrite(50 * 10**9 + 1, 0)
    assert close == "50000000001 bytes would be rewritten, and max_rewrite is 50000000000 bytes"


def test_a_window_says_how_much_it_keeps_back_and_when_it_begins() -> None:
    bounds = Policy(max_rewrite="50GB", window="22:00-06:00").bounds
    found = bounds.explain_rewrite(7_000_000, 12 * HOUR_MS)
    assert found == "7 MB would be rewritten, and the window is 22:00-06:00 UTC"
    hours = {now: bounds.find_opening(now * HOUR_MS) // HOUR_MS for now in (0, 5, 6, 12, 21, 22, 23)}
    assert hours == {0: 0, 5: 0, 6: 16, 12: 10, 21: 1, 22: 0, 23: 0}
    assert Bounds(1).find_opening(12 * HOUR_MS) == 0


def test_a_rewrite_that_has_begun_goes_on_outside_of_the_window_and_within_the_sizes() -> None:
    bounds = Policy(max_rewrite="50GB", window="22:00-06:00").bounds
    assert bounds.explain_rewrite(7, 12 * HOUR_MS, is_begun=True) == ""
    assert "max_rewrite is 50 GB" in bounds.explain_rewrite(51 * 10**9, 0, is_begun=True)


def test_bounds_make_a_retype_automatic_only_under_autopilot_and_without_a_rule() -> None:
    rule = PolicyRule("approve", ("retype",))
    levels = {
        policy.find_ruling("retype", "t", "raw").level
        for policy in (
            Policy(profile="autopilot"),
            Policy(max_rewrite="1GB"),
            Policy(profile="autopilot", max_rewrite="1GB", rules=(rule,)),
        )
    }
    assert levels == {"approve"}
    made = Policy(profile="autopilot", max_rewrite="1GB").find_ruling("retype", "t", "raw")
    assert (made.level, made.why) == ("auto", "retype = auto, from max_rewrite = 1GB")
