"""What one JSON scalar means for a declared type: exactly this value, or a problem.

The accepted texts are those that Arrow's own JSON reader accepts, so that both tiers agree:

- integers: an integer literal in range; `1.0`, `1e3` and `"1"` are `wrong_type`.
- DECIMAL: a number, or a text of `[+-] digits [. digits] [e [+-] digits]` with digits on at least one side of the
  point; it must fit exactly. `12.300` and `1230e-2` fit scale 2, `12.345` is `inexact_decimal`.
- FLOAT, DOUBLE: a number that rounds to a finite value, else `overflow`. What is too small rounds to zero.
- TIMESTAMP: `YYYY-MM-DD`, then optionally `T` or a space and `hh[:mm[:ss[.f]]]` with 1 to 6 fraction digits and a
  zone `Z`, `+hh`, `+hhmm` or `+hh:mm`; no zone is UTC. The instant must lie in the years 0001 to 9999 of UTC.
- DATE: `YYYY-MM-DD`, years 0001 to 9999. BINARY: base64 of the standard alphabet, padded, nothing else in it.
"""

from __future__ import annotations

import binascii
import math
import re
import struct
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal

from penstock.formats.types import Type

BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
NUMERIC = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?)0*([0-9]*))?", re.ASCII)
TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
LONG_TIME = re.compile(r"[^.]*\.[0-9]{7,}(?:Z|[+-][0-9:]+)?")
DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
EXACT = Context(prec=50)
FAR = 10**18
BEYOND_FLOAT = float.fromhex("0x1.ffffffp127")
"""Halfway between the largest FLOAT and the next, which there is not."""


class Unfit(Exception):
    """The value is well-formed JSON and does not fit its type."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


def integer(text: str, kind: Type) -> int:
    """The integer of a number literal."""
    if not text.lstrip("-").isdigit():
        raise Unfit("wrong_type", f"is not an integer literal, as {kind} needs")
    number = int(text) if len(text) <= 20 else FAR * FAR
    limit = 1 << (BITS[kind.name] - 1)
    if not -limit <= number < limit:
        raise Unfit("overflow", f"does not fit {kind}")
    return number


def double(text: str, kind: Type) -> float:
    """The nearest DOUBLE or FLOAT."""
    number = float(text)
    if kind.name == "FLOAT":
        number = _nearest_float(text, number)
    if math.isinf(number):
        raise Unfit("overflow", f"is beyond the range of {kind}")
    return number


def _nearest_float(text: str, number: float) -> float:
    """The FLOAT nearest to the text: rounding its DOUBLE again is wrong where that lies halfway between two."""
    below, above = _single(math.nextafter(number, -math.inf)), _single(math.nextafter(number, math.inf))
    halfway = math.copysign(BEYOND_FLOAT, number) if math.isinf(below + above) else (below + above) / 2
    if below == above or number != halfway:
        return _single(number)
    exact, middle = Decimal(text), Decimal(number)
    if exact == middle:
        return _single(number)
    return above if exact > middle else below


def _single(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def decimal(text: str, kind: Type) -> Decimal:
    """The exact value at the type's scale."""
    match = NUMERIC.fullmatch(text)
    if not match or (match[6] == "" and not text.endswith("0")):
        raise Unfit("wrong_type", f"is not a number for {kind}")
    fraction = match[3] or match[4] or ""
    digits = ((match[2] or "") + fraction).lstrip("0")
    kept = digits.rstrip("0")
    exponent = int(match[6] or 0) if len(match[6] or "") <= 18 else FAR
    power = (-exponent if match[5] == "-" else exponent) - len(fraction) + len(digits) - len(kept)
    if not kept:
        return Decimal(0).scaleb(-kind.scale, EXACT)
    if len(kept) + power > kind.precision - kind.scale:
        raise Unfit("overflow", f"needs more digits than {kind} has")
    if power < -kind.scale:
        raise Unfit("inexact_decimal", f"needs more than the {kind.scale} decimals of {kind}")
    unscaled = int(kept) * 10 ** (power + kind.scale)
    return Decimal(-unscaled if match[1] == "-" else unscaled).scaleb(-kind.scale, EXACT)


def timestamp(text: str, kind: Type) -> datetime:
    """The instant, in UTC."""
    match = TIME.fullmatch(text)
    if not match:
        too_fine = LONG_TIME.fullmatch(text)
        raise Unfit("wrong_type", "has more than 6 fraction digits" if too_fine else "is not an ISO 8601 time")
    year, month, day, hour, minute, second = (int(group or 0) for group in match.groups()[:6])
    zone = match[8] or "Z"
    hours, minutes = int(zone[1:3] or 0), int(zone[3:].lstrip(":") or 0)
    if why := _no_date(year, month, day) or _no_clock(hour, minute, second) or _no_zone(hours, minutes):
        raise Unfit("wrong_type", f"is no time: {why}")
    micros = int((match[7] or "").ljust(6, "0"))
    away = timedelta(hours=hours, minutes=minutes)
    return _instant(datetime(year or 400, month, day, hour, minute, second, micros, UTC), year, zone[0], away)


def _instant(local: datetime, year: int, sign: str, away: timedelta) -> datetime:
    """The instant of a local time. The year 0 stands 400 years later: its last hours may be of the year 1 in UTC."""
    try:
        instant = local + away if sign == "-" else local - away
        return instant if year else instant.replace(year=instant.year - 400)
    except (OverflowError, ValueError) as error:
        raise Unfit("overflow", "lies outside the years 0001 to 9999") from error


def _no_date(year: int, month: int, day: int) -> str | None:
    """Why there is no such day. In words of our own: those of `datetime` change from one Python to the next."""
    if not 1 <= month <= 12:
        return "month must be in 1..12"
    return None if 1 <= day <= monthrange(year or 400, month)[1] else "day is out of range for month"


def _no_clock(hour: int, minute: int, second: int) -> str | None:
    for name, number, limit in (("hour", hour, 24), ("minute", minute, 60), ("second", second, 60)):
        if number >= limit:
            return f"{name} must be in 0..{limit - 1}"
    return None


def _no_zone(hours: int, minutes: int) -> str | None:
    return "the zone must be less than a day" if hours > 23 or minutes > 59 else None


def calendar_date(text: str, kind: Type) -> date:
    """The day."""
    match = DATE.fullmatch(text)
    if not match:
        raise Unfit("wrong_type", "is not a date like 2026-01-31")
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if why := _no_date(year, month, day):
        raise Unfit("wrong_type", f"is no date: {why}")
    if not year:
        raise Unfit("overflow", "lies outside the years 0001 to 9999")
    return date(year, month, day)


def base64(text: str, kind: Type) -> bytes:
    """The bytes that the text stands for."""
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise Unfit("wrong_type", "is not base64") from error
    if len(text) % 4 or text.endswith("==="):  # some Pythons take padding that nothing asks for
        raise Unfit("wrong_type", "is not base64")
    return data
