"""Rows as JSON objects, column by column in Arrow: no row ever becomes a Python object.

Every column, at any depth, is turned into an array of JSON texts; structs join the texts of their fields, lists and
maps those of their elements. What `decode: json` reads is what is written here:

- integers, BOOLEAN: their literals. FLOAT, DOUBLE: the shortest number that reads back the same; NaN and Infinity are
  not JSON, so their row is a misfit.
- DECIMAL: a number with all digits of its scale, never with an exponent.
- TIMESTAMP: `2026-01-31T12:00:00.000000Z`, DATE: `2026-01-31`; outside the years 0001 to 9999 they have no such text.
- STRING: with only those characters escaped that must be. BINARY: base64. MAP: an object, its keys as their text.
- null is written as null, also in the columns of the row.
"""

from __future__ import annotations

import math
from binascii import b2a_base64
from collections.abc import Container, Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.encode.contract import Encoded, Flaw

PIECE_BYTES = 32 * 2**20
"""Rows are encoded in pieces of about this size: Arrow's texts hold at most 2 GB."""
_ESCAPED = r'["\\\x00-\x1f]'
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DAY = 86_400 * 1_000_000


def encode(rows: pa.RecordBatch, sparse: bool = False, kept: Container[str] = ()) -> Encoded:
    """Every row as one JSON object, in the order of its columns.

    `sparse` leaves out what is null, at any depth, but for these columns of the row.
    """
    pieces = [_piece(piece, start, sparse, kept) for start, piece in _pieces(rows)]
    values = pa.concat_arrays([piece.values for piece in pieces]) if len(pieces) != 1 else pieces[0].values
    return Encoded(values, [flaw for piece in pieces for flaw in piece.flaws])


