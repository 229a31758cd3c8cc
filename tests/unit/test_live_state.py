"""What each event makes of the state of a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.live_story import NAME, ORDERS, after, begun, committed, ended, progressed, started, waiting

from penstock.observe.events import BatchStarted, CodeChanged, Event, RecordsLost, Recovered, TableEvolved, Warned
from penstock.observe.live.facts import Facts
from penstock.observe.live.head import finishing, standing
from penstock.observe.live.state import MOST_NOTES, MOST_RATES, State, worth_a_line
from penstock.observe.live.summary import summary
from penstock.spec import pipeline_from_text


def test_totals_are_the_sums_of_the_committed_batches() -> None:
    state = after([started(), committed(0), committed(1, rejected={"invalid_json": 1, "other": 2}, warned={"late": 3})])
    totals = state.totals
    assert (totals.batches, totals.read, totals.written) == (2, 20_000, 19_800)
    assert totals.rejected == {"invalid_json": 91, "check:positive": 8, "other": 2}
    assert totals.dropped == {"tombstone": 4}
    assert totals.warned == {"late": 3}


def test_the_batch_in_hand_has_its_phase_until_it_is_committed() -> None:
    state = after([started(), *begun(3, "tables", offsets=77)])
    assert state.batch is not None
    assert (state.batch.id, state.batch.phase, state.batch.offsets) == (3, "tables", 77)
    assert (state.batch.began, state.batch.phase_began) == (2.0, 4.0)
    assert state.after(committed(3), 9.0).batch is None


def test_a_batch_that_tells_no_phases_is_in_hand_all_the_same() -> None:
    state = after([started(), BatchStarted(batch_id=3, offsets=5, **NAME)])
    assert state.batch is not None
    assert (state.batch.id, state.batch.phase) == (3, None)


def test_a_new_try_has_no_batch_in_hand() -> None:
    assert after([started(), *begun(3), started()]).batch is None


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ([], "starting"),
        ([started()], "starting"),
        ([started(), *begun(0)], "running"),
        ([started(), *begun(0), committed(0)], "idle"),
        ([started(), *begun(0), waiting()], "waiting"),
        ([started(), waiting(), Recovered(after_seconds=3.0, **NAME), *begun(0)], "running"),
        ([started(), *begun(0), committed(0), ended("done")], "done"),
        ([started(), ended("stopped")], "stopped"),
    ],
)
def test_one_word_says_how_the_run_stands(events: list[Event], word: str) -> None:
    assert standing(after(events), 60.0)[0] == word


def test_the_moment_between_two_batches_is_not_idleness() -> None:
    state = after([started(), *begun(0), committed(0)], step=1.0)
    assert standing(state, 5.5)[0] == "running"


def test_a_stop_is_shown_until_the_end() -> None:
    state = after([started(), *begun(4)]).asked_to_stop()
    assert standing(state, 9.0)[0] == "stopping"
    assert finishing(state) == "finishing batch 4; Ctrl-C again does not hurt"
    done = state.after(committed(4), 9.0)
    assert finishing(done) == "stopping: no batch is in hand; Ctrl-C again does not hurt"
    assert standing(done.after(ended("stopped"), 10.0), 10.0)[0] == "stopped"


def test_the_rate_is_that_of_the_newest_batch_and_0_once_nothing_comes() -> None:
    state = after([started(), committed(0, read=300, seconds=2.0), progressed({"t-0": 1})])
    assert state.rate == 150.0
    assert state.after(progressed({"t-0": 0}, rows=0), 9.0).rate == 0.0


def test_a_batch_without_seconds_has_a_rate_too() -> None:
    assert after([committed(0, read=3, seconds=0.0)]).rate == 3000.0


def test_the_average_counts_from_the_first_batch_and_stops_with_the_run() -> None:
    state = after([started(), *begun(0), committed(0, read=300)])
    assert state.first_batch_at == 2.0
    assert state.average(12.0) == 30.0
    assert state.after(ended(), 12.0).average(99.0) == 30.0
    assert State(ORDERS, 0.0).average(5.0) == 0.0


def test_rates_and_notes_are_kept_in_bounds() -> None:
    state = after([committed(number, replayed=True) for number in range(100)])
    assert len(state.rates) == MOST_RATES
    assert len(state.notes) == MOST_NOTES
    assert "batch 99 committed" in state.notes[-1].text


def test_late_batches_are_counted_in_a_row() -> None:
    late = [committed(number, seconds=10.5) for number in range(3)]
    assert after(late).late == 3
    assert after([*late, committed(3)]).late == 0
    assert after(late, State(dataclasses.replace(ORDERS, every_seconds=None), 0.0)).late == 0


def test_a_lag_that_spark_does_not_know_leaves_the_last_one() -> None:
    assert after([started()]).lag is None
    assert after([progressed({"t-0": 4}), progressed(None)]).lag == {"t-0": 4}


def test_a_sink_that_got_nothing_keeps_the_time_of_its_last_commit() -> None:
    rows = {"lake": {"version": 5, "rows": 10}, "alerts": {"version": 7, "rows": 1}}
    none = {"lake": {"version": 5, "rows": 0}, "alerts": {"version": 9, "rows": 0}}
    state = after([committed(0, sinks=rows), committed(1, sinks=none)])
    assert (state.sinks["lake"].rows, state.sinks["lake"].version, state.sinks["lake"].at) == (10, 5, 1.0)
    assert state.sinks["alerts"].at == 2.0, "a marker moves with every batch"
    first = after([committed(0, sinks={"lake": {"version": -1, "rows": 0}})]).sinks["lake"]
    assert (first.rows, first.at) == (0, None)


@pytest.mark.parametrize(
    ("event", "important"),
    [
        (committed(0), False),
        (committed(0, replayed=True), True),
        (progressed({}), False),
        (waiting(), True),
        (Recovered(after_seconds=1.0, **NAME), True),
        (Warned(text="a marker is old", **NAME), True),
        (TableEvolved(sink="lake", columns=("a",), version=2, **NAME), True),
        (RecordsLost(batch_id=1, gaps=(), **NAME), True),
        (CodeChanged(batch_id=1, finished=True, **NAME), True),
    ],
)
def test_what_matters_becomes_a_note(event: Event, important: bool) -> None:
    assert worth_a_line(event) is important
    assert len(after([event]).notes) == important


def test_the_first_reason_of_an_end_holds() -> None:
    state = after([started(), *begun(0), committed(0), ended("done")]).ended("failed", 99.0)
    assert state.end is not None
    assert (state.end.reason, state.end.at) == ("done", 6.0)
    assert summary(state, 99.0) == "done: 1 batch, 10,000 rows, 98 rejected, 6.0 s"
    assert summary(after([started()]), 200.0) == "so far: 0 batches, 0 rows, 0 rejected, 3 min 20 s"


def test_the_facts_are_those_of_the_file(tmp_path: Path) -> None:
    text = (
        "pipeline: p\nsource: {kafka: {brokers: ['b:1'], topics: [t]}}\ndecode: raw\n"
        "sinks: {lake: {delta: {table: ./t}}, out: {kafka: {topic: big}}}\n"
        "dead_letters: {kafka: {topic: dead}}\ntrigger: {every: 5 seconds}\n"
    )
    pipeline = pipeline_from_text(text, file="p.yaml", folder=tmp_path)
    facts = Facts.of(pipeline)
    assert facts == Facts("p", {"lake": "delta", "out": "kafka"}, "topic dead", 5.0)
    assert Facts.of(pipeline, once=True).every_seconds is None
