"""Every case of the corpus, through the scanner, through the decoder alone, and among good neighbours."""

from __future__ import annotations

import base64
import datetime
import decimal
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.json_corpus_kit import CASES, Case, groups
from tests.unit.json_decoders import either_decoder  # noqa: F401  a fixture

from penstock.formats.contract import Decoded
from penstock.formats.json.readers import Good, Scanner
from penstock.formats.schemas import parse_ddl
from penstock.rows import Verdict

CODES = """empty tombstone too_large invalid_utf8 invalid_json truncated_json trailing_data not_an_object
duplicate_key too_deep wrong_type overflow inexact_decimal not_finite missing_field unknown_field"""


def plain(value: Any) -> Any:
    """A decoded value as the corpus writes it down."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    writers: dict[type, Any] = {
        float: repr,
        bytes: lambda data: base64.b64encode(data).decode(),
        datetime.date: datetime.date.isoformat,
        datetime.datetime: datetime.datetime.isoformat,
        decimal.Decimal: lambda number: format(number, "f"),
    }
    return writers.get(type(value), lambda same: same)(value)


def check(case: Case, verdict: Verdict | None, row: dict[str, Any]) -> None:
    if case.code:
        assert verdict is not None, row
        assert (verdict.code, verdict.field, verdict.drop) == (case.code, case.field, case.drop), verdict.detail
        assert verdict.detail
        assert len(verdict.detail) < 200
        assert set(row.values()) == {None}
        return
    assert verdict is None, verdict
    want = plain(case.good or {})
    assert {name: value for name, value in plain(row).items() if name in want} == want
    if case.length is not None:
        assert len(row["s"]) == case.length


def row_of(decoded: Decoded, row: int) -> tuple[Verdict | None, dict[str, Any]]:
    verdict = next((verdict for verdict in decoded.verdicts if verdict.row == row), None)
    return verdict, decoded.data.slice(row, 1).to_pylist()[0]


def test_the_corpus_holds_every_code_and_many_hundred_cases() -> None:
    counts = Counter(case.code for case in CASES if case.code)
    assert set(counts) == set(CODES.split())
    assert len(CASES) > 800


@pytest.mark.parametrize("case", [case for case in CASES if case.code not in ("tombstone", "too_large")], ids=str)
def test_the_scanner_gives_the_expected_verdict(case: Case) -> None:
    found = Scanner(parse_ddl(case.schema), case.options.get("unknown_fields", "ignore")).scan(case.value or b"")
    if isinstance(found, Good):
        check(case, None, {**found.value, "_unknown": found.kept})
        assert dict.fromkeys(found.unknown, 1) == case.unknown
    else:
        check(case, Verdict(0, found.code, found.field, found.detail), {"": None})


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_decoder_gives_it_alone_and_as_large_binary(case: Case) -> None:
    decoder = case.format().decoder()
    for kind in (pa.binary(), pa.large_binary()):
        decoded = decoder.decode(pa.array([case.value], kind))
        decoded.data.validate(full=True)
        check(case, *row_of(decoded, 0))
        assert decoded.unknown == case.unknown


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("group", groups())
def test_no_neighbour_is_harmed_by_a_case_among_500_good_records(group: list[Case]) -> None:
    good = next(case for case in group + CASES if case.good and not case.unknown and case.schema == group[0].schema)
    decoder = group[0].format().decoder()
    for number, case in enumerate(group):
        row = (0, 499, 250, 1)[number % 4]
        values = [good.value] * 500
        values[row] = case.value
        decoded = decoder.decode(pa.array(values, pa.binary()))
        check(case, *row_of(decoded, row))
        neighbours = decoded.data.take([i for i in range(500) if i != row])
        assert neighbours.equals(pa.concat_batches([neighbours.slice(7, 1)] * 499))
        check(good, None, neighbours.slice(7, 1).to_pylist()[0])
        assert len(decoded.verdicts) == bool(case.code)


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("group", groups())
def test_all_cases_of_a_schema_in_one_batch_get_the_same_verdicts(group: list[Case]) -> None:
    decoder = group[0].format().decoder()
    for _ in range(3):  # by then it has learned that the stream is bad, and works another way
        decoded = decoder.decode(pa.array([case.value for case in group], pa.binary()))
        decoded.data.validate(full=True)
        for row, case in enumerate(group):
            check(case, *row_of(decoded, row))
        assert [verdict.row for verdict in decoded.verdicts] == [i for i, case in enumerate(group) if case.code]
