"""The shadow of a message: a plainer one that the same bytes hold, for the quick decoder (ptars).

ptars is young. It is asked for as little as can be: numbers, bytes, nested and repeated messages. So a text is read as
bytes, an enum as its number, a map as its list of entries, a time as the message that it is, and what the reader does
not want is left out; the columns are made of that here. It never sees a byte that Google's runtime did not write:
see columns.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto

PACKAGE = "penstock.shadow"
OPTIONAL, REPEATED = 1, 3
INT64, INT32, MESSAGE, BYTES = 3, 5, 11, 12


def _file() -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    return FileDescriptorProto(name="penstock_shadow.proto", package=PACKAGE, syntax="proto3")


@dataclass
class Shadow:
    """The file of shadow messages, as it grows."""

    file: Any = field(default_factory=_file)

    def message(self) -> DescriptorProto:
        """A new message without fields."""
        made: DescriptorProto = self.file.message_type.add(name=f"M{len(self.file.message_type)}")
        return made

    def named(self, name: str) -> DescriptorProto:
        """The message of this name, as a field's `type_name` writes it."""
        found: DescriptorProto = next(each for each in self.file.message_type if name == f".{PACKAGE}.{each.name}")
        return found

    def handler(self, name: str) -> Any:
        """What decodes the message of this name."""
        from ptars import PtarsConfig
        from ptars._lib import ProtoRegistry

        return ProtoRegistry([self.file.SerializeToString()]).create_for_message(f"{PACKAGE}.{name}", PtarsConfig())


def add(message: DescriptorProto, number: int, kind: int, *, of: str = "", repeated: bool, presence: bool) -> str:
    """Give the message a field; says under which name its decoded column stands."""
    made = message.field.add(name=f"f{number}", number=number, type=kind, label=REPEATED if repeated else OPTIONAL)
    if of:
        made.type_name = f".{PACKAGE}.{of}"
    if presence and kind != MESSAGE and not repeated:
        made.proto3_optional = True
        made.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_f{number}")
    return str(made.name)
