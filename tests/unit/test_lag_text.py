"""What `penstock lag` and `checkpoint show` print for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.cli.checkpoint import as_lines as checkpoint_lines
from penstock.cli.lag import MOST_LINES, as_lines
from penstock.counting import size, spoken
from penstock.observe.lag import Lag
from penstock.observe.tracker import Measure, Tracker
from penstock.operate.foreign import Finding, Foreign
from penstock.operate.lagging import Reading, with_past
from penstock.unread import Probe, Retention


def lag(ends: dict[tuple[str, int], int], **more: object) -> Lag:
    told = {"at": 1000.0, "positions": dict.fromkeys(ends, 0), "ends": ends, **more}
    return Tracker().see(Measure(**told))  # type: ignore[arg-type]


def printed(found: Lag, *, running: bool | None = True, everything: bool = False) -> list[str]:
    return list(as_lines(Reading("orders", found, 3, running, "orders"), everything))


def test_nothing_unread_is_one_sentence() -> None:
    assert printed(lag({("t", 0): 0, ("t", 1): 0})) == ["orders: nothing is unread in 2 partitions (running)"]


def test_the_partitions_that_lag_most_come_first_and_hot_ones_are_named() -> None:
    lines = printed(lag({("t", 0): 5, ("t", 1): 9000, ("t", 2): 7}), running=False)
    assert lines[0].startswith("orders: 9,012 rows behind in 3 of 3 partitions, the oldest waits - (not running)")
    assert [line.split()[0] for line in lines[2:5]] == ["t-1", "t-2", "t-0"]
    assert "  hot: t-1 carries far more than the others of its topic" in lines


def test_many_partitions_are_cut_and_all_of_them_can_be_had() -> None:
    found = lag({("t", number): 10 for number in range(100)})
    assert f"  and {100 - MOST_LINES} more partitions: --all shows them" in printed(found)
    assert len(printed(found, everything=True)) > 100


def test_what_is_lost_held_back_or_about_to_be_deleted_is_said() -> None:
    ends = {("t", 0): 100}
    probe = {("t", 0): Probe(40, 40, timestamp=400.0, counted=1, upto=41)}
    keeps = {"t": Retention(seconds=3600.0)}
    told = printed(lag(ends, starts={("t", 0): 40}, high={("t", 0): 107}, probes=probe, retention=keeps))
    assert "  lost: t-0 offsets 0 to 39 were deleted before they were read" in told
    assert "  held back: 7 offsets, by transactions that are still open" in told
    assert "  runway: in 50 min the broker deletes unread records, at the present pace" in told


def test_what_only_a_watcher_knows_is_taken_from_the_process_that_runs() -> None:
    watched = Tracker()
    for step in range(5):
        at = {"at": 960.0 + 10 * step, "positions": {("t", 0): 20 * step}, "ends": {("t", 0): 100 + 10 * step}}
        then = watched.see(Measure(**at))  # type: ignore[arg-type]
    now = replace(lag({("t", 0): 145}), at=1003.0)
    now = replace(now, partitions=(replace(now.partitions[0], position=80, offsets=65, rows=65),))
    found = with_past(now, then)
    [part] = found.partitions
    assert (part.arrival_per_second, part.read_per_second, part.catch_up_seconds) == (1.0, 2.0, 65.0)
    assert part.rows == 65, "what the broker says now stays"


@pytest.mark.parametrize("before", ["nothing was unread", "nobody had looked at the record"])
def test_a_runway_of_before_the_record_came_hides_nothing(before: str) -> None:
    keeps = {"t": Retention(seconds=3600.0)}
    end = 80 if before == "nothing was unread" else 90
    then = Tracker().see(Measure(990.0, {("t", 0): 80}, {("t", 0): end}, retention=keeps))
    probe = {("t", 0): Probe(80, 80, timestamp=-2000.0, counted=1, upto=81)}
    now = lag({("t", 0): 145}, positions={("t", 0): 80}, probes=probe, retention=keeps)
    [part] = with_past(now, then).partitions
    assert part.runway is not None
    assert part.runway.seconds == 600.0


def test_hostile_names_are_shown_as_text() -> None:
    found = Foreign(
        "/c\x1b[2J", 10.0, "id\x1b]0;x", None, 1, 1, {}, findings=(Finding("x", "bad\x1b[31m", grave=True),)
    )
    assert "\x1b" not in "\n".join(checkpoint_lines(found))


def test_times_and_sizes_are_short() -> None:
    assert [spoken(each) for each in (None, 0.04, 41.3, 300, 36_000, 864_000)] == [
        "-",
        "0.0 s",
        "41 s",
        "5.0 min",
        "10 h",
        "10 d",
    ]
    assert [size(each) for each in (12, 1500, 2.5e9)] == ["12 B", "1.5 KB", "2.5 GB"]
