"""Topics with schemas of their own give one row type; one that joins later is a change like others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.keeper_kit import LONG, OPTIONAL, TEXT, Shop, columns, framed, record, rows

from penstock.engine.schemas import keeper_of
from penstock.errors import SchemaRefused


def test_two_topics_give_one_row_type_united_by_name(shop: Shop) -> None:
    returned = shop.put(2, record(id="int", reason=TEXT), "returns-value")
    pipeline = shop.pipeline()
    keeper = keeper_of(pipeline, lambda: Path(pipeline.state))
    assert keeper is not None
    bound = keeper.open(["orders", "returns"])
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING, `reason` STRING"
    made, codes = rows(bound, [framed(2, returned, {"id": 3, "reason": "torn"})], "returns")
    assert (made, codes) == ([{"id": 3, "name": None, "reason": "torn"}], [])


def test_topics_that_do_not_agree_on_a_type_are_refused(shop: Shop) -> None:
    shop.put(2, record(id=TEXT), "returns-value")
    pipeline = shop.pipeline()
    keeper = keeper_of(pipeline, lambda: Path(pipeline.state))
    assert keeper is not None
    with pytest.raises(SchemaRefused, match="do not agree on the column `id`: it is BIGINT in subject orders-value"):
        keeper.open(["orders", "returns"])


def test_a_topic_that_joins_later_brings_its_columns_by_the_same_policy(shop: Shop) -> None:
    keeper = shop.keeper()
    returned = shop.put(2, record(id=LONG, reason=TEXT), "returns-value")
    assert keeper.meet({("returns", 2): 1}, 4)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING, `reason` STRING"
    made, codes = rows(keeper.format(), [framed(2, returned, {"id": 3, "reason": "torn"})], "returns")
    assert (made, codes) == ([{"id": 3, "name": None, "reason": "torn"}], [])
    shop.put(3, record(other=LONG), "third-value")
    keeper.meet({("third", 3): 1}, 5)
    assert "/id (BIGINT NOT NULL) does not fit: not there" in keeper.reader.writers["third", 3].parked


def test_a_topic_that_joins_widens_a_column_and_its_ignored_fields_stay_out(shop: Shop) -> None:
    shop.put(1, record(id="int", name=OPTIONAL))
    keeper = shop.keeper(add="ignore", widen="evolve")
    returned = shop.put(2, record(id=LONG, reason=TEXT), "returns-value")
    keeper.meet({("returns", 2): 1}, 4)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING", "wider, and no column more"
    made, codes = rows(keeper.format(), [framed(2, returned, {"id": 2**40, "reason": "torn"})], "returns")
    assert (made, codes) == ([{"id": 2**40, "name": None}], [])


def test_a_field_that_was_ignored_is_not_brought_in_by_a_later_change(shop: Shop) -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}
    shop.put(1, record(id=LONG, inner=inner))
    keeper = shop.keeper(add="ignore", widen="evolve")
    more = {**inner, "fields": [*inner["fields"], {"name": "b", "type": "string"}]}
    shop.put(2, record(id=LONG, inner=more, reason=TEXT), "returns-value")
    keeper.meet({("returns", 2): 1}, 4)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `inner` STRUCT<`a`: INT NOT NULL> NOT NULL"
    wider = {**inner, "fields": [{"name": "a", "type": LONG}, {"name": "b", "type": "string"}]}
    third = shop.put(3, record(id=LONG, inner=wider, reason=TEXT, more=OPTIONAL), "returns-value")
    keeper.meet({("returns", 3): 1}, 5)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `inner` STRUCT<`a`: BIGINT NOT NULL> NOT NULL"
    value = {"id": 3, "inner": {"a": 2**40, "b": "x"}, "reason": "torn", "more": None}
    made, codes = rows(keeper.format(), [framed(3, third, value)], "returns")
    assert (made, codes) == ([{"id": 3, "inner": {"a": 2**40}}], [])


def test_what_was_ignored_of_a_topic_that_joined_is_taken_under_another_policy(shop: Shop) -> None:
    returned = shop.put(2, record(id=LONG, reason=TEXT), "returns-value")
    shop.keeper(add="ignore").meet({("returns", 2): 1}, 4)
    keeper = shop.keeper(add="evolve")
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING", "nothing is taken before there are records of it"
    keeper.meet({("returns", 2): 1, ("orders", 1): 1}, 5)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING, `reason` STRING"
    made, codes = rows(keeper.format(), [framed(2, returned, {"id": 3, "reason": "torn"})], "returns")
    assert (made, codes) == ([{"id": 3, "name": None, "reason": "torn"}], [])


def test_a_struct_of_a_topic_that_joins_is_compared_field_by_field(shop: Shop) -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}
    items = {"type": "array", "items": inner}
    shop.put(1, record(id=LONG, items=items))
    keeper = shop.keeper()
    other = {**inner, "fields": [{"name": "a", "type": LONG}, {"name": "b", "type": "string"}]}
    shop.put(2, record(id=LONG, items={"type": "array", "items": other}), "returns-value")
    keeper.meet({("returns", 2): 1}, 4)
    assert "/items/[]/a becomes wider: INT to BIGINT" in keeper.reader.writers["returns", 2].parked
