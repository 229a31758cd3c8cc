"""Types for numbers and texts: the narrowest that is safe, tested with the decoder's own readers."""

from __future__ import annotations

import binascii
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from itertools import islice

from penstock.authoring import hints
from penstock.authoring.evidence import Shape
from penstock.authoring.hints import hints_at
from penstock.authoring.values import Number, fits
from penstock.authoring.words import share
from penstock.counting import counted
from penstock.formats.types import Type

BIGINT, DOUBLE, STRING, WHOLE = Type("BIGINT"), Type("DOUBLE"), Type("STRING"), Type("DECIMAL", 38, 0)
FEW_DISTINCT = 20
ENOUGH = 20
"""Values from which on the number of fraction digits is a habit, not a chance."""
TOLERATED = 0.1
"""Share of values that a type may reject and still be proposed."""
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
BASE64 = re.compile(r"(?=[A-Za-z0-9+/]*[0-9+/])(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*[a-z])[A-Za-z0-9+/]{12,}={0,2}")
PLAIN_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
EPOCHS = (("seconds", 1, 1.0e9), ("millis", 10**3, 0.9e9), ("micros", 10**6, 0.9e9))
"""Unit, as Spark's `timestamp_<unit>` has it; units in a second; since when (2001, 1998) it is plausible."""
LAST_SECOND = 4.1e9
"""The year 2099."""


def boolean_shape(values: Sequence[bool]) -> Shape:
    counts = Counter("true" if value else "false" for value in values)
    return Shape(Type("BOOLEAN"), counts=dict(counts.most_common()))


def number_shape(name: str, values: Sequence[str]) -> Shape:
    """A type for number literals, and for texts that are numbers where some or all of them are."""
    kind, *notes = _number_type(name, values)
    misfits = sum(not fits(value, kind) for value in values)
    if kind == BIGINT:
        notes += _epoch(name, values)
    ordered = sorted(values, key=_measure)
    return Shape(kind, "", misfits, tuple(notes), (), str(ordered[0]), str(ordered[-1]), *_seen(values))


def text_shape(name: str, values: Sequence[str]) -> Shape:
    """DATE or TIMESTAMP where every text is one; DECIMAL for money written as text; else STRING."""
    examples, counts = _seen(values)
    for word in ("DATE", "TIMESTAMP"):
        if all(fits(value, Type(word)) for value in values):
            return Shape(Type(word), "", 0, (), (), min(values), max(values), examples, counts)
    if money_text(name, values):
        return number_shape(name, values).noting("numbers in quotes")
    widths = sorted(map(len, values))
    several = f"{widths[0]} to " if widths[0] != widths[-1] else ""
    notes = (several + counted(widths[-1], "character"), *_text_notes(values))
    return Shape(STRING, "", 0, notes, examples=examples, counts=counts)


def money_text(name: str, values: Sequence[str]) -> bool:
    """Texts like `19.99` under a name that means money, or so many of them that the two digits are a habit."""
    if not all(PLAIN_DECIMAL.fullmatch(value) and len(value) <= 30 for value in values):
        return False
    if hints_at(name, hints.MONEY) and any("." in value for value in values):
        return _money_like(name, values)
    cents = all(value[-3:-2] == "." for value in values)
    return cents and len(values) >= ENOUGH and len(set(values)) > 5 and not hints_at(name, hints.MEASURED)


def _number_type(name: str, values: Sequence[str]) -> tuple[Type, *tuple[str, ...]]:
    if all(isinstance(value, Number) and value.lstrip("-").isdigit() for value in values):
        if all(fits(value, BIGINT) for value in values):
            return (BIGINT,)
        if sum(not fits(value, WHOLE) for value in values) <= TOLERATED * len(values):
            return WHOLE, "too large for BIGINT"
        return DOUBLE, "more than 38 digits: a DOUBLE rounds them"
    if _money_like(name, values):
        return _decimal(values), "exact"
    if all(isinstance(value, Number) for value in values):
        return (DOUBLE,)
    whole = all(fits(value, WHOLE) for value in values)
    return WHOLE if whole else Type("DECIMAL", 38, 18), "numbers and numbers in quotes"


def _money_like(name: str, values: Sequence[str]) -> bool:
    """Few fraction digits throughout, and no exponent: cents and their like, whose text is exact."""
    if not all(PLAIN_DECIMAL.fullmatch(value) and len(value) <= 30 for value in values):
        return False
    scale = max(_digits(value)[1] for value in values)
    if hints_at(name, hints.MONEY):
        return scale <= 6
    fractions = sum("." in value for value in values)
    return scale <= 2 and fractions >= ENOUGH and not hints_at(name, hints.MEASURED)


def _decimal(values: Sequence[str]) -> Type:
    """Head room: an even scale of 2 or more, three more digits in front, and one of the usual precisions."""
    sizes = [_digits(value) for value in values]
    scale = max(2, *(-(-size[1] // 2) * 2 for size in sizes))
    needed = max(size[0] for size in sizes) + 3 + scale
    return Type("DECIMAL", next((precision for precision in (18, 28) if needed <= precision), 38), scale)


def _digits(plain: str) -> tuple[int, int]:
    """Digits before and after the point, without idle zeros."""
    whole, _, fraction = plain.lstrip("-").partition(".")
    return len(whole.lstrip("0")), len(fraction.rstrip("0"))


def _measure(literal: str) -> Decimal | float:
    """For ordering alone. An exponent may be absurd, and Decimal would try to honour it."""
    return float(literal) if "e" in literal.lower() else Decimal(literal)


def _epoch(name: str, values: Sequence[str]) -> list[str]:
    """A remark where integers look like times, with the expression that makes one of them."""
    numbers = [int(value) for value in values]
    for unit, per_second, since in EPOCHS:
        plausible = since * per_second <= min(numbers) and max(numbers) <= LAST_SECOND * per_second
        if plausible and (unit != "seconds" or hints_at(name, hints.TIME)):
            seconds = {"millis": "milliseconds", "micros": "microseconds"}.get(unit, unit)
            return [f"epoch {seconds}? As a time: timestamp_{unit}({quoted(name)})"]
    return []


def quoted(name: str) -> str:
    """A column's name as SQL takes it."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and name.upper() not in _sql_words()
    return name if plain else "`" + name.replace("`", "``") + "`"


@cache
def _sql_words() -> frozenset[str]:
    """Every word that means something to Spark's SQL, `ORDER` of `ORDER BY` too."""
    from sqlglot.dialects.spark import Spark

    return frozenset(word for phrase in Spark.Tokenizer.KEYWORDS for word in phrase.upper().split())


def _text_notes(values: Sequence[str]) -> list[str]:
    notes = []
    if empty := sum(not value for value in values):
        notes.append(f"{share(empty, len(values))} empty")
    if all(UUID.fullmatch(value) for value in values):
        notes.append("UUID")
    elif all(BASE64.fullmatch(value) and _is_base64(value) for value in values):
        notes.append("base64? BINARY would hold its bytes")
    times = sum(fits(value, Type("TIMESTAMP")) for value in values)
    if times > len(values) / 2:
        notes.append(f"{share(times, len(values))} are ISO 8601 times, the others would be rejected")
    return notes


def _is_base64(value: str) -> bool:
    try:
        binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        return False
    return True


def _seen(values: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Three examples, and every value with its count where there are few."""
    counts = Counter(map(str, values))
    examples = tuple(islice((value for value in counts if value.strip()), 3))
    return examples, dict(counts.most_common()) if len(counts) <= FEW_DISTINCT else {}
