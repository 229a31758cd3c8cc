"""Which columns can be sent."""

from __future__ import annotations

import pyarrow as pa

from penstock.errors import SinkRefused
from penstock.formats.encode.json_values import encodable


def check_columns(sink: str, columns: pa.Schema) -> None:
    """Refuse a column that JSON has no text for."""
    for column in columns:
        if not column.name.startswith("_") and not encodable(column.type):
            raise SinkRefused(
                f"sink {sink}: column `{column.name}` is of a type that JSON has no text for: {column.type}.",
                data="This sink wrote nothing.",
                remedy="Cast it to STRING in a step, or leave it out.",
            )
