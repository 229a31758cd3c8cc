"""A pipeline written to a file and loaded again is the same value."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import DeadLetters, Delta, Every, Json, Kafka, Pace, Pipeline, Raw, Sink
from penstock.errors import InvalidPipeline
from penstock.options import Duration, Size
from penstock.spec import pipeline_from_text, to_yaml

FOLDER = Path("/data/jobs")
LEAST = """\
pipeline: orders
source:
  kafka: {brokers: dev, topics: [orders]}
decode: raw
sinks:
  lake: {delta: {table: ./lake/orders}}
"""
FULL = """\
pipeline: orders
state: ./here/state
source:
  kafka:
    brokers: [localhost:9092, "[::1]:9093"]
    partitions: {orders: [0, 2], "7": [1]}
    start: {orders: {0: 1200, 2: 0}, "7": {1: 5}}
    on_data_loss: skip
decode:
  json:
    schema: |
      id BIGINT NOT NULL,

        day DATE
    max_bytes: 1 MiB
    unknown_fields: keep
sinks:
  lake: {delta: {table: ./lake/orders, partition_by: [day], properties: {a.b: "7"}}}
  copy: {delta: {table: /data/orders}}
dead_letters: {delta: ./lake/dead}
trigger: {every: 1 minute}
pace: {max_rows: 5000}
spark: {spark.a: "8", spark.b: "true", spark.c: $$$$, spark.d: a$, spark.e: "x: y"}
"""


def again(text: str) -> Pipeline:
    return pipeline_from_text(text, folder=FOLDER)


@pytest.mark.parametrize("text", [LEAST, FULL], ids=["least", "full"])
def test_a_tidy_file_is_written_as_it_was(text: str) -> None:
    assert to_yaml(again(text)) == text.replace("$$$$", '"$$$$"').replace("a$,", '"a$",')


def test_only_what_differs_from_the_defaults_is_written() -> None:
    text = LEAST + "state: ./state/orders\npace: {max_rows: 1000000}\ntrigger: {every: 10 seconds}\n"
    assert to_yaml(again(text + "dead_letters: {delta: ./state/orders/dead_letters}\nspark: {}\n")) == LEAST


def test_a_pattern_and_a_time_are_written_as_people_write_them() -> None:
    source = Kafka(brokers=("a:1",), pattern=r"payments\..*", start=datetime(2026, 11, 1, tzinfo=UTC))
    pipeline = Pipeline(name="p", folder=FOLDER, source=source, decode=Raw(), sinks={"a": Sink(to=Delta(table="./a"))})
    written = r"kafka: {brokers: [a:1], pattern: 'payments\..*', start: 2026-11-01T00:00:00Z}"
    assert written in to_yaml(pipeline)
    assert again(to_yaml(pipeline)) == pipeline


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ("id INT", "schema: id INT"),
        ("id INT, b INT", 'schema: "id INT, b INT"'),
        ("id INT,\nb INT", "schema: |-\n      id INT,\n      b INT\n"),
        ("id INT,\nb INT\n", "schema: |\n      id INT,\n      b INT\n"),
        (", ".join(f"column{n} STRING" for n in range(9)), "schema: |-\n      column0 STRING, "),
        (" id INT\n", 'schema: " id INT\\n"'),
        ("id INT\n\n", 'schema: "id INT\\n\\n"'),
        ("id INT,\n  \nb INT", 'schema: "id INT,\\n  \\nb INT"'),
        ("id\tINT", 'schema: "id\\u0009INT"'),
    ],
)
def test_a_schema_keeps_its_lines(schema: str, written: str) -> None:
    text = LEAST.replace("decode: raw", "decode: {json: {schema: x INT}}")
    pipeline = again(text).model_copy(update={"decode": Json(schema=schema)})
    assert written in to_yaml(pipeline)
    assert again(to_yaml(pipeline)) == pipeline


@pytest.mark.parametrize(
    "table", ["./lake/my orders", "../x/y", "./a'b", './a"b', "./a#b/: c", "./${a}/$$", "file:///a%25b", "./ü/😀",
              "file:///data/jobs/a%20", "./\u2028/x", "./C:/x", "./~/x"],
)  # fmt: skip
def test_a_path_survives_whatever_it_is_called(table: str) -> None:
    pipeline = again(LEAST).model_copy(update={"state": "/elsewhere"})
    pipeline = Pipeline(**{**dict(pipeline), "sinks": {"lake": Sink(to=Delta(table=table))}})
    assert again(to_yaml(pipeline)) == pipeline


STAGES = """\
pipeline: orders
source:
  kafka: {brokers: [localhost:9092], topics: [orders]}
decode:
  json: {schema: "id INT, amount DECIMAL(18,2), at TIMESTAMP"}
checks:
  - {name: positive, rule: amount > 0}
  - {name: known, rule: "id IN (1, 2) AND '$$' <> '$'", on_fail: warn}
steps:
  - {select: ["*", to_date(at) AS day], name: days}
  - sql: |-
      SELECT *
      FROM rows
      WHERE id > 0
  - {python: shop.steps:normalise}
