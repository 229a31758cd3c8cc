"""Avro files of a folder that use one another's types: found, in a circle, missing, defined twice."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.keeper_kit import FIRST, LONG, OPTIONAL, Shop, columns, framed, record, rows

from penstock.errors import SchemaRefused, SchemaStopped

ADDRESS = {"type": "record", "name": "Address", "namespace": "shop", "fields": [{"name": "city", "type": "string"}]}


def with_address(kind: Any = "shop.Address") -> dict[str, Any]:
    return record(id=LONG, address=kind)


def test_types_of_other_files_in_the_folder_are_found_however_deep(shop: Shop) -> None:
    (shop.folder / "schemas" / "types").mkdir()
    country = {"type": "enum", "name": "Country", "namespace": "geo", "symbols": ["DE", "FR"]}
    address = {**ADDRESS, "fields": [*ADDRESS["fields"], {"name": "country", "type": ["null", "geo.Country"]}]}
    (shop.folder / "schemas" / "types" / "Country.avsc").write_text(json.dumps(country))
    (shop.folder / "schemas" / "Address.avsc").write_text(json.dumps(address))
    shop.put(1, with_address(["null", "shop.Address"]))
    keeper = shop.keeper()
    assert columns(keeper) == "`id` BIGINT NOT NULL, `address` STRUCT<`city`: STRING NOT NULL, `country`: STRING>"
    whole = with_address(
        ["null", {**address, "fields": [address["fields"][0], {"name": "country", "type": ["null", country]}]}]
    )
    written = framed(1, whole, {"id": 1, "address": {"city": "Ulm", "country": "DE"}})
    assert rows(keeper.format(), [written])[0] == [{"id": 1, "address": {"city": "Ulm", "country": "DE"}}]


def test_a_type_of_the_subjects_own_folder_counts_before_that_of_the_whole_folder(shop: Shop) -> None:
    zipped = {**ADDRESS, "fields": [{"name": "zip", "type": "string"}]}
    (shop.folder / "schemas" / "Address.avsc").write_text(json.dumps(ADDRESS))
    (shop.folder / "schemas" / "orders-value" / "Address.avsc").write_text(json.dumps(zipped))
    shop.put(1, with_address())
    assert "`zip`" in columns(shop.keeper())


def put_circle(shop: Shop) -> None:
    for name, other in (("A", "B"), ("B", "A")):
        body = {"type": "record", "name": name, "fields": [{"name": "x", "type": ["null", other]}]}
        (shop.folder / "schemas" / f"{name}.avsc").write_text(json.dumps(body))


CIRCLE = r"in a circle: A\.avsc needs B\.avsc needs A\.avsc"


def test_avro_files_that_need_one_another_in_a_circle_are_refused_at_the_start(shop: Shop) -> None:
    put_circle(shop)
    shop.put(1, with_address("A"))
    with pytest.raises(SchemaRefused, match=CIRCLE):
        shop.keeper()


def test_avro_files_in_a_circle_that_are_met_later_park_their_records_until_they_are_mended(shop: Shop) -> None:
    keeper = shop.keeper()
    put_circle(shop)
    shop.put(2, with_address("A"))
    third = shop.put(3, record(id=LONG, name=OPTIONAL, more=OPTIONAL))
    assert keeper.meet({("orders", 2): 1, ("orders", 3): 1}, 0)
    values: list[bytes | None] = [
        framed(2, FIRST, {"id": 1, "name": None}),
        framed(3, third, {"id": 2, "name": None, "more": "m"}),
    ]
    decoder = keeper.format(closed=True).decoder().of_topic("orders")  # type: ignore[attr-defined]
    [verdict] = decoder.decode(pa.array(values, pa.binary())).verdicts
    assert (verdict.row, verdict.code) == (0, "schema_parked")
    assert re.search(CIRCLE, verdict.detail)
    assert [(event.new, event.action) for event in shop.news] == [(2, "park"), (3, "read")]
    assert len(keeper.format().decoder().of_topic("orders").strange(pa.array(values))) == 0  # type: ignore[attr-defined]
    assert not keeper.meet({("orders", 2): 1}, 1)
    shop.put(2, FIRST)
    keeper.asking._refused.clear()  # some time later
    assert keeper.meet({("orders", 2): 1}, 2)
    assert rows(keeper.format(), values)[1] == []


def test_avro_files_in_a_circle_stop_the_run_where_the_policy_says_so(shop: Shop) -> None:
    keeper = shop.keeper(None, incompatible="stop")
    put_circle(shop)
    shop.put(2, with_address("A"))
    with pytest.raises(SchemaStopped, match=CIRCLE):
        keeper.meet({("orders", 2): 1}, 0)


def test_a_type_that_no_file_defines_is_named(shop: Shop) -> None:
    shop.put(1, with_address("shop.Addres"))
    (shop.folder / "schemas" / "Address.avsc").write_text(json.dumps(ADDRESS))
    with pytest.raises(SchemaRefused, match=r"what the type `shop\.Addres` is .*a file like Addres\.avsc"):
        shop.keeper()


def test_a_type_that_two_files_define_differently_is_refused(shop: Shop) -> None:
    other = {**ADDRESS, "fields": [{"name": "zip", "type": "string"}]}
    (shop.folder / "schemas" / "Address.avsc").write_text(json.dumps(ADDRESS))
    (shop.folder / "schemas" / "Other.avsc").write_text(json.dumps(other))
    shop.put(1, with_address())
    with pytest.raises(SchemaRefused, match=r"`shop\.Address` is defined twice, and differently"):
        shop.keeper()
