"""Create-once files on a Hadoop file system, through the JVM that Spark runs in, with Spark's own credentials.

Each scheme needs a way of its own: `create(overwrite=false)` and `rename` promise little in general (Hadoop's local
file system had several winners in half of 150 races). Only schemes whose way was raced are taken; the others are
refused with words.

    hdfs    a finished, synced draft is renamed without overwrite: the name node decides, once. The exclusive create
            that HDFS has as well would show an empty file until it is closed, and for ever if its writer dies.
    s3a     not taken. It needs a conditional create (`fs.option.create.conditional.overwrite`), because a rename
            copies there and a plain create overwrites; and Spark's own checkpoint would need the same.

Whole lists and bodies cross from the JVM at once: a call for each name would cost a millisecond each.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.errors import PenstockError, Refused, Unavailable
from penstock.paths import RACED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RACED", "HadoopFiles"]
BLOCK_BYTES = 1 << 20


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
        try:
            self._rename(draft, path, "NONE")
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
        paths = self._jvm.org.apache.hadoop.fs.FileUtil.stat2Paths(found)
        plain = self._jvm.java.lang.reflect.Array.newInstance(self._jvm.java.lang.Object().getClass(), len(paths))
        self._jvm.java.lang.System.arraycopy(paths, 0, plain, 0, len(paths))  # Py4J finds toString for no other type
        whole = str(self._jvm.java.util.Arrays.toString(plain))
        return sorted(path.rpartition("/")[2] for path in whole[1:-1].split(", ") if path)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove these files; one that is gone already is fine."""
        for path in paths:
            self._delete(path, whole_tree=False)

    def remove_tree(self, folder: str) -> None:
        """Remove a folder and all in it; nothing there is fine."""
        self._delete(folder, whole_tree=True)

    def exists(self, path: str) -> bool:
        """Is there such a file or folder?"""
        try:
            return bool(self._fs.exists(self._path(path)))
        except Exception as error:
            raise self._away(path, error) from error

    def replace(self, path: str, body: bytes) -> None:
        """Write the file anew: a reader sees the old body or the new one."""
        parent, _, name = path.rpartition("/")
        draft = f"{parent}/.{name}.{uuid.uuid4().hex}"
        self._write(draft, body)
        self.move(draft, path, overwrite=True)

    def move(self, path: str, to: str, *, overwrite: bool = False) -> None:
        """Give a file or a folder another name."""
        try:
            self._rename(path, to, "OVERWRITE" if overwrite else "NONE")
        except Exception as error:
            raise self._away(to, error) from error

    def put(self, local: Path, path: str) -> None:
        """Copy a local file there, durably. The JVM copies: nothing of it passes through Python."""
        try:
            source = self._jvm.java.io.FileInputStream(str(local))
            try:
                self._fill(self._fs.create(self._path(path), True), source)
            finally:
                source.close()
        except Exception as error:
            raise self._away(path, error) from error

    def fetch(self, path: str, local: Path) -> None:
        """Copy the file to the local disk, whole or not at all. Raises FileNotFoundError if there is none."""
        local.parent.mkdir(parents=True, exist_ok=True)
        draft = local.with_name(f".{local.name}.{uuid.uuid4().hex}")
        try:
            stream = self._fs.open(self._path(path))
            target = self._jvm.java.io.FileOutputStream(str(draft))
            self._jvm.org.apache.hadoop.io.IOUtils.copyBytes(stream, target, BLOCK_BYTES, True)
        except Exception as error:
            if _cause(error) == "FileNotFoundException":
                raise FileNotFoundError(path) from error
            raise self._away(path, error) from error
        draft.replace(local)

    def _write(self, path: str, body: bytes) -> None:
        """A new file, whole and on the disks of the data nodes."""
        try:
            source = self._jvm.java.io.ByteArrayInputStream(bytearray(body))
            self._fill(self._fs.create(self._path(path), False), source)
        except Exception as error:
            raise self._away(path, error) from error

    def _fill(self, stream: Any, source: Any) -> None:
        """All of `source` into a new file, down to the disks of the data nodes."""
        try:
            self._jvm.org.apache.hadoop.io.IOUtils.copyBytes(source, stream, BLOCK_BYTES, False)
            stream.hsync()
        finally:
            stream.close()

    def _rename(self, path: str, to: str, how: str) -> None:
        chosen = getattr(self._jvm.org.apache.hadoop.fs.Options.Rename, how)
        options = self._jvm.java.lang.reflect.Array.newInstance(chosen.getClass(), 1)
        options[0] = chosen
        self._context.rename(self._path(path), self._path(to), options)

    def _delete(self, path: str, *, whole_tree: bool) -> None:
        try:
            self._fs.delete(self._path(path), whole_tree)
        except Exception as error:
            raise self._away(path, error) from error

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _away(self, path: str, error: Exception) -> PenstockError:
        if _cause(error) == "AccessControlException":
            return Refused(
                f"{path}: this user may not write or read there: {_words(error)}",
                data="This run did nothing there.",
                remedy="Grant it the permission, or run as a user that has it.",
            )
        return Unavailable(
            f"{path}: the file system does not answer, or refuses: {_words(error)}",
            data="Whether the file was created is for the next try to see: it adopts what stands there.",
        )


def _cause(error: Exception) -> str:
    """The Java class of the error, without its package; remote ones come wrapped."""
    java = getattr(error, "java_exception", None)
    while java is not None:
        name = str(java.getClass().getSimpleName())
        if name in ("FileAlreadyExistsException", "FileNotFoundException", "AccessControlException"):
            return name
        if name == "RemoteException":
            return str(java.getClassName()).rpartition(".")[2]
        java = java.getCause()
    return ""


def _words(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error).partition("\n")[0][:300]
