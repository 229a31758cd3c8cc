"""Producers with Confluent's own serializers, whose schemas evolve; and the pipeline that reads them."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from deltalake import DeltaTable

from penstock.dev.records import produce, produce_pairs
from penstock.testing.harness import Case

ID = {"name": "id", "type": "long"}
AMOUNT = {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}}


def optional(name: str, kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None, **more}


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": list(fields)})


@dataclass
class Shop:
    """Topics, a registry, and what was sent: the truth that the table is held against."""

    bootstrap: str
    registry: str
    sent: list[dict[str, Any]] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        self.client = SchemaRegistryClient({"url": self.registry})

    def send(self, topic: str, schema: str, values: Iterable[dict[str, Any]]) -> None:
        """Records of this schema; each gets an id. The serializer registers the schema."""
        self._send(topic, AvroSerializer(self.client, schema), values)

    def sender(self, topic: str, schema: str) -> Callable[[Iterable[dict[str, Any]]], None]:
        """The same, with the schema registered now: later the registry may be away."""
        serializer = AvroSerializer(self.client, schema)
        serializer({"id": 0}, SerializationContext(topic, MessageField.VALUE))
        return lambda values: self._send(topic, serializer, values)

    def _send(self, topic: str, serializer: AvroSerializer, values: Iterable[dict[str, Any]]) -> None:
        context = SerializationContext(topic, MessageField.VALUE)
        whole = [{"id": number, **value} for number, value in enumerate(values, self.number + 1)]
        pairs = [(str(each["id"]).encode(), serializer(each, context)) for each in whole]
        self.number += produce_pairs(self.bootstrap, topic, pairs)
        self.sent += whole

    def send_raw(self, topic: str, values: Iterable[bytes | None]) -> None:
        produce(self.bootstrap, topic, values)

    def id_of(self, topic: str) -> int:
        """The id of the topic's newest schema."""
        return int(self.client.get_latest_version(f"{topic}-value").schema_id or 0)

    def compatibility(self, subject: str, level: str) -> None:
        body = json.dumps({"compatibility": level}).encode()
        asked = urllib.request.Request(f"{self.registry}/config/{subject}", body, {"Content-Type": "application/json"})
        asked.method = "PUT"
        urllib.request.urlopen(asked, timeout=10).close()


def avro_case(folder: Path, shop: Shop, topics: list[str], **settings: Any) -> Case:
    spec = {
        "pipeline": "p",
        "source": {"kafka": {"brokers": [shop.bootstrap], "topics": topics}},
        "registry": {"url": shop.registry, "timeout": "5 seconds", "unknown_id_wait": "1 second"},
        "decode": {"avro": {}},
        "sinks": {"lake": {"delta": {"table": "./lake/t"}}},
        "trigger": "as_fast_as_possible",
        **settings,
    }
    return Case(folder, spec)


def table(case: Case) -> list[dict[str, Any]]:
    """Every row by id; a doubled row shows."""
    rows = DeltaTable(str(case.table())).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def cents(number: int) -> Decimal:
    return Decimal(number).scaleb(-2)
