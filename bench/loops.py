"""The main job as a loop without Spark, as a good engineer writes it: confluent-kafka, a decoder, deltalake.

It keeps its position in the table (an application transaction with each commit), so that a crash doubles nothing.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa

from bench.job import Job

DEVICE = pa.struct([("os", pa.string()), ("ip", pa.string())])
FIELDS = pa.schema(
    [
        ("event_id", pa.string()), ("payment_id", pa.string()), ("customer_id", pa.int64()),
        ("merchant_id", pa.int64()), ("amount", pa.decimal128(18, 2)), ("currency", pa.string()),
        ("status", pa.string()), ("method", pa.string()), ("country", pa.string()),
        ("event_time", pa.timestamp("us", "UTC")), ("risk_score", pa.float64()), ("is_refund", pa.bool_()),
        ("device", DEVICE), ("version", pa.int32()),
    ]
)  # fmt: skip
REQUIRED = ("event_id", "payment_id", "customer_id", "merchant_id", "amount", "event_time")
LINEAGE = pa.schema([("_topic", pa.string()), ("_partition", pa.int32()), ("_offset", pa.int64())])
LETTER = pa.schema([*LINEAGE, ("_value", pa.binary())])
Messages = list[Any]
Split = tuple[pa.RecordBatch, list[int], list[int]]
"""The good rows, their places among the messages, and the places of the bad ones."""
POLL = 10_000


def by_orjson(job: Job) -> None:
    _drain(job, orjson_rows, None, "0")


def by_pyarrow(job: Job) -> None:
    _drain(job, pyarrow_rows, None, "0")


def in_two_processes(job: Job) -> None:
    """Two of that loop, half of the partitions each."""
    _commit(job, [pa.RecordBatch.from_pylist([], pa.schema([*FIELDS, *LINEAGE]))], [_letters([])], "first", 0)
    context = multiprocessing.get_context("spawn")
    halves = [context.Process(target=_half, args=(job, number)) for number in (0, 1)]
    for half in halves:
        half.start()
    for half in halves:
        half.join()
        if half.exitcode:
            raise RuntimeError(f"a process of the loop ended with {half.exitcode}")


def _half(job: Job, number: int) -> None:
    _drain(job, pyarrow_rows, number, str(number))


def reads(job: Job) -> None:
    """The limit: read every value and do nothing."""
    for messages in _messages(job, None):
        for message in messages:
            message.value()


def orjson_rows(messages: Messages) -> Split:
    """Each value by orjson, then typed by pyarrow; a batch that does not fit is taken row by row."""
    import orjson

    rows, good, bad = [], [], []
    for place, message in enumerate(messages):
        try:
            rows.append(typed(orjson.loads(message.value() or b"")))
        except (ValueError, TypeError, KeyError, ArithmeticError):
            bad.append(place)
        else:
            good.append(place)
    return pa.RecordBatch.from_pylist(rows, FIELDS), good, bad


def typed(row: dict[str, Any]) -> dict[str, Any]:
    for name in REQUIRED:
        if row[name] is None:
            raise KeyError(name)
    if not isinstance(row["customer_id"], int) or not -(2**31) <= row["version"] < 2**31:
        raise TypeError
    row["amount"] = Decimal(str(row["amount"]))
    if row["amount"] != round(row["amount"], 2):
        raise ValueError
    row["event_time"] = datetime.fromisoformat(row["event_time"])
    return row


def pyarrow_rows(messages: Messages) -> Split:
    """All values as lines through pyarrow.json; the line that it refuses is taken out, and the rest tried again."""
    values = [message.value() or b"" for message in messages]
    places = [place for place, value in enumerate(values) if value[:1] == b"{" and b"\n" not in value]
    bad = sorted(set(range(len(values))) - set(places))
    tables = []
    good: list[int] = []
    for first in range(0, len(places), 2_000):
        table, fine, refused = _parsed(values, places[first : first + 2_000])
        tables += table
        good += fine
        bad += refused
    whole = pa.concat_tables(tables) if tables else FIELDS.empty_table()
    batch = whole.combine_chunks().to_batches()
    return (batch[0] if batch else pa.RecordBatch.from_pylist([], FIELDS)), good, sorted(bad)


def _parsed(values: list[bytes], places: list[int]) -> tuple[list[pa.Table], list[int], list[int]]:
    """Halves a range that is refused, down to the record."""
    import pyarrow.json as pj

    if not places:
        return [], [], []
    options = pj.ParseOptions(explicit_schema=FIELDS, unexpected_field_behavior="ignore")
    reading = pj.ReadOptions(use_threads=False, block_size=1 << 26)
    try:
        table = pj.read_json(BytesIO(b"\n".join(values[place] for place in places)), reading, options)
        if table.num_rows != len(places) or any(table[name].null_count for name in REQUIRED):
            raise pa.ArrowInvalid("not one row a record, or a required field is missing")
        table.validate(full=True)
    except pa.ArrowInvalid:
        if len(places) == 1:
            return [], [], places
        half = len(places) // 2
        left, right = _parsed(values, places[:half]), _parsed(values, places[half:])
        return left[0] + right[0], left[1] + right[1], left[2] + right[2]
    return [table], places, []


def drained(job: Job, rows: Callable[[Messages], Split]) -> None:
    """The whole topic into the two tables, by this decoder, in one process."""
    _drain(job, rows, None, "0")


def _drain(job: Job, rows: Callable[[Messages], Split], half: int | None, name: str) -> None:
    good: list[pa.RecordBatch] = []
    letters: list[pa.RecordBatch] = []
    held = number = 0
    for messages in _messages(job, half):
        batch, fine, bad = rows(messages)
        good.append(_with_lineage(batch, [messages[place] for place in fine]))
        letters.append(_letters([messages[place] for place in bad]))
        held += len(messages)
        if held >= job.batch_rows // (1 if half is None else 2):
            _commit(job, good, letters, name, number)
            good, letters, held, number = [], [], 0, number + 1
    if held:
        _commit(job, good, letters, name, number)


def _with_lineage(batch: pa.RecordBatch, messages: Messages) -> pa.RecordBatch:
    told = [
        pa.array([message.topic() for message in messages], pa.string()),
        pa.array([message.partition() for message in messages], pa.int32()),
        pa.array([message.offset() for message in messages], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays([*batch.columns, *told], schema=pa.schema([*batch.schema, *LINEAGE]))


def _letters(messages: Messages) -> pa.RecordBatch:
    told = [(m.topic(), m.partition(), m.offset(), m.value()) for m in messages]
    return pa.RecordBatch.from_pylist([dict(zip(LETTER.names, each, strict=True)) for each in told], LETTER)


def _commit(job: Job, good: list[pa.RecordBatch], letters: list[pa.RecordBatch], name: str, number: int) -> None:
    from deltalake import CommitProperties, Transaction, write_deltalake

    for table, batches in ((job.dead_letters, letters), (job.table, good)):
        mine = CommitProperties(
            app_transactions=[Transaction(f"loop-{name}", number, int(datetime.now(UTC).timestamp()))]
        )
        write_deltalake(str(table), pa.Table.from_batches(batches), mode="append", commit_properties=mine)


def _messages(job: Job, half: int | None) -> Iterator[Messages]:
    """Everything that the topic holds now, in lists of a few thousand."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": job.bootstrap, "group.id": "loop", "enable.auto.commit": False})
    partitions = sorted(consumer.list_topics(job.topic, 10).topics[job.topic].partitions)
    mine = [part for part in partitions if half is None or part % 2 == half]
    left = {part: consumer.get_watermark_offsets(TopicPartition(job.topic, part), 10)[1] for part in mine}
    total = sum(left.values())
    consumer.assign([TopicPartition(job.topic, part, 0) for part in mine])
    while total > 0:
        messages = consumer.consume(POLL, 5)
        total -= len(messages)
        if messages:
            yield messages
    consumer.close()
