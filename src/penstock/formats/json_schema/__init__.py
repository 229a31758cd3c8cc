"""decode json_schema: JSON objects that a schema of the registry describes, into columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from penstock.formats.framed import RegistryDecode
from penstock.options import Field
from penstock.registry import formats

if TYPE_CHECKING:
    from penstock.schemas.contract import Codec


@formats.register("json_schema")
class JsonSchema(RegistryDecode):
    """JSON objects, typed and validated by the schemas of a registry. What breaks a rule is rejected with its place."""

    unknown_fields: Literal["ignore", "reject"] = Field(
        "ignore",
        description="Fields that the writer's schema does not name: counted and left out, or rejected. Where it says "
        "`additionalProperties: false` they break it (`schema_violation`).",
    )

    def codec(self) -> Codec:
        from penstock.formats.json_schema.codec import JsonSchemaCodec

        return JsonSchemaCodec(self.unknown_fields)
