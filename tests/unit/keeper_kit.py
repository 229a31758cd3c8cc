"""A folder that is the registry, pipelines that read from it, records as their producers would have framed them."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

from penstock import Delta, Kafka, Pipeline, Sink
from penstock.engine.schemas import keeper_of
from penstock.formats.avro import Avro
from penstock.formats.framed import Framed
from penstock.formats.types import to_ddl
from penstock.observe.events import Event, SchemaChanged
from penstock.options import Duration
from penstock.schemas.keeper import Keeper
from penstock.schemas.options import RegistryOptions, SchemaChanges

LONG, TEXT = "long", "string"


def record(**fields: Any) -> dict[str, Any]:
    """`id=LONG`; `coupon=(["null", "string"], None)` has a default."""
    made = []
    for name, kind in fields.items():
        more = {"default": kind[1]} if isinstance(kind, tuple) else {}
        made.append({"name": name, "type": kind[0] if isinstance(kind, tuple) else kind, **more})
    return {"type": "record", "name": "Order", "fields": made}


OPTIONAL = (["null", "string"], None)
FIRST = record(id=LONG, name=OPTIONAL)


class Shop:
    """A folder with schemas, and pipelines that read them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[Event] = []
        (folder / "schemas").mkdir()

    def put(self, number: int, body: Any, subject: str = "orders-value") -> dict[str, Any]:
        path = self.folder / "schemas" / subject / f"{number}.avsc"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(body))
        return body  # type: ignore[no-any-return]

    def pipeline(self, decode: Avro | None = None, **changes: Any) -> Pipeline:
        return Pipeline(
            name="p",
            folder=self.folder,
            source=Kafka(brokers=("localhost:9092",), topics=("orders", "returns")),
            registry=RegistryOptions(folder="schemas", unknown_id_wait=Duration("1 millisecond")),
            decode=decode or Avro(),
            schema_changes=SchemaChanges(**changes),
            sinks={
                "lake": Sink(to=Delta(table="./lake/t", writer="spark" if changes.get("widen") == "evolve" else "auto"))
            },
        )

    def keeper(self, decode: Avro | None = None, **changes: Any) -> Keeper:
        pipeline = self.pipeline(decode, **changes)
        made = keeper_of(pipeline, lambda: Path(pipeline.state), self.told.append)
        assert made is not None
        made.open(["orders"])
        return made

    @property
    def news(self) -> list[SchemaChanged]:
        return [event for event in self.told if isinstance(event, SchemaChanged)]


def framed(number: int, body: Any, value: dict[str, Any]) -> bytes:
    out = io.BytesIO(struct.pack(">bI", 0, number))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(body), value)
    return out.getvalue()


def rows(bound: Framed, values: list[bytes | None], topic: str = "orders") -> tuple[list[dict[str, Any]], list[str]]:
    decoder = bound.decoder().of_topic(topic)  # type: ignore[attr-defined]
    made = decoder.decode(pa.array(values, pa.binary()))
    return made.data.to_pylist(), [verdict.code for verdict in made.verdicts]


def columns(keeper: Keeper) -> str:
    return to_ddl(keeper.reader.fields)
