"""What must hold between the sections of a pipeline. Each rule gives what is wrong, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from penstock.options import Wrong, all_of, detail
from penstock.paths import inside, is_remote, same_place
from penstock.scopes import Seen

WRONG_SPARK = {
    "spark.speculation": "a speculative task would do a batch's work twice",
    "spark.sql.streaming.asyncProgressTrackingEnabled": "the ranges of a batch may change after a failure",
    "asyncProgressTrackingEnabled": "the ranges of a batch may change after a failure",
    "spark.sql.ansi.enabled": "a wrong cast would become a silent NULL",
    "kafka.transactional.id": "Spark's producer calls no transactions",
    "spark.sql.session.timeZone": "times are read and written in UTC",
    "spark.sql.streaming.checkpointLocation": "the checkpoint lives in the pipeline's `state` folder",
}
"""Spark settings that would break the guarantees -> why. Refused unless they say what penstock sets anyway."""
HARMLESS = {
    ("spark.speculation", "false"),
    ("spark.sql.streaming.asyncProgressTrackingEnabled", "false"),
    ("asyncProgressTrackingEnabled", "false"),
    ("spark.sql.ansi.enabled", "true"),
    ("spark.sql.session.timeZone", "utc"),
}
RESERVED = {"dead_letters": "table", "dead_letters_topic": "topic"}
FORBIDDEN = " ,;{}()\n\t="
"""Characters that Delta allows in no column name."""
LINEAGE = {"_topic", "_partition"}
"""Lineage columns that a table may be partitioned by: the others have a value for nearly every row."""


def hold(title: str, wrongs: Iterable[Wrong]) -> None:
    """Raise everything that is wrong, at once."""
    errors = [detail(wrong, wrong.at) for wrong in wrongs]
    if errors:
        raise all_of(title, errors)


def default_dead_letters(state: str) -> str:
    return str(Path(state, "dead_letters"))


def default_letters(state: str) -> dict[str, str]:
    """Settings of the dead letters where a file has none; nothing if the state is where penstock writes no table."""
    return {} if is_remote(state) else {"delta": default_dead_letters(state)}


def dead_letters_have_a_place(state: str) -> Iterator[Wrong]:
    """Tables lie on local disks or in the catalog, so a state elsewhere has no room for one."""
    if is_remote(state):
        why = "`state` is on another file system, where penstock writes no table: rejected records need a place."
        yield Wrong(why, "Write  dead_letters: {delta: ./lake/rejected}  or name a topic.")


def decode(format_: Any, given: Mapping[str, Any]) -> Iterator[Wrong]:
    """A format whose records name their schemas needs a registry. `given`: what was read before it, where right."""
    if hasattr(format_, "codec") and "registry" in given and given["registry"] is None:
        why = "needs a registry: the records hold the ids of schemas, not the schemas."
        yield Wrong(why, "Add a section  registry: {url: https://registry.example.com}")


def values(registry: Any, parts: Mapping[str, Any]) -> Iterator[Wrong]:
    """Values by a schema need the registry that keeps it."""
    for name, sink in parts.items():
        if getattr(sink, "has_schema", False) and registry is None:
            why = f"`{sink.value}` needs a registry: it keeps the schema of the values."
            remedy = "Add a section  registry: {url: https://registry.example.com}"
            yield Wrong(why, remedy, at=(name, "to", "kafka", "value"))


def widening(changes: Any, parts: Mapping[str, Any]) -> Iterator[Wrong]:
    """Only Spark writes tables whose columns become wider."""
    if getattr(changes, "widen", "") != "evolve":
        return
    for name, sink in parts.items():
        if hasattr(sink, "table") and sink.writer != "spark":
            why = "`schema_changes.widen: evolve` changes the type of a table's column, which only Spark's writer can."
            yield Wrong(why, "Write  writer: spark", at=(name, "to", "delta"))


def spark(settings: object) -> Iterator[Wrong]:
    """Settings, as they were written, that would break a guarantee."""
    for key, value in settings.items() if isinstance(settings, Mapping) else ():
        if key in WRONG_SPARK and (key, str(value).strip().lower()) not in HARMLESS:
            why = f"would break a guarantee of penstock: {WRONG_SPARK[key]}."
            yield Wrong(why, "Take this line out.", at=("spark", key))


def sinks(parts: Mapping[str, Any], seen: Seen, decode: Any, state: str | None) -> Iterator[Wrong]:
    """What is wrong among the sinks: with each, with two of them, and with one and the state folder."""
    for name, sink in parts.items():
        if name in RESERVED:
            remedy = "Give the sink another name."
            yield Wrong(
                f"`{name}` is the name of the rejected records' own {RESERVED[name]}.", remedy, at=(name, "[key]")
            )
        yield from partitions(name, sink, seen)
        if hasattr(sink, "table") and seen.types is not None:
            yield from names(name, decode)
    tables = {name: sink.table for name, sink in parts.items() if hasattr(sink, "table")}
    for (one, first), (other, second) in combinations(tables.items(), 2):
        yield from _apart(first, second, f"sink `{one}`", (other, "to", "delta", "table"))
    for name, table in tables.items() if state else ():
        yield from _out_of_state(table, str(state), (name, "to", "delta", "table"))


def topics(source: Any, parts: Mapping[str, Any]) -> Iterator[Wrong]:
    """What is wrong between the source and the topics, and among the topics of one cluster."""
    read = set(getattr(source, "topics", None) or getattr(source, "partitions", None) or ())
    home = getattr(source, "brokers", None)
    packed: dict[Any, tuple[str, str]] = {}
    for name, sink in parts.items():
        if not hasattr(sink, "topic_from"):
            continue
        brokers = sink.brokers or home
        if sink.brokers == "dev" and home != "dev":
            why = "`dev` is the embedded broker that the source reads from, and this source reads from others."
            yield Wrong(why, "Name the brokers, or leave the key out.", at=(name, "to", "kafka", "brokers"))
        if brokers == home and sink.topic in read:
            why = "is a topic that this pipeline reads: it would read what it writes, for ever."
            yield Wrong(why, "Write to another topic.", at=(name, "to", "kafka", "topic"))
        first, compression = packed.setdefault(brokers, (name, sink.compression))
        if compression != sink.compression:
            why = f"the topics of one cluster share a producer, and sink `{first}` says `{compression}`."
            yield Wrong(why, "Let them agree.", at=(name, "to", "kafka", "compression"))


def dead_letters(table: str, parts: Mapping[str, Any], state: str) -> Iterator[Wrong]:
    """The rejected records have a table to themselves."""
    for name, sink in parts.items():
        if hasattr(sink, "table"):
            yield from _apart(sink.table, table, f"sink `{name}`", ("delta",))
    if not same_place(table, default_dead_letters(state)):
        yield from _out_of_state(table, state, ("delta",))


def _apart(first: str, second: str, whose: str, at: tuple[str, ...]) -> Iterator[Wrong]:
    if same_place(first, second):
        yield Wrong(f"is the table of {whose} already.", "Give each a table of its own.", at=at)
    elif inside(first, second) or inside(second, first):
        why = f"this table and that of {whose} lie one inside the other: a VACUUM of the outer would delete the inner."
        yield Wrong(why, "Give each a folder of its own.", at=at)


def _out_of_state(table: str, state: str, at: tuple[str, ...]) -> Iterator[Wrong]:
    if same_place(table, state) or inside(table, state):
        yield Wrong("lies in the `state` folder, which belongs to penstock alone.", "Put the table elsewhere.", at=at)
    elif inside(state, table):
        why = "the `state` folder lies inside this table: a VACUUM of the table would delete it."
        yield Wrong(why, "Put the table, or `state`, elsewhere.", at=at)


def partitions(name: str, sink: Any, seen: Seen) -> Iterator[Wrong]:
    """Partition columns must be there, once, of a type that can partition, and leave something to write."""
    wanted: tuple[str, ...] = getattr(sink, "partition_by", ())
    types = seen.types
    lineage = LINEAGE if getattr(sink, "lineage", "") == "columns" else set()
    for place, column in enumerate(wanted):
        at = (name, "to", "delta", "partition_by", place)
        if wanted.index(column) != place:
            yield Wrong(f"`{column}` is listed twice.", at=at)
        elif column not in lineage:
            yield from _can_partition(column, seen, at)
    if types and len(Counter(wanted)) >= len(types) and set(wanted) >= set(types):
        yield Wrong("a table needs a column beside its partition columns.", at=(name, "to", "delta", "partition_by"))


def names(sink: str, decode: Any) -> Iterator[Wrong]:
    """Column names that a Delta table cannot take; Spark would refuse to read them back."""
    for name in _every_name(getattr(decode, "fields", ())):
        if set(name) & set(FORBIDDEN):
            why = f"a Delta table takes no column name with a space or one of ,;{{}}()= in it: `{name}`."
            yield Wrong(why, "Ask the producer for another name, or land the records with  decode: raw", at=(sink,))


def _every_name(fields: Iterable[Any]) -> Iterator[str]:
    """The names of these fields and of all fields inside them."""
    for field in fields:
        yield field.name
        kind = field.type
        while kind.element is not None:
            kind = kind.element
        yield from _every_name(kind.fields)


def _can_partition(column: str, seen: Seen, at: tuple[str | int, ...]) -> Iterator[Wrong]:
    types = seen.types or {}
    if column not in seen.columns.names and seen.columns.complete:
        known = ", ".join(f"`{each}`" for each in seen.columns.names)
        giver = "`decode` gives" if seen.types is not None else "the last step gives"
        yield Wrong(f"{giver} no column `{column}`.", f"It gives {known}.", at=at)
    elif types.get(column, "").upper().startswith(("ARRAY", "MAP", "STRUCT", "BINARY")):
        why = f"`{column}` is {types[column]}: a table cannot be partitioned by it."
        yield Wrong(why, "Take a column that holds one plain value.", at=at)
