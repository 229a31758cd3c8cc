"""Versions of an Avro schema by their number, a folder that holds them, and records framed with their number."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro

ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
QTY = {"name": "qty", "type": "int", "default": 1}


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": list(fields)}


def address(*more: dict[str, Any]) -> dict[str, Any]:
    city = {"name": "city", "type": "string"}
    return {"type": "record", "name": "Address", "fields": [city, *more]}


ZIP = {"name": "zip", "type": ["null", "string"], "default": None}
NESTED = [
    schema(ID, {"name": "home", "type": each}, {"name": "others", "type": {"type": "array", "items": "Address"}})
    for each in (address(), address(ZIP))
]
VERSIONS = {
    7: schema(ID, QTY),
    8: schema(ID, {**QTY, "type": "long"}),
    5: NESTED[0],
    6: NESTED[1],
    1: schema(ID, NOTE),
    2: schema(ID, NOTE, QTY),
    3: schema(ID, QTY),
    4: schema({**ID, "type": "string"}, NOTE),
}


def put(folder: Path, *numbers: int) -> None:
    for number in numbers:
        path = folder / "schemas" / "t-value" / f"{number}.avsc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(VERSIONS[number]))


def framed(number: int, **value: Any) -> bytes:
    out = io.BytesIO(struct.pack(">bI", 0, number))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(VERSIONS[number]), value)
    return out.getvalue()
