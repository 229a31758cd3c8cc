"""Protobuf schemas as descriptors: texts compiled by protoc, or files that were compiled already.

A registry keeps the text of a `.proto` file and of those that it imports. protoc turns them into a set of descriptors,
on the driver, in a folder of its own that is gone afterwards. Workers are given the compiled form: no protoc there.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from penstock.errors import SchemaRefused
from penstock.schemas.contract import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

COMPILE_SECONDS = 60
MOST_BYTES = 4_000_000
"""Of all texts of a schema together; a descriptor beyond it is no row."""
OWN = "penstock_schema.proto"
"""Name of the schema's own file; the registry knows none for it."""
EVERYBODYS = re.compile(r"google/(protobuf|type|rpc|api)/[a-z_]+\.proto")
"""Files whose descriptors are in a package of Google's."""
BUNDLED = "google/protobuf/"
"""Files that protoc brings along."""


def compiled(schema: Schema) -> Schema:
    """The same schema with its compiled descriptors as text: quick to read wherever it is sent."""
    return replace(schema, text=base64.b64encode(descriptor_bytes(schema)).decode(), imported=())


def descriptors(schema: Schema) -> FileDescriptorSet:
    """Every file of the schema, its own one last."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    return FileDescriptorSet.FromString(descriptor_bytes(schema))


def descriptor_bytes(schema: Schema) -> bytes:
    """The descriptors of the schema, as protoc writes them."""
    return _descriptor_bytes(schema.text, schema.imported, schema.id)


@lru_cache(maxsize=256)
def _descriptor_bytes(text: str, imported: tuple[tuple[str, str], ...], number: int) -> bytes:
    own = _decoded(text)
    if own is None:
        return _compile(text, imported, number)
    if len(own.file) > 1:
        return bytes(own.SerializeToString())
    return _completed(own.file[0], dict(imported), number)


def _decoded(text: str) -> Any:
    """The descriptors that `text` holds in base64, as a set; None if it is a `.proto` text.

    One file is what Confluent's client for Python registers, a set is what protoc writes.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.message import DecodeError

    try:
        body = base64.b64decode(text.strip(), validate=True)
        one = FileDescriptorProto.FromString(body)
        if one.message_type or one.enum_type:  # a set has nothing at these numbers
            return FileDescriptorSet(file=[one])
        several = FileDescriptorSet.FromString(body)
    except (binascii.Error, ValueError, DecodeError):
        return None
    return several if several.file and all(each.name for each in several.file) else None


def _completed(own: Any, imported: dict[str, str], number: int) -> bytes:
    """A compiled file together with those that it imports: the registry's, and those that everybody has."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    found: dict[str, Any] = {}

    def take(file: Any) -> None:
        for name in file.dependency:
            if name not in found:
                found[name] = None  # a circle ends here; the pool says what is wrong with it
                take(_import(name, imported, number))
        found.pop(file.name, None)
        found[file.name] = file

    take(own)
    return bytes(FileDescriptorSet(file=[file for file in found.values() if file is not None]).SerializeToString())


def _import(name: str, imported: dict[str, str], number: int) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    made = FileDescriptorProto()
    if name in imported:
        known = _decoded(imported[name])
        if known is None:
            others = tuple((other, text) for other, text in imported.items() if other != name)
            known = FileDescriptorSet.FromString(_compile(imported[name], others, number))
        made.CopyFrom(known.file[-1])
        made.name = name
        return made
    try:
        if not EVERYBODYS.fullmatch(name):
            raise ValueError(name)
        importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2").DESCRIPTOR.CopyToProto(made)
    except (ImportError, ValueError) as error:
        raise SchemaRefused(
            f"schema {number}: it imports {name}, which is not among its references in the registry.",
            data="No record was decoded with it.",
            remedy="Register that file, and name it as a reference of this one.",
        ) from error
    return made


def _compile(text: str, imported: tuple[tuple[str, str], ...], number: int) -> bytes:
    where = f"schema {number}"
    size = len(text) + sum(len(each) for _, each in imported)
    if size > MOST_BYTES:
        raise SchemaRefused(f"{where}: its texts have {size:,} characters; the most is {MOST_BYTES:,}.")
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as folder:
        ready = [(name, known) for name, other in imported if (known := _decoded(other)) is not None]
        for name, other in imported:
            if not name.startswith(BUNDLED) and name not in dict(ready):
                _place(Path(folder), name, where).write_text(other, encoding="utf-8")
        Path(folder, OWN).write_text(text, encoding="utf-8")
        return _run(Path(folder), where, _beside(Path(folder), ready))


def _place(folder: Path, name: str, where: str) -> Path:
    """The file of an import. Its name comes from the registry: it must not lead out of the folder."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\\" in name or "\0" in name or name == OWN:
        raise SchemaRefused(f"{where}: it refers to another schema as `{name[:200]}`, which is no name of a file.")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _beside(folder: Path, ready: list[tuple[str, Any]]) -> list[str]:
    """What protoc is told of imports that are compiled already."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    if not ready:
        return []
    whole = FileDescriptorSet()
    for name, known in ready:
        made = whole.file.add()
        made.CopyFrom(known.file[-1])
        made.name = name
    path = folder / "penstock_imports"
    path.write_bytes(whole.SerializeToString())
    return [f"--descriptor_set_in={path}"]


def _run(folder: Path, where: str, beside: list[str]) -> bytes:
    out = folder / "penstock_descriptors"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "--include_imports"]
    try:
        done = subprocess.run(
            [*command, *beside, f"--descriptor_set_out={out}", str(folder / OWN)],
            capture_output=True,
            timeout=COMPILE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise SchemaRefused(f"{where}: protoc did not compile it within {COMPILE_SECONDS} seconds.") from error
    if done.returncode or not out.exists():
        told = done.stderr.decode("utf-8", "replace").replace(f"{folder}/", "").strip()
        raise SchemaRefused(
            f"{where}: protoc cannot compile it: {told[:2000] or 'it said nothing'}",
            data="No record was decoded with it.",
            remedy="Register a text that compiles; what it imports must be registered as its references.",
        )
    return out.read_bytes()
