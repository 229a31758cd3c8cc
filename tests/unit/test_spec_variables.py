"""One file for every stage of deployment: `vars`, `environments`, `--env`, `--set`, and references in any field."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from penstock import Every, Pipeline, load_pipeline
from penstock.cli import built
from penstock.cli.loading import again, values
from penstock.errors import InvalidPipeline
from penstock.options import Duration, Size
from penstock.spec import pipeline_from_text

FILE = """
pipeline: orders
vars:
  brokers: localhost:9092
  lake: ./lake
  table: ${var:lake}/orders
  rows: 500
environments:
  stage: {brokers: "stage:9092", lake: "${env:PENSTOCK_TEST_LAKE}"}
  prod: {brokers: "prod:9092", rows: 70000, only_here: yes}
source: {kafka: {brokers: ["${var:brokers}"], topics: [orders]}}
decode: raw
sinks: {lake: {delta: {table: "${var:table}"}}}
pace: {max_rows: "${var:rows}"}
"""
LEAST = """
pipeline: orders
source: {kafka: {brokers: dev, topics: [orders]}}
decode: {json: {schema: id INT}}
sinks: {lake: {delta: {table: ./lake/orders}}}
"""


def made(text: str = FILE, env: str | None = None, **given: str) -> Pipeline:
    return pipeline_from_text(text, file="orders.yaml", folder=Path("/data"), env=env, set=given)


def outcome(text: str) -> str:
    """What a person reads, whether the file is right or wrong."""
    try:
        return f"right: {made(text).name}"
    except InvalidPipeline as invalid:
        return str(invalid)


def told(text: str = FILE, env: str | None = None, **given: str) -> str:
    with pytest.raises(InvalidPipeline) as caught:
        made(text, env, **given)
    return str(caught.value)


def seen(pipeline: Pipeline) -> tuple[str, str, int]:
    return pipeline.source.brokers[0], pipeline.sinks["lake"].to.table, pipeline.pace.max_rows


def test_a_variable_is_filled_in_alone_and_inside_a_text() -> None:
    assert seen(made()) == ("localhost:9092", "/data/lake/orders", 500)


def test_an_environment_lies_over_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_LAKE", "/mnt/lake")
    assert seen(made(env="prod")) == ("prod:9092", "/data/lake/orders", 70000)
    assert seen(made(env="stage")) == ("stage:9092", "/mnt/lake/orders", 500)


def test_a_set_variable_lies_over_both() -> None:
    assert seen(made(env="prod", brokers="mine:1", lake="/x")) == ("mine:1", "/x/orders", 70000)
    assert seen(made(lake="./$$")) == ("localhost:9092", "/data/$/orders", 500)


def test_what_is_not_used_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_TEST_LAKE", raising=False)
    assert made(env="prod").name == "orders"
    assert made(env="stage", lake="./x").name == "orders"
    missing = "orders.yaml:9:40 environments.stage.lake: the environment variable `PENSTOCK_TEST_LAKE` is not set."
    assert told(env="stage").startswith(missing)
    assert told(env="stage").count("is not set") == 1


def test_an_unknown_environment_is_told_with_the_nearest() -> None:
    problem = "orders.yaml:8:1 environments: there is no environment `prd`. Did you mean `prod`?"
    assert told(env="prd") == problem
    assert "Declare it:  environments: {prd: ...}" in told(LEAST, env="prd")


def test_a_set_variable_must_be_declared_somewhere() -> None:
    problem = "orders.yaml:3:1 vars: there is no variable `broker` to set. Did you mean `brokers`?"
    assert told(broker="x") == problem
    assert told(LEAST, broker="x").startswith("orders.yaml vars: there is no variable `broker` to set.")
    assert made(only_here="y").name == "orders"


def test_a_problem_of_a_set_value_is_told() -> None:
    assert "vars.lake: `${vault:x}` is no reference" in told(lake="${vault:x}")


def test_the_value_holds_what_the_variables_stand_for_and_not_the_variables() -> None:
    plain = LEAST.replace("decode: {json: {schema: id INT}}", "decode: raw").replace("dev", "['localhost:9092']")
    assert made() == made(plain + "pace: {max_rows: 500}\n")


def test_loading_a_file_takes_them_too(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text(FILE)
    assert load_pipeline(tmp_path / "orders.yaml", "prod").source.brokers == ("prod:9092",)
    assert load_pipeline(tmp_path / "orders.yaml", env="prod", set={"brokers": "a:1"}).source.brokers == ("a:1",)


@pytest.mark.parametrize(
    ("value", "rows"), [("7", 7), ("+7", 7), ("0x10", 16), ("0o17", 15), ("0012", 12)]
)  # fmt: skip
def test_a_reference_in_a_number_reads_as_yaml_would(monkeypatch: pytest.MonkeyPatch, value: str, rows: int) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_ROWS", value)
    assert made(LEAST + "pace: {max_rows: '${env:PENSTOCK_TEST_ROWS}'}").pace.max_rows == rows


@pytest.mark.parametrize("value", ["", "seven", "1e3", "7.5", "true", "7 ", "1_000", "null", "9" * 2000])
def test_a_reference_that_is_no_number_is_told_without_its_value(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_ROWS", value)
    assert told(LEAST + "pace: {max_rows: '${env:PENSTOCK_TEST_ROWS}'}\n") == (
        "orders.yaml:6:18 pace.max_rows: needs a whole number.\n"
        "  Found `${env:PENSTOCK_TEST_ROWS}`, which stands for something else."
    )


def test_a_number_that_a_reference_brings_is_held_to_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_ROWS", "-4711")
    text = told(LEAST + "pace: {max_rows: '${env:PENSTOCK_TEST_ROWS}'}\n")
    assert "must be more than 0.\n  Found `${env:PENSTOCK_TEST_ROWS}`." in text
    assert "4711" not in text


def test_references_in_durations_sizes_words_and_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "90 seconds")
    monkeypatch.setenv("B", "2")
    monkeypatch.setenv("C", "drop")
    monkeypatch.setenv("D", "1200")
    text = LEAST.replace("id INT", 'id INT, max_bytes: "${env:B} MB", tombstones: "${env:C}"')
    text = text.replace("[orders]", '[orders], start: {orders: {0: "${env:D}"}}')
    pipeline = made(text + 'trigger: {every: "${env:A}"}\n')
    assert pipeline.trigger == Every(every=Duration("90 seconds"))
    assert pipeline.decode.max_bytes == Size("2 MB")
    assert pipeline.decode.tombstones == "drop"
    assert pipeline.source.start == {"orders": {0: 1200}}


def test_a_number_stays_text_where_text_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "0o17")
    pipeline = made(LEAST.replace("[orders]", "['${env:A}']") + "spark: {a: '${env:A}'}\n")
    assert pipeline.source.topics == ("0o17",)
    assert pipeline.spark == {"a": "0o17"}


def test_an_alias_of_a_reference_is_filled_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "12")
    pipeline = made(LEAST + "pace: {max_rows: &a '${env:A}'}\nspark: {a: *a}\n")
    assert (pipeline.pace.max_rows, pipeline.spark["a"]) == (12, "12")


@pytest.mark.parametrize("secret", ["hunter2-hunter2", "Hunter", "a", "/x/hunter2%", "2026-99-hunter2", "x:hunter2"])
@pytest.mark.parametrize(
    "line",
    ["state: '${env:A}'", "trigger: '${env:A}'", "trigger: {every: '${env:A}'}", "pace: '${env:A}'",
     "dead_letters: {delta: '${env:A}'}", "dead_letters: {delta: './${env:A}%'}", "spark: '${env:A}'",
     "vars: '${env:A}'",
     "sinks: {lake: {delta: {table: './${env:A}', partition_by: ['${env:A}']}}}", "decode: '${env:A}'",
     "sinks: {lake: '${env:A}'}", "sinks: {lake: {delta: {table: ./a/b, partition_by: ['${env:A}', '${env:A}']}}}",
     "source: {kafka: {brokers: ['${env:A}', '${env:A}'], pattern: '(${env:A}'}}",
     "source: {kafka: {brokers: dev, topics: ['${env:A} ', 'x${env:A}', 'x${env:A}'], start: '${env:A}'}}"],
)  # fmt: skip
def test_what_a_reference_brings_in_is_never_shown(monkeypatch: pytest.MonkeyPatch, secret: str, line: str) -> None:
    monkeypatch.setenv("A", secret)
    key = line.partition(":")[0]
    text = "".join(each + "\n" for each in LEAST.splitlines() if not each.startswith(key)) + line + "\n"
    said = outcome(text)
    assert "unter" not in said.replace("unterminated", "")
    assert "orders.yaml:0" not in said


def test_texts_in_a_language_of_their_own_take_no_references() -> None:
    assert "`$`" in told(LEAST.replace("id INT", '"${env:HOME} INT"'))


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    (folder / "orders.yaml").write_text(FILE)
    result = CliRunner().invoke(built(), [arguments[0], str(folder / "orders.yaml"), *arguments[1:]])
    return result.exit_code, result.output


def test_the_command_line_takes_an_environment_and_variables(tmp_path: Path) -> None:
    code, text = run(tmp_path, "validate", "--env", "prod", "--set", "lake=/mnt/x", "--set", "rows=5")
    assert (code, "delta /mnt/x/orders" in text) == (0, True)
    code, text = run(tmp_path, "validate", "--env", "prd")
    assert (code, "Did you mean `prod`?" in text) == (2, True)


@pytest.mark.parametrize("verb", ["validate", "run", "status", "new-generation"])
def test_every_verb_that_takes_a_file_takes_them(verb: str, tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text(FILE)
    result = CliRunner().invoke(built(), [verb, str(tmp_path / "orders.yaml"), "--set", "broker=x", "--env", "prd"])
    said = result.output + str(result.exception)
    assert "there is no variable `broker` to set" in said
    assert "there is no environment `prd`" in said


def test_a_set_without_a_value_is_a_wrong_call_that_is_not_repeated(tmp_path: Path) -> None:
    code, text = run(tmp_path, "validate", "--set", "hunter2")
    assert code == 2
    assert "hunter2" not in text
    with pytest.raises(typer.BadParameter):
        values(["=x"])
    assert values(["a=b=c", "a=", "b= "]) == {"a": "", "b": " "}


def test_a_proposed_command_names_the_environment_and_no_value() -> None:
    assert again(Path("orders.yaml")) == "orders.yaml"
    assert again(Path("orders.yaml"), "prod", ["key=hunter2"]) == "orders.yaml --env prod --set key=..."
