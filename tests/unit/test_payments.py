"""The payments stream: the same for the same seed, and broken exactly as it says."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pyarrow as pa
import pytest

from penstock import Json
from penstock.dev.payments import SCHEMA, SPOILT, payments


def codes_of(values: list[bytes | None]) -> list[str | None]:
    """What the real decoder says of each value."""
    decoded = Json(schema=SCHEMA).decoder().decode(pa.array(values, pa.binary()))
    found = {verdict.row: verdict.code for verdict in decoded.verdicts}
    return [found.get(row) for row in range(len(values))]


def test_the_same_seed_gives_the_same_events() -> None:
    assert list(payments(300, seed=1)) == list(payments(300, seed=1))
    assert list(payments(300, seed=1)) != list(payments(300, seed=2))


def test_a_longer_stream_begins_like_a_shorter_one() -> None:
    assert list(islice(payments(10_000), 200)) == list(payments(200))


def test_the_decoder_agrees_with_every_code_the_stream_claims() -> None:
    events = list(payments(5000, bad_share=0.2))
    assert codes_of([event.value for event in events]) == [event.code for event in events]
    assert {event.code for event in events} == {None, *SPOILT}


@pytest.mark.parametrize("code", SPOILT)
def test_each_way_of_breaking_an_event_earns_its_code(code: str) -> None:
    good = [event.value for event in payments(50, seed=3, bad_share=0)]
    assert codes_of([SPOILT[code](value) for value in good if value]) == [code] * 50


def test_about_the_asked_share_is_broken_and_a_few_customers_pay_most() -> None:
    events = list(payments(20_000))
    assert 60 < sum(event.code is not None for event in events) < 140
    busiest = Counter(event.key for event in events).most_common(200)
    assert sum(count for _, count in busiest) > 20_000 * 0.1
