"""Whatever the records: the proposal can be read, holds what it promises, and its comments break nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.authoring.draft import draft, validated
from penstock.authoring.evidence import kept
from penstock.authoring.infer import infer
from penstock.authoring.render import minimal
from penstock.authoring.request import Request
from penstock.authoring.sample import Sample, Taken
from penstock.authoring.schema_text import schema_lines
from penstock.authoring.values import parse, problem_with
from penstock.authoring.verify import judge
from penstock.errors import InvalidPipeline
from penstock.formats.json import Json
from penstock.formats.schemas import parse_ddl
from penstock.paths import absolute

few = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
REQUEST = Request("p", ("localhost:9092",), "t", "./lake/t", "p.yaml")

NAMES = st.sampled_from(["id", "ID", "amount", "at", "x y", "_z", "größe", "a`b", "order", "-- x", "#", "${env:X}", ""])
TEXTS = st.text(max_size=8) | st.sampled_from(
    [
        "2026-01-02",
        "2026-01-02T00:00:00Z",
        "12.30",
        "7",
        "-- ",
        "'",
        '"',
        "\n- x: y",
        "\u2028a: b",
        "EUR",
        "${x}",
        "\x85",
    ]
)
NUMBERS = (
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1.25, 10**20, 10**40, 1e308])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(NAMES | st.text(max_size=5), VALUES, max_size=5), min_size=1, max_size=8)


def as_bytes(records: list[dict[str, Any]]) -> list[bytes]:
    """Only what is JSON in UTF-8: a lone surrogate is not."""
    written = [json.dumps(record).encode() for record in records]
    return [value for value in written if problem_with(value) is None]


def sampled(values: list[bytes]) -> Sample:
    return Sample([Taken(f"line {n}", value) for n, value in enumerate(values, 1)], "a list", "all of it")


@few
@given(RECORDS, st.sampled_from([1, 60]))
def test_the_schema_can_be_read_and_rejects_no_more_than_the_evidence_says(
    records: list[dict[str, Any]], times: int
) -> None:
    values = as_bytes(records) * times
    fields = infer([found for value in values if (found := parse(value)) is not None])
    if not kept(fields):
        return
    text = "\n".join(schema_lines(fields))
    assert parse_ddl(text) == tuple(each.field() for each in kept(fields))
    outcome = judge(sampled(values), Json(schema=text))
    assert outcome.rejected <= sum(each.misfits() for each in fields)


@few
@given(RECORDS, st.lists(st.binary(max_size=30) | st.none() | st.text(max_size=20).map(str.encode), max_size=3))
@example([{"x": "a\u2028b: c\n- d"}], [b"\x00\x00\x00\x00\x07ab", b"# {"])
def test_the_file_validates_and_says_what_the_decoder_says(
    records: list[dict[str, Any]], others: list[bytes | None]
) -> None:
    values = [*as_bytes(records), *others]
    sample = Sample([Taken(f"line {n}", value) for n, value in enumerate(values, 1)], "orders\n: {", "all\x85of it")
    if not any(value and value.strip() for value in values):
        return
    made = draft(REQUEST, sample)
    pipeline = validated(made.text, REQUEST)
    assert pipeline.name == "p"
    if made.is_json:
        assert pipeline.decode.fields == tuple(each.field() for each in kept(made.fields))
    assert judge(sample, pipeline.decode) == made.outcome
    assert f"{made.outcome.good:,} good" in made.text
    assert json.loads(json.dumps(made.as_data()))["outcome"]["good"] == made.outcome.good


@few
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_a_table_with_any_name_is_read_back_or_refused_in_words(name: str) -> None:
    request = Request("p", (), "t", f"./lake/{name}", "p.yaml")
    found = read_back(request)
    assert found == absolute(request.table, Path.cwd()) or "sinks.lake.delta.table: " in found


def read_back(request: Request) -> str:
    """The table that the file names, or what is wrong with it."""
    try:
        return str(validated(minimal(request), request).sinks["lake"].to.table)
    except InvalidPipeline as invalid:
        return str(invalid)
