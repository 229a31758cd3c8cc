"""How many Protobuf messages a CPU-second decodes: ours, and a hand-written consumer with Confluent's deserializer.

    python -m bench.protobuf [ROWS]

The same framed payment messages, into the same columns, in one thread of one process. The variants take turns and
every other round runs in reverse; the best round of each counts. Decoding alone: no broker, no Spark.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.messages import messages_of
from penstock.schemas.contract import Schema

FLAT = """
syntax = "proto3";
package bench;
message Payment {
  string event_id = 1; string payment_id = 2; int64 customer_id = 3; int64 merchant_id = 4; int64 amount_cents = 5;
  string currency = 6; string status = 7; string method = 8; string country = 9; int64 event_time = 10;
  double risk_score = 11; bool is_refund = 12; string ip = 13; int32 version = 14;
}
"""
NESTED = """
syntax = "proto3";
package bench;
import "google/protobuf/timestamp.proto";
enum Status { UNKNOWN = 0; CAPTURED = 1; AUTHORISED = 2; }
message Payment {
  message Line { string sku = 1; int32 qty = 2; double price = 3; }
  string payment_id = 1; int64 customer_id = 2; Status status = 3; google.protobuf.Timestamp event_time = 4;
  repeated Line lines = 5; map<string, string> tags = 6; oneof method { string card = 7; string iban = 8; }
  optional string note = 9;
}
"""
BATCH = 10_000
ROUNDS = 5
Decode = Callable[[Any], Any]
FRAME = b"\x00\x00\x00\x00\x01"


def flat(number: int) -> dict[str, Any]:
    """One payment; the same number is always the same payment."""
    dice = random.Random(number)
    return {
        "event_id": f"{dice.getrandbits(128):032x}", "payment_id": f"pay_{dice.getrandbits(64):016x}",
        "customer_id": dice.randrange(10**9), "merchant_id": dice.randrange(10**6),
        "amount_cents": dice.randrange(100_000), "currency": dice.choice(["EUR", "USD", "GBP"]),
        "status": dice.choice(["captured", "authorised"]), "method": "card", "country": dice.choice(["DE", "FR", "US"]),
        "event_time": 1_767_225_600_000_000 + dice.randrange(10**12), "risk_score": dice.random(),
        "is_refund": dice.random() < 0.1, "ip": f"10.0.{dice.randrange(256)}.{dice.randrange(256)}", "version": 3,
    }  # fmt: skip


def nested(number: int) -> dict[str, Any]:
    dice = random.Random(number)
    lines = [{"sku": f"sku-{dice.randrange(999)}", "qty": dice.randrange(1, 9), "price": 9.5} for _ in range(2)]
    return {
        "payment_id": f"pay_{dice.getrandbits(64):016x}", "customer_id": dice.randrange(10**9),
        "status": dice.randrange(3), "event_time": {"seconds": 1_767_225_600 + number, "nanos": 5_000}, "lines": lines,
        "tags": {"channel": "web"}, "card" if number % 2 else "iban": "x" * 16,
    }  # fmt: skip


def by_hand(kind: Any, names: list[str]) -> Decode:
    """The consumer that people write: deserialise each value, read its fields into lists."""
    deserializer = ProtobufDeserializer(kind, {"use.deprecated.format": False})
    where = SerializationContext("payments", MessageField.VALUE)

    def decode(values: Any) -> Any:
        messages = [deserializer(value, where) for value in values]
        return {name: [getattr(message, name) for message in messages] for name in names}

    return decode


def ours(schema: Schema) -> Decode:
    codec = ProtobufCodec()
    decoder = codec.payloads(codec.portable(schema), codec.fields(schema), schema)

    def decode(values: pa.Array) -> Any:
        found = decoder.decode(pc.binary_replace_slice(values, 0, len(FRAME), b""))
        assert not found.verdicts
        return found.data

    return decode


def spend(decode: Decode, values: Any) -> float:
    """CPU-seconds for all values."""
    start = time.process_time()
    for first in range(0, len(values), BATCH):
        decode(values[first : first + BATCH])
    return time.process_time() - start


def compare(name: str, text: str, make: Callable[[int], dict[str, Any]], rows: int) -> list[str]:
    schema = Schema(1, "protobuf", text)
    kind = GetMessageClass(messages_of(schema).named())
    values = [FRAME + b"\x00" + kind(**make(number)).SerializeToString() for number in range(rows)]
    names = [field.name for field in kind.DESCRIPTOR.fields]
    runs = {
        "Confluent's deserializer, fields into lists": by_hand(kind, names),
        "penstock, Arrow columns": ours(schema),
    }
    best = dict.fromkeys(runs, float("inf"))
    for turn in range(ROUNDS):
        for word, decode in list(runs.items())[:: 1 if turn % 2 else -1]:
            best[word] = min(best[word], spend(decode, values))
    first, second = best.values()
    return [
        f"{name}: {rows} messages of {sum(map(len, values)) // rows} bytes, {ROUNDS} rounds, best of each",
        *(f"  {word:44} {rows / seconds / 1000:7.0f} k rows per CPU-second" for word, seconds in best.items()),
        f"  ratio {first / second:.1f}",
    ]


def main() -> None:
    print(told(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000))


def told(rows: int) -> str:
    """The figures of so many messages, as lines."""
    pa.set_cpu_count(1)
    kinds: list[tuple[str, str, Callable[[int], dict[str, Any]]]] = [
        ("flat, 14 fields", FLAT, flat),
        ("nested", NESTED, nested),
    ]
    return "\n".join(line for name, text, make in kinds for line in compare(name, text, make, rows))


if __name__ == "__main__":
    main()
