"""Code that changed between a crash and the replay: a frozen batch is finished as it is, and it is said."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock import Delta, Sink
from penstock.engine.tables import committers
from penstock.errors import Refused
from penstock.observe.events import CodeChanged
from penstock.observe.logs import say
from penstock.testing.batches import Bench

Make = Callable[..., Bench]
GOOD = [b'{"id": %d, "name": "n", "amount": 1.50}' % number for number in range(6)]


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def broken_off(case: Bench, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Batch 0, killed here."""
    with monkeypatch.context() as patch:
        patch.setattr(at, _die)
        with pytest.raises(KeyboardInterrupt):
            case.write([*GOOD, b"oops"])


def told(case: Bench) -> list[CodeChanged]:
    return [event for event in case.told if isinstance(event, CodeChanged)]


def test_a_frozen_batch_is_finished_by_other_code_without_a_second_pass(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = bench()
    broken_off(case, monkeypatch, "penstock.batch.publish_tables")
    case.schema = "id BIGINT NOT NULL"  # the new code would write other columns
    case.write([*GOOD, b"oops"], plan=replace(case.plan(), fingerprint="other code"))
    assert case.names() == [(0, number) for number in range(6)]
    [event] = told(case)
    assert (event.batch_id, event.finished) == (0, True)
    assert "begun by other code" in say(event)
    assert "finished from what that code froze" in say(event)


def test_a_batch_that_was_not_frozen_is_computed_by_the_new_code(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    broken_off(case, monkeypatch, "penstock.ledger.ledger.Ledger.freeze")
    case.write([*GOOD, b"oops"], plan=replace(case.plan(), fingerprint="other code"))
    assert case.names() == [(0, number) for number in range(6)]
    [event] = told(case)
    assert event.finished is False
    assert "computed again" in say(event)


def test_the_same_code_says_nothing(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    broken_off(case, monkeypatch, "penstock.batch.publish_tables")
    case.write([*GOOD, b"oops"])
    assert told(case) == []


@pytest.mark.parametrize("code", ["code", "other code"])
def test_a_half_published_batch_whose_manifest_was_taken_away_halts(
    bench: Make, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    case = bench()
    plan = case.plan()
    monkeypatch.setattr(plan.tables["lake"], "commit", _die)
    with pytest.raises(KeyboardInterrupt):
        case.write([*GOOD, b"oops"], plan=plan)
    assert len(case.dead()) == 1, "dead letters are committed first"
    shutil.rmtree(case.state / "stage")
    words = "by the code code, and this is other code" if code == "other code" else "its manifest is gone"
    with pytest.raises(Refused, match=rf"batch 0: it is half published \(sink dead_letters has it\).*{words}"):
        case.write([*GOOD, b"oops"], plan=replace(case.plan(), fingerprint=code))
    assert (case.names(), len(case.dead())) == ([], 1)


@pytest.mark.parametrize("change", ["joins", "leaves"])
def test_a_sink_that_joins_or_leaves_between_crash_and_replay_changes_nothing_of_the_batch(
    bench: Make, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    case = bench()
    broken_off(case, monkeypatch, "penstock.batch.publish_tables")
    plan = case.plan()
    more = {"more": Sink(to=Delta(table=str(case.folder / "lake" / "more")))}
    pipeline = plan.pipeline.model_copy(update={"sinks": {**plan.pipeline.sinks, **more}})
    if change == "joins":
        plan = replace(plan, pipeline=pipeline, tables={**committers(pipeline)}, fingerprint="other code")
    else:
        plan = replace(plan, tables={"lake": plan.tables["lake"]}, fingerprint="other code")
    case.write([*GOOD, b"oops"], plan=plan)
    assert case.names() == [(0, number) for number in range(6)]
    assert [event.finished for event in told(case)] == [True]