def encodable(kind: pa.DataType) -> bool:
    """Has every value of this type a text in JSON (but for those that are flaws)?"""
    if pa.types.is_struct(kind):
        return all(encodable(field.type) for field in kind)
    if pa.types.is_map(kind):
        return _is_plain(kind.key_type) and encodable(kind.item_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return encodable(kind.value_type)
    return _is_plain(kind)


def _is_plain(kind: pa.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_date32,
            pa.types.is_timestamp, pa.types.is_null, _is_text, _is_bytes,
        )
    )  # fmt: skip


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _pieces(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    step = max(1, rows.num_rows * PIECE_BYTES // max(1, rows.nbytes))
    for start in range(0, max(1, rows.num_rows), step):
        yield start, rows.slice(start, step)


def _piece(rows: pa.RecordBatch, start: int, sparse: bool, kept: Container[str]) -> Encoded:
    fields = [(field.name, rows.column(place)) for place, field in enumerate(rows.schema)]
    text, flaws = _object(fields, rows.num_rows, sparse, kept)
    flaws = sorted(flaw._replace(row=flaw.row + start) for flaw in flaws)
    return Encoded(text.cast(pa.binary()), flaws)


def _object(
    fields: list[tuple[str, pa.Array]], count: int, sparse: bool, kept: Container[str] = ()
) -> tuple[pa.Array, list[Flaw]]:
    """One object a row of these columns."""
    if not fields:
        return pa.array(["{}"] * count, pa.string()), []
    parts: list[Any] = []
    flaws: list[Flaw] = []
    for name, array in fields:
        text, found = texts(array, sparse)
        head = ("," if parts or sparse else "{") + msgspec.json.encode(name).decode() + ":"
        if sparse and name not in kept:
            parts.append(pc.if_else(array.is_valid(), _glued(head, text), ""))
        else:
            parts += [head, text]
        flaws += [flaw._replace(field=f"/{name}{flaw.field}") for flaw in found]
    return (_opened(_glued(*parts)) if sparse else _glued(*parts, "}")), flaws


def _opened(members: pa.Array) -> pa.Array:
    """Members that each begin with a comma, as objects."""
    opened = pc.binary_replace_slice(members.cast(pa.binary()), 0, 1, b"{").cast(pa.string())
    return _glued(pc.if_else(pc.equal(members, ""), "{", opened), "}")


def texts(array: pa.Array, sparse: bool = False) -> tuple[pa.Array, list[Flaw]]:
    """The JSON text of every value, none of them null; and those that have none."""
    kind = array.type
    if pa.types.is_null(kind):
        return pa.array(["null"] * len(array), pa.string()), []
    if pa.types.is_struct(kind):
        children = array.flatten()  # null where the struct is
        fields = [(field.name, child) for field, child in zip(kind, children, strict=True)]
        text, flaws = _object(fields, len(array), sparse)
        return _or_null(text, array), [flaw for flaw in flaws if array[flaw.row].is_valid]
    if pa.types.is_map(kind):
        return _map(array, sparse)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list(array, sparse)
    return _plain(array)


def _list(array: pa.Array, sparse: bool) -> tuple[pa.Array, list[Flaw]]:
    elements, flaws = texts(array.flatten(), sparse)
    starts = _starts(array)
    return _or_null(_glued("[", _joined(starts, elements), "]"), array), _of_rows(flaws, starts)


def _map(array: pa.Array, sparse: bool) -> tuple[pa.Array, list[Flaw]]:
    pairs = pa.struct([array.type.key_field, array.type.item_field])
    entries = array.cast(pa.list_(pa.field("entries", pairs, nullable=False)))
    keys, items = entries.flatten().flatten()
    item_texts, flaws = texts(items, sparse)
    starts = _starts(entries)
    joined = _joined(starts, _glued(_as_key(keys), ":", item_texts))
    return _or_null(_glued("{", joined, "}"), array), _of_rows(flaws, starts)


def _as_key(keys: pa.Array) -> pa.Array:
    """Map keys as JSON texts: what is no text already is put in quotes."""
    text, _ = texts(keys)
    kind = keys.type
    is_quoted = _is_text(kind) or _is_bytes(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    return text if is_quoted else _glued('"', text, '"')


def _plain(array: pa.Array) -> tuple[pa.Array, list[Flaw]]:
    kind = array.type
    if _is_text(kind):
        return _or_null(_quoted(array.cast(pa.string())), array), []
    if _is_bytes(kind):
        coded = [None if each is None else b2a_base64(each, newline=False) for each in array.to_pylist()]
        return _or_null(_glued('"', pa.array(coded, pa.binary()).cast(pa.string()), '"'), array), []
    if pa.types.is_timestamp(kind):
        return _times(array)
    if pa.types.is_date32(kind):
        days = array.cast(pa.int32())
        text = _glued('"', array.cast(pa.string()), '"')
        return _or_null(text, array), _outside(days, _FIRST_DAY, _LAST_DAY)
    text = array.cast(pa.string())
    if pa.types.is_floating(kind):
        return _or_null(text, array), _endless(array)
    return _or_null(_unscientific(text) if pa.types.is_decimal(kind) else text, array), []


def _times(array: pa.Array) -> tuple[pa.Array, list[Flaw]]:
    """ISO 8601; with a `Z` unless the column is a time without a zone. Arrow's own text for a zone is slow to make."""
    micros = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.timestamp("us"))
    day = pc.binary_replace_slice(micros.cast(pa.string()), 10, 11, "T")
    text = _glued('"', day, 'Z"' if array.type.tz else '"')
    return _or_null(text, array), _outside(micros.cast(pa.int64()), _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1)


def _quoted(array: pa.Array) -> pa.Array:
    """Texts in quotes. Few need escapes; those go through msgspec one by one."""
    text = _glued('"', array, '"')
    odd = pc.fill_null(pc.match_substring_regex(array, _ESCAPED), False)
    if not pc.any(odd).as_py():
        return text
    escaped = [msgspec.json.encode(each).decode() for each in array.filter(odd).to_pylist()]
    return pc.replace_with_mask(text, odd, pa.array(escaped, pa.string()))


def _unscientific(text: pa.Array) -> pa.Array:
    """Decimals without an exponent, which Arrow writes for very small ones."""
    odd = pc.fill_null(pc.match_substring(text, "E"), False)
    if not pc.any(odd).as_py():
        return text
    from decimal import Decimal

    plain = [format(Decimal(each), "f") for each in text.filter(odd).to_pylist()]
    return pc.replace_with_mask(text, odd, pa.array(plain, pa.string()))


def _endless(array: pa.Array) -> list[Flaw]:
    finite = pc.fill_null(pc.is_finite(array), True)
    if pc.all(finite).as_py() is not False:
        return []
    rows = pc.indices_nonzero(pc.invert(finite)).to_pylist()
    return [Flaw(row, "", f"The value is {_word(array[row].as_py())}, which JSON cannot say.") for row in rows]


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _outside(numbers: pa.Array, least: int, most: int) -> list[Flaw]:
    ends = pc.min_max(numbers).as_py()
    if ends["min"] is None or (ends["min"] >= least and ends["max"] <= most):
        return []
    strange = pc.fill_null(pc.or_(pc.less(numbers, least), pc.greater(numbers, most)), False)
    why = "The time lies outside the years 0001 to 9999, which ISO 8601 cannot say."
    return [Flaw(row, "", why) for row in pc.indices_nonzero(strange).to_pylist()]


def _glued(*parts: Any) -> pa.Array:
    """Texts and arrays of texts, put together row by row."""
    return pc.binary_join_element_wise(*parts, "")


def _or_null(text: pa.Array, array: pa.Array) -> pa.Array:
    """The texts, and `null` where the array has none."""
    if array.null_count == 0:
        return text
    return pc.if_else(array.is_valid(), text, "null")


def _joined(starts: np.ndarray[Any, Any], elements: pa.Array) -> pa.Array:
    """The elements of each list, with commas between them; nothing for an empty or null list."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(starts, pa.int32()), elements), ",")


def _starts(lists: pa.Array) -> np.ndarray[Any, Any]:
    """Where each list begins among the flattened elements, and where the last one ends."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths)])


def _of_rows(flaws: list[Flaw], starts: np.ndarray[Any, Any]) -> list[Flaw]:
    """Flaws of elements as flaws of the rows that hold them."""
    found = []
    for flaw in flaws:
        row = int(np.searchsorted(starts, flaw.row, side="right")) - 1
        found.append(Flaw(row, f"/{flaw.row - int(starts[row])}{flaw.field}", flaw.detail))
    return found
