"""The JSON decoder as a part: shapes of input and output, unknown fields, and that bad streams stay bounded."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.json_decoder_kit import HARD, NESTED, SCHEMA
from tests.unit.json_decoders import either_decoder, python_decoder  # noqa: F401  fixtures

from penstock.formats.json import Json
from penstock.formats.json.columns import MAX_NAMES, STEP_BYTES, JsonDecoder
from penstock.formats.json.readers import Good, Scanner
from penstock.formats.schemas import parse_ddl
from penstock.options import Size

GOOD = b'{"id":1,"amount":12.30,"at":"2026-01-02T03:04:05Z","device":{"os":"x"},"tags":["a"]}'


@pytest.mark.usefixtures("either_decoder")
def test_columns_keep_not_null_and_data_may_hold_nulls_where_there_is_a_verdict() -> None:
    decoder = Json(schema=SCHEMA).decoder()
    decoded = decoder.decode(pa.array([GOOD, b"oops"], pa.binary()))
    assert Json(schema=SCHEMA).columns() == decoder.columns
    assert [field.nullable for field in decoder.columns] == [False, True, True, True, True]
    assert decoded.data.schema.names == decoder.columns.names
    assert decoded.data.schema.types == decoder.columns.types
    assert decoded.data.column("id").to_pylist() == [1, None]


INSIDE = b'{"id":2,"device":{"os":"x","n":{"d":"2024-01-01"}},"l":[null,{"q":1}],"s":{"a":[],"d":1,"b":""}}'


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("schema", [NESTED, NESTED + ", m MAP<STRING, STRUCT<q: INT NOT NULL>>"])
def test_not_null_inside_a_null_struct_can_be_written_as_parquet(schema: str, tmp_path: Path) -> None:
    decoder = Json(schema=schema).decoder()
    decoded = decoder.decode(pa.array([b'{"id":1}', b"oops", INSIDE, b'{"id":3,"l":[]}'], pa.binary()))
    good = decoded.data.filter(pa.array([True, False, True, True]))
    rows = pa.Table.from_batches([pa.RecordBatch.from_arrays(good.columns, schema=decoder.columns)])
    pq.write_table(rows, tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == good.to_pylist()


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_no_rows_only_nulls_and_slices_are_all_batches(kind: pa.DataType) -> None:
    decoder = Json(schema=SCHEMA).decoder()
    assert decoder.decode(pa.array([], kind)).data.num_rows == 0
    assert [v.code for v in decoder.decode(pa.array([None, None], kind)).verdicts] == ["tombstone"] * 2
    assert [v.code for v in decoder.decode(pa.nulls(2, kind)).verdicts] == ["tombstone"] * 2
    assert [v.code for v in decoder.decode(pa.array([b""], kind)).verdicts] == ["empty"]
    sliced = pa.array([b"bad", GOOD, None, GOOD, b"bad"], kind).slice(1, 3)
    decoded = decoder.decode(sliced)
    assert decoded.data.column("id").to_pylist() == [1, None, 1]
    assert [verdict.row for verdict in decoded.verdicts] == [1]


@pytest.mark.usefixtures("either_decoder")
def test_a_batch_of_many_steps_keeps_its_order() -> None:
    values = [b'{"id":%d}' % i if i % 7 else b'{"id":"%d"}' % i for i in range(9000)]
    decoded = Json(schema="id BIGINT").decoder().decode(pa.array(values, pa.binary()))
    decoded.data.validate(full=True)
    assert decoded.data.column("id").to_pylist() == [i if i % 7 else None for i in range(9000)]
    assert [verdict.row for verdict in decoded.verdicts] == list(range(0, 9000, 7))


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\0b", "f0", "é", "a.b", "a/b", "`"])
@pytest.mark.parametrize("policy", ["ignore", "keep", "reject"])
def test_a_field_may_have_any_name(name: str, policy: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    decoder = JsonDecoder(
        parse_ddl(f"{quoted} INT, z STRUCT<{quoted}: INT NOT NULL>"), unknown_fields=policy, max_bytes=999
    )
    good, bad = json.dumps({name: 1, "z": {name: 2}}).encode(), json.dumps({name: 1, "z": {name: "2"}}).encode()
    for _ in range(3):
        decoded = decoder.decode(pa.array([good, bad] * 50, pa.binary()))
        assert decoded.data.column(1).to_pylist() == [{name: 2}, None] * 50
        assert {verdict.code for verdict in decoded.verdicts} == {"wrong_type"}


@pytest.mark.usefixtures("either_decoder")
def test_tombstones_are_dropped_by_name_on_wish() -> None:
    decoded = Json(schema=SCHEMA, tombstones="drop").decoder().decode(pa.array([None], pa.binary()))
    [verdict] = decoded.verdicts
    assert (verdict.code, verdict.drop) == ("tombstone", True)


@pytest.mark.usefixtures("either_decoder")
def test_unknown_fields_are_counted_per_record_and_only_for_good_ones() -> None:
    values = [
        b'{"id":1,"x":1,"device":{"os":"a","y":2}}',
        b'{"id":1,"x":[{"x":1}]}',
        b'{"id":"bad","x":1}',
        b'{"id":2}',
    ]
    decoder = Json(schema=SCHEMA).decoder()
    for _ in range(2):
        assert decoder.decode(pa.array(values * 3, pa.binary())).unknown == {"x": 6, "device/y": 3}


@pytest.mark.usefixtures("either_decoder")
def test_the_first_100_unknown_names_are_counted() -> None:
    values = [b'{"id":1,"u%d":1,"again":2}' % i for i in range(300)]
    unknown = Json(schema=SCHEMA).decoder().decode(pa.array(values, pa.binary())).unknown
    assert list(unknown) == ["u0", "again", *(f"u{i}" for i in range(1, MAX_NAMES - 1))]
    assert unknown["again"] == 300


@pytest.mark.usefixtures("either_decoder")
def test_unknown_fields_are_kept_as_the_text_they_came_in() -> None:
    values = [b'{"id":1, "x" : {"a": [1, 2]}, "y":"\xc3\xa9"}', b'{"id":2}', b"oops"]
    options = Json(schema="id BIGINT", unknown_fields="keep")
    decoded = options.decoder().decode(pa.array(values, pa.binary()))
    assert options.columns().names == ["id", "_unknown"]
    assert decoded.data.column("_unknown").to_pylist() == ['{"x":{"a": [1, 2]},"y":"é"}', None, None]


def test_a_step_is_bounded_by_bytes_as_well_as_rows() -> None:
    big = b'{"id":1,"tags":["' + b"x" * (STEP_BYTES // 3) + b'"]}'
    decoder = JsonDecoder(parse_ddl(SCHEMA), max_bytes=1 << 24)
    ends = list(decoder._steps(pa.array([big] * 10, pa.binary())))
    assert ends == [2, 4, 6, 8, 10]
    assert list(decoder._steps(pa.array([big * 4, big * 4], pa.binary()))) == [1, 2]


@pytest.mark.usefixtures("either_decoder")
def test_an_empty_text_that_cannot_be_converted_harms_no_other_range() -> None:
    values = [b'{"at":""}', b'{"at":"2026-01-02"}'] * 200
    decoder = Json(schema="at TIMESTAMP").decoder()
    for _ in range(3):
        verdicts = decoder.decode(pa.array(values, pa.binary())).verdicts
        assert [verdict.row for verdict in verdicts] == list(range(0, 400, 2))


@pytest.mark.usefixtures("either_decoder")
def test_several_objects_in_a_record_harm_no_other_range() -> None:
    values = [b'{"id":1}'] * 300
    values[10] = b'{"id":1}{"id":1}{"id":1}{"id":1}{"id":1}'
    values[60] = values[61] = b'{"id":1}' * 200 + b"x}"
    decoder = Json(schema="id BIGINT").decoder()
    for _ in range(3):
        decoded = decoder.decode(pa.array(values, pa.binary()))
        assert [(verdict.row, verdict.code) for verdict in decoded.verdicts] == [
            (row, "trailing_data") for row in (10, 60, 61)
        ]


@pytest.mark.usefixtures("python_decoder")
def test_a_record_of_many_objects_is_parsed_not_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    items = b",".join(b'{"os":"%d"}' % i for i in range(50_000))
    decoder = Json(schema="l ARRAY<STRUCT<os: STRING>>").decoder()
    for extra in (b"", b',"new":1', b',"new":[' + items + b"]"):
        values = pa.array([b'{"l":[' + items + b"]" + extra + b"}"] * 4, pa.binary())
        monkeypatch.setattr(decoder, "scanner", None)  # it is slow, and must not be asked
        decoded = decoder.decode(values)
        assert decoded.verdicts == []
        assert decoded.unknown == ({"new": 4} if extra else {})


@pytest.mark.usefixtures("either_decoder")
def test_a_value_of_many_megabytes_is_decoded() -> None:
    text = b"x" * 25_000_000
    decoder = Json(schema="s STRING", max_bytes=Size("64 MB")).decoder()
    decoded = decoder.decode(pa.array([b'{"s":"' + text + b'"}', b'{"s":"a"}'], pa.binary()))
    assert [len(value) for value in decoded.data.column("s").to_pylist()] == [25_000_000, 1]


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.timeout(60)  # anything quadratic would take hours
@pytest.mark.parametrize("value", HARD.values(), ids=HARD.keys())
def test_a_hard_value_is_judged_and_harms_no_neighbour(value: bytes) -> None:
    decoder = Json(schema=SCHEMA).decoder()
    decoded = decoder.decode(pa.array([value, GOOD], pa.binary()))
    assert [verdict.row for verdict in decoded.verdicts] == [0]


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.timeout(120)
def test_a_stream_of_nothing_but_bad_records_is_judged() -> None:
    decoder = Json(schema=SCHEMA).decoder()
    for value in (b'{"id":"1"}', b'{"id":1,"amount":1.234}', b'{"id":1', b'{"id":1}{"id":1}', b"\xff{}"):
        assert len(decoder.decode(pa.array([value] * 2000, pa.binary())).verdicts) == 2000


@pytest.mark.usefixtures("either_decoder")
def test_500_columns_are_decoded() -> None:
    numbers, days = range(100), range(400)
    schema = ", ".join([f"c{i} BIGINT" for i in numbers] + [f"d{i} STRUCT<a: ARRAY<STRUCT<b: DATE>>>" for i in days])
    members = [b'"c%d":%d' % (i, i) for i in numbers] + [b'"d%d":{"a":[{"b":"2026-01-02"}]}' % i for i in days]
    value = b"{" + b",".join(members) + b"}"
    decoded = Json(schema=schema).decoder().decode(pa.array([value] * 3, pa.binary()))
    decoded.data.validate(full=True)
    found = Scanner(parse_ddl(schema)).scan(value)
    assert isinstance(found, Good)
    assert decoded.data.to_pylist() == [found.value] * 3


def test_the_sieve_of_names_tells_records_with_unknown_fields() -> None:
    from penstock.formats.json.sieve import Sieve
    from penstock.formats.schemas import parse_ddl

    sieve = Sieve(parse_ddl("id BIGINT NOT NULL, t STRING, s STRUCT<a: INT>, l ARRAY<STRUCT<b: INT>>"), "ignore")
    known = [b'{"id":1}', b'{"id":"x","t":null,"s":null,"l":null}', b'{"id":1,"s":{"a":[]},"l":[{"b":1},null]}']
    unknown = [b'{"id":1,"x":2}', b'{"id":1,"s":{"x":1}}', b'{"id":1,"l":[{"b":1},{"x":1}]}']
    assert [sieve.knows_all(data) for data in known] == [True] * 3
    assert [sieve.knows_all(data) for data in unknown] == [False] * 3
