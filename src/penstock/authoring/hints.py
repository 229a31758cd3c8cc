"""What a field's name suggests. A hint decides only between types that both fit, and what is said in a comment."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONEY = _words(
    "amount price total cost fee tax vat balance sum subtotal discount revenue salary payment paid net gross refund "
    "charge cash turnover budget"
)
MEASURED = _words(
    "lat latitude lon lng longitude ratio rate score percent percentage probability temperature temp humidity weight "
    "speed altitude angle confidence factor x y z version"
)
NOT_NEGATIVE = MONEY | _words("qty quantity count size length bytes duration age attempts retries")
TIME = _words(
    "at ts time timestamp date datetime created updated modified deleted epoch when since until expires expiry "
    "start end ms millis"
)
ID = _words("id uuid guid key code sku")
SECRET = _words(
    "password passwd pwd secret token authorization apikey credential credentials cvv pin ssn iban cookie signature"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words(name: str) -> set[str]:
    """The words of a name: `createdAt` and `created_at` both give created, at."""
    return {word.lower() for word in _WORD.findall(name)}


def hints_at(name: str, meaning: frozenset[str]) -> bool:
    return not words(name).isdisjoint(meaning)


def is_secret(name: str) -> bool:
    """Such values are neither shown nor written into a file."""
    found = words(name)
    return not found.isdisjoint(SECRET) or {"api", "key"} <= found or {"private", "key"} <= found
