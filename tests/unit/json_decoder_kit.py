"""Schemas that a JSON decoder is tried on, and values that are hard to judge."""

from __future__ import annotations

SCHEMA = (
    "id BIGINT NOT NULL, amount DECIMAL(18,2), at TIMESTAMP, device STRUCT<os: STRING NOT NULL>, tags ARRAY<STRING>"
)
NESTED = """id BIGINT NOT NULL, device STRUCT<os: STRING NOT NULL, n: STRUCT<d: DATE NOT NULL> NOT NULL>,
l ARRAY<STRUCT<q: INT NOT NULL>>, s STRUCT<a: ARRAY<INT> NOT NULL, d: DECIMAL(5,2) NOT NULL, b: BINARY NOT NULL>"""
HARD = {
    "levels of arrays": b'{"z":' + b"[" * 1_000_000,
    "levels of objects": b'{"z":' * 200_000,
    "digits of an integer": b'{"id":' + b"9" * 2_000_000 + b"}",
    "digits of a decimal": b'{"id":1,"amount":' + b"9" * 2_000_000 + b"}",
    "digits of an exponent": b'{"id":1,"amount":1e' + b"9" * 2_000_000 + b"}",
    "escapes": b'{"id":1,"tags":["' + b"\\n" * 1_000_000 + b'"',
    "backslashes": b'{"id":1,"tags":["' + b"\\" * 2_000_000,
    "open quotes": b'{"id":1,"z":' + b'["' * 500_000,
    "keys": b"{" + b",".join(b'"k%d":1' % i for i in range(100_000)) + b"}",
    "spaces": b'{"id":1' + b" " * 2_000_000,
    "bad bytes": b'{"id":1,"tags":["' + b"\xc3" * 2_000_000 + b'"]}',
}
