"""A folder as a registry: `<subject>/<id>.avsc`, `.proto` or `.json`. The number is the id, and orders the versions.

Types that several Avro files use stand in files of their own, under any name that is no number: see avro_names.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from penstock.errors import SchemaRefused, Unavailable
from penstock.schemas.avro_names import Neighbours
from penstock.schemas.contract import Schema

SUFFIXES: dict[str, Any] = {".avsc": "avro", ".proto": "protobuf", ".json": "json"}
MOST_BYTES = 8_000_000
_IMPORT = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;', re.MULTILINE)


class Folder:
    """Schemas of a folder. What `contract.Registry` says. Read anew each time: a file that joins is found."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder, folder.as_uri()

    def by_id(self, number: int) -> Schema:
        found = [path for subject in self.subjects() for path in self._files(subject).get(number, [])]
        if not found:
            raise LookupError(f"the folder {self.folder} has no schema with the id {number}")
        texts = {path: self._text(path) for path in found}
        if len(set(texts.values())) > 1:
            raise SchemaRefused(
                f"the id {number} stands for different schemas: {', '.join(str(path) for path in found)}.",
                data="Nothing was read with it.",
                remedy="Give each schema a number of its own.",
            )
        return self._schema(number, found[0], texts[found[0]])

    def latest(self, subject: str) -> tuple[int, Schema]:
        newest = self.versions(subject)[-1]
        return newest, self.version(subject, newest)

    def version(self, subject: str, number: int) -> Schema:
        files = self._files(subject).get(number)
        if not files:
            raise LookupError(f"the folder {self.folder} has no subject {subject} with a version {number}")
        return self._schema(number, files[0], self._text(files[0]))

    def versions(self, subject: str) -> list[int]:
        found = sorted(self._files(subject))
        if not found:
            raise LookupError(f"the folder {self.folder} has no subject {subject}")
        return found

    def subjects(self) -> list[str]:
        try:
            return sorted(path.name for path in self.folder.iterdir() if path.is_dir() and self._files(path.name))
        except OSError as error:
            raise self._unreadable(self.folder, error) from error

    def register(self, subject: str, schema: Schema) -> int:
        """The id of the same text in the subject; a new one is written by people, not by a pipeline."""
        for number in self._files(subject):
            if self.version(subject, number).text.strip() == schema.text.strip():
                return number
        raise SchemaRefused(
            f"the folder {self.folder} has no such schema for subject {subject}, and a pipeline writes none there.",
            data="It was not registered.",
            remedy=f"Put it there as  {subject}/<number>{_suffix(schema.format)}",
        )

    def compatible(self, subject: str, schema: Schema) -> list[str]:
        return []  # a folder has no policy of its own

    def _files(self, subject: str) -> dict[int, list[Path]]:
        """Number -> files of this subject."""
        if not subject or "/" in subject or "\\" in subject or subject in (".", ".."):
            return {}
        found: dict[int, list[Path]] = {}
        try:
            names = sorted((self.folder / subject).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise self._unreadable(self.folder / subject, error) from error
        for path in names:
            if path.suffix in SUFFIXES and path.stem.isdecimal() and 0 < int(path.stem) < 2**31:
                found.setdefault(int(path.stem), []).append(path)
        return found

    def _schema(self, number: int, path: Path, text: str) -> Schema:
        imported: dict[str, str] = {}
        if path.suffix == ".proto":
            self._imports(text, imported, ())
        elif path.suffix == ".avsc":
            imported = Neighbours(self.folder, path.parent, self._text).imported(text, path)
        return Schema(number, SUFFIXES[path.suffix], text, (), tuple(imported.items()))

    def _imports(self, text: str, imported: dict[str, str], above: tuple[str, ...]) -> None:
        """The files that a `.proto` imports, by their path in the folder, those that others need first."""
        for name in _IMPORT.findall(text):
            path = self.folder / name
            if name in imported or name in above or name.startswith("google/protobuf/"):
                continue
            if ".." in Path(name).parts or not path.is_file():
                continue  # the compiler says what is missing, with its line
            inner = self._text(path)
            self._imports(inner, imported, (*above, name))
            imported[name] = inner

    def _text(self, path: Path) -> str:
        try:
            data = path.read_bytes()
            if len(data) > MOST_BYTES:
                raise SchemaRefused(f"{path} is larger than {MOST_BYTES // 1_000_000} MB.")
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SchemaRefused(f"{path} is not UTF-8 text.", data="Nothing was read with it.") from error
        except OSError as error:
            raise self._unreadable(path, error) from error

    def _unreadable(self, path: Path, error: OSError) -> Unavailable:
        return Unavailable(
            f"the registry's folder cannot be read: {path}: {error.strerror or error}.",
            data="Schemas that were seen before are kept and still read; nothing is lost.",
            remedy="Check the path of  registry: {folder: ...}",
        )


def _suffix(format_: str) -> str:
    return next(suffix for suffix, name in SUFFIXES.items() if name == format_)
