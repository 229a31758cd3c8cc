"""A file's statistics in Delta's form, from the Parquet footer: what lets readers skip files.

A bound may be loose, never wrong: strings are cut to 32 characters, a cut maximum is made larger; timestamps have
milliseconds, the maximum rounded up; where no right bound can be written, it is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

PREFIX = 32
LARGEST = "\U0010ffff"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Path = tuple[str, ...]


class Leaf(NamedTuple):
    """A column that can have statistics: a plain one, or one inside structs. Arrays and maps count as one."""

    path: Path
    type: pa.DataType
    column: int
    """Its number among the file's Parquet columns."""

    @property
    def plain(self) -> bool:
        return not pa.types.is_nested(self.type)


def leaves(schema: pa.Schema) -> list[Leaf]:
    """Every leaf of the file, in the order of its Parquet columns."""
    found: list[Leaf] = []
    column = 0
    for field in schema:
        for path, kind, width in _walk(field, ()):
            found.append(Leaf(path, kind, column))
            column += width
    return found


def _walk(field: pa.Field, above: Path) -> Iterator[tuple[Path, pa.DataType, int]]:
    path = (*above, field.name)
    if pa.types.is_struct(field.type):
        for inner in field.type:
            yield from _walk(inner, path)
    else:
        yield path, field.type, _width(field.type)


def _width(kind: pa.DataType) -> int:
    """How many Parquet columns a type takes."""
    if pa.types.is_struct(kind):
        return sum(_width(inner.type) for inner in kind)
    if pa.types.is_map(kind):
        return _width(kind.key_type) + _width(kind.item_type)
    return _width(kind.value_type) if pa.types.is_nested(kind) else 1


def indexed(schema: pa.Schema, configuration: Mapping[str, str]) -> list[Leaf]:
    """The leaves that get statistics, by Delta's rule: the first 32, unless the table says otherwise."""
    named = configuration.get("delta.dataSkippingStatsColumns")
    if named is not None:
        names = {tuple(part.strip(" `") for part in name.split(".")) for name in named.split(",")}
        return [leaf for leaf in leaves(schema) if any(leaf.path[: len(name)] == name for name in names)]
    limit = int(configuration.get("delta.dataSkippingNumIndexedCols", PREFIX))
    return leaves(schema)[: None if limit < 0 else limit]


def statistics(footer: Any, wanted: list[Leaf], with_nan: set[Path], null_counts: Mapping[Path, int]) -> str:
    """Delta's statistics of a file, as JSON. Columns in `with_nan` get no bounds: the footer leaves NaN out of them.

    `null_counts` are those that the footer cannot tell: of arrays and maps.
    """
    lowest: dict[str, Any] = {}
    highest: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    for leaf in wanted:
        if not leaf.plain:
            if leaf.path in null_counts:
                _put(nulls, leaf.path, str(null_counts[leaf.path]))
            continue
        parts = [group.column(leaf.column).statistics for group in groups]
        if any(part is None for part in parts):
            continue
        if all(part.has_null_count for part in parts):
            _put(nulls, leaf.path, str(sum(part.null_count for part in parts)))
        if leaf.path not in with_nan:
            low, high = _bounds(leaf.type, parts)
            _put(lowest, leaf.path, low)
            _put(highest, leaf.path, high)
    body = {"numRecords": str(footer.num_rows), "minValues": lowest, "maxValues": highest, "nullCount": nulls}
    return _text(body)


def _bounds(kind: pa.DataType, parts: list[Any]) -> tuple[str | None, str | None]:
    """The smallest and the largest value as JSON text, or None where there is no right one."""
    filled = [part for part in parts if part.num_values or part.has_min_max]
    if not filled or not all(part.has_min_max for part in filled):
        return None, None
    if pa.types.is_boolean(kind) or pa.types.is_binary(kind):
        return None, None
    pairs = [(_plain(kind, part.min_raw), _plain(kind, part.max_raw)) for part in filled]
    return _low(kind, min(low for low, _ in pairs)), _high(kind, max(high for _, high in pairs))


def _plain(kind: pa.DataType, raw: Any) -> Any:
    """The footer's raw value as one that compares as the column does."""
    if pa.types.is_decimal(kind) and isinstance(raw, bytes):
        return int.from_bytes(raw, "big", signed=True)
    return raw.decode() if isinstance(raw, bytes) else raw


def _low(kind: pa.DataType, value: Any) -> str | None:
    if isinstance(value, str):
        return json.dumps(value[:PREFIX])
    return _time(kind, value - value % 1000) if pa.types.is_timestamp(kind) else _exact(kind, value)


def _high(kind: pa.DataType, value: Any) -> str | None:
    if pa.types.is_timestamp(kind):
        return _time(kind, value + -value % 1000)
    if isinstance(value, str) and len(value) > PREFIX:
        # The character appended must be larger than the one cut off, or the bound would lie below the value.
        return json.dumps(value[:PREFIX] + LARGEST) if value[PREFIX] < LARGEST else None
    return json.dumps(value) if isinstance(value, str) else _exact(kind, value)


def _exact(kind: pa.DataType, value: Any) -> str | None:
    if pa.types.is_decimal(kind):
        return decimal_text(value, kind.scale)
    if pa.types.is_date(kind):
        day = day_of(value)
        return day and json.dumps(day)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    return str(value)


def _time(kind: pa.DataType, micros: int) -> str | None:
    moment = moment_of(micros)
    if moment is None:
        return None
    return json.dumps(moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + ("Z" if kind.tz else ""))


def moment_of(micros: int) -> datetime | None:
    """The moment so many microseconds after 1970, or None outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def day_of(days: int) -> str | None:
    """The day so many days after 1970 (`2024-02-29`), or None outside the years 1 to 9999."""
    try:
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def decimal_text(unscaled: int, scale: int) -> str:
    """A decimal at full scale, exactly: (150, 2) is `1.50`."""
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    whole, rest = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
    return ("-" if unscaled < 0 else "") + whole + (f".{rest}" if rest else "")


def _put(tree: dict[str, Any], path: Path, text: str | None) -> None:
    if text is None:
        return
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = text


def _text(tree: dict[str, Any] | str) -> str:
    """JSON of a tree whose leaves are JSON already: decimals must not pass through a float."""
    if isinstance(tree, str):
        return tree
    return "{" + ",".join(f"{json.dumps(name)}:{_text(inner)}" for name, inner in tree.items()) + "}"
