"""A right file is the same value as the same pipeline in Python; and what YAML makes of what people write."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock import DeadLetters, Delta, Every, Json, Kafka, Pace, Pipeline, Raw, Sink, load_pipeline
from penstock.errors import InvalidPipeline
from penstock.options import Duration, Size
from penstock.spec import pipeline_from_text

LEAST = """
pipeline: orders
source: {kafka: {brokers: dev, topics: [orders]}}
decode: raw
sinks: {lake: {delta: {table: ./lake/orders}}}
"""
FULL = """
pipeline: orders
state: ./here/state
source:
  kafka:
    brokers: [localhost:9092, "[::1]:9093"]
    partitions: {orders: [0, 2], returns: [1]}
    start: {orders: {0: 1200, 2: 0}, returns: {1: 5}}
    on_data_loss: skip
    isolation: uncommitted
decode:
  json:
    schema: |
      id BIGINT NOT NULL,
      day DATE
    unknown_fields: keep
    tombstones: drop
    max_bytes: 1 MiB
sinks:
  lake: {delta: {table: ./lake/orders, partition_by: [day], schema: fixed, lineage: struct, properties: {a.b: 7}}}
  copy: {delta: {table: "file:///data/orders"}}
dead_letters: {delta: ./lake/dead}
trigger: {every: 1 minute}
pace: {max_rows: 5000}
spark: {spark.sql.shuffle.partitions: 8, spark.speculation: false, spark.x: 1e3, spark.y: 0o17, spark.z: no}
"""


def made(text: str, folder: Path = Path("/data/jobs")) -> Pipeline:
    return pipeline_from_text(text, folder=folder)


def problems_of(text: str) -> list[str]:
    with pytest.raises(InvalidPipeline) as caught:
        made(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_same_pipeline_from_a_file_and_from_python_is_equal() -> None:
    python = Pipeline(
        name="orders",
        folder=Path("/data/jobs"),
        state="here/state",
        source=Kafka(
            brokers=("localhost:9092", "[::1]:9093"),
            partitions={"orders": (0, 2), "returns": (1,)},
            start={"orders": {0: 1200, 2: 0}, "returns": {1: 5}},
            on_data_loss="skip",
            isolation="uncommitted",
        ),
        decode=Json(
            schema="id BIGINT NOT NULL,\nday DATE\n", unknown_fields="keep", tombstones="drop", max_bytes=Size("1 MiB")
        ),
        sinks={
            "lake": Sink(
                to=Delta(
                    table="lake/orders",
                    partition_by=("day",),
                    schema="fixed",
                    lineage="struct",
                    properties={"a.b": "7"},
                )
            ),
            "copy": Sink.model_validate({"delta": Delta(table="/data/orders")}),
        },
        dead_letters=DeadLetters(delta="./lake/dead"),
        trigger=Every(every=Duration("60 seconds")),
        pace=Pace(max_rows=5000),
        spark={
            "spark.sql.shuffle.partitions": "8", "spark.speculation": "false", "spark.x": "1e3", "spark.y": "0o17",
            "spark.z": "no",
        },
    )  # fmt: skip
    assert made(FULL) == python
    assert list(python.sinks) == ["lake", "copy"]


def test_what_is_left_out_has_its_default() -> None:
    pipeline = made(LEAST)
    assert pipeline.state == "/data/jobs/state/orders"
    assert pipeline.dead_letters.delta == "/data/jobs/state/orders/dead_letters"
    assert pipeline.sinks["lake"].to.table == "/data/jobs/lake/orders"
    assert pipeline.trigger == Every(every=Duration("10 seconds"))
    assert pipeline.pace.max_rows == 1_000_000
    assert pipeline.decode == Raw()
    assert pipeline.source.start == "earliest"
    assert pipeline.folder == Path("/data/jobs")


def test_a_keyword_of_a_sink_may_be_the_word_of_the_file() -> None:
    sink = Sink(delta=Delta(table="./lake/orders"))  # type: ignore[call-arg]
    assert sink == Sink(to=Delta(table="./lake/orders"))


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "orders.yaml").write_text(LEAST)
    monkeypatch.chdir(tmp_path)
    here = load_pipeline("orders.yaml")
    assert here.folder == tmp_path
    assert here.sinks["lake"].to.table == str(tmp_path / "lake" / "orders")
    monkeypatch.chdir("/")
    assert load_pipeline(tmp_path / "orders.yaml") == here


def test_a_pipeline_survives_pickling_and_its_own_json() -> None:
    pipeline = made(FULL)
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline
    assert pipeline.model_dump_json() == made(FULL).model_dump_json()


def test_dead_letters_written_out_as_their_default_are_taken() -> None:
    assert made(LEAST + "dead_letters: {delta: ./state/orders/dead_letters}\n") == made(LEAST)
    assert made(LEAST + "dead_letters: {}\n") == made(LEAST)


@pytest.mark.parametrize("word", ["available_now", "as_fast_as_possible"])
def test_a_trigger_may_be_a_word(word: str) -> None:
    assert made(LEAST + f"trigger: {word}\n").trigger == word


@pytest.mark.parametrize("column", ["_topic", "_partition", "value"])
def test_a_raw_table_may_be_partitioned_by_lineage_or_value(column: str) -> None:
    text = LEAST.replace("table: ./lake/orders", f"table: ./lake/orders, partition_by: [{column}]")
    if column == "value":
        assert "a table needs a column beside" in problems_of(text)[0]
    else:
        assert made(text).sinks["lake"].to.partition_by == (column,)


def test_an_unquoted_time_is_a_time() -> None:
    text = LEAST.replace("topics: [orders]", "topics: [orders], start: 2026-11-01T00:00:00Z")
    assert made(text).source.start == datetime(2026, 11, 1, tzinfo=UTC)


def test_words_that_older_yaml_took_for_booleans_are_text() -> None:
    assert made(LEAST.replace("[orders]", "[yes, no, on, off, 1_000]")).source.topics == (
        "yes",
        "no",
        "on",
        "off",
        "1_000",
    )


def test_anchors_may_be_used() -> None:
    text = LEAST.replace("[orders]", "&names [orders]") + "# *names\n"
    assert made(text).source.topics == ("orders",)
    twice = LEAST.replace("table: ./lake/orders", "table: &where ./lake/orders") + "dead_letters: {delta: *where}\n"
    assert "is the table of sink `lake` already" in problems_of(twice)[0]


def test_windows_line_ends_and_a_byte_order_mark_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert load_pipeline(file).source == made(FULL).source
    file.write_bytes(b"\xef\xbb\xbfpipelin: orders\r\nsource: 5\r\n")
    with pytest.raises(InvalidPipeline) as caught:
        load_pipeline(file)
    assert [(each.line, each.column) for each in caught.value.problems[:2]] == [(1, 1), (1, 1)]
    assert (2, 9) in [(each.line, each.column) for each in caught.value.problems]


def test_a_file_that_cannot_be_opened_is_a_problem_without_a_line(tmp_path: Path) -> None:
    for path, words in [(tmp_path, "is a folder"), (tmp_path / "none.yaml", "there is no such file")]:
        with pytest.raises(InvalidPipeline, match=words) as caught:
            load_pipeline(path)
        assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(InvalidPipeline, match="cannot be read"):
        load_pipeline("nul\0l.yaml")


def test_a_file_may_be_one_megabyte_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(LEAST + "#" * (1_000_000 - len(LEAST)))
    assert load_pipeline(file).name == "orders"
    file.write_text(LEAST + "#" * (1_000_001 - len(LEAST)))
    with pytest.raises(InvalidPipeline, match="is larger than 1 MB"):
        load_pipeline(file)


def test_references_are_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER", "kafka:9092")
    (tmp_path / "lake").write_text("gold\n")
    text = LEAST.replace("brokers: dev", 'brokers: ["${env:BROKER}"]').replace(
        "./lake/orders", "'./${file:lake}/$${env:X}/orders'"
    )
    pipeline = made(text + "spark: {spark.a: $$, spark.b: 'a$', spark.c: $x}\n", tmp_path)
    assert pipeline.source.brokers == ("kafka:9092",)
    assert pipeline.sinks["lake"].to.table == str(tmp_path / "gold" / "${env:X}" / "orders")
    assert pipeline.spark == {"spark.a": "$", "spark.b": "a$", "spark.c": "$x"}


def test_links_are_followed_when_tables_are_compared(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    with pytest.raises(InvalidPipeline, match="is the table of sink `lake` already"):
        made(LEAST + "dead_letters: {delta: ./link/orders}\n", tmp_path)


def test_every_problem_is_told_at_once_in_the_order_of_the_file() -> None:
    text = FULL.replace("day DATE", "day DAT").replace("max_rows: 5000", "max_rows: -1").replace("[day]", "[dai]")
    lines = [problem.split(" ")[0] for problem in problems_of(text.replace("brokers:", "broker:"))]
    assert lines == sorted(lines, key=lambda place: [int(number) for number in place.split(":")[1:]])
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ('schema: "id INTT"', (5, 23)),
        ("schema: 'id INTT'", (5, 23)),
        ("schema: id INTT", (5, 22)),
        ("schema: |\n            id INTT", (6, 16)),
        ("schema: |-\n\n            a INT,\n              id INTT", (8, 18)),
        ("schema: |2\n            id INTT", (6, 16)),
        ('schema: "a\\u0020INTT"', (5, 19)),
        ("schema: >\n            id\n            INTT", (5, 19)),
        ("schema: &x id INTT", (5, 19)),
    ],
)
def test_a_problem_of_the_schema_points_into_the_file(schema: str, place: tuple[int, int]) -> None:
    text = LEAST.replace("decode: raw\n", f"decode:\n  json:\n          {schema}\n")
    text = text.replace("decode:\n  json:\n", "decode:\n  json:\n").lstrip("\n")
    with pytest.raises(InvalidPipeline) as caught:
        made(text)
    [problem] = caught.value.problems
    assert "INTT" in problem.message
    assert (problem.line, problem.column) == place
