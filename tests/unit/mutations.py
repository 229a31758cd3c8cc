"""Pipeline files with one mistake each, made from right ones: what was changed, where it is told, in which words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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


class Mutation(NamedTuple):
    """One mistake."""

    name: str
    text: str
    at: str | int
    """Where the mistake is told: at the first occurrence of this text, or so far into the file; empty: in no line."""
    words: str
    structural: bool = True
    """Could a JSON Schema see it? It knows keys, types, words and forms, and not what they mean together."""

    @property
    def place(self) -> str:
        """`:12:5`, or nothing."""
        if self.at == "":
            return ""
        before = self.text[: self.at if isinstance(self.at, int) else self.text.index(self.at)]
        return f":{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def changed(example: str, old: str, new: str) -> str:
    assert old in EXAMPLES[example], f"{example} has no {old!r}"
    return EXAMPLES[example].replace(old, new, 1)


def systematic() -> Iterator[Mutation]:
    """Each key misspelt, written twice, and without a value."""
    for example, text in EXAMPLES.items():
        for match in re.finditer(r"^( *)([a-z_]+):(.*)\n", text, re.MULTILINE):
            if match[2] not in CHOSEN:
                yield from _of_one_key(f"{example}:{text.count(chr(10), 0, match.start()) + 1} {match[2]}", text, match)


def _of_one_key(name: str, text: str, match: re.Match[str]) -> Iterator[Mutation]:
    indent, key, value = match.groups()
    begin, line, end = match.start() + len(indent), match[0], match.end()
    if key != "every":
        misspelt = f"{text[: match.start()]}{indent}{key[:-1]}qx:{value}\n{text[end:]}"
        words = "there is no" if key in ("kafka", "json") and len(indent) == 2 else "no such option"
        yield Mutation(f"{name} misspelt", misspelt, begin, words)
    if value.strip() and not value.strip().startswith("|"):
        twice = f"{text[:end]}{indent}{key}: again\n{text[end:]}"
        yield Mutation(f"{name} twice", twice, begin + len(line), "is written twice", structural=False)
        empty = f"{text[: match.start()]}{indent}{key}:\n{text[end:]}"
        yield Mutation(f"{name} without a value", empty, begin, "has no value", structural=False)


BY_HAND = [
    # missing keys: their section is shown
    ("no name", "orders", "pipeline: orders\n", "", "state:", "pipeline: is required, and missing"),
    ("no brokers", "orders", "    brokers: [localhost:9092]\n", "", "kafka:", "brokers: is required"),
    ("no topics", "orders", "    topics: [orders]\n", "", "kafka:", "exactly one of `topics`, `pattern`, `partitions`"),
    (
        "two ways to read",
        "payments",
        "    start:",
        "    topics: [a]\n    start:",
        "kafka:",
        "Found `topics` and `pattern`",
    ),
    (
        "no schema",
        "clicks",
        '    schema: "id STRING NOT NULL, page STRING, at TIMESTAMP NOT NULL"\n',
        "",
        "json:",
        "required",
    ),
    (
        "no table",
        "clicks",
        "      table: ./lake/clicks_copy\n",
        "      lineage: struct\n",
        "delta:\n      lin",
        "required",
    ),
    (
        "no sort of sink",
        "clicks",
        "    delta:\n      table: ./lake/clicks_copy\n",
        "    {}\n",
        "copy:",
        "needs a sort of sink",
    ),
    # wrong types
    ("name is a number", "orders", "pipeline: orders", "pipeline: 7", "7", "needs text"),
    ("name is a list", "orders", "pipeline: orders", "pipeline: [orders]", "pipeline:", "needs text"),
    ("state is a map", "orders", "state: ./state/orders", "state: {a: b}", "state:", "needs text"),
    ("brokers are text", "orders", "[localhost:9092]", "localhost:9092", "localhost:9092", "needs a list of addresses"),
    ("topics are text", "orders", "topics: [orders]", "topics: orders", "orders\n    on", "needs a list"),
    ("topic is a number", "orders", "topics: [orders]", "topics: [7]", "7]", "needs text"),
    ("rows are text", "orders", "500000", "many", "many", "needs a whole number"),
    ("rows are quoted", "orders", "500000", '"500000"', '"500000"', "Write it without quotes"),
    ("rows are a float", "orders", "500000", "5e5", "5e5", "Write it out:  500000", False),
    ("rows are true", "orders", "500000", "true", "true\nspark", "needs a whole number"),
    ("rows are none", "orders", "500000", "0", "0\nspark", "must be more than 0"),
    ("rows are negative", "orders", "500000", "-5", "-5", "must be more than 0"),
    ("pace is a number", "orders", "pace:\n  max_rows: 500000", "pace: 5", "5\nspark", "needs a map of settings"),
    ("spark is a list", "orders", "spark:\n  spark.ssl.keyPassword: ", "spark:\n  - ", "spark:\n", "needs a map"),
    ("spark setting is a list", "orders", f"Password: {CANARY}", f"Password: [{CANARY}]", "spark.ssl", "needs text"),
    ("properties are a list", "orders", "{delta.appendOnly: true}", "[a]", "properties:", "needs a map"),
    ("columns are text", "orders", "[currency]", "currency", "currency\n      prop", "needs a list"),
    ("sinks are a list", "payments", "sinks:\n  lake:\n", "sinks:\n  -\n", "sinks:", "needs a map"),
    (
        "sink is text",
        "clicks",
        "  copy:\n    delta:\n      table: ./lake/clicks_copy\n",
        "  copy: delta\n",
        "delta\ntrigger",
        "needs a map of settings",
    ),
    ("offset is text", "clicks", "0: 12", "0: twelve", "twelve", "needs a whole number"),
    ("offset is negative", "clicks", "0: 12", "0: -12", "-12", "must be 0 or more"),
    ("partition is text", "clicks", "[0, 1]", "[zero]", "zero", "needs a whole number"),
    (
        "vars are a list",
        "payments",
        "vars:\n  brokers: ${env:PENSTOCK_TEST_BROKERS}\n  rows: 7000\n",
        "vars: [a]\n",
        "vars:",
        "needs a map",
    ),
    ("a variable is a map", "payments", "rows: 7000", "rows: {a: 1}", "rows: {", "needs text"),
    ("an environment is text", "payments", "  prod:\n    rows: 90000\n", "  prod: fast\n", "fast", "needs a map"),
    # words and choices
    ("unknown word", "orders", "skip", "skipp", "skipp", "must be `stop` or `skip`"),
    ("word in capitals", "clicks", "fixed", "FIXED", "FIXED", "must be `evolve` or `fixed`"),
    (
        "unknown trigger",
        "clicks",
        "as_fast_as_possible",
        "as_fast_as_posible",
        "as_fast_as_pos",
        "Did you mean `as_fast_as_possible`",
    ),
    (
        "two triggers",
        "orders",
        "every: 10 seconds",
        "every: 10 seconds\n  available_now: 1",
        "trigger:",
        "needs one word",
    ),
    ("trigger is a duration", "clicks", "as_fast_as_possible", "10 seconds", "10 seconds", "`every` with a duration"),
    (
        "two formats",
        "orders",
        "    max_bytes: 1 MiB\n",
        "    max_bytes: 1 MiB\n  raw: {}\n",
        "decode:",
        "needs exactly one format",
    ),
    ("unknown format", "payments", "decode: raw", "decode: rwa", "rwa", "Did you mean `raw`"),
    ("format without its settings", "payments", "decode: raw", "decode: json", "json", "needs settings: `schema`"),
    ("two sources", "clicks", "decode:", "  files: {}\ndecode:", "files:", "there is no source `files`"),
    ("two sorts of sink", "orders", "dead_letters:", "    file: {path: x}\ndead_letters:", "file:", "no such option"),
    ("python's keyword", "clicks", "  copy:\n    delta:", "  copy:\n    to:", "to:", "no such option"),
    ("python's folder", "clicks", "trigger:", "folder: /x\ntrigger:", "folder:", "no such option"),
    ("a key of no version", "clicks", "trigger:", "catalog: {url: https://r}\ntrigger:", "catalog:", "no such option"),
    # durations, sizes, names, times
    ("duration without a unit", "orders", "10 seconds", "10", "10\npace", "needs a duration"),
    ("duration with an unknown unit", "orders", "10 seconds", "10 fortnights", "10 fortnights", "needs a duration"),
    ("duration in short", "orders", "10 seconds", "10s", "10s", "needs a duration"),
    ("duration of nothing", "orders", "10 seconds", "0 seconds", "0 seconds", "must be more than nothing", False),
    ("negative duration", "orders", "10 seconds", "-10 seconds", "-10 seconds", "needs a duration"),
    ("size without a unit", "orders", "1 MiB", "1", "1\nchecks", "needs a size"),
    ("size in small letters", "orders", "1 MiB", "1 mb", "1 mb", "needs a size"),
    ("endless size", "orders", "1 MiB", "9" * 400 + " GB", "9" * 400, "must be more than nothing", False),
    ("name in capitals", "orders", "pipeline: orders", "pipeline: Orders", "Orders", "a name is 1 to 63"),
    ("name too long", "orders", "pipeline: orders", "pipeline: " + "o" * 64, "o" * 64, "a name is 1 to 63"),
    ("name with a blank", "orders", "pipeline: orders", "pipeline: my orders", "my orders", "a name is 1 to 63"),
    ("sink's name", "clicks", "  copy:", "  Copy!:", "Copy!", "a name is 1 to 63"),
    (
        "sink's name is taken",
        "clicks",
        "  copy:",
        "  dead_letters:",
        "dead_letters:",
        "is the name of the rejected",
        False,
    ),
    ("variable's name", "payments", "rows: 7000", "rows: 7000\n  My Rows: 3", "My Rows", "a name is 1 to 63"),
    ("not a time", "payments", "2026-11-01T00:00:00Z", "2026-13-01", "2026-13-01", "is not a time", False),
    ("start misspelt", "payments", "2026-11-01T00:00:00Z", "latset", "latset", "Did you mean `latest`"),
    ("no such topic name", "orders", "topics: [orders]", "topics: [a/b]", "a/b", "is not a topic's name", False),
    ("topic twice", "orders", "topics: [orders]", "topics: [a, a]", "topics:", "lists `a` twice", False),
    ("no port", "orders", "localhost:9092", "localhost", "localhost", "needs a host and a port", False),
    ("pattern not regular", "payments", "'payments\\..*'", "'('", "'('", "is not a regular expression", False),
    # paths and tables
    ("path on another system", "orders", "./state/orders", "s3a://b/state", "s3a:", "cannot be used", False),
    ("path at home", "orders", "./state/orders", "~/state", "~/state", "`~` is not filled in", False),
    (
        "path of windows",
        "orders",
        "./lake/orders\n",
        "C:\\lake\\orders\n",
        "C:\\lake",
        "looks like a Windows path",
        False,
    ),
    ("empty path", "orders", "./state/orders", '""', '""', "is an empty path", False),
    ("catalog name", "orders", "./lake/orders\n", "my-orders\n", "my-orders", "is a catalog name", False),
    (
        "table shared",
        "clicks",
        "./lake/clicks_copy",
        "./lake/clicks",
        "./lake/clicks\ntr",
        "is the table of sink `lake` already",
        False,
    ),
    (
        "table inside another",
        "clicks",
        "./lake/clicks_copy",
        "./lake/clicks/a",
        "./lake/clicks/a",
        "one inside the other",
        False,
    ),
    (
        "table in the state",
        "orders",
        "./lake/orders\n",
        "./state/orders/x\n",
        "./state/orders/x",
        "lies in the `state` folder",
        False,
    ),
    (
        "dead letters in a table",
        "orders",
        "./lake/orders_dead",
        "./lake/orders",
        "./lake/orders\ntr",
        "is the table of sink",
        False,
    ),
    # checks, steps, routes
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
    # meaning
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
    # references
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
    # the file as YAML
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


def by_hand() -> Iterator[Mutation]:
    for name, example, old, new, *rest in BY_HAND:
        yield Mutation(str(name), changed(str(example), str(old), str(new)), *rest)  # type: ignore[arg-type]


MUTATIONS = [*by_hand(), *systematic()]
