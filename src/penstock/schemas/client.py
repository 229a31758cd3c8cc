"""A registry that speaks Confluent's API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from penstock.errors import SchemaRefused, Unavailable
from penstock.schemas.contract import Reference, Schema
from penstock.schemas.http import Api, ApiError
from penstock.schemas.options import RegistryOptions

FORMATS: dict[str, Any] = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json"}
TYPES = {name: word for word, name in FORMATS.items()}
MOST_REFERENCES = 200


class Client:
    """Schemas of a server. What `contract.Registry` says."""

    def __init__(self, options: RegistryOptions) -> None:
        self.api, self.place = Api(options), options.place

    def by_id(self, number: int) -> Schema:
        return self._schema(number, self._get(f"/schemas/ids/{number}", f"schema id {number}"))

    def latest(self, subject: str) -> tuple[int, Schema]:
        body = self._version(subject, "latest")
        return self._number(body, "version"), self._schema(self._number(body, "id"), body)

    def version(self, subject: str, number: int) -> Schema:
        body = self._version(subject, str(number))
        return self._schema(self._number(body, "id"), body)

    def versions(self, subject: str) -> list[int]:
        found = self._get(f"/subjects/{quote(subject, safe='')}/versions", f"subject {subject}")
        if not isinstance(found, list) or not all(isinstance(each, int) for each in found):
            raise self._strange("a list of versions")
        return sorted(found)

    def subjects(self) -> list[str]:
        found = self._get("/subjects", "subjects")
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self._strange("a list of subjects")
        return sorted(found)

    def register(self, subject: str, schema: Schema) -> int:
        try:
            body = self.api.call("POST", f"/subjects/{quote(subject, safe='')}/versions", _body(schema))
        except ApiError as error:
            raise SchemaRefused(
                f"the registry does not take the schema for subject {subject}: {error}.",
                data="It was not registered.",
                remedy=f"See why:  penstock schema diff --subject {subject}",
            ) from error
        return self._number(body, "id")

    def compatible(self, subject: str, schema: Schema) -> list[str]:
        path = f"/compatibility/subjects/{quote(subject, safe='')}/versions/latest?verbose=true"
        try:
            body = self.api.call("POST", path, _body(schema))
        except ApiError as error:
            if error.status == 404:
                return []  # the first version of a subject is compatible with all that came before it
            return [error.words or str(error)]
        if not isinstance(body, dict) or not isinstance(body.get("is_compatible"), bool):
            raise self._strange("a verdict")
        told = body.get("messages") or ["the subject's compatibility policy refuses it"]
        return [] if body["is_compatible"] else [str(each) for each in told]

    def _version(self, subject: str, version: str) -> Any:
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
        return self._get(path, f"subject {subject}" if version == "latest" else f"subject {subject} version {version}")

    def _get(self, path: str, what: str) -> Any:
        try:
            return self.api.call("GET", path)
        except ApiError as error:
            if error.status in (404, 422):
                raise LookupError(f"the registry {self.place} has no {what}") from error
            raise Unavailable(
                f"the schema registry {self.place} does not answer for {what}: {error}.",
                data="Schemas that were seen before are kept and still read; nothing is lost.",
                remedy="Check the URL, and the registry itself.",
            ) from error

    def _schema(self, number: int, body: Any) -> Schema:
        """The schema in this answer, with every schema that it refers to."""
        text, format_, references = self._parts(body)
        imported: dict[str, str] = {}
        self._imports(references, imported, ())
        return Schema(number, format_, text, references, tuple(imported.items()))

    def _parts(self, body: Any) -> tuple[str, Any, tuple[Reference, ...]]:
        told = body if isinstance(body, dict) else {}
        format_ = FORMATS.get(told.get("schemaType") or "AVRO")
        references = told.get("references") or []
        if not isinstance(told.get("schema"), str) or format_ is None or not isinstance(references, list):
            raise self._strange("a schema")
        try:
            made = tuple(Reference(str(r["name"]), str(r["subject"]), int(r["version"])) for r in references)
        except (KeyError, TypeError, ValueError):
            raise self._strange("the references of a schema") from None
        return told["schema"], format_, made

    def _imports(self, references: tuple[Reference, ...], imported: dict[str, str], above: tuple[str, ...]) -> None:
        """The texts of these references and of theirs, those that others need first."""
        for reference in references:
            if reference.name in imported:
                continue
            if reference.name in above or len(imported) >= MOST_REFERENCES:
                raise SchemaRefused(
                    f"the schemas of subject {reference.subject} refer to one another without an end, or to more than "
                    f"{MOST_REFERENCES} others.",
                    data="Nothing was read with them.",
                    remedy="Mend them in the registry.",
                )
            text, _, deeper = self._parts(self._version(reference.subject, str(reference.version)))
            self._imports(deeper, imported, (*above, reference.name))
            imported[reference.name] = text

    def _number(self, body: Any, key: str) -> int:
        found = body.get(key) if isinstance(body, dict) else None
        if not isinstance(found, int) or isinstance(found, bool):
            raise self._strange(f"the {key} of a schema")
        return found

    def _strange(self, what: str) -> Unavailable:
        return Unavailable(
            f"the schema registry {self.place} gave an answer that is not {what}.",
            data="Nothing was read with it.",
            remedy="Is this the address of its API? Apicurio has it under  /apis/ccompat/v7",
        )


def _body(schema: Schema) -> dict[str, Any]:
    references = [{"name": one.name, "subject": one.subject, "version": one.version} for one in schema.references]
    body: dict[str, Any] = {"schema": schema.text, "schemaType": TYPES[schema.format]}
    return {**body, "references": references} if references else body