sinks:
  lake: {delta: {table: ./lake/orders, partition_by: [day]}}
  alerts: {kafka: {topic: big-orders, key: id, headers: {day: "'$$'"}}, where: amount > 10000}
dead_letters:
  kafka: {topic: orders-dead}
"""


def test_checks_steps_and_topics_are_written_as_they_were() -> None:
    assert to_yaml(again(STAGES)) == STAGES
    assert again(STAGES).steps[1].name == "step2"


def test_what_a_file_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"U\+0007"):
        to_yaml(again(LEAST).model_copy(update={"spark": {"a": "\x07"}}))


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
TOPICS = st.one_of(NAMES, st.sampled_from(["true", "1e3", "0x1F", "1_000", "null", "A.b-c", "12", "...", "---", "-"]))
DURATIONS = st.builds("{} {}".format, st.integers(1, 999), st.sampled_from(["seconds", "minute", "hours", "days"]))
SIZES = st.builds("{} {}".format, st.integers(1, 999), st.sampled_from(["B", "KB", "MiB", "GB"]))
PATTERNS = [r"a\.b.*$", "[ab]{2}", "x'y", 'x"\\d', "${", "$$", "#", "a: b"]
PATHS = st.lists(TEXTS.filter(lambda text: text.strip("/ ") not in ("", ".", "..")), min_size=1, max_size=3).map(
    lambda parts: "./" + "/".join(part.strip("/ ").replace("%", "").strip() or "x" for part in parts)
)


def kafkas() -> st.SearchStrategy[Kafka]:
    topics = st.lists(TOPICS, min_size=1, max_size=3, unique=True)
    offsets = st.dictionaries(TOPICS, st.dictionaries(st.integers(0, 9), st.integers(0, 2**40), min_size=1), min_size=1)
    times = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))
    read: st.SearchStrategy[dict[str, Any]] = st.one_of(
        st.fixed_dictionaries({"topics": topics}),
        st.fixed_dictionaries({"pattern": st.sampled_from(PATTERNS)}),
        st.fixed_dictionaries(
            {"partitions": st.dictionaries(TOPICS, st.lists(st.integers(0, 9), min_size=1, unique=True), min_size=1)}
        ),
    )
    more = st.fixed_dictionaries(
        {"brokers": st.one_of(st.just("dev"), st.lists(st.sampled_from(["a:1", "[::1]:2"]), min_size=1, unique=True))},
        optional={
            "start": st.one_of(st.sampled_from(["earliest", "latest"]), times, offsets),
            "on_data_loss": st.sampled_from(["stop", "skip"]),
            "isolation": st.sampled_from(["committed", "uncommitted"]),
        },
    )
    return st.builds(lambda one, other: Kafka.model_validate({**one, **other}), read, more)


def decodes() -> st.SearchStrategy[Raw | Json]:
    schemas = st.sampled_from(["id INT", "id INT,\n  `a b` STRING\n", "`ü` STRUCT<x: INT>", "id INT -- note\n"])
    common = {"max_bytes": SIZES.map(Size), "tombstones": st.sampled_from(["reject", "drop"])}
    unknown = st.sampled_from(["ignore", "keep", "reject"])
    return st.one_of(st.builds(Raw, **common), st.builds(Json, schema=schemas, unknown_fields=unknown, **common))


def sinks() -> st.SearchStrategy[dict[str, Sink]]:
    deltas = st.fixed_dictionaries(
        {"lineage": st.sampled_from(["columns", "struct"])},
        optional={"schema": st.just("fixed"), "properties": st.dictionaries(TEXTS, TEXTS, max_size=2)},
    )
    return st.dictionaries(
        NAMES.filter(lambda name: name != "dead_letters"), st.tuples(PATHS, deltas), min_size=1, max_size=3
    ).map(
        lambda made: {
            name: Sink(to=Delta.model_validate({"table": f"./{number}/{path}", **more}))
            for number, (name, (path, more)) in enumerate(made.items())
        }
    )


def valid(**fields: Any) -> Pipeline | None:
    try:
        return Pipeline(folder=FOLDER, **fields)
    except InvalidPipeline:
        return None


PIPELINES = (
    st.fixed_dictionaries(
        {"name": NAMES, "source": kafkas(), "decode": decodes(), "sinks": sinks()},
        optional={
            "state": PATHS.map(lambda path: f"./state{path[1:]}"),
            "dead_letters": PATHS.map(lambda path: DeadLetters(delta=f"./dead{path[1:]}")),
            "trigger": st.one_of(
                st.sampled_from(["as_fast_as_possible", "available_now"]),
                DURATIONS.map(lambda text: Every(every=Duration(text))),
            ),
            "pace": st.integers(1, 10**9).map(lambda rows: Pace(max_rows=rows)),
            "spark": st.dictionaries(TEXTS, TEXTS, max_size=3),
        },
    )
    .map(lambda fields: valid(**fields))
    .filter(lambda made: made is not None)
)


@settings(max_examples=200, deadline=None)
@given(PIPELINES)
def test_any_pipeline_survives_its_own_file(pipeline: Pipeline) -> None:
    assert again(to_yaml(pipeline)) == pipeline
    assert to_yaml(again(to_yaml(pipeline))) == to_yaml(pipeline)
