"""A payments stream that looks like a real one: typed, nested, skewed, and now and then broken in a dozen ways.

The demo, the benchmarks and the fault tests all use it. The same seed gives the same events.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

SCHEMA = """\
event_id STRING NOT NULL, payment_id STRING NOT NULL, customer_id BIGINT NOT NULL, merchant_id BIGINT NOT NULL,
amount DECIMAL(18,2) NOT NULL, currency STRING, status STRING, method STRING, country STRING,
event_time TIMESTAMP NOT NULL, risk_score DOUBLE, is_refund BOOLEAN, device STRUCT<os: STRING, ip: STRING>, version INT
"""
START = datetime(2026, 11, 1, tzinfo=UTC)


class Event(NamedTuple):
    """One record for the topic, and what should become of it."""

    key: bytes
    value: bytes | None
    code: str | None
    """The reject code it deserves, or None for a good one."""


Spoil = Callable[[bytes], bytes | None]
SPOILT: dict[str, Spoil] = {
    "truncated_json": lambda good: good[: len(good) // 2],
    "invalid_json": lambda good: good.replace(b'"currency"', b"'currency'"),
    "wrong_type": lambda good: good.replace(b'"customer_id":', b'"customer_id":"c-', 1).replace(
        b',"merch', b'","merch'
    ),
    "missing_field": lambda good: good.replace(b'"payment_id"', b'"paymentId"'),
    "inexact_decimal": lambda good: good.replace(b',"currency"', b'7,"currency"'),
    "overflow": lambda good: good.replace(b'"version":', b'"version":30000000000'),
    "duplicate_key": lambda good: good[:-1] + b',"amount":1.00}',
    "invalid_utf8": lambda good: good.replace(b'"status":"', b'"status":"\xff\xfe'),
    "trailing_data": lambda good: good + good,
    "not_an_object": lambda good: b"[" + good + b"]",
    "not_finite": lambda good: good.replace(b'"risk_score":', b'"risk_score":NaN,"was":'),
    "empty": lambda good: b"",
    "tombstone": lambda good: None,
}
"""How a good event is broken, by the code it then deserves."""


def payments(count: int, *, seed: int = 7, bad_share: float = 0.005) -> Iterator[Event]:
    """`count` events, about `bad_share` of them broken."""
    luck = random.Random(seed)
    kinds = list(SPOILT)
    for number in range(count):
        key, value = _good(number, luck)
        if luck.random() < bad_share:
            kind = luck.choice(kinds)
            yield Event(key, SPOILT[kind](value), kind)
        else:
            yield Event(key, value, None)


def _good(number: int, luck: random.Random) -> tuple[bytes, bytes]:
    customer = int(luck.paretovariate(1.2) * 1000) % 500_000
    at = START + timedelta(milliseconds=number * 3 + luck.randrange(500))
    event_id = uuid.UUID(int=luck.getrandbits(128), version=4)
    value = (
        f'{{"event_id":"{event_id}","payment_id":"pay_{luck.getrandbits(48):012x}","customer_id":{customer},'
        f'"merchant_id":{luck.randrange(20_000)},"amount":{luck.randrange(100, 500_000) / 100:.2f},'
        f'"currency":"{luck.choice(("EUR", "USD", "GBP", "CHF"))}",'
        f'"status":"{luck.choice(("authorised", "captured", "declined"))}",'
        f'"method":"{luck.choice(("card", "transfer", "wallet"))}",'
        f'"country":"{luck.choice(("DE", "FR", "US", "GB", "CH", "ES"))}",'
        f'"event_time":"{at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}",'
        f'"risk_score":{luck.random():.4f},"is_refund":{"true" if luck.random() < 0.03 else "false"},'
        f'"device":{{"os":"{luck.choice(("ios", "android", "web"))}","ip":"10.{luck.randrange(256)}.'
        f'{luck.randrange(256)}.{luck.randrange(256)}"}},"version":{luck.randrange(1, 9)}}}'
    )
    return str(customer).encode(), value.encode()
