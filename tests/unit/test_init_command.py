"""`penstock init --from`: what a person types, reads and gets."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.authoring.lines import sample_lines
from penstock.authoring.topic import Part, shares
from penstock.cli import built
from penstock.errors import PenstockError
from penstock.spec import load_pipeline, pipeline_from_text


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def penstock_init(*arguments: str, lines: str | bytes = "") -> Result:
    return CliRunner().invoke(built(), ["init", *arguments], input=lines)


def orders(count: int) -> str:
    return "".join(
        json.dumps({"order_id": f"o{n}", "amount": n + 0.25, "currency": "EUR" if n % 2 else "USD"}) + "\n"
        for n in range(count)
    )


def test_a_file_of_records_becomes_a_pipeline_file_that_validates(here: Path) -> None:
    (here / "orders.jsonl").write_text(orders(300) + "oops\n")
    result = penstock_init("--from", "orders.jsonl")
    assert result.exit_code == 0, result.output
    pipeline = load_pipeline(here / "orders.yaml")
    assert pipeline.source.brokers == "dev"
    assert pipeline.source.topics == ("orders",)
    assert pipeline.decode.column_types() == {"order_id": "STRING", "amount": "DECIMAL(18,2)", "currency": "STRING"}
    assert not any(field.nullable for field in pipeline.decode.fields)
    text = (here / "orders.yaml").read_text()
    for told in ("300 good, 1 rejected (0.3 %): invalid_json 1 (line 301)", "plain text 1"):
        assert told in text
    for told in ("300 good, 1 rejected", "penstock preview orders.yaml", "penstock run orders.yaml --once"):
        assert told in result.output


def test_checks_are_proposed_that_hold_for_the_sample_and_only_warn(here: Path) -> None:
    result = penstock_init("--from", "-", "--topic", "orders", lines=orders(300))
    assert result.exit_code == 0, result.output
    text = (here / "orders.yaml").read_text()
    assert "{name: amount_not_negative, rule: amount >= 0, on_fail: warn}" in text
    assert """{name: currency_known, rule: "currency IN ('EUR', 'USD')", on_fail: warn}""" in text
    assert """{name: order_id_not_empty, rule: "order_id <> ''", on_fail: warn}""" in text
    assert [check.name for check in load_pipeline(here / "orders.yaml").checks] == [
        "amount_not_negative",
        "currency_known",
    ]


def test_what_is_commented_out_can_be_uncommented(here: Path) -> None:
    more = {"at": "2026-01-02T03:04:05Z", "sent_ms": 1767225600000, "_x": 1}
    records = "".join(json.dumps({**json.loads(line), **more}) + "\n" for line in orders(300).splitlines())
    assert penstock_init("--from", "-", "--topic", "orders", lines=records).exit_code == 0
    text = (here / "orders.yaml").read_text()
    opened = re.sub(r"^( *)# (?=  - |steps:|unknown_fields:|dead_letters:)", r"\1", text, flags=re.MULTILINE)
    pipeline = pipeline_from_text(opened, folder=here)
    assert (len(pipeline.checks), len(pipeline.steps)) == (3, 1)
    assert pipeline.decode.unknown_fields == "keep"
    assert pipeline.dead_letters.delta == str(here / "lake" / "orders_dead")


def test_a_few_records_are_no_evidence_for_a_set_of_words(here: Path) -> None:
    penstock_init("--from", "-", "--topic", "orders", lines=orders(199))
    text = (here / "orders.yaml").read_text()
    assert "currency_known" not in text
    assert "\n  - {name" not in text


def test_json_holds_the_evidence_as_data(here: Path) -> None:
    result = penstock_init("--from", "-", "--topic", "Shop.Orders", "--json", lines=orders(60) + '{"amount": "x"}\n')
    told: dict[str, Any] = json.loads(result.stdout)
    assert (told["pipeline"], told["file"], told["decode"]) == ("shop-orders", "shop-orders.yaml", "json")
    assert told["outcome"]["good"] == 60
    assert told["outcome"]["by_field"] == {"/amount": {"wrong_type": 1}}
    amount = next(field for field in told["fields"] if field["field"] == "/amount")
    assert (amount["type"], amount["misfits"], amount["kinds"]) == ("DECIMAL(18,2)", 1, {"number": 60, "text": 1})
    assert told["next"][-1] == "penstock run shop-orders.yaml --once"


def test_the_options_name_what_is_written(here: Path) -> None:
    arguments = ["--brokers", "a:9092, [::1]:9093", "--topic", "123", "--name", "shop", "--table", "./lake/it's #1"]
    assert penstock_init("--from", "-", *arguments, "--out", "sub/x.yaml", lines=orders(1)).exit_code == 0
    pipeline = load_pipeline(here / "sub" / "x.yaml")
    assert (pipeline.name, pipeline.source.topics) == ("shop", ("123",))
    assert pipeline.source.brokers == ("a:9092", "[::1]:9093")
    assert pipeline.sinks["lake"].to.table == str(here / "sub" / "lake" / "it's #1")


def test_a_file_that_is_there_is_kept_unless_forced(here: Path) -> None:
    (here / "orders.yaml").write_text("mine")
    refused = penstock_init("--from", "-", "--topic", "orders", lines=orders(1))
    assert (refused.exit_code, (here / "orders.yaml").read_text()) == (2, "mine")
    assert "--force" in refused.output
    assert penstock_init("--from", "-", "--topic", "orders", "--force", lines=orders(1)).exit_code == 0
    assert load_pipeline(here / "orders.yaml").name == "orders"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--topic", "orders"],
        ["--brokers", "localhost:9092"],
        ["--from", "missing.jsonl"],
        ["--from", "-", "--brokers", "nowhere"],
        ["--from", "-", "--name", "Not A Name"],
        ["--from", "-", "--table", "catalog_name"],
        ["--from", "-", "--sample", "0"],
    ],
)
def test_a_wrong_call_ends_with_2_and_writes_nothing(here: Path, arguments: list[str]) -> None:
    result = penstock_init(*arguments, lines=orders(1))
    assert getattr(result.exception, "exit_code", result.exit_code) == 2
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("lines", "told"), [("", "is empty"), ("\n \n", "is empty")])
def test_without_records_there_is_nothing_to_infer_from(here: Path, lines: str, told: str) -> None:
    error = penstock_init("--from", "-", lines=lines).exception
    assert isinstance(error, PenstockError)
    assert (error.exit_code, told in str(error)) == (1, True)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (gzip.compress(orders(3).encode(), mtime=0), "zcat"),
        (json.dumps([{"id": 1}, {"id": 2}], indent=2).encode(), "jq -c"),
        (json.dumps({"id": 1}, indent=2).encode(), "jq -c"),
    ],
)
def test_a_file_that_is_not_made_of_lines_is_told_with_a_remedy(here: Path, content: bytes, remedy: str) -> None:
    (here / "x.jsonl").write_bytes(content)
    error = penstock_init("--from", "x.jsonl").exception
    assert isinstance(error, PenstockError)
    assert remedy in str(error)


def test_what_is_not_json_gets_a_raw_file_that_says_what_it_is(here: Path) -> None:
    result = penstock_init("--from", "-", "--topic", "csv", lines="id,name,age\n1,ann,30\n2,bob,31\n")
    assert result.exit_code == 0, result.output
    assert load_pipeline(here / "csv.yaml").decode.column_types() == {"value": "BINARY"}
    assert "CSV-looking text 3 (100 %" in (here / "csv.yaml").read_text()
    assert "CSV-looking text" in result.output


def test_records_without_a_single_usable_field_get_a_raw_file(here: Path) -> None:
    assert penstock_init("--from", "-", "--topic", "t", lines='{}\n{"_a": 1}\n').exit_code == 0
    assert load_pipeline(here / "t.yaml").decode.column_types() == {"value": "BINARY"}


def test_without_an_embedded_broker_the_command_that_starts_one_is_named(here: Path) -> None:
    error = penstock_init("--brokers", "dev", "--topic", "orders").exception
    assert isinstance(error, PenstockError)
    assert "penstock dev up" in str(error)


def test_lines_are_spread_over_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("".join(f'{{"n": {n}}}\n' for n in range(1000)))
    with (tmp_path / "x").open("rb") as stream:
        sample = sample_lines(stream, "x", 10)
    numbers = [json.loads(record.value or b"")["n"] for record in sample.records]
    assert len(numbers) == 10
    assert numbers == sorted(numbers)
    assert numbers[0] < 100
    assert numbers[-1] > 800
    assert sample.how == "10 of 1,000 lines, evenly spread"


@pytest.mark.parametrize(
    ("held", "records", "wanted"),
    [
        ({0: 100, 1: 100}, 10, {0: 5, 1: 5}),
        ({0: 2, 1: 100, 2: 0}, 10, {0: 2, 1: 8, 2: 0}),
        ({0: 100, 1: 100, 2: 100}, 2, {0: 1, 1: 1, 2: 0}),
        ({0: 3}, 10, {0: 3}),
        ({}, 10, {}),
    ],
)
def test_the_sample_is_shared_out_evenly(held: dict[int, int], records: int, wanted: dict[int, int]) -> None:
    assert shares(held, records) == wanted


def test_of_large_records_the_newest_are_kept() -> None:
    part = Part(low=0, high=5, wanted=5, size=25)
    for offset in range(5):
        part.take(offset, b"0123456789")
    assert [offset for offset, _ in part.found] == [3, 4]
    assert (part.cut, part.done) == (True, True)
