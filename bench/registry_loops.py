"""The consumer that people write for a registry's records: confluent-kafka, the library's deserializer, deltalake."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pyarrow as pa

from bench.job import Job
from bench.loops import Messages, Split, drained

AVRO = pa.schema(
    [
        ("event_id", pa.string()), ("payment_id", pa.string()), ("customer_id", pa.int64()),
        ("merchant_id", pa.int64()), ("amount", pa.decimal128(18, 2)), ("currency", pa.string()),
        ("status", pa.string()), ("method", pa.string()), ("country", pa.string()),
        ("event_time", pa.timestamp("us", "UTC")), ("risk_score", pa.float64()), ("is_refund", pa.bool_()),
        ("device", pa.struct([("os", pa.string()), ("ip", pa.string())])), ("version", pa.int32()),
    ]
)  # fmt: skip
PROTOBUF = pa.schema(
    [
        ("event_id", pa.string()), ("payment_id", pa.string()), ("customer_id", pa.int64()),
        ("merchant_id", pa.int64()), ("amount_cents", pa.int64()), ("currency", pa.string()), ("status", pa.string()),
        ("method", pa.string()), ("country", pa.string()), ("event_time", pa.int64()), ("risk_score", pa.float64()),
        ("is_refund", pa.bool_()), ("ip", pa.string()), ("version", pa.int32()),
    ]
)  # fmt: skip


def avro(job: Job) -> None:
    """Each value to a dict, the dicts to a record batch."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer

    topic = "payments-avro"
    deserializer = AvroDeserializer(SchemaRegistryClient({"url": os.environ["BENCH_REGISTRY"]}))

    def rows(messages: Messages) -> Split:
        made, good, bad = _deserialized(deserializer, messages, topic)
        return pa.RecordBatch.from_pylist(made, AVRO), good, bad

    drained(replace(job, topic=topic), rows)


def protobuf(job: Job) -> None:
    """Each value to a message, the messages' fields to columns."""
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer

    from bench.registry_topic import payment_message

    topic = "payments-protobuf"
    deserializer = ProtobufDeserializer(payment_message(), {"use.deprecated.format": False})

    def rows(messages: Messages) -> Split:
        made, good, bad = _deserialized(deserializer, messages, topic)
        columns = {name: [getattr(message, name) for message in made] for name in PROTOBUF.names}
        return pa.RecordBatch.from_pydict(columns, PROTOBUF), good, bad

    drained(replace(job, topic=topic), rows)


def _deserialized(deserializer: Any, messages: Messages, topic: str) -> tuple[list[Any], list[int], list[int]]:
    """What became of each value, and the places of good and bad ones. A value that raises is a bad one."""
    from confluent_kafka.serialization import MessageField, SerializationContext

    context = SerializationContext(topic, MessageField.VALUE)
    made, good, bad = [], [], []
    for place, message in enumerate(messages):
        try:
            made.append(deserializer(message.value(), context))
        except Exception:  # the libraries raise all sorts: EOFError, DecodeError, SerializationError, IndexError
            bad.append(place)
        else:
            good.append(place)
    return made, good, bad
