"""Create-once files on a Hadoop file system, through the JVM that Spark runs in, with Spark's own credentials.

Each scheme needs a way of its own: `create(overwrite=false)` and `rename` promise little in general (Hadoop's local
file system had several winners in half of 150 races). Only schemes whose way was raced are taken; the others are
refused with words.

    hdfs    a finished, synced draft is renamed without overwrite: the name node decides, once. The exclusive create
            that HDFS has as well would show an empty file until it is closed, and for ever if its writer dies.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.errors import Refused, Unavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RACED = ("hdfs",)
"""Schemes whose way to create once was tried with racing processes."""


class HadoopFiles:
    """The file system of one URI, as `files.Files` promises it. Paths are whole URIs."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        scheme = urlsplit(root).scheme
        if scheme not in RACED:
            raise Refused(
                f"state {root}: files that are created once have not been proven on `{scheme}`.",
                data="Two drivers could each believe to be the first. Nothing was written.",
                remedy=f"Use a local disk, or one of: {', '.join(RACED)}.",
            )
        jvm: Any = spark._jvm
        self._jvm, self._conf = jvm, spark._jsc.hadoopConfiguration()
        uri = jvm.java.net.URI(root)
        self._fs = jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, self._conf)
        self._context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(uri, self._conf)

    def create_once(self, path: str, body: bytes) -> bytes:
        """Create the file unless it is there; give back what stands there now, ours or the winner's."""
        parent, _, name = path.rpartition("/")
        draft = f"{parent}/.{name}.{uuid.uuid4().hex}"
        self._write(draft, body)
        none = self._jvm.org.apache.hadoop.fs.Options.Rename.NONE
        how = self._jvm.java.lang.reflect.Array.newInstance(none.getClass(), 1)
        how[0] = none
        try:
            self._context.rename(self._path(draft), self._path(path), how)
        except Exception as error:
            if _cause(error) != "FileAlreadyExistsException":
                raise self._away(path, error) from error
            self.remove([draft])
            stands = self.read(path)
            if stands is None:
                raise self._away(path, error) from error
            return stands
        return body

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None if there is no such file."""
        try:
            stream = self._fs.open(self._path(path))
        except Exception as error:
            if _cause(error) == "FileNotFoundException":
                return None
            raise self._away(path, error) from error
        try:
            return bytes(self._jvm.org.apache.hadoop.shaded.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def names(self, folder: str) -> list[str]:
        """The names in a folder; none, if there is no such folder."""
        try:
            found = self._fs.listStatus(self._path(folder))
        except Exception as error:
            if _cause(error) == "FileNotFoundException":
                return []
            raise self._away(folder, error) from error
        return sorted(str(status.getPath().getName()) for status in found)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove these files; one that is gone already is fine."""
        for path in paths:
            self._fs.delete(self._path(path), False)

    def remove_tree(self, folder: str) -> None:
        self._fs.delete(self._path(folder), True)

    def _write(self, path: str, body: bytes) -> None:
        """A new file, whole and on the disks of the data nodes."""
        try:
            stream = self._fs.create(self._path(path), False)
            stream.write(bytearray(body))
            stream.hsync()
            stream.close()
        except Exception as error:
            raise self._away(path, error) from error

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _away(self, path: str, error: Exception) -> Unavailable:
        return Unavailable(
            f"{path}: the file system does not answer, or refuses: {_words(error)}",
            data="Whether the file was created is for the next try to see: it adopts what stands there.",
        )


def _cause(error: Exception) -> str:
    """The Java class of the error, without its package; remote ones come wrapped."""
    java = getattr(error, "java_exception", None)
    while java is not None:
        name = str(java.getClass().getSimpleName())
        if name in ("FileAlreadyExistsException", "FileNotFoundException"):
            return name
        if name == "RemoteException":
            return str(java.getClassName()).rpartition(".")[2]
        java = java.getCause()
    return ""


def _words(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error).partition("\n")[0][:300]
