"""Protobuf schemas as descriptors: texts compiled by protoc, or files that were compiled already.

A registry keeps the text of a `.proto` file and of those that it imports. protoc turns them into a set of descriptors,
on the driver, in a folder of its own that is gone afterwards. Workers are given the compiled form: no protoc there.
"""

from __future__ import annotations

import base64
import binascii
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from penstock.errors import SchemaRefused
from penstock.schemas.contract import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

COMPILE_SECONDS = 60
MOST_BYTES = 4_000_000
"""Of all texts of a schema together; a descriptor beyond it is no row."""
OWN = "penstock_schema.proto"
"""Name of the schema's own file; the registry knows none for it."""
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
    found = _already_compiled(text)
    return found if found is not None else _compile(text, imported, number)


def _already_compiled(text: str) -> bytes | None:
    """What `text` holds, if it is a set of descriptors (or a single one) in base64; None if it is a `.proto` text."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.message import DecodeError

    try:
        body = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    for kind in (FileDescriptorSet, FileDescriptorProto):
        try:
            found = kind.FromString(body)
        except DecodeError:
            continue
        if isinstance(found, FileDescriptorSet) and found.file and all(each.name for each in found.file):
            return body
        if isinstance(found, FileDescriptorProto) and found.name and found.message_type:
            return bytes(FileDescriptorSet(file=[found]).SerializeToString())
    return None


def _compile(text: str, imported: tuple[tuple[str, str], ...], number: int) -> bytes:
    where = f"schema {number}"
    size = len(text) + sum(len(each) for _, each in imported)
    if size > MOST_BYTES:
        raise SchemaRefused(f"{where}: its texts have {size:,} characters; the most is {MOST_BYTES:,}.")
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as folder:
        for name, other in imported:
            if not name.startswith(BUNDLED):
                _place(Path(folder), name, where).write_text(other, encoding="utf-8")
        Path(folder, OWN).write_text(text, encoding="utf-8")
        return _run(Path(folder), where)


def _place(folder: Path, name: str, where: str) -> Path:
    """The file of an import. Its name comes from the registry: it must not lead out of the folder."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\\" in name or "\0" in name or name == OWN:
        raise SchemaRefused(f"{where}: it refers to another schema as `{name[:200]}`, which is no name of a file.")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _run(folder: Path, where: str) -> bytes:
    out = folder / "penstock_descriptors"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "--include_imports"]
    try:
        done = subprocess.run(
            [*command, f"--descriptor_set_out={out}", str(folder / OWN)],
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
