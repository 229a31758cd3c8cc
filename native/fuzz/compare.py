"""Both JSON decoders on random schemas and mutated records, until the time is up or something differs.

    python -m native.fuzz.compare [MINUTES] [SEED]

What differs is printed with its schema and bytes: enough for a line of tests/corpus/json.jsonl.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import pyarrow as pa
from native.fuzz.records import Maker

from penstock.formats.contract import Decoded
from penstock.formats.json.arrow import has
from penstock.formats.json.columns import JsonDecoder
from penstock.formats.json.native import NativeJsonDecoder
from penstock.formats.types import Field, to_ddl

BATCH = 400
POLICIES = ["ignore", "ignore", "keep", "reject"]


def difference(fields: tuple[Field, ...], ours: Decoded, theirs: Decoded) -> str | None:
    """What is not the same: verdicts, values, or unknown names."""
    ours.data.validate(full=True)
    if ours.data.schema != theirs.data.schema:
        return f"schema: {ours.data.schema} / {theirs.data.schema}"
    if ours.verdicts != theirs.verdicts:
        pairs = zip([*ours.verdicts, None], [*theirs.verdicts, None], strict=False)
        return "verdict: {} / {}".format(*next(pair for pair in pairs if pair[0] != pair[1]))
    if not ours.data.equals(theirs.data):
        return "values"
    floats = any(has(field.type, "FLOAT", "DOUBLE") for field in fields)  # to Arrow, 0.0 and -0.0 are the same
    if floats and repr(ours.data.to_pylist()) != repr(theirs.data.to_pylist()):
        return "values of floats"
    return None if ours.unknown == theirs.unknown else f"unknown: {ours.unknown} / {theirs.unknown}"


def alone(fields: tuple[Field, ...], batch: list[bytes | None], settings: dict[str, Any]) -> str:
    """The first record that differs when it is decoded alone."""
    for data in batch:
        values = pa.array([data], pa.binary())
        ours = NativeJsonDecoder(fields, **settings).decode(values)
        theirs = JsonDecoder(fields, **settings).decode(values)
        if found := difference(fields, ours, theirs):
            return f"{data!r}\n  {found}\n  {ours.data.to_pylist()} / {theirs.data.to_pylist()}"
    return "only the whole batch differs"


def one_round(seed: int) -> tuple[int, int, str | None]:
    """A schema, and a batch of records for it: how many, how many of them bad, and what differs."""
    maker = Maker(seed)
    fields = maker.fields()
    wild = maker.dice.choice([0.0, 0.02, 0.1, 0.4])
    records = (maker.record(fields, wild) for _ in range(BATCH))
    batch = [maker.mutated(data) if maker.dice.random() < 0.999 else None for data in records]
    settings: dict[str, Any] = {
        "unknown_fields": maker.dice.choice(POLICIES),
        "tombstones": maker.dice.choice(["reject", "drop"]),
        "max_bytes": maker.dice.choice([60, 1 << 20, 1 << 20]),
    }
    values = pa.array([b"", *batch], pa.binary()).slice(1)
    ours = NativeJsonDecoder(fields, **settings).decode(values)
    theirs = JsonDecoder(fields, **settings).decode(values)
    found = difference(fields, ours, theirs)
    if found:
        found = f"seed {seed}: {to_ddl(fields)} {settings}\n  {found}\n  {alone(fields, batch, settings)}"
    return len(batch), len(ours.verdicts), found


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() // 1_000_000
    end, total, bad, differing = time.monotonic() + 60 * minutes, 0, 0, 0
    while time.monotonic() < end and differing < 10:
        count, verdicts, found = one_round(seed)
        total, bad, seed = total + count, bad + verdicts, seed + 1
        if found:
            differing += 1
            print(found, flush=True)
    print(f"{total} records, {bad} of them bad, {differing} batches differ; next seed {seed}")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
