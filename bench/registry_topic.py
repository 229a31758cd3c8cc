"""Topics of framed payments: Avro and Protobuf, written with Confluent's serializers; a few of them cut short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from bench.avro import FIELDS, payment, schema
from bench.protobuf import FLAT, flat
from bench.topic import PARTITIONS, Truth
from penstock.dev.kafka import ensure_topic
from penstock.formats.protobuf.messages import messages_of
from penstock.schemas.contract import Schema

EVERY = 1000
"""One record of so many is cut short."""
CUT = 3
"""Bytes that it lacks: with these no decoder can take it for whole."""
KINDS = 5000
"""Different events; they repeat. To serialise a million takes longer than to measure them."""


@dataclass
class Filled:
    """What a topic holds."""

    truth: Truth
    customers: int = 0
    """The sum of `customer_id` over the good ones."""


def topic_of(format_: str) -> str:
    return f"payments-{format_}"


def fill(bootstrap: str, registry: str, format_: str, events: int) -> Filled:
    """Create the topic and write the events."""
    topic = topic_of(format_)
    ensure_topic(bootstrap, topic, PARTITIONS)
    client = SchemaRegistryClient({"url": registry})
    kinds = {"avro": avro_values, "protobuf": protobuf_values}[format_](client, topic, min(events, KINDS))
    made = Filled(Truth(events))
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 50, "log_level": 0})
    for number in range(events):
        value, customer = kinds[number % len(kinds)]
        broken = number % EVERY == EVERY - 1
        made.customers += 0 if broken else customer
        _send(producer, topic, value[:-CUT] if broken else value, _booking(made.truth) if broken else _delivered)
    producer.flush()
    return made


def avro_values(client: SchemaRegistryClient, topic: str, count: int) -> list[tuple[bytes, int]]:
    serializer, context = AvroSerializer(client, schema(FIELDS)), SerializationContext(topic, MessageField.VALUE)
    events = [payment(number, items=False) for number in range(count)]
    return [(serializer(event, context), event["customer_id"]) for event in events]


def protobuf_values(client: SchemaRegistryClient, topic: str, count: int) -> list[tuple[bytes, int]]:
    kind = payment_message()
    serializer = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
    context, events = SerializationContext(topic, MessageField.VALUE), [flat(number) for number in range(count)]
    return [(serializer(kind(**event), context), event["customer_id"]) for event in events]


def payment_message() -> Any:
    """The class of the Protobuf payment, as protoc would have made it."""
    return GetMessageClass(messages_of(Schema(1, "protobuf", FLAT)).named())


def _booking(truth: Truth) -> Callable[[Any, Any], None]:
    def delivered(error: Any, record: Any) -> None:
        _delivered(error, record)
        truth.bad[record.partition(), record.offset()] = "bad_payload"

    return delivered


def _delivered(error: Any, _record: Any) -> None:
    if error is not None:
        raise KafkaException(error)


def _send(producer: Producer, topic: str, value: bytes, told: Callable[[Any, Any], None]) -> None:
    while True:
        try:
            producer.produce(topic, value, on_delivery=told)
        except BufferError:
            producer.poll(0.1)
        else:
            producer.poll(0)
            return
