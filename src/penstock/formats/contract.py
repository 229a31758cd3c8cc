"""What a format must give: value bytes in, typed columns or a verdict out; never an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.rows import Numbers, Verdict


class Decoded(NamedTuple):
    """What became of a batch of values."""

    data: pa.RecordBatch
    """One row per value, in order; nulls where the value has a verdict."""
    verdicts: list[Verdict]
    unknown: dict[str, int]
    """Fields that the schema does not name -> in how many values each was seen (the first 100 names)."""
    schema_ids: pa.Array | None = None
    """The id of the schema that each value was written with, where the format has such."""


class Decoder(Protocol):
    """Made once per task, inside the worker."""

    columns: pa.Schema
    """The columns of `data`. NOT NULL fields are `nullable=False` here."""

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """Decode every value. Bad bytes end in a verdict; nothing raises because of data."""
        ...


@runtime_checkable
class DecoderByTopic(Protocol):
    """A decoder that reads the values of each topic in a way of its own: by the schemas of its subject."""

    columns: pa.Schema

    def of_topic(self, topic: str) -> TopicDecoder: ...


class TopicDecoder(Decoder, Protocol):
    """Decodes the values of one topic; knows which schemas nobody has looked up yet."""

    def strange(self, values: pa.BinaryArray) -> Numbers:
        """One row for each schema id that is not known yet: while there are such, the pass is void."""
        ...

    def unread(self, values: pa.BinaryArray) -> Decoded:
        """These values as `unknown_schema`."""
        ...


class FormatOptions(Protocol):
    """What the options model of a format can do beside holding settings."""

    def columns(self) -> pa.Schema: ...

    def decoder(self) -> Decoder: ...
