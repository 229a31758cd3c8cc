"""Formats whose records name the schema they were written with: settings that they share, and the bound format.

The settings alone decode nothing: what the columns are, only the registry can say. `Framed` is the format together
with what is known (`Reader`); it is what a pass decodes with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, PositiveInt

from penstock.choice import did_you_mean
from penstock.formats.raw import DecodeOptions
from penstock.options import Field, Options, Wrong
from penstock.schemas.contract import Codec, Reader

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.formats.contract import Decoder
    from penstock.formats.types import Field as SchemaField

NAMINGS = ("by_topic", "by_record", "by_topic_and_record")


class Named(Options):
    """One subject for all topics."""

    named: str = Field(min_length=1, description="The subject.")


def _subject(value: object) -> object:
    """A word, or `{named: S}`."""
    if isinstance(value, Named) or (isinstance(value, str) and value in NAMINGS):
        return value
    if isinstance(value, dict) and list(value) == ["named"]:
        return Named.model_validate(value)
    hint = did_you_mean(value, NAMINGS) if isinstance(value, str) else ""
    raise Wrong(f"is no way to name subjects.{hint}", "Write it like  by_topic  or  {named: orders-value}")


class RegistryDecode(DecodeOptions):
    """What every format with a registry takes."""

    subject: Annotated[Literal["by_topic", "by_record", "by_topic_and_record"] | Named, BeforeValidator(_subject)] = (
        Field(
            "by_topic",
            description="Under which name the registry keeps the schemas of a topic: `<topic>-value`, the full name of "
            "the record, both with a `-` between, or one that you name.",
        )
    )
    version: Literal["latest"] | PositiveInt = Field(
        "latest",
        description="The version whose fields are the columns at the first start; then it moves only by "
        "`schema_changes`.",
    )
    framing: Literal["confluent", "bare"] = Field(
        "confluent",
        description="`confluent`: a zero byte and the schema's id before each record. `bare`: the record alone; needs "
        "a pinned `version`.",
    )

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        if given.get("framing") == "bare" and not isinstance(given.get("version"), int):
            yield Wrong("`framing: bare` needs a pinned version: the bytes do not say which.", "Write  version: 1")

    def codec(self) -> Codec:
        """The format's own part: what a schema says of a row, and how its payloads are read."""
        raise NotImplementedError

    def subject_of(self, topic: str, name: str) -> str:
        """Under which the registry keeps the schema of this topic and this record name."""
        if isinstance(self.subject, Named):
            return self.subject.named
        if self.subject == "by_topic":
            return f"{topic}-value"
        return name if self.subject == "by_record" else f"{topic}-{name}"

    def columns(self) -> pa.Schema:
        raise unbound()

    def decoder(self) -> Decoder:
        raise unbound()


def unbound() -> TypeError:
    """A mistake of the caller's: settings were taken for the bound format."""
    return TypeError("only the registry knows the columns of this format: use the bound format (Framed)")


@dataclass(frozen=True)
class Framed:
    """A registry format with all that is known of its schemas. Picklable; goes to the tasks."""

    options: RegistryDecode
    reader: Reader
    missing: frozenset[int] = frozenset()
    """Ids that the registry does not know: their records are rejected (`unknown_schema`)."""
    refused: tuple[tuple[int, str], ...] = ()
    """Ids whose schema the registry cannot give, and why: their records are rejected (`schema_parked`)."""
    closed: bool = False
    """Take every id that is not known as missing: all that the batch holds were looked up."""

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        return self.reader.fields

    def column_types(self) -> dict[str, str]:
        """Column -> type as DDL spells it."""
        return {field.name: str(field.type) for field in self.reader.fields}

    def columns(self) -> pa.Schema:
        from penstock.formats.arrow_types import to_arrow

        return to_arrow(self.reader.fields)

    def decoder(self) -> Decoder:
        from penstock.formats.framed_columns import FramedDecoder

        return FramedDecoder(self)
