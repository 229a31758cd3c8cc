"""How many Avro payment events a CPU-second decodes: ours, and a hand-written consumer with Confluent's deserializer.

    python -m bench.avro [ROWS]

CPU time of this process, one thread, frames included. The hand-written consumer is given its dicts for nothing more;
beside it the same with the dicts brought into an Arrow table, which a writer of tables needs. The variants take turns
and every other round runs in reverse; the best round of each counts.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.formats.avro import Avro
from penstock.formats.framed import Framed
from penstock.schemas.contract import Reader, Schema, Writer

BATCH = 10_000
ROUNDS = 4
TOPIC = "payments"
TEXT = "string"
DEVICE = {"type": "record", "name": "Device", "fields": [{"name": "os", "type": TEXT}, {"name": "ip", "type": TEXT}]}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}
FIELDS: dict[str, Any] = {
    "event_id": TEXT,
    "payment_id": TEXT,
    "customer_id": "long",
    "merchant_id": "long",
    "amount": MONEY,
    "currency": {"type": "enum", "name": "Currency", "symbols": ["EUR", "USD", "GBP"]},
    "status": TEXT,
    "method": ["null", TEXT],
    "country": TEXT,
    "event_time": {"type": "long", "logicalType": "timestamp-millis"},
    "risk_score": "double",
    "is_refund": "boolean",
    "device": ["null", DEVICE],
    "version": "int",
}
LISTED = {**FIELDS, "items": {"type": "array", "items": {**DEVICE, "name": "Item"}}}


def schema(fields: dict[str, Any]) -> str:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": "Payment", "fields": listed})


def payment(number: int, *, items: bool) -> dict[str, Any]:
    """One event; the same number is always the same event."""
    dice = random.Random(number)
    made = {
        "event_id": f"{dice.getrandbits(128):032x}",
        "payment_id": f"pay_{dice.getrandbits(64):016x}",
        "customer_id": dice.randrange(10**9),
        "merchant_id": dice.randrange(10**6),
        "amount": Decimal(dice.randrange(100_000)).scaleb(-2),
        "currency": dice.choice(["EUR", "USD", "GBP"]),
        "status": dice.choice(["captured", "authorised"]),
        "method": dice.choice(["card", None]),
        "country": dice.choice(["DE", "FR", "US"]),
        "event_time": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=dice.randrange(10**10)),
        "risk_score": dice.random(),
        "is_refund": dice.random() < 0.1,
        "device": {"os": dice.choice(["ios", "android"]), "ip": f"10.0.{dice.randrange(256)}.{dice.randrange(256)}"},
        "version": 3,
    }
    listed = [{"os": "x", "ip": f"{n}"} for n in range(dice.randrange(5))]
    return {**made, "items": listed} if items else made


def main() -> None:
    print(told(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000))


def told(rows: int) -> str:
    """The figures of so many events, as lines."""
    pa.set_cpu_count(1)
    variants: dict[str, Callable[[], float]] = {}
    for label, fields in (("flat", FIELDS), ("with a list", LISTED)):
        variants |= {f"{label}: {name}": run for name, run in runs(fields, rows, items=label != "flat").items()}
    best = dict.fromkeys(variants, float("inf"))
    for turn in range(ROUNDS):
        for name, run in [*variants.items()] if turn % 2 else reversed([*variants.items()]):
            best[name] = min(best[name], run())
    head = f"{rows} payment events, {ROUNDS} rounds, best of each; rows per CPU-second"
    return "\n".join([head, *(f"  {name:54} {rows / seconds:12,.0f}" for name, seconds in best.items())])


def runs(fields: dict[str, Any], rows: int, *, items: bool) -> dict[str, Callable[[], float]]:
    text = schema(fields)
    client = SchemaRegistryClient.new_client({"url": f"mock://{len(fields)}"})
    context = SerializationContext(TOPIC, MessageField.VALUE)
    serializer = AvroSerializer(client, text)
    values = [serializer(payment(number, items=items), context) for number in range(rows)]
    number = int.from_bytes(values[0][1:5], "big")
    bound = ours(number, text)
    array, theirs = pa.array(values, pa.binary()), AvroDeserializer(client)
    columns = bound.columns()

    def decoded() -> float:
        decoder = bound.decoder().of_topic(TOPIC)  # type: ignore[attr-defined]
        start = time.process_time()
        for first in range(0, rows, BATCH):
            assert not decoder.decode(array.slice(first, BATCH)).verdicts
        return time.process_time() - start

    def deserialized() -> float:
        start = time.process_time()
        for value in values:
            theirs(value, context)
        return time.process_time() - start

    def into_arrow() -> float:
        start = time.process_time()
        for first in range(0, rows, BATCH):
            pa.RecordBatch.from_pylist([theirs(value, context) for value in values[first : first + BATCH]], columns)
        return time.process_time() - start

    return {
        "penstock, into Arrow": decoded,
        "AvroDeserializer, dicts": deserialized,
        "AvroDeserializer, dicts into Arrow": into_arrow,
    }


def ours(number: int, text: str) -> Framed:
    """The bound format, as a run has it."""
    options, written = Avro(), Schema(number, "avro", text)
    fields = options.codec().fields(written)
    reader = Reader(fields, {f"{TOPIC}-value": written}, {(TOPIC, number): Writer(f"{TOPIC}-value", written)})
    return Framed(options, reader)


if __name__ == "__main__":
    main()
