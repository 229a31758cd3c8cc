"""Decoded shadow columns into the columns of a row: texts, names of enums, times, lists, maps, structs.

A reader is a function: an array of the shadow's type in, an array of the column's type out, with the values that are
no such thing. Reader and writer may be different schemas: fields are found by their number, and numbers widened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaRefused
from penstock.formats.arrow_types import arrow_type
from penstock.formats.protobuf.changes import WIDER
from penstock.formats.protobuf.shadow import BYTES, INT32, INT64, MESSAGE, Shadow, add
from penstock.formats.protobuf.types import DURATION, ENUM, JSON_TEXT, TIMESTAMP, WRAPPERS, is_map, single
from penstock.formats.spans import is_text
from penstock.formats.types import Field, Type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto

TEXT = 9
FIRST_SECOND, LAST_SECOND, LONGEST = -62_135_596_800, 253_402_300_799, 315_576_000_000


class Flaw(NamedTuple):
    """A value that a column cannot hold: its place in the array, and below it."""

    row: int
    path: str
    detail: str


Read: TypeAlias = "tuple[pa.Array, list[Flaw]]"
Reader: TypeAlias = Callable[[Any], Read]


class Column(NamedTuple):
    """One column of a struct: under which name its values stand in the shadow (empty: nowhere), how they are read."""

    field: Field
    source: str
    read: Reader


def columns_of(
    shadow: Shadow, message: DescriptorProto, fields: tuple[Field, ...], writer: Descriptor, readers: Descriptor
) -> list[Column]:
    """Readers of these fields; `message` is the shadow of the writer's and gains what they need."""
    found = []
    for field in fields:
        known = readers.fields_by_name.get(field.name)
        source = writer.fields_by_number.get(known.number) if known is not None else None
        if source is None:
            found.append(Column(field, "", _none(field.type)))
        else:
            found.append(Column(field, *_field(shadow, message, field, source, known)))
    return found


def read_struct(columns: list[Column], rows: Any) -> tuple[list[pa.Array], list[Flaw]]:
    """The columns of these rows, decoded structs, and the flaws of all of them."""
    arrays, flaws = [], []
    for column in columns:
        array, found = column.read(rows.field(column.source) if column.source else rows)
        arrays.append(array)
        flaws += [flaw._replace(path=f"/{column.field.name}{flaw.path}") for flaw in found]
    return arrays, flaws


def _none(kind: Type) -> Reader:
    return lambda array: (pa.nulls(len(array), arrow_type(kind)), [])


def _field(
    shadow: Shadow, message: DescriptorProto, field: Field, source: FieldDescriptor, known: FieldDescriptor
) -> tuple[str, Reader]:
    """Add a field to the shadow; says its name there and how the column is read from it."""
    kind = field.type
    if is_map(source) and kind.name == "MAP":
        return _map(shadow, message, field, source, known)
    if source.is_repeated != (kind.name == "ARRAY") or is_map(source):
        raise _differs(field, source)
    inner = kind.element if source.is_repeated else kind
    assert inner is not None
    number, of, read = _single(shadow, field, inner, source, known)
    presence = bool(source.has_presence)
    name = add(message, source.number, number, of=of, repeated=bool(source.is_repeated), presence=presence)
    return name, (_list(read, kind) if source.is_repeated else read)


def _single(
    shadow: Shadow, field: Field, kind: Type, source: FieldDescriptor, known: FieldDescriptor
) -> tuple[int, str, Reader]:
    """Type of one value in the shadow, its message if it is one, and how it is read."""
    if source.type == MESSAGE and kind.name == "STRUCT" and single(source).name == "STRUCT":
        return _struct(shadow, kind, source.message_type, known.message_type or source.message_type)
    own = single(source)
    if own != kind and (str(own), str(kind)) not in WIDER:
        raise _differs(field, source)
    target = arrow_type(kind)
    if source.type == MESSAGE:
        return _well_known(shadow, source.message_type, target)
    if source.type == TEXT:
        return BYTES, "", _text
    if source.type == ENUM:
        return INT32, "", _names(source)
    return int(source.type), "", _plain(target)


def _struct(shadow: Shadow, kind: Type, writer: Descriptor, readers: Descriptor) -> tuple[int, str, Reader]:
    message = shadow.message()
    columns = columns_of(shadow, message, kind.fields, writer, readers)
    fields = list(arrow_type(kind))

    def read(array: Any) -> Read:
        arrays, flaws = read_struct(columns, array)
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask), flaws

    if not message.field:  # none of its fields is wanted: that it is there is all
        return BYTES, "", read
    return MESSAGE, str(message.name), read


def _well_known(shadow: Shadow, message: Descriptor, target: pa.DataType) -> tuple[int, str, Reader]:
    name = message.full_name
    if name in JSON_TEXT:
        return BYTES, "", _json(message)
    if not message.fields:
        return BYTES, "", lambda array: (pc.if_else(array.is_valid(), True, None), [])
    own = shadow.message()
    if name in WRAPPERS:
        value = message.fields_by_name["value"]
        read = _text if value.type == TEXT else _plain(target)
        add(own, 1, BYTES if value.type == TEXT else int(value.type), repeated=False, presence=False)
        return MESSAGE, str(own.name), _unwrapped(read)
    assert name in (TIMESTAMP, DURATION)
    add(own, 1, INT64, repeated=False, presence=False)
    add(own, 2, INT32, repeated=False, presence=False)
    return MESSAGE, str(own.name), _instant if name == TIMESTAMP else _span


