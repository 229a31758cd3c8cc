"""References that lead nowhere, and secrets where something else belongs: they are never shown."""

from __future__ import annotations

from tests.unit.mutations.examples import CANARY, ENV
from tests.unit.mutations.mistake import ByHand

REFERENCES: list[ByHand] = [
    (
        "missing variable of the environment",
        "payments",
        "PENSTOCK_TEST_BROKERS",
        "PENSTOCK_TEST_UNSET",
        "${env:PENSTOCK_TEST_UN",
        "is not set",
        False,
    ),
    ("missing file", "payments", "${file:lake}", "${file:no-lake}", "${file:no-lake}", "cannot be read", False),
    ("unknown variable", "payments", "${var:rows}", "${var:row}", "${var:row}", "Did you mean `rows`", False),
    ("unknown sort of reference", "payments", "${file:lake}", "${vault:lake}", "${vault", "is no reference", False),
    ("reference not closed", "payments", "${file:lake}", "${file:lake", "${file:lake", "is not closed", False),
    (
        "variables in a circle",
        "payments",
        "rows: 7000",
        "rows: ${var:more}\n  more: ${var:rows}",
        "${var:rows}",
        "contains itself",
        False,
    ),
    ("canary for a number", "payments", "${var:rows}", ENV, "${env:PENSTOCK_TEST_C", "needs a whole number", False),
    ("canary for a word", "clicks", "fixed", ENV, "${env:", "must be `evolve` or `fixed`", False),
    (
        "canary for a format",
        "payments",
        "decode: raw",
        "decode: ${env:PENSTOCK_TEST_CANARY}",
        "${env:PENSTOCK_TEST_C",
        "there is no format",
        False,
    ),
    (
        "canary for a table",
        "clicks",
        "./lake/clicks_copy",
        "${file:canary}",
        "${file:canary}",
        "is a catalog name",
        False,
    ),
    ("canary for a duration", "orders", "10 seconds", "${file:canary}", "${file:canary}", "needs a duration", False),
    (
        "canary for a time",
        "payments",
        "2026-11-01T00:00:00Z",
        ENV,
        "${env:PENSTOCK_TEST_C",
        "is no place to start",
        False,
    ),
    ("canary for a broker", "orders", "[localhost:9092]", f'["{ENV}"]', '"${env', "needs a host and a port", False),
    (
        "canary for a broker twice",
        "orders",
        "[localhost:9092]",
        '["${env:PENSTOCK_TEST_CANARY}:1", "${env:PENSTOCK_TEST_CANARY}:1"]',
        "brokers:",
        "source.kafka.brokers",
        False,
    ),
    ("canary for a column", "orders", "[currency]", f'["{ENV}"]', '"${env', "no column", False),
    (
        "secret under an unknown key",
        "clicks",
        "trigger:",
        f"password: {CANARY}\ntrigger:",
        "password:",
        "no such option",
    ),
    (
        "secret in a later section",
        "clicks",
        "    isolation:",
        f"    security: {{password: {CANARY}}}\n    isolation:",
        "security:",
        "no such option",
    ),
]
