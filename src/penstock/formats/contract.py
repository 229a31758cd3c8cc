"""What a format must give: value bytes in, typed columns or a verdict out; never an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.rows import Verdict


class Decoded(NamedTuple):
    """What became of a batch of values."""

    data: pa.RecordBatch
    """One row per value, in order; nulls where the value has a verdict."""
    verdicts: list[Verdict]
    unknown: dict[str, int]
    """Fields that the schema does not name -> in how many values each was seen (the first 100 names)."""


class Decoder(Protocol):
    """Made once per task, inside the worker."""

    columns: pa.Schema
    """The columns of `data`. NOT NULL fields are `nullable=False` here."""

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """Decode every value. Bad bytes end in a verdict; nothing raises because of data."""
        ...


class FormatOptions(Protocol):
    """What the options model of a format can do beside holding settings."""

    def columns(self) -> pa.Schema: ...

    def decoder(self) -> Decoder: ...
