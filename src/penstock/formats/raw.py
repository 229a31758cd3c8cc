"""decode raw: the bytes as they came, in one column `value`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from penstock.options import Field, Options, Size
from penstock.registry import formats

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.formats.contract import Decoder


class DecodeOptions(Options):
    """What every format takes."""

    tombstones: Literal["reject", "drop"] = Field(
        "reject", description="What to do with a record that has a key and no value."
    )
    max_bytes: Size = Field(Size("16 MB"), description="A larger value is rejected as `too_large`.")


@formats.register("raw")
class Raw(DecodeOptions):
    """One column `value BINARY`, the bytes as they came."""

    def column_types(self) -> dict[str, str]:
        """Column -> type as DDL spells it; no pyarrow needed."""
        return {"value": "BINARY"}

    def columns(self) -> pa.Schema:
        return self.decoder().columns

    def decoder(self) -> Decoder:
        from penstock.formats.raw_columns import RawDecoder

        return RawDecoder(self.tombstones, self.max_bytes.bytes)
