"""decode protobuf: messages of a registry's schemas into columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator

from penstock.formats.framed import RegistryDecode
from penstock.options import Field, Wrong
from penstock.registry import formats

if TYPE_CHECKING:
    from penstock.schemas.contract import Codec


def _full_name(value: str) -> str:
    if not all(part.isidentifier() for part in value.split(".")):
        raise Wrong("is no full name of a message.", "Write it like  shop.Order")
    return value


@formats.register("protobuf")
class Protobuf(RegistryDecode):
    """Protobuf messages, by the schemas of a registry. What is no such message is rejected (`bad_payload`)."""

    message: Annotated[str, AfterValidator(_full_name)] | None = Field(
        None,
        description="Full name of the message that is the row, `shop.Order`. Default: the first of the schema's file. "
        "Records that hold another one are rejected.",
    )
    unknown_fields: Literal["ignore", "reject"] = Field(
        "ignore", description="Fields that the writer's schema does not name: counted and left out, or rejected."
    )

    def codec(self) -> Codec:
        from penstock.formats.protobuf.codec import ProtobufCodec

        return ProtobufCodec(self.message or "", self.framing == "confluent", self.unknown_fields)
