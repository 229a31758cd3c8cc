"""The schema language: what it reads, and the words and places of everything it refuses."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from pydantic import ValidationError

from penstock.formats.arrow_types import to_arrow
from penstock.formats.json import Json
from penstock.formats.schemas import DdlProblem, DdlProblems, Field, Type, parse_ddl, to_ddl

WORDS = [
    ("BOOLEAN", pa.bool_()), ("TINYINT", pa.int8()), ("BYTE", pa.int8()), ("SMALLINT", pa.int16()),
    ("SHORT", pa.int16()), ("INT", pa.int32()), ("INTEGER", pa.int32()), ("BIGINT", pa.int64()), ("LONG", pa.int64()),
    ("FLOAT", pa.float32()), ("REAL", pa.float32()), ("DOUBLE", pa.float64()), ("DECIMAL", pa.decimal128(10, 0)),
    ("DEC(5)", pa.decimal128(5, 0)), ("NUMERIC(38,38)", pa.decimal128(38, 38)),
    ("decimal ( 18 , 2 )", pa.decimal128(18, 2)),
    ("string", pa.string()), ("BINARY", pa.binary()), ("Date", pa.date32()), ("TIMESTAMP", pa.timestamp("us", "UTC")),
    ("ARRAY<INT>", pa.list_(pa.field("element", pa.int32()))), ("map<string,int>", pa.map_(pa.string(), pa.int32())),
    ("STRUCT<a: INT, b STRING NOT NULL>", pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string(), False)])),
    ("ARRAY<ARRAY<STRUCT<a:ARRAY<INT>>>>", None),
]  # fmt: skip


LIKE = "Write it like  id BIGINT NOT NULL, name STRING"
RULE = "the precision is 1 to 38 and the scale at most the precision. Try  DECIMAL(18,2)"
BARE = "A schema is the list of columns itself: leave out  struct< >"
NO_ZONE = "Use  TIMESTAMP (a time without a zone is read as UTC)"
TICKS = "A name with other characters stands in backticks:  `my-field` STRING"
COMMA = "Separate columns with  ,"


def problems(text: str) -> list[DdlProblem]:
    with pytest.raises(DdlProblems) as refused:
        parse_ddl(text)
    return list(refused.value.problems)


@pytest.mark.parametrize(("word", "kind"), WORDS)
def test_every_type_word_is_read_as_its_arrow_type(word: str, kind: pa.DataType | None) -> None:
    [field] = to_arrow(parse_ddl(f"x {word}"))
    assert field.name == "x"
    assert kind is None or field.type == kind


def test_names_nullability_and_comments_are_kept_at_every_level() -> None:
    text = """id BIGINT NOT NULL COMMENT 'the key', -- why
        `a b``c` STRUCT<x: INT NOT NULL COMMENT "it's", y STRING>, date DATE"""
    fields = parse_ddl(text)
    inner = (Field("x", Type("INT"), False, "it's"), Field("y", Type("STRING")))
    assert fields == (
        Field("id", Type("BIGINT"), False, "the key"),
        Field("a b`c", Type("STRUCT", fields=inner)),
        Field("date", Type("DATE")),
    )
    assert parse_ddl(to_ddl(fields)) == fields


def test_500_columns_and_8_levels_are_read() -> None:
    nested = "STRUCT<a: " * 8 + "INT" + ">" * 8
    fields = parse_ddl(", ".join(f"c{i} {nested}" for i in range(500)))
    assert len(to_arrow(fields)) == 500
    assert str(fields[0].type).count("STRUCT") == 8


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "the schema is empty. " + LIKE),
        (" -- only a comment", 1, 19, "the schema is empty. " + LIKE),
        ("a", 1, 2, "expected a type for `a`, found the end of the schema."),
        ("a INT,", 1, 7, "expected a field's name, found the end of the schema."),
        ("a INTT", 1, 3, "there is no type `INTT`. Did you mean  INT?"),
        ("a\n  STRNG", 2, 3, "there is no type `STRNG`. Did you mean  STRING?"),
        ("a VARCHAR(10)", 1, 3, "the type VARCHAR is not supported. Use  STRING"),
        ("a TIMESTAMP_NTZ", 1, 3, "the type TIMESTAMP_NTZ is not supported. " + NO_ZONE),
        ("a VARIANT", 1, 3, "the type VARIANT is not supported. Use  STRING, or name the fields in a STRUCT"),
        ("a INTERVAL DAY TO SECOND", 1, 3, "the type INTERVAL is not supported. Use  STRING or BIGINT"),
        ("a INT64", 1, 3, "the type INT64 is not supported. Use  BIGINT"),
        ("a MAP<INT, STRING>", 1, 7, "the keys of a MAP are STRING: those of a JSON object are text. MAP<STRING, T>"),
        ("a MAP<STRING>", 1, 13, "expected `,`, found `>`."),
        ("a ARRAY", 1, 8, "expected `<` after ARRAY, found the end of the schema. Write it like  ARRAY<STRING>"),
        ("a ARRAY<INT", 1, 3, "`ARRAY` is not closed. Add  >"),
        ("a STRUCT<x INT, y ARRAY<INT>", 1, 3, "`STRUCT` is not closed. Add  >"),
        ("a ARRAY<INT>>", 1, 13, "expected `,` or the end after the column, found `>`."),
        ("a ARRAY<INT NOT NULL>", 1, 13, "NOT NULL inside ARRAY is not supported: it is for fields."),
        ("a STRUCT<>", 1, 3, "a STRUCT needs at least one field. Write it like  STRUCT<x: INT>"),
        ("struct<a: INT>", 1, 7, "expected a type for `struct`, found `<`. " + BARE),
        ("a DECIMAL(39,2)", 1, 3, "there is no DECIMAL(39,2): " + RULE),
        ("a DECIMAL(4,5)", 1, 3, "there is no DECIMAL(4,5): " + RULE),
        ("a DECIMAL(x)", 1, 11, "expected a number, found `x`. Write it like  DECIMAL(18,2)"),
        ("a DECIMAL(5", 1, 10, "`(` is not closed. Add  )"),
        ("a INT b INT", 1, 7, "expected `,` or the end after the column, found `b`. " + COMMA),
        ("a INT DEFAULT 3", 1, 7, "expected `,` or the end after the column, found `DEFAULT`. " + COMMA),
        ("a INT NOT", 1, 10, "expected NULL after NOT, found the end of the schema."),
        ("a INT COMMENT x", 1, 15, "expected a text in quotes after COMMENT, found `x`."),
        ("a-b INT", 1, 2, "unexpected `-` after `a`. " + TICKS),
        ("a INT, a STRING", 1, 8, "`a` is declared twice."),
        ("a INT, A STRING", 1, 8, "`A` differs from `a` only in case: tables take them as one."),
        ("s STRUCT<x INT, X INT>", 1, 17, "`X` differs from `x` only in case: tables take them as one."),
        ("_id INT", 1, 1, "`_id` starts with `_`: such names are penstock's. Try  id"),
        ("`` INT", 1, 1, "a field's name is empty."),
        ("a " + "ARRAY<" * 60, 1, 303, "types are nested more than 50 levels deep."),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_a_remedy(text: str, line: int, column: int, words: str) -> None:
    [(found_line, found_column, message, remedy)] = problems(text)
    assert (found_line, found_column) == (line, column)
    assert f"{message} {remedy}".strip() == words


def test_every_problem_of_the_text_is_found_at_once() -> None:
    text = "a INTT, b-c INT, d MAP<INT, FOO>,\n _e STRING, a BIGINT, f ARRAY<INT NOT NULL>, g TEXT"
    assert [(line, column) for line, column, _, _ in problems(text)] == [
        (1, 3), (1, 10), (1, 24), (1, 29), (2, 2), (2, 13), (2, 35), (2, 48),
    ]  # fmt: skip


def test_the_options_carry_the_problems_to_whoever_renders_them() -> None:
    with pytest.raises(ValidationError) as refused:
        Json(schema="id BIGNT")
    [error] = refused.value.errors()
    inner = error["ctx"]["error"]
    assert isinstance(inner, DdlProblems)
    assert inner.problems[0][:2] == (1, 4)


def test_reading_a_schema_imports_nothing_heavy() -> None:
    code = """
import sys, penstock.formats.json as it
it.Json(schema="id BIGINT")
print([name for name in ("pyarrow", "numpy", "msgspec", "pyspark") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
