"""decode avro: Avro records of any writer's schema, resolved to the row type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.formats.framed import RegistryDecode
from penstock.registry import formats

if TYPE_CHECKING:
    from penstock.schemas.contract import Codec


@formats.register("avro")
class Avro(RegistryDecode):
    """Avro records. Each is read with the schema it was written with and resolved to the columns."""

    def codec(self) -> Codec:
        from penstock.formats.avro.codec import AvroCodec

        return AvroCodec()
