"""Avro against fastavro: any schema, any values, any bytes, one by one and all at once."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.avro_cases import RECORDS, decoded, encoded, oracle, rows_of

from penstock.formats.avro.blocks import FEW

MANY = FEW + 8
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def written(draw: st.DrawFn) -> tuple[Any, list[bytes]]:
    body, values = draw(RECORDS)
    some = draw(st.lists(values, min_size=1, max_size=6))
    return body, [encoded(body, value) for value in some]


@QUICK
@given(written())
def test_every_value_is_read_as_fastavro_reads_it_alone_and_among_many(case: tuple[Any, list[bytes]]) -> None:
    body, data = case
    expected = [oracle(one, body) for one in data]
    for times in (1, MANY):
        made = decoded(data * times, body)
        made.data.validate(full=True)
        assert made.verdicts == []
        assert rows_of(made) == expected * times


@QUICK
@given(written(), st.randoms(use_true_random=False))
def test_mutated_bytes_are_rejected_or_read_as_fastavro_reads_them(
    case: tuple[Any, list[bytes]], chance: random.Random
) -> None:
    body, data = case
    mutants = [mutated(chance.choice(data), chance) for _ in range(MANY)]
    together = decoded(mutants, body)
    alone = [decoded([one], body) for one in mutants]
    bad = {verdict.row: verdict for verdict in together.verdicts}
    rows = rows_of(together)
    for number, (one, single) in enumerate(zip(mutants, alone, strict=True)):
        assert (number in bad) == bool(single.verdicts)
        if single.verdicts:
            assert bad[number]._replace(row=0) == single.verdicts[0]
            assert bad[number].code == "bad_payload"
            continue
        [row] = rows_of(single)
        assert told(rows[number]) == told(row)
        assert told(row) == told(oracle(one, body))


def told(value: Any) -> str:
    """The value as text, since NaN is not equal to itself; a map has no order."""
    if isinstance(value, dict):
        return repr(sorted((told(key), told(one)) for key, one in value.items()))
    return repr([told(one) for one in value]) if isinstance(value, list | tuple) else repr(value)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The payload with a few bytes changed, cut off, put in or put behind it."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        place = chance.randint(0, len(made))
        match chance.randint(0, 4):
            case 0 if place < len(made):
                made[place] = chance.randrange(256)
            case 1:
                del made[place:]
            case 2:
                made.insert(place, chance.randrange(256))
            case 3:
                made += bytes(chance.randrange(256) for _ in range(chance.randint(1, 4)))
            case 4 if place < len(made):
                made[place] ^= 1 << chance.randrange(8)
    return bytes(made)


@st.composite
def evolved(draw: st.DrawFn) -> tuple[Any, Any, list[bytes]]:
    """A writer's schema, a reader's that differs from it, and payloads."""
    body, values = draw(RECORDS)
    data = [encoded(body, value) for value in draw(st.lists(values, min_size=1, max_size=4))]
    fields = [dict(field) for field in body["fields"]]
    kept = [field for field in fields if draw(st.booleans())] or fields[:1]
    for field in kept:
        if draw(st.booleans()):
            field["aliases"] = [field["name"]]
            field["name"] = "was_" + field["name"]
        if field["type"] == "int" and draw(st.booleans()):
            field["type"] = draw(st.sampled_from(["long", "double"]))
        elif field["type"] in ("string", "bytes") and draw(st.booleans()):
            field["type"] = "bytes"
    kept.append({"name": "new", "type": ["null", draw(st.sampled_from(["int", "string"]))], "default": None})
    kept.append({"name": "more", "type": "int", "default": 7})
    order = draw(st.permutations(kept))
    return body, {**body, "fields": order}, data


@QUICK
@given(evolved())
def test_a_writers_schema_is_resolved_to_the_readers_as_fastavro_resolves_it(
    case: tuple[Any, Any, list[bytes]],
) -> None:
    writer, reader, data = case
    expected = [oracle(one, writer, reader) for one in data]
    for times in (1, MANY):
        made = decoded(data * times, writer, reader)
        assert made.verdicts == []
        assert rows_of(made) == expected * times
