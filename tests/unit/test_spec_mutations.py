"""Whatever is in a file: loading it gives a Pipeline, or InvalidPipeline with places in it, and nothing else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidPipeline
from penstock.pipeline import Pipeline
from penstock.spec.check import check
from penstock.spec.load import read_text

RIGHT = r"""
pipeline: orders
state: ./here/state
source:
  kafka:
    brokers: [localhost:9092, "${env:PENSTOCK_TEST_UNSET}"]
    partitions: {orders: [0, 2], returns: &one [1]}
    start: {orders: {0: 1200, 2: 0}, returns: {1: 5}}
    isolation: uncommitted
decode:
  json:
    schema: |
      id BIGINT NOT NULL, `a-b` DECIMAL(18,2),
      items ARRAY<STRUCT<sku: STRING, qty: INT>>
    max_bytes: 1 MiB
sinks:
  lake: {delta: {table: "./lake/\x6frders", partition_by: [id], schema: fixed, properties: {a.b: 7}}}
  copy: {delta: {table: 'file:///data/orders'}}
dead_letters: {delta: ./lake/dead}
trigger: {every: 1 minute}
pace: {max_rows: 5000}
spark: {spark.sql.shuffle.partitions: 8}
"""
PIECES = [
    "\t", "\0", " ", "\n", "\r", "  ", ":", ": ", "-", "- ", "*one", "&a ", "*a", "<<: ", "{", "}", "[", "]",
    '"', "'", "|", ">", "|9", "%YAML 1.1\n", "---\n", "...\n", "!!int ", "!x ", "? ", "~", "null", "true",
    ".nan", "-.inf", "1e999", "0x1F", "${", "${env:A}", "${file:/}", "$$", "é", "😀", "\u2028", "\x85",
    "\ufeff", '"\\uD800"', '"\\UFFFFFFFF"', "\\", "#", ",", "@", "`", "1", "99999999999999999999", "pipeline",
    "delta", "raw", "C:\\x", "s3a://b/c", "file://", "/", "..", "(", "x" * 300,
]  # fmt: skip


def edits() -> st.SearchStrategy[tuple[str, int, int, str]]:
    where = st.integers(0, len(RIGHT))
    return st.tuples(st.sampled_from(["delete", "insert", "replace", "swap"]), where, where, pieces())


def pieces() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(PIECES), st.text(max_size=4))


def mutated(text: str, edit: tuple[str, int, int, str]) -> str:
    how, first, second, piece = edit
    if how == "insert":
        return text[:first] + piece + text[first:]
    if how == "swap":
        lines = text.split("\n")
        one, other = first % len(lines), second % len(lines)
        lines[one], lines[other] = lines[other], lines[one]
        return "\n".join(lines)
    end = first + second % 12
    return text[:first] + (piece if how == "replace" else "") + text[end:]


def loads_or_says_why(data: bytes) -> None:
    try:
        pipeline = check(read_text(data, "orders.yaml", Path("/data")))
    except InvalidPipeline as invalid:
        is_told_well(invalid)
    else:
        assert isinstance(pipeline, Pipeline)


def is_told_well(invalid: InvalidPipeline) -> None:
    assert invalid.problems
    assert all(problem.line >= 1 and problem.column >= 1 and problem.message for problem in invalid.problems)
    assert str(invalid).encode("utf-8")
    assert "pydantic" not in str(invalid)


@settings(max_examples=250, deadline=None)
@given(st.lists(edits(), min_size=1, max_size=4))
def test_a_mutated_file_loads_or_says_why(changes: list[tuple[str, int, int, str]]) -> None:
    text = RIGHT
    for change in changes:
        text = mutated(text, change)
    loads_or_says_why(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@example(b'pipeline: "\\x00"')
@example(b"? {a: b}\n: c")
@example(b"a: &a [*a]")
@example(b"{" * 2000)
@example(b"[" * 2000)
@example(b"? " * 2000)
@example(b"- " * 2000)
@example(b"".join(b" " * level + b"~:\n" for level in range(1000)))
@example(b"%YAML 9.9\n---\na: b")
@example(b"a: 0o\nb: 0x\nc: 1.e\nd: .\n")
def test_any_bytes_load_or_say_why(data: bytes) -> None:
    loads_or_says_why(data)


WORDS = st.sampled_from(["a", "0", "delta", "kafka", "json", "raw", "every", "table", "to"])
VALUES = st.recursive(
    st.sampled_from(["1", "1.5", "true", "x", "''", "[]", "{}", "-1", "10 seconds", "./a/b", "raw", "dev"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(WORDS, inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        ),
    ),
    max_leaves=6,
)  # fmt: skip
KEYS = ["pipeline", "state", "source", "decode", "sinks", "dead_letters", "trigger", "pace", "spark", "folder", "name"]


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=len(KEYS)))
def test_any_value_at_any_key_loads_or_says_why(sections: dict[str, str]) -> None:
    loads_or_says_why("".join(f"{key}: {value}\n" for key, value in sections.items() or {"x": "1"}.items()).encode())
