"""The two ends of the latency benchmark, each a process of its own:  python -m bench.latency_ends WHAT ...

`produce` sends payments at a steady rate; each says in `sent` when it was handed to the client, in microseconds.
`versions` notes when each version of a Delta table becomes visible. `records` notes when a reader of committed records
gets each of them. What they note goes to a file, and is read when all is over: looking on must cost little.
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from array import array
from pathlib import Path

LOOK_SECONDS = 0.001
SENT = re.compile(rb'"sent": ?(\d+)')


def produce(bootstrap: str, topic: str, rate: int, seconds: float) -> None:
    """Send `rate` events a second, a millisecond's worth at a time; late ones are sent at once."""
    from confluent_kafka import Producer

    from penstock.dev.payments import payments

    values = [event.value[:-1] + b',"sent":' for event in payments(2_000, bad_share=0) if event.value]
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "log_level": 0})
    began, number, turn = time.perf_counter(), 0, itertools.cycle(values)
    while (passed := time.perf_counter() - began) < seconds:
        for _ in range(int(passed * rate) - number):
            producer.produce(topic, b"%s%d}" % (next(turn), time.time_ns() // 1000), b"%d" % number)
            number += 1
        producer.poll(0)
        time.sleep(LOOK_SECONDS)
    producer.flush()


def versions(table: str, out: str) -> None:
    """Note each version of the table with the microsecond in which its file was first there; until killed."""
    log = Path(table, "_delta_log")
    version = max((int(path.stem) for path in log.glob("*.json")), default=-1) + 1
    with Path(out).open("w", buffering=1) as notes:
        while True:
            if (log / f"{version:020}.json").exists():
                notes.write(f"{version} {time.time_ns() // 1000}\n")
                version += 1
            else:
                time.sleep(LOOK_SECONDS)


def records(bootstrap: str, topic: str, out: str) -> None:
    """Note of each record when it was sent and when a reader of committed records got it; until the file `stop`."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": bootstrap, "group.id": "latency", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "fetch.wait.max.ms": 50, "enable.auto.commit": False, "log_level": 0})
    parts = consumer.list_topics(topic, 10).topics[topic].partitions
    places = [TopicPartition(topic, part) for part in parts]
    ends = [consumer.get_watermark_offsets(place)[1] for place in places]
    consumer.assign([TopicPartition(topic, part, end) for part, end in zip(parts, ends, strict=True)])
    found = array("q")
    Path(out).with_suffix(".ready").touch()
    while not Path(out).with_suffix(".stop").exists():
        for record in consumer.consume(500, 0.01):
            match = SENT.search(record.value() or b"")
            if match:
                found.extend((int(match[1]), time.time_ns() // 1000))
    Path(out).write_bytes(found.tobytes())
    consumer.close()


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "produce":
        produce(rest[0], rest[1], int(rest[2]), float(rest[3]))
    elif what == "versions":
        versions(rest[0], rest[1])
    else:
        records(rest[0], rest[1], rest[2])
