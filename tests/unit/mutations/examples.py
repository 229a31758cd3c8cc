"""Three right pipeline files, and a secret that never may be printed."""

from __future__ import annotations

ENV = "${env:PENSTOCK_TEST_CANARY}"
CANARY = "hunter2-canary"
"""Stands in the environment, in a file and in the examples: never in anything that is printed."""

ORDERS = f"""\
pipeline: orders
state: ./state/orders
source:
  kafka:
    brokers: [localhost:9092]
    topics: [orders]
    on_data_loss: skip
decode:
  json:
    schema: |
      order_id BIGINT NOT NULL, customer STRING NOT NULL, amount DECIMAL(18,2) NOT NULL,
      currency STRING, created_at TIMESTAMP NOT NULL, items ARRAY<STRUCT<sku: STRING, qty: INT>>
    unknown_fields: keep
    max_bytes: 1 MiB
checks:
  - name: positive_amount
    rule: amount > 0
  - {{name: known_currency, rule: "currency IN ('EUR', 'USD')", on_fail: warn}}
steps:
  - sql: SELECT *, to_date(created_at) AS event_date FROM rows
  - select: ["*", upper(customer) AS buyer]
    name: buyer
sinks:
  lake:
    delta:
      table: ./lake/orders
      partition_by: [currency]
      properties: {{delta.appendOnly: true}}
  alerts:
    where: amount > 10000
    kafka:
      topic: big-orders
      key: order_id
      headers: {{day: event_date}}
      linger: 20 milliseconds
dead_letters:
  delta: ./lake/orders_dead
trigger:
  every: 10 seconds
pace:
  max_rows: 500000
spark:
  spark.ssl.keyPassword: {CANARY}
"""
PAYMENTS = """\
pipeline: payments
vars:
  brokers: ${env:PENSTOCK_TEST_BROKERS}
  rows: 7000
environments:
  prod:
    rows: 90000
source:
  kafka:
    brokers: ["${var:brokers}"]
    pattern: 'payments\\..*'
    start: 2026-11-01T00:00:00Z
decode: raw
sinks:
  lake:
    delta:
      table: ${file:lake}/payments
      lineage: struct
dead_letters:
  delta: ./lake/payments_dead
trigger: available_now
pace:
  max_rows: ${var:rows}
"""
CLICKS = """\
pipeline: clicks
source:
  kafka:
    brokers: dev
    partitions: {clicks: [0, 1]}
    start: {clicks: {0: 12, 1: 7}}
    isolation: uncommitted
decode:
  json:
    schema: "id STRING NOT NULL, page STRING, at TIMESTAMP NOT NULL"
    tombstones: drop
sinks:
  lake:
    delta:
      table: ./lake/clicks
      schema: fixed
  copy:
    delta:
      table: ./lake/clicks_copy
trigger: as_fast_as_possible
pace:
  max_rows: 50000
"""
CHOSEN = ("lake", "copy", "alerts", "prod", "brokers", "rows")
"""Keys that people choose themselves, or that stand in `vars` too."""
EXAMPLES = {"orders": ORDERS, "payments": PAYMENTS, "clicks": CLICKS}
