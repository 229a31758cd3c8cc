"""What may be written in the pipeline file about the schema registry, and about changes of producers' schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator

from penstock.options import Duration, Field, Options, Wrong
from penstock.paths import Relative
from penstock.secret import Secret

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _local(value: str | None) -> str | None:
    """A path of this machine."""
    if value is not None and (not value.strip() or "://" in value):
        raise Wrong("needs a path of this machine.", "Write it like  ./schemas")
    return value


LocalPath = Annotated[str | None, AfterValidator(_local), Relative()]


def _url(value: str) -> str:
    """An https URL without credentials in it; plain http only to this machine."""
    try:
        parts = urlsplit(value)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise Wrong("is no URL.", "Write it like  https://registry.example.com") from None
    if parts.scheme not in ("https", "http") or not host:
        raise Wrong("is no URL of a registry.", "Write it like  https://registry.example.com")
    if parts.username is not None or parts.password is not None:
        raise Wrong("holds a user or a password.", "Write them as  username:  and  password:", quiet=True)
    if parts.query or parts.fragment:
        raise Wrong("has a `?` or a `#` in it.", "Write it like  https://registry.example.com/apis/ccompat/v7")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise Wrong("plain http is taken only to this machine: the schemas could be changed on the way.", "Use https.")
    return value.rstrip("/")


def _wait(value: Duration) -> Duration:
    if value.seconds > 600:
        raise Wrong("is at most 10 minutes: the batch waits so long.", "Write it like  30 seconds")
    return value


class RegistryOptions(Options):
    """A schema registry: a server that speaks Confluent's API, or a folder of files."""

    url: Annotated[str, AfterValidator(_url)] | None = Field(
        None, description="A server with Confluent's API. https; plain http only to this machine."
    )
    folder: LocalPath = Field(
        None,
        description="A folder of files `<subject>/<id>.avsc`, `.proto` or `.json`; the number is the id, and orders "
        "the versions of the subject.",
    )
    username: str | None = Field(None, min_length=1, description="Basic authentication, together with `password`.")
    password: Secret | None = Field(None, description="Of `username`.")
    token: Secret | None = Field(None, description="A bearer token.")
    ca: LocalPath = Field(None, description="PEM file of the authority that signed the server's certificate.")
    timeout: Duration = Field(Duration("10 seconds"), description="Of one call.")
    unknown_id_wait: Annotated[Duration, AfterValidator(_wait)] = Field(
        Duration("30 seconds"),
        description="How long a batch waits for a schema id that the registry does not know, before its records are "
        "rejected (`unknown_schema`).",
    )

    exactly_one: ClassVar = ("url", "folder")

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        found = [f"`{way}`" for way in cls.exactly_one if given.get(way) is not None]
        if len(found) != 1:
            yield Wrong("needs exactly one of `url` and `folder`.", f"Found {' and '.join(found) or 'neither'}.")
        there = {key for key in ("username", "password", "token", "ca") if given.get(key) is not None}
        if ("username" in there) != ("password" in there):
            yield Wrong("`username` and `password` go together.", "Write both, or neither.")
        if {"username", "token"} <= there:
            yield Wrong("takes a user or a token, not both.", "Take one of them out.")
        if there and given.get("folder") is not None:
            yield Wrong(f"a folder takes no {', '.join(f'`{key}`' for key in sorted(there))}.", "Take it out.")

    @property
    def place(self) -> str:
        """Where the registry is, for people and as its identity: ids of another registry mean other schemas."""
        return self.url or Path(self.folder or "").as_uri()


Add = Literal["evolve", "ignore", "park", "stop"]
Some = Literal["evolve", "park", "stop"]


class SchemaChanges(Options):
    """What happens when a producer's schema changes: the columns take it, or leave it, or its records are parked.

    `evolve`: columns and tables take it. `ignore`: the new field is not taken. `park`: those records go to the dead
    letters (`schema_parked`). `stop`: nothing of the batch becomes visible, exit 1.
    """

    add: Add = Field(
        "evolve", description="A new field. Tables gain the column in a commit just before the first rows that need it."
    )
    widen: Some = Field(
        "park", description="A field holds more than its column: INT becomes BIGINT. `evolve` needs  writer: spark"
    )
    rename: Some = Field(
        "evolve", description="Told by an Avro alias or a Protobuf number: values go on under the column's name."
    )
    drop: Some = Field(
        "evolve", description="A field is gone: the column stays, and is null (or its default) in new rows."
    )
    incompatible: Literal["park", "stop"] = Field(
        "park", description="Any other change: the records cannot be read into the columns."
    )
