"""Inference: each field gets the type that its values allow, and the reasons are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.authoring.evidence import Evidence, kept
from penstock.authoring.infer import DEEPEST, MOST_FIELDS, infer
from penstock.authoring.schema_text import evidence_in_words, schema_lines
from penstock.authoring.values import parse
from penstock.formats.schemas import parse_ddl


def inferred(*records: Any) -> dict[str, Evidence]:
    """Records as JSON text or as values -> field -> evidence."""
    texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
    objects = [found for text in texts if (found := parse(text.encode())) is not None]
    return {each.name: each for each in infer(objects)}


def column(name: str, *literals: str) -> Evidence:
    """What is proposed for one field with these values, written as JSON."""
    return inferred(*(f'{{"{name}": {literal}}}' for literal in literals))[name]


def cents(count: int) -> list[str]:
    return [f"{number}.{number % 100:02d}" for number in range(count)]


@pytest.mark.parametrize(
    ("name", "literals", "type"),
    [
        ("n", ["1", "-5"], "BIGINT"),
        ("n", ["9223372036854775807"], "BIGINT"),
        ("n", ["9223372036854775808", "1"], "DECIMAL(38,0)"),
        ("n", ["9" * 39], "DOUBLE"),
        ("n", ["1", "2.5"], "DOUBLE"),
        ("n", ["1e3"], "DOUBLE"),
        ("amount", ["12.30", "7"], "DECIMAL(18,2)"),
        ("amount", ["12.345"], "DECIMAL(18,4)"),
        ("amount", ["123456789012345.10"], "DECIMAL(28,2)"),
        ("unit_price", ['"12.30"', '"7.5"'], "DECIMAL(18,2)"),
        ("amount", ["12.30", '"7.50"'], "DECIMAL(18,2)"),
        ("n", cents(20), "DECIMAL(18,2)"),
        ("n", cents(19), "DOUBLE"),
        ("lat", cents(50), "DOUBLE"),
        ("version", ['"1.10"'] * 50, "STRING"),
        ("n", ["1", '"2"'], "DECIMAL(38,0)"),
        ("b", ["true", "false", "null"], "BOOLEAN"),
        ("t", ['"2026-01-02"'], "DATE"),
        ("t", ['"2026-01-02"', '"2026-01-02T03:04:05.123456+02:00"'], "TIMESTAMP"),
        ("t", ['"2026-01-02T03:04:05.1234567Z"'], "STRING"),
        ("t", ['"2026-13-02"'], "STRING"),
        ("t", ['"2026-01-02"', '""'], "STRING"),
        ("s", ['"007"', '"008"'], "STRING"),
        ("a", ["[1, null]", "[]"], "ARRAY<BIGINT>"),
        ("a", ["[[1.5]]"], "ARRAY<ARRAY<DOUBLE>>"),
        ("o", ['{"x": 1}', '{"y": "t"}'], "STRUCT<`x`: BIGINT, `y`: STRING>"),
    ],
)
def test_a_field_gets_the_type_of_its_values(name: str, literals: list[str], type: str) -> None:
    found = column(name, *literals)
    assert str(found.type) == type
    assert found.misfits() == 0


@pytest.mark.parametrize(
    ("name", "literals", "why"),
    [
        ("x", ["null"], "always null"),
        ("x", ["[]"], "empty array"),
        ("x", ["{}"], "empty object"),
        ("x", ["1", '"a"'], "number 50 %, text 50 %: no type takes them all"),
        ("x", ['[1, "a"]'], "elements that have no type"),
        ("x", ['{"_y": 1}'], "no field has a type"),
        ("x", ["7", '"007"'], "no type takes them all"),
        ("_x", ["1"], "penstock's"),
        ("", ["1"], "empty"),
        ("a b", ["1"], "space"),
        ("a=b", ["1"], "space or one of"),
        ("a\\u2028b", ["1"], "cannot be printed"),
        ("n" * 300, ["1"], "longer than"),
    ],
)
def test_a_field_without_a_type_or_a_usable_name_is_left_out_and_says_why(
    name: str, literals: list[str], why: str
) -> None:
    [found] = inferred(*(f'{{"{name}": {literal}}}' for literal in literals)).values()
    assert found.type is None
    assert why in found.shape.why


def test_the_majority_decides_and_the_rest_is_counted() -> None:
    found = column("x", *["1"] * 19, '"n/a"')
    assert (str(found.type), found.misfits()) == ("BIGINT", 1)
    assert "only the number values are taken" in evidence_in_words(found)


def test_not_null_needs_fifty_records_without_an_exception() -> None:
    assert column("x", *["1"] * 50).required
    assert not column("x", *["1"] * 49).required
    assert not column("x", *["1"] * 50, "null").required
    assert not inferred(*[{"x": 1}] * 50, {})["x"].required


def test_not_null_inside_an_object_counts_the_objects() -> None:
    record = {"items": [{"sku": "a", "note": None}]}
    assert str(inferred(*[record] * 50)["items"].type) == "ARRAY<STRUCT<`sku`: STRING NOT NULL>>"
    assert str(inferred(*[record] * 49)["items"].type) == "ARRAY<STRUCT<`sku`: STRING>>"


def test_names_that_look_like_ids_make_a_map() -> None:
    found = inferred(*({"by_user": {f"user-{n}": n, f"user-{n + 1}": n}} for n in range(30)))["by_user"]
    assert str(found.type) == "MAP<STRING, BIGINT>"
    assert "31 distinct names" in evidence_in_words(found)


def test_many_names_that_are_always_there_stay_a_struct() -> None:
    found = inferred(*[{"o": {f"field{n}": n for n in range(30)}}] * 10)["o"]
    assert found.type is not None
    assert found.type.name == "STRUCT"


@pytest.mark.parametrize(
    ("name", "literal", "note"),
    [
        ("created", "1767225600", "timestamp_seconds(created)"),
        ("created", "1767225600123", "timestamp_millis(created)"),
        ("x", "1767225600123456", "timestamp_micros(x)"),
        ("order", "1767225600123", "timestamp_millis(`order`)"),
        ("id", '"123e4567-e89b-12d3-a456-426614174000"', "UUID"),
        ("blob", '"SGVsbG8gd29ybGQgMTIz"', "base64?"),
    ],
)
def test_what_a_value_may_stand_for_is_a_remark(name: str, literal: str, note: str) -> None:
    found = column(name, literal)
    assert found.type is not None
    assert found.type.name in ("BIGINT", "STRING")
    assert note in evidence_in_words(found)


def test_ten_digits_without_a_name_that_means_time_are_no_time() -> None:
    assert "epoch" not in evidence_in_words(column("customer", "1767225600"))


def test_names_that_differ_only_in_case_are_one_column() -> None:
    found = inferred({"ID": 1, "id": 1}, {"id": 2})
    assert found["id"].type is not None
    assert "differs only in case from `id`" in found["ID"].shape.why


def test_secrets_are_not_shown() -> None:
    told = "\n".join(schema_lines(tuple(inferred({"api_key": "hunter2", "credentials": {"user": "hunter2"}}).values())))
    assert "hunter2" not in told
    assert "api_key STRING" in told


def test_shares_ranges_and_few_values_are_told() -> None:
    found = inferred({"n": 1, "c": "EUR"}, {"n": 30, "c": "USD"}, *({"n": n} for n in range(2, 30)))
    assert evidence_in_words(found["n"]) == "1 .. 30"
    assert evidence_in_words(found["c"]) == "93.3 % null or absent; 3 characters; only EUR, USD"


def test_five_hundred_fields_and_eight_levels_are_described() -> None:
    deep: Any = 1
    for level in reversed(range(8)):
        deep = {f"level{level}": deep}
    found = tuple(inferred({**{f"f{n}": n for n in range(500)}, **deep}).values())
    assert len(parse_ddl("\n".join(schema_lines(found)))) == 501
    assert "`level7`: BIGINT" in str(found[-1].type)


def test_what_is_deeper_than_the_limit_is_left_out() -> None:
    deep: Any = {"end": 1}
    for _ in range(DEEPEST):
        deep = {"x": deep, "n": 1}
    found = inferred(deep)["x"]
    text = "\n".join(schema_lines((found,)))
    assert f"more than {DEEPEST} levels deep" in text
    assert parse_ddl(text)


def test_of_too_many_fields_the_frequent_ones_stay() -> None:
    wide = {f"rare{n}": 1 for n in range(MOST_FIELDS)}
    found = tuple(inferred(wide, {"often": 1}, {"often": 1}).values())
    assert len(kept(found)) == MOST_FIELDS
    assert "often" in {each.name for each in kept(found)}
