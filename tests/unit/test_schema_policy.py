"""What a new version of a topic's schema does: it is read, ignored, parked, or stops the run, as the policy says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.keeper_kit import FIRST, LONG, OPTIONAL, TEXT, Shop, columns, framed, record, rows

from penstock.errors import SchemaStopped
from penstock.formats.avro import Avro


@pytest.mark.parametrize(
    ("second", "kind", "told"),
    [
        (record(id=LONG), "drop", "/name is gone (it was STRING)"),
        (record(id=LONG, name=OPTIONAL, more=OPTIONAL), "add", "/more is new (STRING)"),
        (record(id=(["null", "long"], None), name=OPTIONAL), "widen", "/id becomes wider: BIGINT NOT NULL to BIGINT"),
        (record(name=OPTIONAL), "incompatible", "/id (BIGINT NOT NULL) does not fit: gone, and without a default"),
        (record(id=TEXT, name=OPTIONAL), "incompatible", "/id (BIGINT) does not fit: string does not become BIGINT"),
        ({"type": "array", "items": "int"}, "incompatible", "the schema does not fit: schema 2 cannot give rows"),
    ],
)
def test_each_kind_of_change_is_parked_or_stops_as_the_policy_says(
    shop: Shop, second: Any, kind: str, told: str
) -> None:
    keeper = shop.keeper(None, **{kind: "park"})
    shop.put(2, second)
    assert keeper.meet({("orders", 2): 1}, 7)
    writer = keeper.reader.writers["orders", 2]
    assert told in writer.parked
    assert writer.parked.endswith("schema_changes says park.")
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING"
    assert rows(keeper.format(), [b"\x00\x00\x00\x00\x02whatever"])[1] == ["schema_parked"]
    assert [event.action for event in shop.news] == ["park"]
    stopping = shop.keeper(None, **{kind: "stop"})  # a change of policy decides anew on what was parked
    with pytest.raises(SchemaStopped, match="Nothing of this batch is visible"):
        stopping.meet({("orders", 2): 1}, 8)


def test_a_change_of_policy_decides_anew_on_what_was_ignored(shop: Shop) -> None:
    second = shop.put(2, record(id=LONG, name=OPTIONAL, more=OPTIONAL))
    keeper = shop.keeper(Avro(version=1), add="ignore")
    keeper.meet({("orders", 2): 1}, 0)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING"
    again = shop.keeper(Avro(version=1), add="evolve")
    assert again.meet({("orders", 2): 1}, 1)
    assert columns(again) == "`id` BIGINT NOT NULL, `name` STRING, `more` STRING"
    made, _ = rows(again.format(), [framed(2, second, {"id": 1, "name": None, "more": "m"})])
    assert made == [{"id": 1, "name": None, "more": "m"}]


def test_a_new_field_can_be_ignored(shop: Shop) -> None:
    keeper = shop.keeper(add="ignore")
    second = shop.put(2, record(id=LONG, name=OPTIONAL, secret=TEXT))
    keeper.meet({("orders", 2): 1}, 0)
    made, codes = rows(keeper.format(), [framed(2, second, {"id": 1, "name": "n", "secret": "s"})])
    assert (made, codes) == ([{"id": 1, "name": "n"}], [])


def test_a_rename_by_alias_goes_on_under_the_columns_name_through_every_later_version(shop: Shop) -> None:
    keeper = shop.keeper()
    versions = {}
    for number, (name, alias) in enumerate([("title", "name"), ("label", "title")], start=2):
        body = record(id=LONG, **{name: OPTIONAL})
        body["fields"][1]["aliases"] = [alias]
        versions[number] = shop.put(number, body)
        keeper.meet({("orders", number): 1}, number)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING"
    values: list[bytes | None] = [
        framed(1, FIRST, {"id": 1, "name": "a"}),
        framed(2, versions[2], {"id": 2, "title": "b"}),
        framed(3, versions[3], {"id": 3, "label": "c"}),
    ]
    assert [row["name"] for row in rows(keeper.format(), values)[0]] == ["a", "b", "c"]


def test_a_field_inside_a_struct_joins_the_struct(shop: Shop) -> None:
    address = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
    shop.put(1, record(id=LONG, address=address))
    keeper = shop.keeper()
    wider = {**address, "fields": [*address["fields"], {"name": "zip", "type": ["null", "string"], "default": None}]}
    second = shop.put(2, record(id=LONG, address=wider))
    keeper.meet({("orders", 2): 1}, 0)
    assert columns(keeper) == (
        "`id` BIGINT NOT NULL, `address` STRUCT<`city`: STRING NOT NULL, `zip`: STRING> NOT NULL"
    )
    made, _ = rows(keeper.format(), [framed(2, second, {"id": 1, "address": {"city": "Ulm", "zip": "89073"}})])
    assert made[0]["address"] == {"city": "Ulm", "zip": "89073"}


def test_an_older_version_is_no_change(shop: Shop) -> None:
    shop.put(2, record(id=LONG, name=OPTIONAL, coupon=OPTIONAL))
    keeper = shop.keeper(drop="stop", decode=Avro(version=2))
    writers = {key: writer for key, writer in keeper.reader.writers.items() if key != ("orders", 1)}
    keeper.reader = type(keeper.reader)(keeper.reader.fields, keeper.reader.readers, writers, 1)
    assert keeper.meet({("orders", 1): 1}, 0)
    assert keeper.reader.writers["orders", 1].parked == ""
