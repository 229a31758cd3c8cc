"""A real broker in tests: write records, read them back, look at offsets, delete records.

Every function takes the broker's address first: `produce(kafka.bootstrap, "orders", [b"{}"])`.
"""

from penstock.dev.kafka import DevKafka, ensure_topic, up
from penstock.dev.records import Record, delete_records, end_offsets, produce, read, read_all, start_offsets

__all__ = [
    "DevKafka",
    "Record",
    "delete_records",
    "end_offsets",
    "ensure_topic",
    "produce",
    "read",
    "read_all",
    "start_offsets",
    "up",
]
