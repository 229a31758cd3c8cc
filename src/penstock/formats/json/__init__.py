"""decode json: JSON objects into the columns of a declared schema, strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import field_validator

from penstock.formats.raw import DecodeOptions
from penstock.formats.schemas import parse_ddl
from penstock.options import Ddl, Field
from penstock.registry import formats

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.formats.contract import Decoder
    from penstock.formats.types import Field as SchemaField


@formats.register("json")
class Json(DecodeOptions):
    """JSON objects, typed by a declared schema. What does not fit it exactly is rejected with its reason."""

    schema_: Ddl = Field(
        alias="schema",
        description="Fields and types as Spark DDL; `NOT NULL`: must be present and not null. Names match exactly.",
    )
    unknown_fields: Literal["ignore", "keep", "reject"] = Field(
        "ignore",
        description="Fields that the schema does not name: counted and left out, kept as JSON text in the column "
        "`_unknown`, or the record is rejected.",
    )

    @field_validator("schema_")
    @classmethod
    def _can_be_read(cls, text: str) -> str:
        parse_ddl(text)  # raises DdlProblems, which carries line and column of every problem
        return text

    def column_types(self) -> dict[str, str]:
        """Column -> type as DDL spells it; no pyarrow needed."""
        return {field.name: str(field.type) for field in parse_ddl(self.schema_)}

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        return parse_ddl(self.schema_)

    def columns(self) -> pa.Schema:
        return self.decoder().columns

    def decoder(self) -> Decoder:
        """The native decoder where it is built, else the one in Python: the same verdicts and values."""
        from penstock.formats.json.native import json_decoder

        return json_decoder(
            self.fields,
            unknown_fields=self.unknown_fields,
            tombstones=self.tombstones,
            max_bytes=self.max_bytes.bytes,
        )
