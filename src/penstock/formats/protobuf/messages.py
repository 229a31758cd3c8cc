"""A Protobuf schema made usable: its messages by name and by index, from descriptors of a pool of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.choice import did_you_mean
from penstock.errors import SchemaRefused
from penstock.formats.protobuf.files import descriptor_bytes
from penstock.schemas.contract import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pool import DescriptorPool

READER = "penstock_reader.proto"
"""The file of a reader's schema: its one message is the row, whatever its name was."""
BATCH = "PenstockBatch"
"""Our own message beside those of the schema: many messages of one type, which are then read at one stroke."""


class Messages:
    """The messages of one schema. `file` is the schema's own file."""

    def __init__(self, schema: Schema) -> None:
        from google.protobuf.descriptor_pb2 import FileDescriptorSet
        from google.protobuf.descriptor_pool import DescriptorPool

        self.id, self.pool = schema.id, DescriptorPool()
        files = FileDescriptorSet.FromString(descriptor_bytes(schema)).file
        try:
            for each in files:
                self.pool.AddSerializedFile(each.SerializeToString())
            self.file: FileDescriptor = self.pool.FindFileByName(files[-1].name)
        except (TypeError, KeyError) as error:
            raise SchemaRefused(f"schema {schema.id}: its descriptors do not fit together: {error}") from error

    def named(self, name: str = "") -> Descriptor:
        """The message of this full name; without one, the first of the file."""
        if not name or self.file.name == READER:
            first = next(iter(self.file.message_types_by_name.values()), None)
            if first is None:
                raise SchemaRefused(f"schema {self.id}: it holds no message.")
            return first
        try:
            return self.pool.FindMessageTypeByName(name)
        except KeyError:
            known = [each.full_name for each in self._all()]
            raise SchemaRefused(
                f"schema {self.id}: it holds no message `{name}`.{did_you_mean(name, known)}",
                remedy=f"It has {', '.join(known[:20])}." if known else "",
            ) from None

    def at(self, indexes: tuple[int, ...]) -> Descriptor | None:
        """The message that a frame means by these indexes."""
        found: Any = None
        level = list(self.file.message_types_by_name.values())
        for index in indexes:
            if not 0 <= index < len(level):
                return None
            found, level = level[index], list(level[index].nested_types)
        message: Descriptor | None = found
        return message

    def _all(self) -> Iterator[Descriptor]:
        waiting = list(self.file.message_types_by_name.values())
        while waiting:
            each = waiting.pop(0)
            yield each
            waiting += [inner for inner in each.nested_types if not inner.GetOptions().map_entry]


def indexes_of(message: Descriptor) -> tuple[int, ...]:
    """Where the message stands in its file, level by level."""
    if message.containing_type is None:
        level = list(message.file.message_types_by_name)
        return (level.index(message.name),)
    inner = [each.name for each in message.containing_type.nested_types]
    return (*indexes_of(message.containing_type), inner.index(message.name))


@lru_cache(maxsize=64)
def messages_of(schema: Schema) -> Messages:
    """The messages of a schema; made once per process."""
    return Messages(schema)


def batch_class(message: Descriptor, pool: DescriptorPool) -> Any:
    """Google's class for many messages of this type in one: `repeated rows = 1`."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message_factory import GetMessageClass

    name = f"penstock.{message.full_name}.{BATCH}"
    try:
        found = pool.FindMessageTypeByName(name)
    except KeyError:
        own = FileDescriptorProto(
            name=f"{name}.proto", package=f"penstock.{message.full_name}", syntax="proto3",
            dependency=[message.file.name],
        )  # fmt: skip
        one = own.message_type.add(name=BATCH)
        one.field.add(name="rows", number=1, label=3, type=11, type_name=f".{message.full_name}")
        pool.AddSerializedFile(own.SerializeToString())
        found = pool.FindMessageTypeByName(name)
    return GetMessageClass(found)
