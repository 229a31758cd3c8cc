"""Choice: a word of the pipeline file that picks a part, with the settings that part takes.

`decode: raw` and `decode: {json: {schema: ...}}` both end as an instance of the options model that the registry
knows by that word. In Python the instance itself is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo, ValidationError
from pydantic_core import CoreSchema, core_schema

from penstock.options import Options, Wrong, all_of, detail, errors_of
from penstock.registry import Kind


class Choice:
    """Marks a field as a choice among the parts of one kind: `Annotated[Any, Choice(sources)]`."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read,
            serialization=core_schema.plain_serializer_function_ser_schema(self.write, info_arg=True),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A word, or a map with that word as its only key."""
        models = {word: self.kind[word] for word in self.kind}
        alone = [word for word, model in models.items() if not needed(model)]
        maps = [
            {
                "type": "object",
                "properties": {word: model.__get_pydantic_json_schema__(model.__pydantic_core_schema__, handler)},
                "required": [word],
                "additionalProperties": False,
            }
            for word, model in models.items()
        ]
        return {"oneOf": [*([{"enum": alone}] if alone else []), *maps]}

    def read(self, value: object) -> Options:
        """The options that this value stands for."""
        if isinstance(value, Options) and self.kind.holds(value):
            return value
        if isinstance(value, str):
            return self._made(value, {}, word_only=True)
        if not isinstance(value, dict):
            raise Wrong(f"needs the name of a {self.kind.noun}.", f"There is {_listed(self.kind)}.")
        if len(value) != 1:
            raise self._not_one(value)
        [(word, body)] = value.items()
        return self._made(word, body)

    def write(self, options: Options, info: SerializationInfo) -> dict[str, Any]:
        """As the file spells it: a map with the part's word as its only key."""
        body = options.model_dump(mode=info.mode, by_alias=True, exclude_defaults=info.exclude_defaults)
        return {self.kind.name_of(options): body}

    def _made(self, word: str, body: object, *, word_only: bool = False) -> Options:
        at = () if word_only else (word, "[key]")
        if word not in self.kind:
            wrong = Wrong(f"there is no {self.kind.noun} `{word}`.{did_you_mean(word, self.kind)}")
            raise all_of(self.kind.noun, [detail(wrong, at)])
        model = self.kind[word]
        missing = needed(model) if word_only else []
        if missing:
            raise Wrong(
                f"`{word}` needs settings: {_listed(missing)}.", f"Write it like  {{{word}: {{{missing[0]}: ...}}}}"
            )
        try:
            return model.model_validate(body)
        except ValidationError as error:
            raise all_of(word, errors_of(error, under=(word,) if not word_only else ())) from None

    def _not_one(self, value: dict[Any, Any]) -> ValidationError:
        """More than one word, or none; words that exist nowhere are named as such."""
        noun = self.kind.noun
        strange = [
            detail(Wrong(f"there is no {noun} `{word}`.{did_you_mean(word, self.kind)}"), (word, "[key]"))
            for word in value
            if word not in self.kind
        ]
        found = " and ".join(f"`{word}`" for word in value) or "none"
        count = Wrong(f"needs exactly one {noun}: {_listed(self.kind, 'or')}.", f"Found {found}.")
        return all_of(noun, strange or [detail(count)])


def needed(model: type[Options]) -> list[str]:
    """The keys without which this part cannot be: a word alone does not do."""
    return [field.alias or name for name, field in model.model_fields.items() if field.is_required()]


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A sentence, with a space before it: the nearest known word, or all of them if they are few."""
    names = list(known)
    near = get_close_matches(str(word), names, n=1)
    if near:
        return f" Did you mean `{near[0]}`?"
    return f" There is {_listed(names)}." if names else ""


def _listed(names: Iterable[str], last: str = "and") -> str:
    quoted = [f"`{name}`" for name in names]
    return f" {last} ".join(part for part in (", ".join(quoted[:-1]), quoted[-1]) if part)
