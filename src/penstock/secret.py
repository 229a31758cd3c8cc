"""Secret: a setting that is kept as a reference to a secret, and read only where it is used.

`${env:NAME}` stands for an environment variable, `${file:/run/secrets/x}` for what a file holds. The secret itself is
never stored, printed or pickled: what travels is the reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from penstock.errors import SetupFailed
from penstock.options import Wrong

_REFERENCE = re.compile(r"\$\$|\$\{([^}]*)(\}?)")
_LARGEST = 1_000_000
KINDS = ("env", "file", "var")
WHOLE = r"^\$\{(env|file|var):[^}]+\}$"
"""One whole reference and nothing else, as a secret field takes it."""


@dataclass(frozen=True)
class Reference:
    """`${kind:name}`: what stands in the file for something outside of it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"

    def read(self, folder: Path | None = None) -> str:
        """What an `env` or `file` reference stands for. Raises Wrong, which does not hold it."""
        return _variable(self.name) if self.kind == "env" else _content(self.name, folder or Path.cwd())


def pieces(text: str) -> Iterator[str | Reference]:
    """The text cut at its references; `$$` is a dollar. Raises Wrong where one cannot be read.

    A single `$` that opens no reference stays what it is, because regular expressions end in one.
    """
    end = 0
    for match in _REFERENCE.finditer(text):
        yield text[end : match.start()]
        yield "$" if match[0] == "$$" else _reference(match)
        end = match.end()
    yield text[end:]


def _reference(match: re.Match[str]) -> Reference:
    kind, colon, name = match[1].partition(":")
    if not match[2]:
        raise Wrong("a reference is not closed: a `}` is missing.", "For a dollar write  $$")
    if kind in KINDS and name:
        return Reference(kind, name)
    guess = f"Did you mean  ${{env:{kind}}}?" if not colon and kind.isidentifier() else "For a dollar write  $$"
    known = "`${env:NAME}`, `${file:/path}` and `${var:NAME}`"
    raise Wrong(f"`{_short(match[0])}` is no reference: there is {known}.", guess)


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise Wrong(f"the environment variable `{_short(name)}` is not set.", f"Set it:  export {_short(name)}=...")
    return value


def _content(name: str, folder: Path) -> str:
    """The file's text without its trailing newline."""
    try:
        with (folder / name).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise Wrong(f"the file `{_short(name)}` cannot be read: {why}.") from None
    if len(data) > _LARGEST:
        raise Wrong(f"the file `{_short(name)}` is larger than 1 MB.")
    return text.removesuffix("\n").removesuffix("\r")


def _short(text: str, limit: int = 60) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


class Secret:
    """A password or a key, as a reference to it: `Secret("${env:KAFKA_PASSWORD}")`.

    `str()` is masked, so that it can be neither logged nor taken for the secret by mistake. `resolve()` gives the
    secret, where it is used.
    """

    __slots__ = ("reference",)

    def __init__(self, reference: str) -> None:
        self.reference = str(_whole(reference))

    def resolve(self) -> str:
        """The secret. Raises SetupFailed where there is none; nothing of it is kept."""
        reference = _whole(self.reference)
        try:
            return reference.read()
        except Wrong as wrong:
            raise SetupFailed(f"a secret is missing: {wrong.what}", remedy=wrong.remedy) from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._read, serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.reference)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "pattern": WHOLE}

    @classmethod
    def _read(cls, value: object) -> Secret:
        if isinstance(value, Secret):
            return value
        if not isinstance(value, str):
            raise _no_secret()
        return cls(value)

    def __repr__(self) -> str:
        return f"Secret({self.reference!r})"

    def __str__(self) -> str:
        return "********"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.reference == other.reference

    def __hash__(self) -> int:
        return hash((Secret, self.reference))

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (self.reference,)


def _whole(text: str) -> Reference:
    """The one reference that this text is. What was written instead is not told: it may be the secret."""
    if not isinstance(text, str) or not re.fullmatch(r"\$\{(env|file):[^}]+\}", text):
        raise _no_secret()
    kind, _, name = text[2:-1].partition(":")
    return Reference(kind, name)


def _no_secret() -> Wrong:
    return Wrong(
        "is a secret: it takes one whole reference, and nothing else.",
        "Write it like  ${env:PASSWORD}  or  ${file:/run/secrets/password}",
        quiet=True,
    )
