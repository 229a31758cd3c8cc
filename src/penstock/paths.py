"""Paths as people write them in a pipeline file, and what becomes of them: absolute, one spelling each; local, but for
`state`, which may be on another file system."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator

from penstock.options import Options, Wrong

OptionsT = TypeVar("OptionsT", bound=Options)
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
RACED = ("hdfs",)
"""Schemes whose way to create a file once was tried with racing processes: see hadoop.py."""
UNPROVEN = {
    "s3a": "a create or a rename that only one of two writers can win is not Hadoop's default there, and was not tried",
    "abfss": "its way to create a file once was not tried with racing writers",
}
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")


class Relative:
    """Marks a text field as a path that is relative to the folder of the pipeline file."""

    def __init__(self, noun: str = "path") -> None:
        self.noun = noun

    def keeps(self, written: str) -> bool:
        """Is this no path at all, but a table's name in the catalog?"""
        return self.noun == "table" and is_catalog_name(written)


def _plain(value: str, example: str = "./lake/orders") -> str:
    """A path that this version can use, or what is wrong with it."""
    if not value.strip():
        raise Wrong("is an empty path.", f"Write it like  {example}")
    if value != value.strip() or any(ord(letter) < 32 for letter in value):
        raise Wrong("is a path with blanks or control characters around it or in it.", "Take them out.")
    if re.match(r"^[A-Za-z]:[\\/]", value) or value.startswith("\\"):
        raise Wrong("looks like a Windows path.", "Write it with  /  and without a drive, like  " + example)
    if value.startswith("~"):
        raise Wrong("`~` is not filled in.", "Write  ${env:HOME}  instead.")
    scheme = _SCHEME.match(value)
    if scheme and scheme[1].lower() != "file":
        remedy = f"Write a path of this machine, like  {example}"
        raise Wrong(f"a path on `{scheme[1]}` cannot be used yet; it comes with running on a cluster.", remedy)
    if scheme and not re.match(r"^file:(///?)?(?=/[^/])", value, re.IGNORECASE):
        raise Wrong("names a host, or no path at all.", "Write it like  file:///data/orders")
    return value


def _table(value: str) -> str:
    if value.strip() and "/" not in value and "\\" not in value and value not in (".", ".."):
        return _name(value)
    if "%" in value and not value.startswith("file:"):
        raise Wrong("has a `%` in it, which readers of Delta tables take for an encoded character.", "Take it out.")
    return _plain(value)


def _name(value: str) -> str:
    """A table of a catalog, with its schema: a word alone is more often a folder whose `./` was left out."""
    if is_catalog_name(value):
        return value
    folder = f"./lake/{re.sub(r'[^A-Za-z0-9_-]+', '_', value)}"
    if re.fullmatch(_WORD, value):
        raise Wrong(
            "a table without a `/` is a catalog name, and needs its schema.",
            f"Write a path like  {folder}  or a name like  default.{value}",
        )
    raise Wrong(
        "a table without a `/` is a catalog name: two or three words of letters, digits and `_`, with dots between.",
        f"Write a path like  {folder}  or a name like  sales.orders",
    )


def is_catalog_name(table: str) -> bool:
    """Is it the name of a table in a catalog, `schema.table` or `catalog.schema.table`, and no path?"""
    return re.fullmatch(rf"{_WORD}(\.{_WORD}){{1,2}}", table) is not None


def _state(value: str) -> str:
    """A folder of this machine, or a whole URI on a file system on which files can be created once."""
    scheme = _SCHEME.match(value)
    if not scheme or scheme[1].lower() == "file" or value != value.strip():
        return _plain(value, "./state/orders")
    if scheme[1] not in RACED:
        why = UNPROVEN.get(scheme[1].lower(), "creating a file once has not been proven there")
        able = ", ".join(f"{name}://host/path" for name in RACED)
        raise Wrong(
            f"a state on `{scheme[1]}` cannot be used: {why}.",
            f"Two drivers could each believe to be the first. Use a path of this machine, or {able}",
        )
    parts = urlsplit(value)
    if not parts.netloc or not parts.path.strip("/") or parts.query or parts.fragment or ".." in parts.path.split("/"):
        raise Wrong("does not name a host and a folder.", f"Write it like  {scheme[1]}://namenode:8020/state/orders")
    return value


StatePath = Annotated[str, AfterValidator(_state), Relative()]
"""A folder of this machine, `file:///...`, or a URI with one of the schemes in `RACED`."""
Table = Annotated[str, AfterValidator(_table), Relative("table")]
"""A table by its path, or by its name in the catalog: that has no `/`, and is kept as it is written."""


def is_remote(path: str) -> bool:
    """Is it on another file system than the local disk?"""
    scheme = _SCHEME.match(path)
    return scheme is not None and scheme[1].lower() != "file"


def absolute(written: str, folder: Path) -> str:
    """The one spelling of this path: absolute, without `..`, without `file:`."""
    if is_remote(written):
        parts = urlsplit(written)
        return f"{parts.scheme}://{parts.netloc}{os.path.normpath('/' + parts.path.strip('/'))}"
    if _SCHEME.match(written):
        written = "/" + unquote(re.sub(r"^file:/+", "", written, flags=re.IGNORECASE))
    return os.path.normpath(folder.absolute() / written)


def located(options: OptionsT, folder: Path) -> OptionsT:
    """The same settings, with every relative path made absolute."""
    paths = {
        name: absolute(written, folder)
        for name, field in type(options).model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Relative) and (written := getattr(options, name)) and not mark.keeps(written)
    }
    return options.model_copy(update=paths) if paths else options


def same_place(one: str, other: str) -> bool:
    """Do both name the same folder, links followed, or the same table of the catalog?"""
    if is_catalog_name(one) or is_catalog_name(other):
        return one.lower() == other.lower()
    if is_remote(one) or is_remote(other):
        return one == other
    return os.path.realpath(one) == os.path.realpath(other)


def inside(inner: str, outer: str) -> bool:
    """Is `inner` below `outer`, links followed? Where a table of the catalog is, only the catalog knows."""
    if is_catalog_name(inner) or is_catalog_name(outer):
        return False
    if is_remote(inner) or is_remote(outer):
        return inner.startswith(f"{outer}/")
    return Path(os.path.realpath(outer)) in Path(os.path.realpath(inner)).parents
