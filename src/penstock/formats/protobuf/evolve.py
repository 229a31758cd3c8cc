"""A reader's Protobuf schema that grows: the message of the row, with every message inside it its own copy.

A registry's files share messages between fields. A reader takes single changes of single fields, so there each field
has the message that it holds to itself: taking a change for one says nothing of another. It is kept compiled, and read
as a schema like any other.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.formats.protobuf.messages import READER
from penstock.formats.protobuf.types import ENUM, MESSAGE, is_map
from penstock.schemas.contract import Change, Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

KNOWN = "google.protobuf."
"""Messages that everybody has; they are referred to, not copied."""
OPTIONAL, REQUIRED, REPEATED = 1, 2, 3


def evolved(before: Descriptor, after: Descriptor, schema: Schema, taken: Sequence[Change]) -> Schema:
    """The reader's schema `before` with these changes of `after` in it."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    chosen = {change.path for change in taken if change.kind in ("add", "widen")}
    file = FileDescriptorProto(name=READER, package="penstock.reader", syntax="proto2")
    grown = _Growth(chosen, {})
    grown.message(file.message_type.add(), before.name, before, after, "", ".penstock.reader")
    file.dependency.extend(sorted(grown.files))
    whole = FileDescriptorSet(file=[*(_proto(each) for each in grown.files.values()), file])
    text = base64.b64encode(whole.SerializeToString()).decode()
    return Schema(schema.id, "protobuf", text)


class _Growth:
    """Copies a message field by field; `files` are those that the copies refer to."""

    def __init__(self, chosen: set[str], files: dict[str, FileDescriptor]) -> None:
        self.chosen, self.files = chosen, files

    def message(
        self, target: Any, name: str, before: Descriptor | None, after: Descriptor | None, path: str, scope: str
    ) -> None:
        """Make `target` the message `before`, with what is taken of `after`. Either may be missing."""
        target.name = name
        scope = f"{scope}.{name}"
        old = list(before.fields) if before is not None else []
        new = {field.number: field for field in after.fields} if after is not None else {}
        for field in old:
            self._field(target, field, new.get(field.number), f"{path}/{field.name}", scope)
        known = {field.number for field in old}
        for field in new.values():
            where = f"{path}/{field.name}"
            if field.number not in known and (before is None or where in self.chosen):
                self._field(target, None, field, where, scope)

    def _field(
        self, target: Any, before: FieldDescriptor | None, after: FieldDescriptor | None, path: str, scope: str
    ) -> None:
        name = (before or after).name  # type: ignore[union-attr]
        model = after if before is None or (after is not None and path in self.chosen) else before
        assert model is not None
        made = target.field.add(name=name, number=model.number, type=model.type)
        made.label = (
            REPEATED if model.is_repeated else REQUIRED if before is not None and before.is_required else OPTIONAL
        )
        if model.type == ENUM:
            self._enum(target, made, model, scope)
        elif model.type == MESSAGE:
            self._inner(target, made, before, after, model, path, scope)

    def _enum(self, target: Any, made: Any, model: FieldDescriptor, scope: str) -> None:
        own = target.enum_type.add(name=f"E{model.number}")
        if len({value.number for value in model.enum_type.values}) < len(model.enum_type.values):
            own.options.allow_alias = True
        for value in model.enum_type.values:  # names of values stand beside the enum, so they need one of their own
            own.value.add(name=f"E{model.number}_{value.name}", number=value.number)
        made.type_name = f"{scope}.{own.name}"

    def _inner(
        self,
        target: Any,
        made: Any,
        before: FieldDescriptor | None,
        after: FieldDescriptor | None,
        model: FieldDescriptor,
        path: str,
        scope: str,
    ) -> None:
        inner = model.message_type
        if inner.full_name.startswith(KNOWN):
            self._refer(inner.file)
            made.type_name = f".{inner.full_name}"
            return
        own = target.nested_type.add()
        name = inner.name if is_map(model) else f"M{model.number}"
        old = before.message_type if before is not None and before.type == MESSAGE else None
        new = after.message_type if after is not None and after.type == MESSAGE else None
        if is_map(model):
            own.options.map_entry = True
            self._entry(own, name, old, new, path, scope)
        else:
            self.message(own, name, old, new, path, scope)
        made.type_name = f"{scope}.{name}"

    def _entry(
        self, own: Any, name: str, old: Descriptor | None, new: Descriptor | None, path: str, scope: str
    ) -> None:
        """The entries of a map: the path of their values is that of the map."""
        own.name = name
        key = (old or new).fields_by_name["key"]  # type: ignore[union-attr]
        own.field.add(name="key", number=1, type=key.type, label=OPTIONAL)
        first = old.fields_by_name["value"] if old is not None else None
        second = new.fields_by_name["value"] if new is not None else None
        self._field(own, first, second, path, f"{scope}.{name}")
        own.field[-1].name = "value"

    def _refer(self, file: FileDescriptor) -> None:
        for each in file.dependencies:
            self._refer(each)
        self.files.setdefault(file.name, file)


def _proto(file: FileDescriptor) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    made = FileDescriptorProto()
    file.CopyToProto(made)
    return made
