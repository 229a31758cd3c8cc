"""Options: the base of every part's settings, and the value types that people write.

A setting is declared once, as a field of an `Options` model with a description. Validation, the reference
pages, the JSON Schema and `describe` all read that field.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, StringConstraints
from pydantic_core import CoreSchema, core_schema

NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]


class Options(BaseModel):
    """Settings of one part: strict, frozen, every field described."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )


class _Quantity:
    """A number with its unit, as a person writes it: `10 seconds`, `64 MB`."""

    units: dict[str, float] = {}
    example = ""

    def __init__(self, text: str) -> None:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
        unit = match and self._unit(match[2])
        if not match or unit is None:
            raise ValueError(f"is not a {type(self).__name__.lower()}. Write it like  {self.example}")
        self.text = " ".join(text.split())
        self.amount = float(match[1]) * unit

    @classmethod
    def _unit(cls, word: str) -> float | None:
        return cls.units.get(word)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._read, serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.text)
        )

    @classmethod
    def _read(cls, value: object) -> _Quantity:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise ValueError(f"needs a unit. Write it like  {cls.example}")
        return cls(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.amount == other.amount  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.amount))


class Duration(_Quantity):
    """A length of time: `200 milliseconds`, `10 seconds`, `5 minutes`, `6 hours`, `7 days`."""

    units = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86400}
    example = "10 seconds"

    @classmethod
    def _unit(cls, word: str) -> float | None:
        return cls.units.get(word.removesuffix("s"))

    @property
    def seconds(self) -> float:
        return self.amount


class Size(_Quantity):
    """A number of bytes: `64 MB` (KB, MB, GB: powers of 1000; KiB, MiB, GiB: powers of 1024)."""

    units = {
        "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
    }  # fmt: skip
    example = "64 MB"

    @property
    def bytes(self) -> int:
        return int(self.amount)


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_text)]
"""Text in a map of settings: YAML's 1 and true are taken as `1` and `true`."""

__all__ = ["NAME", "Duration", "Field", "Name", "Options", "Size", "Text"]
