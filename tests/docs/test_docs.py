"""What README and docs say holds: files validate, commands exist, links lead somewhere, examples come true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from penstock import Json, errors
from penstock.cli import built
from penstock.observe import events
from penstock.operate.doctor import listing
from penstock.rows import DEAD_LETTER
from penstock.spec import pipeline_from_text
from penstock.spec.reference import page as with_tables
from penstock.spec.schema import schema_text
from penstock.sql.scope import penstock_columns
from tests.docs.pages import (
    PAGES,
    ROOT,
    Block,
    Command,
    bare,
    blocks,
    blocks_of,
    commands_of,
    prose_of,
    slug,
    table_after,
)

BASE: dict[str, Any] = {
    "pipeline": "example",
    "source": {"kafka": {"brokers": ["localhost:9092"], "topics": ["example"]}},
    "decode": {"json": {"schema": "id BIGINT NOT NULL, country STRING"}},
    "sinks": {"lake": {"delta": {"table": "./lake/example"}}},
}
"""What a block that shows a part of a pipeline file is laid over."""
MACHINE = re.compile(r"/(?:work|root|home)/|pypi\.org|files\.pythonhosted|repo1?\.maven|maven\.org")
PIPELINES, CONSOLES, PYTHON = blocks("yaml"), blocks("console"), blocks("python")
NOT_ALONE = ("DeltaTable", "read_delta", "MyHarness", "load_pipeline", ".audit(")
"""Words of blocks that need a table (the walk-through runs most of these), a file or a class of the reader's own."""
ALONE = [block for block in PYTHON if not any(word in block.text for word in NOT_ALONE)]


def name_of(block: Block) -> str:
    return block.place


def test_the_reader_of_pages_finds_blocks_of_every_kind() -> None:
    kinds = {block.kind for block in blocks()}
    assert {"yaml", "console", "python", "text", "sql", "jsonl"} <= kinds


@pytest.mark.parametrize("block", PIPELINES, ids=name_of)
def test_every_pipeline_file_of_the_docs_is_valid(block: Block, tmp_path: Path) -> None:
    tree = tree_of(block)
    if is_whole(tree):
        text = block.text
    else:
        stream = StringIO()
        YAML().dump({**base_of(block), **tree}, stream)
        text = stream.getvalue()
    assert pipeline_from_text(text, file=block.place, folder=tmp_path).name


def tree_of(block: Block) -> dict[str, Any]:
    tree: dict[str, Any] = YAML(typ="safe", pure=True).load(block.text)
    return tree


def is_whole(tree: dict[str, Any]) -> bool:
    return set(BASE) <= set(tree)


def base_of(block: Block) -> dict[str, Any]:
    """What a part is laid over: the first whole file that its page shows above it, else BASE."""
    above = [tree_of(each) for each in blocks_of(block.page, "yaml") if each.line < block.line]
    return next((tree for tree in above if is_whole(tree)), BASE)


@pytest.mark.parametrize("block", [block for block in PIPELINES if is_whole(tree_of(block))], ids=name_of)
def test_every_whole_file_of_the_docs_satisfies_the_committed_schema(block: Block) -> None:
    schema = json.loads((ROOT / "docs" / "pipeline.schema.json").read_text(encoding="utf-8"))
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)  # as editors see it
    found = Draft202012Validator(schema).iter_errors(json.loads(json.dumps(yaml.load(block.text))))
    assert [error.message for error in found] == []


@pytest.mark.parametrize("block", CONSOLES, ids=name_of)
def test_every_command_of_the_docs_exists(block: Block) -> None:
    for command in commands_of(block):
        for program, *arguments in command.programs:
            assert known(program, arguments, prose_of(block.page)), f"{block.place}: {command.line}"


def known(program: str, arguments: list[str], prose: str) -> bool:
    """Can a reader type this? A script must be one that the page tells to save under that name."""
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return set(arguments) <= set(targets)
    if program == ".venv/bin/python":
        return (ROOT / arguments[0]).is_file()
    if program == "penstock":
        return parses(arguments)
    if program == "python":
        return f"`{arguments[0]}`" in prose
    return (program, *arguments) == ("source", ".venv/bin/activate") or program in ("echo", "kill")


def parses(arguments: list[str]) -> bool:
    """Does the command line take these arguments? Nothing is run."""
    command: Any = typer.main.get_command(built())
    while hasattr(command, "commands"):
        command = command.commands[arguments[0]]
        arguments = arguments[1:]
    return command.make_context("penstock", list(arguments)) is not None


