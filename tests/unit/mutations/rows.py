"""Checks, steps and routes, and columns that are not there."""

from __future__ import annotations

from tests.unit.mutations.mistake import ByHand

STAGES: list[ByHand] = [
    (
        "no rule",
        "orders",
        "  - name: positive_amount\n    rule: amount > 0\n",
        "  - name: a\n",
        "name: a\n",
        "is required",
    ),
    ("check's name", "orders", "positive_amount", "Positive Amount", "Positive Amount", "a name is 1 to 63"),
    ("check's name is taken", "orders", "known_currency", "positive_amount", "positive_amount, rule", "taken", False),
    ("check's name is a code", "orders", "positive_amount", "wrong_type", "wrong_type", "a reject code", False),
    ("unknown policy", "orders", "on_fail: warn", "on_fail: ignore", "ignore}", "must be `reject`, `drop`"),
    ("rule is a number", "orders", "rule: amount > 0", "rule: 5", "5\n", "needs text"),
    (
        "checks are a map",
        "orders",
        "  - name: positive_amount\n    rule: amount > 0\n  -",
        "  x:",
        "checks:",
        "needs a list",
    ),
    ("rule with an unknown column", "orders", "rule: amount > 0", "rule: amout > 0", "amout", "amout", False),
    ("rule that is no SQL", "orders", "rule: amount > 0", "rule: amount >", "", "checks[0].rule", False),
    ("a reference in a rule", "orders", "rule: amount > 0", "rule: ${env:PENSTOCK_TEST_CANARY} > 0", "", "rule", False),
    ("step of two sorts", "orders", "    name: buyer", "    python: a:b", "select:", "needs exactly one of `select`"),
    (
        "step of no sort",
        "orders",
        '  - select: ["*", upper(customer) AS buyer]\n',
        "  -\n",
        "name: buyer",
        "Found none",
    ),
    ("step misspelt", "orders", "  - sql:", "  - sqll:", "sqll:", "no such option"),
    (
        "select is text",
        "orders",
        '["*", upper(customer) AS buyer]',
        "upper(customer)",
        "upper(customer)\n",
        "needs a list",
    ),
    ("an aggregate", "orders", "to_date(created_at)", "count(*)", "count(*)", "count", False),
    (
        "python without a function",
        "orders",
        "sql: SELECT *, to_date(created_at) AS event_date FROM rows",
        "python: shop",
        "shop\n",
        "needs a module and a function",
        False,
    ),
    ("where with an unknown column", "orders", "amount > 10000", "amont > 10000", "amont", "amont", False),
    ("no topic", "orders", "      topic: big-orders\n", "", "kafka:\n      key", "needs exactly one of `topic`"),
    (
        "two topics",
        "orders",
        "topic: big-orders",
        "topic: a\n      topic_from: customer",
        "kafka:\n      topic",
        "Found both",
    ),
    (
        "two sorts in one sink",
        "orders",
        "    where: amount > 10000\n",
        "    delta: {table: ./x/y}\n",
        "alerts:",
        "needs exactly one sink",
    ),
    ("key with an unknown column", "orders", "key: order_id", "key: order", "order\n      headers", "order", False),
    ("linger without a unit", "orders", "20 milliseconds", "20", "20\n", "needs a duration"),
]
MEANING: list[ByHand] = [
    ("unknown column", "orders", "[currency]", "[curency]", "curency", "curency", False),
    ("unknown type", "orders", "customer STRING", "customer STRIN", "STRIN NOT", "STRIN", False),
    ("schema not closed", "clicks", "at TIMESTAMP NOT NULL", "at STRUCT<a: INT", "", "decode.json.schema", False),
    (
        "a guarantee broken",
        "orders",
        "spark:\n",
        "spark:\n  spark.speculation: true\n",
        "true\n  spark.ssl",
        "would break a guarantee",
        False,
    ),
]
