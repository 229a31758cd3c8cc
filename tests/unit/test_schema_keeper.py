"""The keeper: which schemas a pipeline knows, where it asks for others, and what is kept over a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.keeper_kit import FIRST, LONG, OPTIONAL, Shop, columns, framed, record, rows

from penstock.engine.schemas import keeper_of, looking_keeper
from penstock.errors import SchemaRefused, Unavailable
from penstock.formats.avro import Avro
from penstock.options import Duration
from penstock.schemas.options import RegistryOptions


def test_the_first_start_takes_the_columns_of_the_latest_version_and_knows_the_older_ones(shop: Shop) -> None:
    shop.put(2, record(id=LONG, name=OPTIONAL, coupon=OPTIONAL))
    keeper = shop.keeper()
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING, `coupon` STRING"
    assert sorted(keeper.reader.writers) == [("orders", 1), ("orders", 2)]
    made, codes = rows(keeper.format(), [framed(1, FIRST, {"id": 7, "name": "a"}), None, b"\x01nonsense"])
    assert made[0] == {"id": 7, "name": "a", "coupon": None}
    assert sorted(codes) == ["bad_frame", "tombstone"]
    assert shop.news == []


def test_a_new_field_becomes_a_column_and_is_kept_before_the_batch_is_frozen(shop: Shop) -> None:
    keeper = shop.keeper()
    second = shop.put(2, record(id=LONG, name=OPTIONAL, qty=("int", 5)))
    assert keeper.meet({("orders", 2): 3}, 12)
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING, `qty` INT"
    values: list[bytes | None] = [
        framed(2, second, {"id": 1, "name": None, "qty": 2}),
        framed(1, FIRST, {"id": 2, "name": "b"}),
    ]
    assert rows(keeper.format(closed=True), values)[0] == [
        {"id": 1, "name": None, "qty": 2},
        {"id": 2, "name": "b", "qty": 5},
    ]
    [event] = shop.news
    assert (event.old, event.new, event.action, event.batch_id) == (1, 2, "read", 12)
    assert event.told == "/qty is new (INT)"
    again = shop.keeper()  # another process, and the registry need not be there for what was seen
    assert again.reader == keeper.reader
    assert again.reader.revision == 2


def test_a_restart_goes_on_without_the_registry(shop: Shop) -> None:
    before = shop.keeper()
    (shop.folder / "schemas").rename(shop.folder / "away")
    after = shop.keeper()
    assert after.reader == before.reader
    with pytest.raises(Unavailable, match="cannot be read"):
        after.meet({("orders", 9): 1}, 0)


def test_a_first_start_without_a_schema_waits_for_one(shop: Shop) -> None:
    shop.put(5, FIRST, "other-value")
    pipeline = shop.pipeline()
    keeper = keeper_of(pipeline, lambda: Path(pipeline.state))
    assert keeper is not None
    with pytest.raises(Unavailable, match="no schema yet for returns-value"):
        keeper.open(["returns"])


def test_an_id_that_nobody_knows_is_asked_for_then_rejected_and_not_asked_for_in_every_batch(shop: Shop) -> None:
    keeper = shop.keeper()
    assert keeper.meet({("orders", 404): 9}, 3)
    assert rows(keeper.format(), [framed(404, FIRST, {"id": 1, "name": None})])[1] == ["unknown_schema"]
    assert not keeper.meet({("orders", 404): 9}, 4)
    keeper.asking._missing.clear()  # some time later
    shop.put(404, FIRST)
    assert keeper.meet({("orders", 404): 9}, 5)
    assert rows(keeper.format(), [framed(404, FIRST, {"id": 1, "name": None})])[1] == []


def test_a_process_that_was_first_is_built_upon(shop: Shop) -> None:
    mine, theirs = shop.keeper(), shop.keeper()
    shop.put(2, record(id=LONG, name=OPTIONAL, a=OPTIONAL))
    shop.put(3, record(id=LONG, name=OPTIONAL, a=OPTIONAL, b=OPTIONAL))
    theirs.meet({("orders", 2): 1}, 5)
    mine.meet({("orders", 3): 1}, 5)
    assert columns(mine) == "`id` BIGINT NOT NULL, `name` STRING, `a` STRING, `b` STRING"
    assert sorted(mine.reader.writers) == [("orders", 1), ("orders", 2), ("orders", 3)]
    assert mine.reader.revision == 3


def test_an_id_that_was_waited_for_once_is_never_waited_for_again(shop: Shop) -> None:
    keeper = shop.keeper()
    assert keeper.meet({("orders", 404): 1}, 0)
    waiting = RegistryOptions(folder=str(shop.folder / "schemas"), unknown_id_wait=Duration("10 minutes"))
    keeper.asking.pipeline = keeper.pipeline.model_copy(update={"registry": waiting})
    keeper.asking.stopping.set()  # whoever waits now raises
    for batch in (1, 2):
        keeper.asking._missing.clear()  # some time later
        assert keeper.meet({("orders", 404): 1}, batch)
    with pytest.raises(Unavailable):
        keeper.meet({("orders", 405): 1}, 3)


def test_a_stop_while_it_waits_rejects_nothing(shop: Shop) -> None:
    pipeline = shop.pipeline()
    waiting = RegistryOptions(folder=str(shop.folder / "schemas"), unknown_id_wait=Duration("10 minutes"))
    keeper = keeper_of(pipeline.model_copy(update={"registry": waiting}), lambda: Path(pipeline.state))
    assert keeper is not None
    keeper.open(["orders"])
    keeper.asking.stopping.set()
    with pytest.raises(Unavailable, match="stopped while it waited for the schema ids 404"):
        keeper.meet({("orders", 404): 1}, 0)
    assert keeper.asking.missing == frozenset()


def test_a_pinned_version_is_the_reader_and_newer_ones_are_changes(shop: Shop) -> None:
    shop.put(2, record(id=LONG, name=OPTIONAL, coupon=OPTIONAL))
    keeper = shop.keeper(decode=Avro(version=1))
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING"
    assert sorted(keeper.reader.writers) == [("orders", 1)]
    with pytest.raises(SchemaRefused, match="has no subject orders-value with a version 9"):
        _pinned(shop, 9)


def _pinned(shop: Shop, version: int) -> None:
    pipeline = shop.pipeline(Avro(version=version)).model_copy(update={"name": "q", "state": str(shop.folder / "q")})
    keeper = keeper_of(pipeline, lambda: Path(pipeline.state))
    assert keeper is not None
    keeper.open(["orders"])


def test_bare_records_are_read_with_the_pinned_version(shop: Shop) -> None:
    keeper = shop.keeper(decode=Avro(version=1, framing="bare"))
    assert rows(keeper.format(), [framed(1, FIRST, {"id": 4, "name": "d"})[5:]])[0] == [{"id": 4, "name": "d"}]


def test_subjects_named_by_the_record_are_found_by_a_look_at_the_records(shop: Shop) -> None:
    shop.put(1, FIRST, "Order")
    pipeline = shop.pipeline(Avro(subject="by_record"))
    keeper = keeper_of(pipeline, lambda: Path(pipeline.state))
    assert keeper is not None
    bound = keeper.open(["orders"], lambda: [("orders", 1)])
    assert rows(bound, [framed(1, FIRST, {"id": 4, "name": "d"})])[1] == []
    assert list(keeper.reader.readers) == ["Order"]


def test_a_look_writes_nothing(shop: Shop) -> None:
    pipeline = shop.pipeline()
    keeper = looking_keeper(pipeline, lambda: Path(pipeline.state))
    assert keeper is not None
    keeper.open(["orders"])
    shop.put(2, record(id=LONG, name=OPTIONAL, more=OPTIONAL))
    assert keeper.meet({("orders", 2): 1}, 0)
    assert not Path(pipeline.state).exists()


def test_another_registry_decides_anew_because_its_ids_mean_other_schemas(shop: Shop) -> None:
    shop.keeper()
    (shop.folder / "schemas").rename(shop.folder / "moved")
    other = shop.pipeline().model_copy(update={"registry": RegistryOptions(folder=str(shop.folder / "moved"))})
    keeper = keeper_of(other, lambda: Path(other.state))
    assert keeper is not None
    keeper.open(["orders"])
    assert columns(keeper) == "`id` BIGINT NOT NULL, `name` STRING"
    assert keeper.reader.writers == {}
    assert keeper.meet({("orders", 1): 1}, 0)
