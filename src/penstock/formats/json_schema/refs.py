"""The documents of a JSON Schema, and what its references mean: a place inside it, or in one that the registry gave."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from penstock.errors import SchemaRefused
from penstock.schemas.contract import Schema

BASE = "https://penstock.invalid/"
"""Where a schema stands that does not say where it stands. There is no such host, and nothing is asked of it."""


class Documents:
    """A schema and those it refers to. Nothing is ever fetched: what the registry did not give is not there."""

    def __init__(self, schema: Schema) -> None:
        self.id, self.root = schema.id, _read(schema.text, schema.id)
        self.others = {name: _read(text, schema.id) for name, text in schema.imported}
        self.base = self._own_uri(self.root, BASE)

    def follow(self, reference: str, base: str) -> tuple[Any, str]:
        """What a `$ref` in the document at `base` means, and at which address that stands."""
        address, fragment = urldefrag(urljoin(base, reference))
        document = self.document(address)
        found = self._anchor(document, fragment) if fragment and not fragment.startswith("/") else None
        return (found if found is not None else self._pointer(document, unquote(fragment), reference)), address

    def document(self, address: str) -> Any:
        """The document at this address: the schema itself, or one of the registry's references."""
        if address in (self.base, BASE, ""):
            return self.root
        for name, document in self.others.items():
            own = self._own_uri(document, urljoin(self.base, name))
            if address in (name, own, urljoin(self.base, name)) or address.endswith(f"/{name}"):
                return document
        name = address.removeprefix(BASE)
        raise SchemaRefused(
            f"schema {self.id}: it refers to {name}, which is not among its references in the registry.",
            remedy="Register that schema, and name it as a reference of this one. Nothing is fetched from elsewhere.",
        )

    def _pointer(self, document: Any, pointer: str, reference: str) -> Any:
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(document, list) and key.isdigit() and int(key) < len(document):
                document = document[int(key)]
            elif isinstance(document, dict) and key in document:
                document = document[key]
            else:
                raise SchemaRefused(f"schema {self.id}: there is nothing at {reference}.")
        return document

    def _anchor(self, document: Any, name: str) -> Any:
        """The part of the document that has this anchor; None if none has."""
        if isinstance(document, dict):
            if document.get("$anchor") == name or document.get("$id") == f"#{name}":
                return document
            document = list(document.values())
        if isinstance(document, list):
            return next((found for each in document if (found := self._anchor(each, name)) is not None), None)
        return None

    @staticmethod
    def _own_uri(document: Any, base: str) -> str:
        own = document.get("$id") or document.get("id") if isinstance(document, dict) else None
        return urldefrag(urljoin(base, own))[0] if isinstance(own, str) else base


def _read(text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaRefused(f"schema {number}: its text is no JSON: {error}") from error


@lru_cache(maxsize=64)
def documents_of(schema: Schema) -> Documents:
    return Documents(schema)
