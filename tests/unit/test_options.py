"""Values that people write, choices, and the rules between settings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from penstock import DeadLetters, Delta, Every, Json, Kafka, Pace, Pipeline, Raw, Sink
from penstock.choice import Choice
from penstock.meanings import meanings
from penstock.options import Duration, Field, Name, Options, Size, Text
from penstock.paths import absolute
from penstock.registry import Kind, formats, sinks, sources


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("200 milliseconds", 0.2), ("1 second", 1), ("10 seconds", 10), ("1.5 minutes", 90), (" 6  hours ", 21600),
     ("7days", 604800)],
)  # fmt: skip
def test_a_duration_is_a_number_and_its_unit(text: str, seconds: float) -> None:
    assert Duration(text).seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "10", "seconds", "1 sec", "1 secondss", "-1 seconds", "0 seconds", "1e3 hours", "١ days", "9" * 400 + " days"],
)  # fmt: skip
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Write it like  10 seconds"):
        Duration(text)


@pytest.mark.parametrize(
    ("text", "count"), [("64 MB", 64_000_000), ("1KiB", 1024), ("2 GiB", 2**31), ("10 B", 10), ("1.5 KB", 1500)]
)
def test_a_size_counts_bytes(text: str, count: int) -> None:
    assert Size(text).bytes == count


@pytest.mark.parametrize("text", ["64 mb", "64", "64 M", "0 B"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Write it like  64 MB"):
        Size(text)


def test_quantities_are_equal_by_amount_and_kind() -> None:
    assert Duration("60 seconds") == Duration("1 minute")
    assert len({Duration("60 seconds"), Duration("1 minute")}) == 1
    assert Size("1 KB") != Size("1 KiB")
    assert Duration("1 second") != Size("1 B")


class Settings(Options):
    name: Name = Field("x", description="A name.")
    values: dict[str, Text] = Field(default_factory=dict, description="Texts.")


def test_options_are_frozen_and_know_no_other_keys() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(Settings(), "name", "y")  # noqa: B010 - mypy knows it as well
    with pytest.raises(ValidationError, match="Extra inputs"):
        Settings.model_validate({"nam": "x"})


def test_an_error_does_not_show_what_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"name": "Hunter 2", "values": {"a": ["hunter2"]}})
    assert "unter" not in str(caught.value)


def test_text_takes_numbers_and_booleans_as_they_are_written() -> None:
    assert Settings(values={"a": 1, "b": True, "c": 2.5}).values == {"a": "1", "b": "true", "c": "2.5"}  # type: ignore[dict-item]


def test_every_setting_is_described() -> None:
    models: list[type[Options]] = [
        Pipeline,
        Sink,
        DeadLetters,
        Every,
        Pace,
        *(kind[name] for kind in (sources, formats, sinks) for name in kind),
    ]
    bare = [f"{model.__name__}.{name}" for model in models for name, meaning in meanings(model).items() if not meaning]
    assert bare == []


def test_parts_are_found_by_their_registering_line() -> None:
    assert list(sources) == ["kafka"]
    assert {"json", "raw"} <= set(formats)
    assert "delta" in sinks
    assert sinks["delta"] is Delta
    assert formats.name_of(Raw()) == "raw"
    assert "contract" not in formats
    with pytest.raises(KeyError, match="no format named 'xml'"):
        formats["xml"]
    with pytest.raises(KeyError, match="Settings"):
        formats.name_of(Settings())


def test_a_name_is_taken_once() -> None:
    kind = Kind("thing", "penstock.sinks")
    kind.register("one")(Settings)
    with pytest.raises(ValueError, match="already a thing named 'one'"):
        kind.register("one")(Settings)


class Holder(Options):
    decode: Annotated[Any, Choice(formats)] = Field(description="A choice.")


@pytest.mark.parametrize("given", ["raw", {"raw": {}}, Raw()], ids=["word", "map", "value"])
def test_a_choice_is_a_word_a_map_or_the_value_itself(given: object) -> None:
    assert Holder(decode=given).decode == Raw()


def test_a_choice_is_written_as_the_file_spells_it() -> None:
    written = Holder(decode=Json(schema="id INT")).model_dump(exclude_defaults=True)
    assert written == {"decode": {"json": {"schema": "id INT"}}}
    assert Holder.model_validate(written) == Holder(decode=Json(schema="id INT"))


def test_a_problem_within_a_choice_keeps_its_path() -> None:
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"decode": {"raw": {"tombstones": "eat", "x": 1}}})
    assert {error["loc"] for error in caught.value.errors()} == {
        ("decode", "raw", "tombstones"),
        ("decode", "raw", "x"),
    }


def test_options_of_another_kind_are_no_choice() -> None:
    with pytest.raises(ValidationError, match="needs the name of a format"):
        Holder(decode=Delta(table="./x"))


def test_a_time_to_start_at_is_in_utc_whatever_it_was_written_in() -> None:
    def start(value: object) -> object:
        return Kafka.model_validate({"brokers": "dev", "topics": ["a"], "start": value}).start

    ten = datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert start("2026-11-01T10:00:00Z") == start("2026-11-01 11:00+01:00") == start("2026-11-01T10:00") == ten
    assert start(ten) == start(datetime(2026, 11, 1, 10)) == ten
    assert start("2026-11-01") == datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "broker", ["localhost:9092", "10.0.0.1:1", "[::1]:9092", "a-b.example.com:65535", "kafka_1:9092"]
)
def test_addresses_of_brokers(broker: str) -> None:
    assert Kafka(brokers=(broker,), topics=("a",)).brokers == (broker,)


def test_a_path_has_one_spelling() -> None:
    folder = Path("/data/jobs")
    assert absolute("./lake/../lake/orders/", folder) == "/data/jobs/lake/orders"
    assert absolute("/lake/orders", folder) == "/lake/orders"
    assert absolute("file:///lake/my%20orders", folder) == "/lake/my orders"
    assert absolute("file:/lake/orders", folder) == "/lake/orders"
