"""Partition values: the text that stands for them in the log, and a batch in pieces of one value each.

Delta's rule for text: an empty string reads back as NULL, so such a row goes where the nulls go; where the column
is NOT NULL it does not fit. File names are flat, so no value is ever part of a path, whatever characters it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.sinks.contract import Misfit
from penstock.sinks.delta.stats import day_of, moment_of

T = TypeVar("T")
Key = tuple[str | None, ...]
"""The values of the partition columns, as text, in the table's order."""


class NoText(ValueError):
    """A partition value that cannot be written down, such as a day after the year 9999."""


def text_of(value: Any, kind: pa.DataType) -> str | None:
    """A value as Spark reads it back. Days and moments come as numbers, as Arrow stores them."""
    if pa.types.is_string(kind):
        text = value or None
    elif pa.types.is_boolean(kind):
        text = "true" if value else "false"
    elif pa.types.is_decimal(kind):
        text = format(value, "f")
    elif pa.types.is_floating(kind):
        text = _float_text(value, kind)
    elif pa.types.is_date(kind):
        text = _known(day_of(value))
    elif pa.types.is_timestamp(kind):
        text = _moment_text(_known(moment_of(value)), kind.tz is not None)
    else:
        text = str(value)
    return text


def _float_text(value: float, kind: pa.DataType) -> str:
    """As Java writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = str(np.float32(value)) if pa.types.is_float32(kind) else repr(value)
    mantissa, _, exponent = shortest.partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _moment_text(moment: datetime, zoned: bool) -> str:
    """With a zone: the ISO form, which means the same in every session; without: Delta's plain form."""
    plain = moment.replace(tzinfo=None)
    if zoned:
        return plain.isoformat(timespec="microseconds") + "Z"
    return plain.isoformat(sep=" ", timespec="microseconds" if moment.microsecond else "seconds")


def _known(value: T | None) -> T:
    if value is None:
        raise NoText("outside the years 1 to 9999")
    return value


class Partitioner:
    """Cuts batches by the values of the partition columns."""

    def __init__(self, columns: pa.Schema, partition_by: tuple[str, ...]) -> None:
        self.partition_by = partition_by
        self.fields = {name: columns.field(name) for name in partition_by if name in columns.names}

    def values(self, key: Key) -> dict[str, str | None]:
        return dict(zip(self.partition_by, key, strict=True))

    def without_empty(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Empty text as the null that it is read back as, so that log and file say the same."""
        for name, field in self.fields.items():
            if pa.types.is_string(field.type):
                filled = pc.if_else(pc.equal(rows[name], ""), pa.scalar(None, field.type), rows[name])
                rows = rows.set_column(rows.schema.get_field_index(name), field.with_nullable(True), filled)
        return rows

    def misfits(self, rows: pa.RecordBatch) -> Iterator[Misfit]:
        """Rows whose value has no text, or only that of NULL where NULL may not stand."""
        for name, field in self.fields.items():
            codes, words = self._coded(rows[name], field)
            for code, word in enumerate(words[:-1]):
                detail = word.args[0] if isinstance(word, NoText) else "empty, which reads back as NULL"
                if isinstance(word, NoText) or (word is None and not field.nullable):
                    for row in np.flatnonzero(codes == code):
                        yield Misfit(int(row), f"/{name}", f"The value of this partition column is {detail}.")

    def pieces(self, rows: pa.RecordBatch) -> Iterator[tuple[Key, np.ndarray[Any, Any] | None]]:
        """Each value, with the numbers of its rows; None for "all of them". One key may come more than once."""
        codes = np.zeros(rows.num_rows, dtype=np.int64)
        columns: dict[str, tuple[np.ndarray[Any, Any], list[Any]]] = {}
        for name, field in self.fields.items():
            columns[name] = self._coded(rows[name], field)
            codes = codes * len(columns[name][1]) + columns[name][0]
        order = np.argsort(codes, kind="stable")
        cuts = np.flatnonzero(np.diff(codes[order])) + 1
        for numbers in np.split(order, cuts):
            key = tuple(_word(columns, name, numbers[0]) for name in self.partition_by)
            yield key, None if len(numbers) == rows.num_rows else numbers

    def _coded(self, array: pa.Array, field: pa.Field) -> tuple[np.ndarray[Any, Any], list[Any]]:
        """A small number for each row, and the text of each number; the last one is null."""
        coded = array.dictionary_encode()
        words = [self._word_of(value, field) for value in _raw(coded.dictionary)]
        codes = pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)
        return codes, [*words, None]

    def _word_of(self, value: Any, field: pa.Field) -> Any:
        try:
            return text_of(value, field.type)
        except NoText as error:
            return error


def _word(columns: dict[str, tuple[np.ndarray[Any, Any], list[Any]]], name: str, row: int) -> Any:
    """The text of a row's value; null for a column of the table that the data does not have."""
    if name not in columns:
        return None
    codes, words = columns[name]
    return words[codes[row]]


def _raw(values: pa.Array) -> list[Any]:
    """Values for `text_of`: days and microseconds as numbers, as not every one of them is a Python date."""
    if pa.types.is_date(values.type):
        return list(values.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(values.type):
        return list(values.cast(pa.int64()).to_pylist())
    return list(values.to_pylist())
