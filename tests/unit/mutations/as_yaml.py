"""Files that are no YAML, or more of it than a pipeline file may use."""

from __future__ import annotations

from tests.unit.mutations.examples import CANARY
from tests.unit.mutations.mistake import ByHand

YAML: list[ByHand] = [
    ("tab", "orders", "  kafka:", "\tkafka:", "\tkafka", "a tab cannot indent", False),
    ("list not closed", "orders", "[localhost:9092]", "[localhost:9092", "", "is not closed", False),
    ("quote not closed", "clicks", 'NOT NULL"', "NOT NULL", "", "is not valid YAML", False),
    (
        "reference without quotes",
        "payments",
        '["${var:brokers}"]',
        "[${var:brokers}]",
        "{var:brokers}]",
        "a reference needs quotes",
        False,
    ),
    ("too far right", "orders", "    topics:", "      topics:", "", "is not valid YAML", False),
    ("too far left", "orders", "    topics:", "   topics:", "", "is not valid YAML", False),
    ("alias of nothing", "orders", "[localhost:9092]", "*brokers", "*brokers", "refers to nothing", False),
    ("alias in itself", "orders", "[localhost:9092]", "&a [*a]", "*a", "contains itself", False),
    ("merge key", "clicks", "trigger:", "<<: {}\ntrigger:", "<<", "merge keys", False),
    ("tag", "orders", "500000", "!!int 500000", "!!int", "tags like", False),
    ("secret as a tag", "orders", f"Password: {CANARY}", f"Password: !{CANARY} x", f"!{CANARY}", "tags", False),
    (
        "secret as an alias",
        "orders",
        f"Password: {CANARY}",
        f"Password: *{CANARY}",
        f"*{CANARY}",
        "refers to nothing",
        False,
    ),
    ("second document", "clicks", "trigger:", "---\ntrigger:", "---", "a second document", False),
    ("null", "orders", "500000", "null", "max_rows:", "has no value", False),
    ("control character", "orders", "currency STRING", "currency\x07 STRING", "\x07", "U+0007", False),
    ("escaped control character", "clicks", "page STRING", "page\\x07 STRING", '"id STRING', "U+0007", False),
    ("too large", "clicks", "trigger:", "#" + "x" * 1_000_000 + "\ntrigger:", "", "is larger than 1 MB", False),
    ("too deep", "clicks", "trigger:", "x: " + "[" * 60 + "]" * 60 + "\ntrigger:", "", "levels deep", False),
]
