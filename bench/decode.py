"""How many payment events a CPU-second decodes: clean, with 0.1 % bad ones, and with an unknown field in each.
Both decoders side by side, the native one where it is built.

    python bench/decode.py [ROWS]

CPU time of this process, one thread. The variants take turns and every other round runs in reverse, so that a
machine that is busy for a while is busy for all of them; the best round of each counts.
"""

from __future__ import annotations

import json
import random
import sys
import time

import pyarrow as pa

from penstock.formats.contract import Decoder
from penstock.formats.json.columns import JsonDecoder
from penstock.formats.json.native import NativeJsonDecoder, choice
from penstock.formats.schemas import parse_ddl

SCHEMA = """event_id STRING, payment_id STRING, customer_id BIGINT, merchant_id BIGINT, amount DECIMAL(18,2),
currency STRING, status STRING, method STRING, country STRING, event_time TIMESTAMP, risk_score DOUBLE,
is_refund BOOLEAN, device STRUCT<os: STRING, ip: STRING>, version INT"""
BATCH = 10_000
ROUNDS = 6


def payment(number: int) -> dict[str, object]:
    """One event; the same number is always the same event."""
    dice = random.Random(number)
    return {
        "event_id": f"{dice.getrandbits(128):032x}",
        "payment_id": f"pay_{dice.getrandbits(64):016x}",
        "customer_id": dice.randrange(10**9),
        "merchant_id": dice.randrange(10**6),
        "amount": round(dice.random() * 1000, 2),
        "currency": dice.choice(["EUR", "USD", "GBP"]),
        "status": dice.choice(["captured", "authorised"]),
        "method": "card",
        "country": dice.choice(["DE", "FR", "US"]),
        "event_time": f"2026-01-{dice.randrange(1, 28):02}T{dice.randrange(24):02}:{dice.randrange(60):02}:07.123Z",
        "risk_score": round(dice.random(), 4),
        "is_refund": dice.random() < 0.1,
        "device": {"os": dice.choice(["ios", "android"]), "ip": f"10.0.{dice.randrange(256)}.{dice.randrange(256)}"},
        "version": 3,
    }


def text(event: dict[str, object]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()


def spoiled(number: int) -> bytes | None:
    """A bad event, in one of ten ways."""
    event = payment(number)
    whole = text(event)
    ways = [
        whole[:200],
        b"not json",
        b"",
        None,
        whole + b"}",
        text({**event, "amount": 12.345}),
        text({**event, "customer_id": "x"}),
        text({**event, "version": 3_000_000_000}),
        text({**event, "event_time": "yesterday"}),
        whole.replace(b'"card"', b'"\xff"'),
    ]
    return ways[number % len(ways)]


def spend(decoder: Decoder, values: pa.Array) -> float:
    """CPU-seconds for all values."""
    start = time.process_time()
    for first in range(0, len(values), BATCH):
        decoder.decode(values.slice(first, BATCH))
    return time.process_time() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    pa.set_cpu_count(1)
    dice = random.Random(1)
    clean = [text(payment(number)) for number in range(rows)]
    variants = {
        "clean": clean,
        "0.1 % bad": [spoiled(i) if dice.random() < 0.001 else value for i, value in enumerate(clean)],
        "5 % bad": [spoiled(i) if dice.random() < 0.05 else value for i, value in enumerate(clean)],
        "an unknown field in each": [value[:-1] + b',"coupon":"SUMMER"}' for value in clean],
        "pretty-printed": [value.replace(b',"', b',\n  "') for value in clean],
    }
    runs = [
        ((name, kind), decoder, pa.array(values, pa.binary()))
        for name, values in variants.items()
        for kind, decoder in decoders().items()
    ]
    best = {name: float("inf") for name, _, _ in runs}
    for turn in range(ROUNDS):
        for name, decoder, values in runs if turn % 2 else reversed(runs):
            best[name] = min(best[name], spend(decoder, values))
    print(f"{rows} payment events of {sum(map(len, clean)) // rows} bytes, {ROUNDS} rounds, best of each; k/cpu-s")
    print(" " * 28 + "".join(f"{kind:>10}" for kind in decoders()))
    for name in variants:
        figures = (rows / best[name, kind] / 1000 for kind in decoders())
        print(f"  {name:26}" + "".join(f"{figure:10.0f}" for figure in figures))


def decoders() -> dict[str, Decoder]:
    """Fresh ones; neither gains from what the other has learned."""
    fields, most = parse_ddl(SCHEMA), 1 << 24
    native = {"native": NativeJsonDecoder(fields, max_bytes=most)} if choice().module else {}
    return {"python": JsonDecoder(fields, max_bytes=most), **native}


if __name__ == "__main__":
    main()
