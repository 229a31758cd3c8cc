"""Options: the base of every part's settings, and the value types that people write.

A setting is declared once, as a field of an `Options` model with its meaning below it. Validation, the reference
pages, the JSON Schema and `describe` all read that field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from penstock.meanings import meanings

NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]

IN_WORDS = {NAME: "a name is 1 to 63 of `a-z 0-9 _ -` and begins with a letter or a digit."}
"""Pattern of a text field -> what it asks for. Nobody should have to read a regular expression to mend a file."""


class Wrong(ValueError):
    """What is wrong with a value, and what to write instead. The place is known to whoever validates.

    `quiet` keeps the value itself out of every message: it may be a secret.
    """

    def __init__(self, what: str, remedy: str = "", *, at: tuple[str | int, ...] = (), quiet: bool = False) -> None:
        super().__init__(f"{what} {remedy}".rstrip())
        self.what, self.remedy, self.at, self.quiet = what, remedy, at, quiet


class Noun:
    """Marks a text type with what people call its values: `topic`, `host:port`, `Spark DDL`.

    A text in a language of its own takes no references: a `$` belongs to that language.
    """

    def __init__(self, noun: str, *, references: bool = True) -> None:
        self.noun, self.references = noun, references


Ddl = Annotated[str, Noun("Spark DDL", references=False)]
"""Columns and their types, as Spark writes them: `id BIGINT NOT NULL, name STRING`."""


class Options(BaseModel):
    """Settings of one part: strict, frozen, every field described."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    exactly_one: ClassVar[tuple[str, ...]] = ()
    """Keys of which a file has just one. `between` says so in words; the JSON Schema reads it here."""

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        """What is wrong between the settings of this part, judged by the keys that were written."""
        yield from ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        made = handler.resolve_ref_schema(handler(schema))
        made["description"] = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
        for key, meaning in meanings(cls).items():
            made["properties"][key] = {"description": meaning, **made["properties"][key]}
        if cls.exactly_one:
            made["oneOf"] = [{"required": [key]} for key in cls.exactly_one]
        return made

    @model_validator(mode="wrap")
    @classmethod
    def _every_problem_at_once(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Rules between fields speak up even where a field is wrong by itself."""
        errors = [detail(wrong, wrong.at) for wrong in cls.between(value)] if isinstance(value, dict) else []
        try:
            made = handler(value)
        except ValidationError as error:
            raise all_of(cls.__name__, errors_of(error) + errors) from None
        if errors:
            raise all_of(cls.__name__, errors)
        return made


_KNOWN_TYPES = frozenset(get_args(core_schema.ErrorType))


def detail(wrong: ValueError, at: tuple[str | int, ...] = ()) -> InitErrorDetails:
    """`wrong` as one of pydantic's line errors."""
    return InitErrorDetails(type="value_error", loc=at, input=None, ctx={"error": wrong})


def errors_of(error: ValidationError, under: tuple[str | int, ...] = ()) -> list[InitErrorDetails]:
    """The line errors of `error`, each placed under this path. Their input is left behind: it may be a secret."""
    made = []
    for line in error.errors(include_url=False, include_input=False):
        kind: str | PydanticCustomError = line["type"]
        ctx = line.get("ctx", {})
        if kind not in _KNOWN_TYPES:
            kind = PydanticCustomError(line["type"], line["msg"].replace("{", "{{"), ctx)
        made.append(InitErrorDetails(type=kind, loc=(*under, *line["loc"]), input=None, ctx=ctx))
    return made


def all_of(title: str, errors: list[InitErrorDetails]) -> ValidationError:
    """One error that holds all of these."""
    return ValidationError.from_exception_data(title, errors, hide_input=True)


class _Quantity:
    """A number with its unit, as a person writes it: `10 seconds`, `64 MB`."""

    units: ClassVar[dict[str, float]] = {}
    example: ClassVar[str] = ""

    def __init__(self, text: str) -> None:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
        unit = match and self._unit(match[2])
        if not match or unit is None:
            raise self._wrong()
        self.text = " ".join(text.split())
        self.amount = float(match[1]) * unit
        if not 0 < self.amount < math.inf:
            raise Wrong("must be more than nothing, and not endless.", f"Write it like  {self.example}")

    @classmethod
    def _wrong(cls) -> Wrong:
        units = ", ".join(f"`{unit}`" for unit in cls.units)
        noun = cls.__name__.lower()
        return Wrong(f"needs a {noun}: a number and one of {units}.", f"Write it like  {cls.example}")

    @classmethod
    def _unit(cls, word: str) -> float | None:
        return cls.units.get(word)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._read, serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.text)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        pattern = rf"^\s*[0-9]+(\.[0-9]+)?\s*({'|'.join(cls._words())})\s*$"
        return {"type": "string", "pattern": pattern, "examples": [cls.example]}

    @classmethod
    def _words(cls) -> list[str]:
        """Every way to write a unit."""
        return list(cls.units)

    @classmethod
    def _read(cls, value: object) -> _Quantity:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise cls._wrong()
        return cls(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Quantity) and type(self) is type(other) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash((type(self), self.amount))


class Duration(_Quantity):
    """A length of time: `200 milliseconds`, `10 seconds`, `5 minutes`, `6 hours`, `7 days`."""

    units: ClassVar = {"milliseconds": 0.001, "seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
    example = "10 seconds"

    @classmethod
    def _unit(cls, word: str) -> float | None:
        return cls.units.get(word.removesuffix("s") + "s")

    @classmethod
    def _words(cls) -> list[str]:
        return [f"{unit.removesuffix('s')}s?" for unit in cls.units]

    @property
    def seconds(self) -> float:
        return self.amount


class Size(_Quantity):
    """A number of bytes: `64 MB` (KB, MB, GB: powers of 1000; KiB, MiB, GiB: powers of 1024)."""

    units: ClassVar = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    example = "64 MB"

    @property
    def bytes(self) -> int:
        return int(self.amount)


def _text(value: object) -> object:
    """What was written: 1e3 stays `1e3`, though YAML reads a number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return getattr(value, "written", str(value))
    return value


Text = Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""Text in a map of settings: YAML's 1 and true are taken as `1` and `true`."""

__all__ = [
    "IN_WORDS",
    "NAME",
    "Ddl",
    "Duration",
    "Field",
    "Name",
    "Noun",
    "Options",
    "Size",
    "Text",
    "Wrong",
    "all_of",
    "detail",
    "errors_of",
]