def _map(
    shadow: Shadow, message: DescriptorProto, field: Field, source: FieldDescriptor, known: FieldDescriptor
) -> tuple[str, Reader]:
    """A map travels as a list of messages {key = 1, value = 2}."""
    assert field.type.element is not None
    key, value = (source.message_type.fields_by_name[name] for name in ("key", "value"))
    other = known.message_type.fields_by_name["value"] if is_map(known) else value
    number, of, read_value = _single(shadow, field, field.type.element, value, other)
    entry = shadow.message()
    add(entry, 1, BYTES if key.type == TEXT else int(key.type), repeated=False, presence=False)
    add(entry, 2, number, of=of, repeated=False, presence=bool(value.has_presence))
    read_key = _text if key.type == TEXT else _plain(pa.string())
    target = arrow_type(field.type)

    def read(array: Any) -> Read:
        starts, entries = array.offsets, array.values
        keys, flaws = read_key(entries.field(0))
        items, more = read_value(entries.field(1))
        return pa.MapArray.from_arrays(starts, keys, items, type=target), _above([*flaws, *more], starts)

    return add(message, source.number, MESSAGE, of=str(entry.name), repeated=True, presence=False), read


def _list(read: Reader, kind: Type) -> Reader:
    target = arrow_type(kind)

    def read_list(array: Any) -> Read:
        values, flaws = read(array.values)
        return pa.ListArray.from_arrays(array.offsets, values, type=target), _above(flaws, array.offsets)

    return read_list


def _above(flaws: list[Flaw], starts: pa.Array) -> list[Flaw]:
    """Flaws of elements as flaws of the lists that hold them."""
    if not flaws:
        return []
    places = starts.to_numpy()
    rows = np.searchsorted(places, [flaw.row for flaw in flaws], side="right") - 1
    return [
        Flaw(int(row), f"/{flaw.row - int(places[row])}{flaw.path}", flaw.detail)
        for row, flaw in zip(rows, flaws, strict=True)
    ]


def _plain(target: pa.DataType) -> Reader:
    return lambda array: (array if array.type == target else array.cast(target), [])


def _text(array: Any) -> Read:
    """Bytes as text. Google's runtime checks those of proto3; in proto2 they may be anything."""
    try:
        return array.cast(pa.string()), []
    except pa.ArrowInvalid:
        sound = [None if each is None else is_text(each) for each in array.to_pylist()]
        flaws = [Flaw(row, "", "The text is not UTF-8.") for row, good in enumerate(sound) if good is False]
        return pc.if_else(pa.array(sound, pa.bool_()), array, b"").cast(pa.string()), flaws


def _names(source: FieldDescriptor) -> Reader:
    """Names of an enum's numbers; a number without a name as its digits. Of two names, the one that stands first."""
    names: dict[int, str] = {}
    for value in source.enum_type.values:
        names.setdefault(value.number, value.name)
    numbers, texts = pa.array(names, pa.int32()), pa.array(names.values(), pa.string())

    def read(array: Any) -> Read:
        found = texts.take(pc.index_in(array, value_set=numbers))
        if found.null_count > array.null_count:
            found = pc.coalesce(found, array.cast(pa.string()))
        return found, []

    return read


def _unwrapped(read: Reader) -> Reader:
    def unwrap(array: Any) -> Read:
        values, flaws = read(array.field(0))
        return (pc.if_else(array.is_valid(), values, None) if array.null_count else values), flaws

    return unwrap


def _instant(array: Any) -> Read:
    seconds, nanos = array.field(0).to_numpy(), array.field(1).to_numpy()
    bad = (seconds < FIRST_SECOND) | (seconds > LAST_SECOND) | (nanos < 0) | (nanos > 999_999_999)
    micros = np.where(bad, 0, seconds) * 1_000_000 + nanos // 1000
    why = "The time lies outside the years 0001 to 9999, or its nanos are none."
    return _numbers(array, micros).cast(pa.timestamp("us", "UTC")), _flaws(bad, why)


def _span(array: Any) -> Read:
    seconds, nanos = array.field(0).to_numpy(), array.field(1).to_numpy().astype(np.int64)
    bad = (np.abs(seconds) > LONGEST) | (seconds == np.iinfo(np.int64).min) | (np.abs(nanos) > 999_999_999)
    bad |= (np.sign(seconds) * np.sign(nanos)) < 0
    micros = np.where(bad, 0, seconds) * 1_000_000 + (np.sign(nanos) * (np.abs(nanos) // 1000))
    return _numbers(array, micros), _flaws(bad, "The duration is longer than 10,000 years, or its nanos are none.")


def _numbers(array: Any, micros: np.ndarray[Any, Any]) -> pa.Array:
    nulls = ~array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(micros, pa.int64(), mask=nulls)


def _flaws(bad: np.ndarray[Any, Any], why: str) -> list[Flaw]:
    return [Flaw(int(row), "", why) for row in np.flatnonzero(bad)]


def _json(message: Descriptor) -> Reader:
    """The JSON text of each value, keys in order: the same bytes give the same text."""
    from google.protobuf.json_format import MessageToJson
    from google.protobuf.message_factory import GetMessageClass

    kind = GetMessageClass(message)

    def read(array: Any) -> Read:
        texts: list[str | None] = []
        flaws = []
        for row, data in enumerate(array.to_pylist()):
            try:
                texts.append(
                    None if data is None else MessageToJson(kind.FromString(data), indent=None, sort_keys=True)
                )
            except (ValueError, RecursionError, TypeError) as error:
                texts.append(None)
                flaws.append(Flaw(row, "", f"It has no JSON text: {error}"[:300]))
        return pa.array(texts, pa.string()), flaws

    return read


def _differs(field: Field, source: FieldDescriptor) -> SchemaRefused:
    kind = "repeated " if source.is_repeated else ""
    return SchemaRefused(
        f"field {field.name}: the row's type is {field.type}, and the writer's schema says {kind}{source.full_name}, "
        "which is no such value.",
        data="No record was decoded with it.",
    )
