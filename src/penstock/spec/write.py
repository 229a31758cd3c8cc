"""A Pipeline -> the file that describes it: only what differs from the defaults, in the order of the reference.

What comes out, loaded in the pipeline's folder, is the same value again.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from penstock.options import Duration, Size
from penstock.pipeline import Pipeline
from penstock.registry import Kind
from penstock.secret import Secret
from penstock.spec.layout import Block, laid_out
from penstock.spec.shape import SPREAD, Shape, fields_of, shape_of
from penstock.stages import Step

_LONGEST = 90
"""A text in a language of its own that is longer than this gets lines of its own."""


def to_yaml(pipeline: Pipeline) -> str:
    """The file of this pipeline. Its paths are relative to the pipeline's folder where they lie below it."""
    return laid_out(_Writer(pipeline.folder).settings(pipeline))


class _Writer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def settings(self, options: BaseModel) -> dict[str, Any]:
        """Key -> value of every setting that is not its default."""
        made = self._spread(options)
        known = dict(options)
        for key, field in fields_of(type(options)):
            name = next(name for name, each in type(options).model_fields.items() if each is field)
            value = known[name]
            if field.is_required() or value != field.get_default(call_default_factory=True, validated_data=known):
                made[key] = self.value(value, shape_of(field))
        return made

    def _spread(self, options: BaseModel) -> dict[str, Any]:
        """The choice that stands beside the other keys, as the word it is."""
        field = type(options).model_fields.get(SPREAD)
        kind = shape_of(field).kind if field else None
        part = getattr(options, SPREAD, None)
        return {kind.name_of(part): self.settings(part)} if kind and part is not None else {}

    def value(self, value: Any, shape: Shape | None) -> Any:
        """A value as the file spells it."""
        if isinstance(value, BaseModel):
            return self._part(value, shape.kind) if shape and shape.kind else self.settings(value)
        if isinstance(value, dict):
            return {key: self.value(each, shape and shape.below(key)) for key, each in value.items()}
        if isinstance(value, tuple | list):
            return [self._item(each, place, shape and shape.below(place)) for place, each in enumerate(value)]
        return self._scalar(value, shape)

    def _part(self, options: BaseModel, kind: Kind) -> Any:
        """The word alone where nothing is set."""
        word, body = kind.name_of(options), self.settings(options)
        return {word: body} if body else word

    def _item(self, value: Any, place: int, shape: Shape | None) -> Any:
        made = self.value(value, shape)
        if isinstance(value, Step) and value.name == f"step{place + 1}":
            del made["name"]  # what a step without a name is called
        return made

    def _scalar(self, value: Any, shape: Shape | None) -> Any:
        if isinstance(value, Duration | Size):
            return value.text
        if isinstance(value, Secret):
            return value.reference
        if isinstance(value, datetime):
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        if not isinstance(value, str):
            return value
        if any(each.relative for each in shape.each()) if shape else False:
            value = self._path(value)
        if shape and not shape.references:
            return Block(value) if "\n" in value or len(value) > _LONGEST else value
        return value.replace("$", "$$") if "$$" in value or "${" in value else value

    def _path(self, path: str) -> str:
        """Relative where it lies below the folder; as a URL where a path could not be written plainly."""
        if path != path.strip() or "%" in path or not path.isprintable():
            return "file://" + quote(path)
        below = Path(path).is_relative_to(self.folder)
        return f"./{Path(path).relative_to(self.folder)}" if below else path
