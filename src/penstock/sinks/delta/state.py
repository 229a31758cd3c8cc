"""A Delta table as its log describes it now: protocol, properties, columns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True)
class TableState:
    """What decides whether and how the table can be written."""

    table: str
    id: str
    version: int
    reader: int
    writer: int
    features: tuple[str, ...]
    """Table features by name, readers' and writers'; empty for tables of a legacy protocol."""
    configuration: dict[str, str]
    partition_by: tuple[str, ...]
    fields: tuple[dict[str, Any], ...]
    """The columns, as the log writes them."""

    @classmethod
    def of(cls, handle: DeltaTable, table: str) -> TableState:
        protocol, metadata = handle.protocol(), handle.metadata()
        return cls(
            table=table,
            id=str(metadata.id),
            version=handle.version(),
            reader=protocol.min_reader_version,
            writer=protocol.min_writer_version,
            features=tuple(sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})),
            configuration=dict(metadata.configuration),
            partition_by=tuple(metadata.partition_columns),
            fields=tuple(json.loads(handle.schema().to_json())["fields"]),
        )

    @classmethod
    def from_log(cls, table: str, version: int, protocol: dict[str, Any], metadata: dict[str, Any]) -> TableState:
        """The same from the actions `protocol` and `metaData`, as the log writes them."""
        features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
        return cls(
            table=table,
            id=metadata["id"],
            version=version,
            reader=protocol["minReaderVersion"],
            writer=protocol["minWriterVersion"],
            features=tuple(sorted(features)),
            configuration=dict(metadata.get("configuration", {})),
            partition_by=tuple(metadata.get("partitionColumns", ())),
            fields=tuple(json.loads(metadata["schemaString"])["fields"]),
        )

    @property
    def protocol(self) -> dict[str, Any]:
        return {"reader": self.reader, "writer": self.writer, "features": list(self.features)}
