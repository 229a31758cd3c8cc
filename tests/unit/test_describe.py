"""`penstock describe` explains every part and key, from the models that check the file."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock
from penstock.cli import built
from penstock.registry import formats, sinks, sources
from penstock.spec.sections import plain, sections


def described(*arguments: str) -> str:
    result = CliRunner().invoke(built(), ["describe", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_without_a_part_every_key_and_part_has_one_line() -> None:
    lines = [line for line in described().splitlines() if line]
    for key in ("pipeline", "source", "sinks", "trigger", "vars", "environments"):
        assert [line.split()[0] for line in lines].count(key) >= 1
    for section in sections()[1:]:
        assert any(line.split()[0] == plain(section.path) for line in lines)
    assert all(len(line) < 200 for line in lines)


@pytest.mark.parametrize("asked", ["sinks.delta", "sinks.NAME.delta", "sinks delta", "delta"])
def test_a_part_is_found_by_its_path_or_its_word(asked: str) -> None:
    said = described(*asked.split())
    assert "sinks.NAME.delta: A Delta table, written exactly once" in said
    assert "sinks.NAME.delta.table" in said
    assert "(table; required)" in said


def test_a_word_of_several_parts_explains_them_all() -> None:
    said = described("kafka")
    assert "source.kafka: " in said
    assert "dead_letters.kafka: " in said


def test_a_key_is_explained_by_itself() -> None:
    [line] = described("source.kafka.start").splitlines()
    assert line.startswith("source.kafka.start  (`earliest` or `latest` or UTC time or map topic -> map")
    assert "default `earliest`" in line
    assert described("max_rows").startswith("pace.max_rows  (whole number, more than 0; default `1000000`)")


def test_a_profile_is_explained_by_its_defaults() -> None:
    said = described("--profile", "latency")
    assert "a key that is written wins" in said
    assert "  trigger            as_fast_as_possible  (in profile throughput: {every: 10 seconds})" in said
    assert json.loads(described("--profile", "throughput", "--json"))["defaults"]["pace.batch_target"] == "20 seconds"
    unknown = CliRunner().invoke(built(), ["describe", "--profile", "latence"])
    assert (unknown.exit_code, "Did you mean `latency`?" in unknown.output) == (2, True)


def test_a_choice_is_explained_with_what_it_holds() -> None:
    said = described("trigger")
    assert "trigger  (`as_fast_as_possible` or `available_now` or `{every: duration}`" in said
    assert "; default `{every: 10 seconds}`, in profile latency `as_fast_as_possible`)" in said
    assert "trigger.every  (duration; required)" in said
    assert "source.kafka: " in described("source")


TYPES = [("duration", "`200 milliseconds`"), ("size", "64 MB"), ("name", "1 to 63"), ("secret", "a reference to it")]


@pytest.mark.parametrize(("asked", "words"), TYPES)
def test_a_type_of_value_is_explained(asked: str, words: str) -> None:
    said = described(asked)
    assert said.startswith(f"{asked}: ")
    assert words in said


def test_the_errors_are_listed_with_their_exit_codes() -> None:
    said = described("errors")
    assert "InvalidPipeline  (exit code 2)" in said
    assert "DataLost         (exit code 4)" in said


@pytest.mark.parametrize(
    ("asked", "near"), [("dleta", "delta"), ("source.kafka.topic", "source.kafka.topics"), ("pcae", "pace")]
)
def test_an_unknown_part_is_told_with_the_nearest(asked: str, near: str) -> None:
    result = CliRunner().invoke(built(), ["describe", asked])
    assert result.exit_code == 2
    assert f"there is no part or key `{asked}`. Did you mean `{near}`?" in result.output


def test_a_part_that_resembles_nothing_points_to_the_list() -> None:
    result = CliRunner().invoke(built(), ["describe", "zzzzzzzz"])
    assert (result.exit_code, "penstock describe" in result.output) == (2, True)


def test_json_holds_every_fact() -> None:
    [part] = json.loads(described("pace", "--json"))["parts"]
    assert part["part"] == "pace"
    assert {"path": "pace.max_rows", "type": "whole number, more than 0", "default": "`1000000`", "required": False,
            "meaning": "Most rows of one batch, over all partitions."} in part["keys"]  # fmt: skip
    parts = json.loads(described("--json"))["parts"]
    assert [each["part"] for each in parts] == [plain(section.path) for section in sections()]
    assert json.loads(described("trigger", "--json"))["keys"][0]["path"] == "trigger"


def test_every_registered_part_has_its_section() -> None:
    known = {plain(section.path) for section in sections()}
    wanted = [*(f"source.{name}" for name in sources), *(f"decode.{name}" for name in formats)]
    assert {*wanted, *(f"sinks.{name}" for name in sinks)} <= known
    assert all(key.meaning for section in sections() for key in section.keys)


def test_a_terminal_gets_a_table(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(penstock.__file__).parent.parent), "COLUMNS": "80", "TERM": "xterm"}
    main, side = pty.openpty()
    command = [sys.executable, "-m", "penstock", "describe", "source.kafka"]
    with subprocess.Popen(command, stdout=side, cwd=tmp_path, env=env) as process:
        os.close(side)
        said = drained(main)
    assert process.returncode == 0
    assert "───" in said
    assert "on_data_loss" in said


def drained(terminal: int) -> str:
    """All that is written to this terminal until the other side is closed."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()


def test_describe_loads_no_engine(tmp_path: Path) -> None:
    code = "import sys; from penstock.cli import main; sys.argv = ['penstock', 'describe', '--json-schema']\n"
    code += "try: main()\nexcept SystemExit: print('pyspark' in sys.modules, 'pyarrow' in sys.modules, file=sys.stderr)"
    env = {**os.environ, "PYTHONPATH": str(Path(penstock.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env, check=True
    )
    assert done.stderr.strip() == "False False"
    assert json.loads(done.stdout)["title"] == "penstock pipeline file"