@pytest.mark.parametrize("wrong", [["rum", "x.yaml"], ["run", "x.yaml", "--onec"], ["run"], ["dev", "produce"]])
def test_a_command_that_does_not_exist_would_be_found(wrong: list[str]) -> None:
    with pytest.raises(Exception, match=r"rum|No such option|Missing parameter"):
        parses(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert ROOT in file.parents, f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", prose_of(file), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name}: {target}"


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / path).resolve() for path in re.findall(r"\]\(([^)#\s]+)", prose_of(index))}
    assert {page for page in PAGES if "docs" in page.parts} - {index} <= listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_a_machine_or_a_registry(page: Path) -> None:
    assert MACHINE.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("block", PYTHON, ids=name_of)
def test_every_python_block_compiles(block: Block) -> None:
    compile(block.text, block.place, "exec")


@pytest.mark.parametrize("block", ALONE, ids=name_of)
def test_python_blocks_that_need_no_table_run(block: Block, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", block.text], cwd=tmp_path, env=environment, check=True, timeout=60)


def test_the_reference_page_and_the_json_schema_are_fresh() -> None:
    page, schema = ROOT / "docs" / "pipeline-file.md", ROOT / "docs" / "pipeline.schema.json"
    text = page.read_text(encoding="utf-8")
    assert text == with_tables(text), "docs/pipeline-file.md is stale. Mend it:  make reference"
    assert schema.read_text(encoding="utf-8") == schema_text(), "docs/pipeline.schema.json is stale:  make reference"


def test_the_list_of_diagnoses_is_fresh() -> None:
    text = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    assert text == listing.page(text), "docs/doctor.md is stale. Mend it:  make reference"


def test_the_exit_codes_are_those_of_the_errors() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    codes = {0} | {kind.exit_code for kind in kinds if hasattr(kind, "exit_code")}
    heads = {
        "README.md": "| code | meaning",
        "docs/running.md": "| code | meaning",
        "docs/errors.md": "| code | family",
    }
    for page, head in heads.items():
        assert {int(row[0]) for row in table_after(ROOT / page, head)} == codes


def test_the_columns_of_the_dead_letters_are_listed() -> None:
    rows = table_after(ROOT / "docs" / "dead-letters.md", "| column | type")
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row[0])] == DEAD_LETTER.names


def test_the_events_that_are_listed_exist() -> None:
    rows = table_after(ROOT / "docs" / "running.md", "| event | when")
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    kinds = [kind.__name__ for kind in events.Event.__subclasses__()]
    assert {name.replace("_", "") for name in listed} <= {kind.lower() for kind in kinds}
    assert len(listed) > 5


def test_the_columns_that_every_expression_sees_are_listed() -> None:
    rows = table_after(ROOT / "docs" / "checks-and-steps.md", "| column | type")
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row[0])] == list(penstock_columns)


JSON_PAGE = ROOT / "docs" / "json.md"
IN_WORDS: dict[str, bytes | None] = {
    "*no value*": None,
    "*no bytes*": b"",
    "*17 MB of text*": b'{"id": 1, "name": "' + b"x" * 17_000_000 + b'"}',
    "*501 levels*": b'{"id": 1, "x": ' + b"[" * 500 + b"]" * 500 + b"}",
}


def json_examples() -> list[tuple[str, str, str]]:
    """Example, code and field of every line of both tables."""
    first = [(row[2], row[0], row[3]) for row in table_after(JSON_PAGE, "| code | when")]
    rows = [*first, *((a, b, c) for a, b, c in table_after(JSON_PAGE, "| example | code"))]
    return [(example.strip(), bare(code), bare(field)) for example, code, field in rows]


@pytest.mark.parametrize(("example", "code", "field"), json_examples())
def test_every_json_example_gets_its_code(example: str, code: str, field: str) -> None:
    [schema] = [block.text for block in blocks_of(JSON_PAGE, "sql")]
    value = IN_WORDS[example] if example in IN_WORDS else bare(example).encode()
    decode = Json(schema=schema, unknown_fields="reject" if code == "unknown_field" else "ignore")
    decoded = decode.decoder().decode(pa.array([b'{"id": 7}', value], pa.binary()))
    assert [(verdict.row, verdict.code, verdict.field or "") for verdict in decoded.verdicts] == [(1, code, field)]


def test_every_reject_code_of_the_decoder_is_explained() -> None:
    corpus = (ROOT / "tests" / "corpus" / "json.jsonl").read_text(encoding="utf-8").splitlines()
    codes = {json.loads(line).get("code") for line in corpus} - {None}
    assert codes <= {bare(row[0]) for row in table_after(JSON_PAGE, "| code | when")}
    assert len(codes) > 10


def test_a_command_is_cut_into_its_programs() -> None:
    line = "echo 'a | b' | penstock dev produce t   # a comment"
    made = Command(CONSOLES[0], line, []).programs
    assert made == [["echo", "a | b"], ["penstock", "dev", "produce", "t"]]
