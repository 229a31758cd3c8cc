"""Schemas that were seen once, kept: in memory, and under `<state>/schemas`, so that a registry may be away later."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from penstock import files
from penstock.files import Place
from penstock.schemas.contract import Reference, Registry, Schema


class Kept:
    """A registry whose answers are kept. An id never comes to mean another schema, nor a version of a subject."""

    def __init__(self, registry: Registry, place: str, folder: Place | None, *, write: bool = True) -> None:
        self.registry, self.place, self.write = registry, place, write
        key = hashlib.sha256(place.encode()).hexdigest()[:12]
        self.folder = None if folder is None else folder / "schemas" / key
        """Under a name of the registry's own: another one's ids mean other schemas."""
        self._by_id: dict[int, Schema] = {}
        self._versions: dict[tuple[str, int], int] = {}

    def by_id(self, number: int) -> Schema:
        if number not in self._by_id:
            self._by_id[number] = self._read(number) or self._keep(self.registry.by_id(number))
        return self._by_id[number]

    def version(self, subject: str, number: int) -> Schema:
        known = self._versions.get((subject, number)) or self._id_of(subject, number)
        if known is not None:
            return self.by_id(known)
        return self._keep_version(subject, number, self.registry.version(subject, number))

    def latest(self, subject: str) -> tuple[int, Schema]:
        number, schema = self.registry.latest(subject)
        return number, self._keep_version(subject, number, schema)

    def versions(self, subject: str) -> list[int]:
        return self.registry.versions(subject)

    def subjects(self) -> list[str]:
        return self.registry.subjects()

    def register(self, subject: str, schema: Schema) -> int:
        return self.registry.register(subject, schema)

    def compatible(self, subject: str, schema: Schema) -> list[str]:
        return self.registry.compatible(subject, schema)

    def _keep_version(self, subject: str, number: int, schema: Schema) -> Schema:
        kept = self._by_id[schema.id] = self._read(schema.id) or self._keep(schema)
        self._versions[subject, number] = kept.id
        if self.folder is not None and self.write:
            files.create_once(self._version_file(subject, number), files.to_json({"id": kept.id}))
        return kept

    def _id_of(self, subject: str, number: int) -> int | None:
        if self.folder is None:
            return None
        body = files.read_json(self._version_file(subject, number))
        return None if body is None else int(body["id"])

    def _version_file(self, subject: str, number: int) -> Place:
        assert self.folder is not None
        return self.folder / "subjects" / quote(subject, safe="") / f"{number}.json"

    def _read(self, number: int) -> Schema | None:
        body = None if self.folder is None else files.read_json(self._id_file(number))
        return None if body is None else from_json(body)

    def _keep(self, schema: Schema) -> Schema:
        """The schema as it is kept: what another process wrote first counts."""
        if self.folder is None or not self.write:
            return schema
        path = self._id_file(schema.id)
        return from_json(files.parse(path, files.create_once(path, files.to_json(to_json(schema)))))

    def _id_file(self, number: int) -> Place:
        assert self.folder is not None
        return self.folder / "ids" / f"{number}.json"


def to_json(schema: Schema) -> dict[str, Any]:
    return asdict(schema)


def from_json(body: dict[str, Any]) -> Schema:
    return Schema(
        body["id"],
        body["format"],
        body["text"],
        tuple(Reference(**each) for each in body["references"]),
        tuple((name, text) for name, text in body["imported"]),
    )
