"""More than a hundred wrong pipeline files: each is refused at the right place, in words, and shows no secret."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.mutations import CANARY, EXAMPLES, MUTATIONS, Mutation
from typer.testing import CliRunner

import penstock
from penstock.cli import built


@pytest.fixture(autouse=True)
def _in_a_folder_with_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lake").write_text("./gold\n")
    (tmp_path / "canary").write_text(f"{CANARY}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_TEST_CANARY", CANARY)
    monkeypatch.setenv("PENSTOCK_TEST_BROKERS", "kafka:9092")
    monkeypatch.delenv("PENSTOCK_TEST_UNSET", raising=False)


def validated(text: str, *flags: str) -> tuple[int, str]:
    Path("pipeline.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(built(), ["validate", "pipeline.yaml", *flags])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_right_before_it_is_changed(example: str) -> None:
    assert validated(EXAMPLES[example])[0] == 0


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_wrong_file_is_told_at_its_line_and_shows_no_secret(mutation: Mutation) -> None:
    code, said = validated(mutation.text)
    assert code == 2
    problems = re.split(r"^(?=pipeline\.yaml)", said, flags=re.MULTILINE)
    told = [problem for problem in problems if mutation.words in problem]
    assert any(re.match(rf"pipeline\.yaml{mutation.place}[ :]", problem) for problem in told) or not mutation.place, (
        said
    )
    assert told, said
    for output in (said, validated(mutation.text, "--json")[1]):
        assert CANARY not in output
        assert "Traceback" not in output
        assert "pydantic" not in output


def test_a_problem_as_json_has_the_same_place() -> None:
    for mutation in MUTATIONS[:20]:
        problems = json.loads(validated(mutation.text, "--json")[1])["problems"]
        assert any(mutation.place == f":{each['line']}:{each['column']}" for each in problems), mutation.name


def test_there_are_more_than_a_hundred() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names) > 150


def test_the_command_itself_prints_no_traceback(tmp_path: Path) -> None:
    mutation = next(each for each in MUTATIONS if each.name == "canary for a number")
    (tmp_path / "orders.yaml").write_text(mutation.text)
    env = {**os.environ, "PYTHONPATH": str(Path(penstock.__file__).parent.parent)}
    command = [sys.executable, "-m", "penstock", "validate", "orders.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "orders.yaml" in done.stderr
    assert CANARY not in done.stderr
    assert "Traceback" not in done.stderr
