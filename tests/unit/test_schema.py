"""The JSON Schema for editors takes what `validate` takes, and refuses what it refuses for its structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from tests.docs.pages import Block, blocks
from tests.unit.mutations import EXAMPLES, MUTATIONS, Mutation

from penstock.spec.schema import json_schema, schema_text

SCHEMA = Draft202012Validator(json_schema())
BASE: dict[str, Any] = {
    "pipeline": "example",
    "source": {"kafka": {"brokers": "dev", "topics": ["example"]}},
    "decode": "raw",
    "sinks": {"lake": {"delta": {"table": "./lake/example"}}},
}
STRUCTURAL = [mutation for mutation in MUTATIONS if mutation.structural]


def tree(text: str) -> Any:
    """What an editor sees: YAML 1.2, times as text, keys as text."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
    return keyed(yaml.load(text))


def keyed(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): keyed(each) for key, each in value.items()}
    return [keyed(each) for each in value] if isinstance(value, list) else value


def problems(value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(value)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert json.loads(schema_text()) == json_schema()


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_schema_takes_the_examples(example: str) -> None:
    assert problems(tree(EXAMPLES[example])) == []


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.place)
def test_the_schema_takes_every_file_of_the_docs(block: Block) -> None:
    assert problems({**BASE, **tree(block.text)}) == []


@pytest.mark.parametrize("mutation", STRUCTURAL, ids=lambda mutation: mutation.name)
def test_the_schema_refuses_what_validate_refuses_for_its_structure(mutation: Mutation) -> None:
    assert problems(tree(mutation.text)) != []


def test_more_than_forty_are_refused() -> None:
    assert len(STRUCTURAL) > 40


@pytest.mark.parametrize(
    "more",
    [
        {"decode": {"raw": {}}}, {"decode": {"raw": {"max_bytes": "1.5KiB"}}}, {"trigger": {"every": "1 minute"}},
        {"trigger": "${env:TRIGGER}"}, {"pace": {"max_rows": "${env:ROWS}"}}, {"spark": {"a": 1, "b": True, "c": "x"}},
        {"vars": {"a": 1, "b": "x"}, "environments": {"prod": {"c": False}}}, {"pace": {}},
        {"source": {"kafka": {"brokers": ["${var:b}"], "partitions": {"a": [0]}, "start": {"a": {"0": 5}}}}},
        {"decode": "${var:format}"}, {"state": "${env:HOME}/state"},
    ],
    ids=str,
)  # fmt: skip
def test_the_schema_takes_what_people_may_write(more: dict[str, Any]) -> None:
    assert problems({**BASE, **more}) == []


def test_every_key_has_a_description() -> None:
    def bare(schema: Any, path: str) -> list[str]:
        if not isinstance(schema, dict):
            return []
        found = []
        for name, each in schema.get("properties", {}).items():
            told = each.get("description") or "$ref" in each
            found += ([] if told else [f"{path}.{name}"]) + bare(each, f"{path}.{name}")
        for way in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("$defs", {}).values()):
            found += bare(way, path)
        return found

    assert bare(json_schema(), "$") == []


def test_the_committed_schema_is_beside_the_reference() -> None:
    committed = Path(__file__).parents[2] / "docs" / "pipeline.schema.json"
    mend = "docs/pipeline.schema.json is stale. Mend it:  make reference"
    assert committed.read_text(encoding="utf-8") == schema_text(), mend
