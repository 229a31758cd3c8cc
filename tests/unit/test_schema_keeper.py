"""The keeper: which schemas a pipeline knows, what a new one does, what is kept of it. A folder is the registry."""

from __future__ import annotations

import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from penstock import Delta, Kafka, Pipeline, Sink
from penstock.engine.schemas import keeper_of, looking_keeper
from penstock.errors import SchemaRefused, SchemaStopped, Unavailable
from penstock.formats.avro import Avro
from penstock.formats.framed import Framed
from penstock.formats.types import to_ddl
from penstock.observe.events import Event, SchemaChanged
from penstock.options import Duration
from penstock.schemas.keeper import Keeper
from penstock.schemas.options import RegistryOptions, SchemaChanges

LONG, TEXT = "long", "string"


def record(**fields: Any) -> dict[str, Any]:
    """`id=LONG`; `coupon=(["null", "string"], None)` has a default."""
    made = []
    for name, kind in fields.items():
        more = {"default": kind[1]} if isinstance(kind, tuple) else {}
        made.append({"name": name, "type": kind[0] if isinstance(kind, tuple) else kind, **more})
    return {"type": "record", "name": "Order", "fields": made}


OPTIONAL = (["null", "string"], None)
FIRST = record(id=LONG, name=OPTIONAL)


class Shop:
    """A folder with schemas, and pipelines that read them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[Event] = []
        (folder / "schemas").mkdir()

    def put(self, number: int, body: Any, subject: str = "orders-value") -> dict[str, Any]:
        path = self.folder / "schemas" / subject / f"{number}.avsc"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(body))
        return body  # type: ignore[no-any-return]

    def pipeline(self, decode: Avro | None = None, **changes: Any) -> Pipeline:
        return Pipeline(
            name="p",
            folder=self.folder,
            source=Kafka(brokers=("localhost:9092",), topics=("orders", "returns")),
            registry=RegistryOptions(folder="schemas", unknown_id_wait=Duration("1 millisecond")),
            decode=decode or Avro(),
            schema_changes=SchemaChanges(**changes),
            sinks={
                "lake": Sink(to=Delta(table="./lake/t", writer="spark" if changes.get("widen") == "evolve" else "auto"))
            },
        )

    def keeper(self, decode: Avro | None = None, **changes: Any) -> Keeper:
        pipeline = self.pipeline(decode, **changes)
        made = keeper_of(pipeline, lambda: Path(pipeline.state), self.told.append)
        assert made is not None
        made.open(["orders"])
        return made

    @property
    def news(self) -> list[SchemaChanged]:
        return [event for event in self.told if isinstance(event, SchemaChanged)]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path)
    made.put(1, FIRST)
    return made


def framed(number: int, body: Any, value: dict[str, Any]) -> bytes:
    out = io.BytesIO(struct.pack(">bI", 0, number))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(body), value)
    return out.getvalue()


def rows(bound: Framed, values: list[bytes | None], topic: str = "orders") -> tuple[list[dict[str, Any]], list[str]]:
    decoder = bound.decoder().of_topic(topic)  # type: ignore[attr-defined]
    made = decoder.decode(pa.array(values, pa.binary()))
    return made.data.to_pylist(), [verdict.code for verdict in made.verdicts]


def columns(keeper: Keeper) -> str:
    return to_ddl(keeper.reader.fields)


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


def test_an_older_version_is_no_change(shop: Shop) -> None:
    shop.put(2, record(id=LONG, name=OPTIONAL, coupon=OPTIONAL))
    keeper = shop.keeper(drop="stop", decode=Avro(version=2))
    writers = {key: writer for key, writer in keeper.reader.writers.items() if key != ("orders", 1)}
    keeper.reader = type(keeper.reader)(keeper.reader.fields, keeper.reader.readers, writers, 1)
    assert keeper.meet({("orders", 1): 1}, 0)
    assert keeper.reader.writers["orders", 1].parked == ""


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
