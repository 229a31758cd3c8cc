"""Rows as the table takes them: its types, its order inside structs, its NOT NULL; what does not fit comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.sinks.contract import Misfit


class Fit:
    """Brings batches into the shape of the table's columns."""

    def __init__(self, columns: pa.Schema) -> None:
        self.strict = [field for field in columns if never_null(field)]
        self.shape_of = pa.schema([pa.field(field.name, loose(field.type)) for field in columns])
        """Nothing is marked as never null in the file, as in Spark's: Arrow refuses a null struct with such a field."""

    def shape(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows in the table's columns and types."""
        arrays = [shaped(rows[field.name], field.type) for field in self.shape_of]
        return pa.RecordBatch.from_arrays(arrays, schema=self.shape_of)

    def misfits(self, rows: pa.RecordBatch) -> Iterator[Misfit]:
        """Rows with a null where the table allows none."""
        for field in self.strict:
            for row, at in _nulls(rows[field.name], field, f"/{field.name}"):
                yield Misfit(row, at, "The table's column is NOT NULL, and the value is null.")


def never_null(field: pa.Field) -> bool:
    """Is there a value in this column, at any depth, that must not be null?"""
    kind = field.type
    if not field.nullable:
        return True
    if pa.types.is_struct(kind):
        return any(never_null(inner) for inner in kind)
    if pa.types.is_map(kind):
        return never_null(kind.item_field) or never_null(kind.key_field.with_nullable(True))
    return bool(pa.types.is_list(kind)) and never_null(kind.value_field)


def loose(kind: pa.DataType) -> pa.DataType:
    """The type with null allowed everywhere inside, but in the keys of maps."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, loose(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(pa.field("key", loose(kind.key_type), nullable=False), pa.field("value", loose(kind.item_type)))
    return pa.list_(pa.field("element", loose(kind.value_type))) if pa.types.is_list(kind) else kind


def shaped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array in the table's type. The types are alike but for order and nullability inside structs, and widths."""
    if array.type.equals(kind):
        return array
    if pa.types.is_struct(kind) and pa.types.is_struct(array.type):
        inner = [shaped(pc.struct_field(array, [field.name]), field.type) for field in kind]
        return pa.StructArray.from_arrays(inner, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind) and pa.types.is_list(array.type):
        starts, values = _unsliced(array)
        return pa.ListArray.from_arrays(starts, shaped(values, kind.value_type), type=kind, mask=array.is_null())
    if pa.types.is_map(kind) and pa.types.is_map(array.type):
        starts, entries = _unsliced(array)
        keys, items = (pc.struct_field(entries, [number]) for number in (0, 1))
        return pa.MapArray.from_arrays(
            starts, shaped(keys, kind.key_type), shaped(items, kind.item_type), type=kind, mask=array.is_null()
        )
    return array.cast(kind)


def _unsliced(array: Any) -> tuple[pa.Array, pa.Array]:
    """Offsets that start at 0 and the values they point to: a mask can be laid only over such."""
    lengths = pc.fill_null(pc.list_value_length(array), 0) if not pa.types.is_map(array.type) else _map_lengths(array)
    starts = pa.array(np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))]), pa.int32())
    return starts, array.flatten() if not pa.types.is_map(array.type) else _map_entries(array)


def _as_list(array: pa.MapArray) -> pa.Array:
    """A map as the list of its entries, which it is inside."""
    entries = pa.struct([array.type.key_field, array.type.item_field])
    return array.cast(pa.list_(pa.field("entries", entries, nullable=False)))


def _map_lengths(array: pa.MapArray) -> pa.Array:
    return pc.fill_null(pc.list_value_length(_as_list(array)), 0)


def _map_entries(array: pa.MapArray) -> pa.Array:
    return _as_list(array).flatten()


def _nulls(array: pa.Array, field: pa.Field, at: str) -> Iterator[tuple[int, str]]:
    """The rows where something in this column must not be null and is, with the place as a JSON pointer."""
    if not field.nullable and array.null_count:
        yield from ((int(row), at) for row in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)))
    kind = field.type
    if pa.types.is_struct(kind):
        for number, inner in enumerate(kind):
            if never_null(inner):
                child = pc.struct_field(array, [number])
                for row, place in _nulls(child, inner, f"{at}/{inner.name}"):
                    if array[row].is_valid:
                        yield row, place
    elif (pa.types.is_list(kind) or pa.types.is_map(kind)) and never_null(field.with_nullable(True)):
        yield from _nulls_of_elements(array, kind, at)


def _nulls_of_elements(array: pa.Array, kind: pa.DataType, at: str) -> Iterator[tuple[int, str]]:
    if pa.types.is_map(kind):
        entries, element = _as_list(array), pa.field("entries", pa.struct([kind.key_field, kind.item_field]))
    else:
        entries, element = array, kind.value_field
    parents = pc.list_parent_indices(entries)
    lengths = pc.fill_null(pc.list_value_length(entries), 0).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    for number, place in _nulls(entries.flatten(), element, ""):
        row = parents[number].as_py()
        yield row, f"{at}/{number - int(starts[row])}{place}"
