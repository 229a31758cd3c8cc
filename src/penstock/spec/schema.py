"""The JSON Schema of the pipeline file, for editors: made by pydantic from the options models, then told of the file.

What a file has and a Python value has not: references in any scalar, no null, `vars`, and a sink's sort that stands
beside its other keys.
"""

from __future__ import annotations

import json
from typing import Any

from penstock.pipeline import Pipeline
from penstock.spec.shape import SPREAD
from penstock.spec.variables import FileKeys

Schema = dict[str, Any]
REFERENCE = {
    "description": "A reference, filled in at load.",
    "type": "string",
    "pattern": r"\$\{(env|file|var):[^}]+\}",
}
_TO_REFERENCE = {"$ref": "#/$defs/Reference"}
_OF_THE_KEY = ("description", "default", "examples")
"""What belongs to a key, however its value may be written."""
_VERBATIM = ("default", "enum", "const", "required", "examples", "type", "pattern")


def schema_text() -> str:
    """The schema as the file that is committed."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def json_schema() -> Schema:
    """The schema of a pipeline file: draft 2020-12."""
    made = Pipeline.model_json_schema(by_alias=True)
    parts = made.pop("$defs")
    made["properties"] |= FileKeys.model_json_schema()["properties"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "penstock pipeline file",
        **_told(made),
        "$defs": {"Reference": REFERENCE, **{name: _told(part) for name, part in sorted(parts.items())}},
    }


def _told(schema: Any) -> Any:
    """This schema, and all inside it, as a file has it."""
    if isinstance(schema, list):
        return [_told(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        schema = _as_settings(schema)
    made = {key: _inside(key, value) for key, value in schema.items() if not _is_noise(key, value)}
    if "patternProperties" in made:
        made["additionalProperties"] = False
    if made.get("format") == "date-time":
        made["pattern"] = "^[0-9]{4}-[0-9]"
    made = _with_reference(made) if _is_scalar(made) else made
    return _flat(made) if "anyOf" in made else made


def _inside(key: str, value: Any) -> Any:
    if key in ("properties", "patternProperties"):
        return {name: _told(each) for name, each in value.items()}
    return value if key in _VERBATIM else _told(value)


def _is_noise(key: str, value: Any) -> bool:
    return key == "title" or (key in ("default", "required") and value in (None, "", [], {}))


def _as_settings(schema: Schema) -> Schema:
    """Settings as a file writes them: a spread choice beside the other keys, no keywords of Python alone."""
    made, keys = dict(schema), dict(schema["properties"])
    if SPREAD in keys:
        sorts = {word: body for each in keys[SPREAD]["oneOf"] for word, body in each.get("properties", {}).items()}
        keys = {**sorts, **keys}
        made["oneOf"] = [{"required": [word]} for word in sorts]
    only = {SPREAD} if SPREAD in keys else {"folder"} if "pipeline" in keys else set()
    made["properties"] = {key: value for key, value in keys.items() if key not in only}
    made["required"] = [key for key in made.get("required", ()) if key not in only]
    return made


def _is_scalar(schema: Schema) -> bool:
    """Is this a scalar that a reference does not fit by itself?"""
    if "enum" in schema or "const" in schema or schema.get("type") in ("integer", "number", "boolean"):
        return True
    return schema.get("type") == "string" and "pattern" in schema and "(env|file" not in schema["pattern"]


def _with_reference(schema: Schema) -> Schema:
    value = {key: each for key, each in schema.items() if key not in _OF_THE_KEY}
    return {**{key: each for key, each in schema.items() if key not in value}, "anyOf": [value, _TO_REFERENCE]}


def _flat(schema: Schema) -> Schema:
    """`anyOf` without null, without another `anyOf` inside, and not at all if one is left."""
    ways: list[Schema] = []
    for each in schema["anyOf"]:
        for way in each["anyOf"] if set(each) == {"anyOf"} else [each]:
            if way != {"type": "null"} and way not in ways:
                ways.append(way)
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, "anyOf": ways} if len(ways) > 1 else {**ways[0], **rest}
