"""Avro schemas and values for property tests, and what fastavro, the oracle, makes of them in our terms."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
from hypothesis import strategies as st

from penstock.formats.avro.codec import AvroCodec
from penstock.formats.contract import Decoded
from penstock.schemas.contract import Schema

CODEC = AvroCodec()
_TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
_FLOATS = st.floats(width=32, allow_nan=False)


def schema(body: Any, number: int = 1) -> Schema:
    return Schema(number, "avro", json.dumps(body))


def leaf(kind: Any, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.just((kind, values))


def _logical(base: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


LEAVES = st.one_of(
    leaf("boolean", st.booleans()),
    leaf("int", st.integers(-(2**31), 2**31 - 1)),
    leaf("long", st.integers(-(2**63), 2**63 - 1)),
    leaf("float", _FLOATS),
    leaf("double", st.floats(allow_nan=False)),
    leaf("string", st.text(max_size=12)),
    leaf("bytes", st.binary(max_size=12)),
    leaf({"type": "fixed", "name": "F5", "size": 5}, st.binary(min_size=5, max_size=5)),
    leaf({"type": "enum", "name": "E3", "symbols": ["A", "B", "C"]}, st.sampled_from("ABC")),
    leaf(_logical("int", "date"), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    leaf(_logical("int", "time-millis"), st.integers(0, 86_399_999)),
    leaf(_logical("long", "timestamp-micros"), _TIMES.map(lambda at: at.replace(tzinfo=UTC))),
    leaf(
        _logical("long", "timestamp-millis"),
        _TIMES.map(lambda at: at.replace(tzinfo=UTC, microsecond=at.microsecond // 1000 * 1000)),
    ),
    leaf(_logical("long", "local-timestamp-micros"), _TIMES),
    leaf(_logical("string", "uuid"), st.uuids().map(str)),
    leaf(
        _logical("bytes", "decimal", precision=9, scale=2),
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda number: Decimal(number).scaleb(-2)),
    ),
    leaf(
        _logical("bytes", "decimal", precision=38, scale=3),
        st.integers(-(10**28) + 1, 10**28 - 1).map(lambda number: Decimal(number).scaleb(-3)),
    ),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda one: (["null", one[0]], st.none() | one[1])),
        inner.map(lambda one: ([one[0], "null"], st.none() | one[1])),
        inner.map(lambda one: ({"type": "array", "items": one[0]}, st.lists(one[1], max_size=4))),
        inner.map(
            lambda one: ({"type": "map", "values": one[0]}, st.dictionaries(st.text(max_size=3), one[1], max_size=3))
        ),
        st.lists(inner, min_size=1, max_size=3).map(_record),
    ).filter(lambda one: not (isinstance(one[0], list) and any(isinstance(each, list) for each in one[0])))


def _record(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    fields = [{"name": f"f{number}", "type": kind} for number, (kind, _) in enumerate(parts)]
    values = st.fixed_dictionaries({f"f{number}": made for number, (_, made) in enumerate(parts)})
    return {"type": "record", "name": "Inner", "fields": fields}, values


TYPES = st.recursive(LEAVES, nested, max_leaves=4)
RECORDS = st.lists(TYPES, min_size=1, max_size=5).map(_record).map(lambda one: (renamed(one[0]), one[1]))


def renamed(body: Any, seen: list[int] | None = None) -> Any:
    """The same type, every named one under a name of its own: Avro takes none twice."""
    seen = seen if seen is not None else [0]
    if isinstance(body, list):
        return [renamed(each, seen) for each in body]
    if not isinstance(body, dict):
        return body
    made = {key: renamed(value, seen) if key in ("items", "values", "type") else value for key, value in body.items()}
    if "name" in made and made["type"] in ("record", "enum", "fixed"):
        seen[0] += 1
        made["name"] = f"N{seen[0]}"
    if "fields" in made:
        made["fields"] = [{**field, "type": renamed(field["type"], seen)} for field in made["fields"]]
    return made


def encoded(body: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(body), value)
    return out.getvalue()


def oracle(data: bytes, writer: Any, reader: Any = None) -> Any:
    """What fastavro reads, in our terms. Raises what it raises; ValueError where bytes are left over."""
    source = io.BytesIO(data)
    wanted = fastavro.parse_schema(plain_times(reader)) if reader else None
    made = fastavro.schemaless_reader(source, fastavro.parse_schema(plain_times(writer)), wanted)
    if source.read(1):
        raise ValueError("bytes are left over")
    return ours(made)


def plain_times(body: Any) -> Any:
    """Without the logical types of which we keep the plain value."""
    if isinstance(body, list):
        return [plain_times(each) for each in body]
    if not isinstance(body, dict):
        return body
    kept = {key: value for key, value in body.items() if key != "logicalType" or value not in ("uuid", "time-millis")}
    return {
        key: plain_times(value) if key in ("type", "items", "values", "fields") else value
        for key, value in kept.items()
    }


def ours(value: Any) -> Any:
    """fastavro's value as our columns hold it."""
    if isinstance(value, dict):
        return {name: ours(each) for name, each in value.items()}
    if isinstance(value, list):
        return [ours(each) for each in value]
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return value


def decoded(data: list[bytes], writer: Any, reader: Any = None) -> Decoded:
    """What our decoder makes of these payloads."""
    readers = schema(reader or writer)
    return CODEC.payloads(schema(writer), CODEC.fields(readers), readers).decode(pa.array(data, pa.binary()))


def plain(value: Any, kind: Any) -> Any:
    """A row of ours as the oracle has it: maps as dicts."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {name: plain(each, kind.item_type) for name, each in value}
    if pa.types.is_list(kind):
        return [plain(each, kind.value_type) for each in value]
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def rows_of(made: Decoded) -> list[dict[str, Any]]:
    kinds = {field.name: field.type for field in made.data.schema}
    return [{name: plain(row[name], kind) for name, kind in kinds.items()} for row in made.data.to_pylist()]
