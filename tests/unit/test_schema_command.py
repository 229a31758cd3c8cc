"""penstock schema: what producers' CI sees, and fields that nobody declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.authoring.adopt import adopted, undeclared
from penstock.cli import built
from penstock.errors import PenstockError
from penstock.spec import load_pipeline

FILE = """\
pipeline: p
source: {kafka: {brokers: [localhost:9092], topics: [orders]}}
registry: {folder: ./schemas}
decode: avro
schema_changes: {drop: stop}
checks:
  - {name: positive, rule: amount > 0}
steps:
  - {name: narrowed, sql: "SELECT id, amount, upper(name) AS name FROM rows WHERE note IS NULL"}
sinks:
  lake: {delta: {table: ./lake/t, partition_by: [name]}}
  alerts: {where: amount > 10, kafka: {topic: big, key: id, headers: {who: name}}}
"""
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "amount", "type": "double"},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "note", "type": ["null", "string"], "default": None},
]


def schema(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "schemas" / "orders-value").mkdir(parents=True)
    (tmp_path / "schemas" / "orders-value" / "1.avsc").write_text(schema(*FIELDS[:3]))
    (tmp_path / "schemas" / "orders-value" / "2.avsc").write_text(schema(*FIELDS))
    (tmp_path / "p.yaml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(built(), ["schema", *args])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_the_registry_is_listed_with_what_the_pipeline_reads(folder: Path) -> None:
    code, text = run("list", "p.yaml")
    assert code == 0
    assert "orders-value: versions 1 (id 1), 2 (id 2)   <- columns as of id 2" in text
    told = json.loads(run("list", "p.yaml", "--json")[1])
    assert told["subjects"] == {"orders-value": {"1": 1, "2": 2}}
    assert not (folder / "state").exists()


def test_a_schema_is_shown_with_its_columns(folder: Path) -> None:
    for which in ("1", "orders-value@1"):
        code, text = run("show", "p.yaml", which)
        assert code == 0
        assert "`amount` DOUBLE NOT NULL,\n`name` STRING" in text
    assert "`note` STRING" in run("show", "p.yaml", "orders-value")[1]
    with pytest.raises(PenstockError, match="no schema with the id 7"):
        run("show", "p.yaml", "7")


def test_two_schemas_are_compared_with_what_the_policy_says(folder: Path) -> None:
    assert run("diff", "p.yaml", "1", "2") == (0, "add           evolve  /note is new (STRING)\n")
    assert run("diff", "p.yaml", "2", "1")[1] == "drop          stop    /note is gone (it was STRING)\n"
    assert run("diff", "p.yaml", "2", "2")[1] == "No field changes.\n"
    assert json.loads(run("diff", "p.yaml", "1", "2", "--json")[1])[0]["action"] == "evolve"


def test_a_harmless_schema_passes_with_the_columns_that_tables_gain(folder: Path) -> None:
    (folder / "new.avsc").write_text(schema(*FIELDS, {"name": "city", "type": "string", "default": ""}))
    code, text = run("check", "new.avsc", "--pipeline", "p.yaml")
    assert code == 0, text
    assert "| p (`p.yaml`) | orders-value | fine |" in text
    assert "- tables gain `city` STRING" in text


def test_a_harmful_one_fails_and_names_everything_that_it_touches(folder: Path) -> None:
    changed = [{**FIELDS[0], "type": "string"}, FIELDS[1], FIELDS[2]]
    (folder / "new.avsc").write_text(schema(*changed))
    code, text = run("check", "new.avsc", "--pipeline", "p.yaml", "--report", "report.md")
    assert code == 1
    assert text == (folder / "report.md").read_text()
    assert "# Schema check: `new.avsc` would harm 1 of 1" in text
    assert "orders-value | the pipeline would stop |" in text
    assert (
        "- **incompatible** (park): /id (BIGINT) does not fit: string does not become BIGINT; "
        "named by step narrowed, sink alerts, key" in text
    )
    assert "- **drop** (stop): /note is gone (it was STRING); named by step narrowed" in text
    [told] = json.loads(run("check", "new.avsc", "--pipeline", "p.yaml", "--json")[1])
    assert (told["verdict"], told["fine"]) == ("the pipeline would stop", False)


def test_checks_keys_headers_and_partitions_are_named(folder: Path) -> None:
    (folder / "new.avsc").write_text(schema({**FIELDS[0]}))
    [told] = json.loads(run("check", "new.avsc", "--pipeline", "p.yaml", "--json")[1])
    named = {change["path"]: change["named_by"] for change in told["changes"]}
    assert named["/amount"] == ["check positive", "step narrowed", "sink alerts, where"]
    assert named["/name"] == ["step narrowed", "sink lake, partition_by", "sink alerts, headers.who"]


def test_a_check_needs_no_registry_where_the_current_schema_is_given(folder: Path) -> None:
    (folder / "old.avsc").write_text(schema(*FIELDS[:2]))
    (folder / "new.avsc").write_text(schema(*FIELDS[:3]))
    (folder / "schemas").rename(folder / "away")
    code, text = run("check", "new.avsc", "--pipeline", "p.yaml", "--current", "old.avsc")
    assert code == 0, text
    assert "- tables gain `name` STRING" in text


JSON_FILE = """\
pipeline: p
source: {{kafka: {{brokers: [localhost:9092], topics: [orders]}}}}
decode:
  json:
    schema: {schema}
sinks: {{lake: {{delta: {{table: ./lake/t}}}}}}  # a remark that stays
"""
RECORDS = [b'{"id": %d, "colour": "red", "size": {"w": 1}, "tags": ["a"]}' % number for number in range(60)]


@pytest.mark.parametrize("written", ["id BIGINT NOT NULL", "'id BIGINT NOT NULL'", "|\n      id BIGINT NOT NULL\n"])
def test_undeclared_fields_are_told_with_types_and_examples_and_adopted(tmp_path: Path, written: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(JSON_FILE.format(schema=written))
    pipeline = load_pipeline(file)
    found = undeclared(pipeline, [*RECORDS, b"no json", None])
    assert found.records == 60
    assert [(one.name, one.type, one.seen) for one in found.fields] == [
        ("colour", "STRING", 60),
        ("size", "STRUCT<`w`: BIGINT NOT NULL>", 60),
        ("tags", "ARRAY<STRING>", 60),
    ]
    assert found.fields[0].example == "red"
    file.write_text(adopted(file, pipeline, found))
    again = load_pipeline(file)
    assert [field.name for field in again.decode.fields] == ["id", "colour", "size", "tags"]
    assert again.decode.fields[0] == pipeline.decode.fields[0]
    assert "# a remark that stays" in file.read_text()
    assert undeclared(again, RECORDS).fields == ()


def test_only_a_declared_schema_is_adopted_into(folder: Path) -> None:
    with pytest.raises(PenstockError, match="only a declared JSON schema"):
        undeclared(load_pipeline(folder / "p.yaml"), [])
