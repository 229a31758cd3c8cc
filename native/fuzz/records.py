"""Random schemas, records that fit them more or less, and what can be done to their bytes."""

from __future__ import annotations

import json
import random

from penstock.formats.types import Field, Type

SCALARS = tuple("BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING BINARY DATE TIMESTAMP".split())  # noqa: SIM905
NAMES = ["a", "b", "id", "a b", "é", "x/y", "n~", 'q"', "back\\", "line\n", "😀", "long_name_of_a_field", "A"]
PIECES = [
    *(bytes([byte]) for byte in b'"{}[],:\\/ \t\n\r\0\x01\x1f\x7f-+.eE0123456789tfnNI'),
    b"\xff", b"\xc3", b"\xc3\xa9", b"\xe0\xa4", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf", b"\\u", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00", b"\\u0000", b"\\n", b"\\x", b'\\"', b"null",
    b"true", b"NaN", b"Infinity", b"-Infinity", b"{}", b"[]", b'""', b"1e", b"1.5e", b"1.5.", b"-", b"e5", b"//", b",,",
    b"::", b'"a":1,',
]  # fmt: skip
VALUES = rb"""
1 0 -1 127 128 -128 -129 32767 32768 2147483647 2147483648 -2147483649 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 123456789012345678 1234567890123456789 99999999999999999999 1.0 1e3 0e0 -0
-0.0 12.300 12.345 1.50 9999.99 10000 1e4 1e28 99e36 1e37 1e38 1e400 -1e400 1e-400 1e308 1.7976931348623157e308
1.7976931348623159e308 1.8e308 3.4028234e38 3.4028235e38 3.4028236e38 3.40282356779733661637539395458142568447e38
3.5e38 1e-45 7.006492321624085e-46 7.006492321624086e-46 16777217 16777216.5 16777217.0000000000000000001
9007199254740993 9007199254740992.5 0.1 0.30000000000000004 5e-324 2.4703282292062327e-324 2.4703282292062328e-324
123456789.123456789 0.000000000000000001 01 1. .5 - +1 -a 1.e5 1e+ 1.5e- 1e5.2 1e5e5 NaN Infinity -Infinity Inf nan
null true false True nul tru nulls [] {} [1,2] [1,] [,1] [null] [{}] [[]] /**/1 {'a':1} {"a":1} {"a":null}
{"a":1,"a":2} {"k":1,"l":2} {"k":1,"k":1} {"a":{"a":{"a":1}}} {"x":NaN} {"a":1,} {,} {"a"} {"a":} {:1} {"a" 1} [1 2]
[1}{] {"a":1] 1e-1000000000 0e-1000000000 0e99999999999999999999 1e99999999999999999999 1e-99999999999999999999
1e-39 1e-38 1e-37 "" "a" "1" "1." ".5" "." "+1" "-1" "+-1" "1e2" "1E+2" "1e" "e1" " 1" "1 " "0x1" "1_0"
"1e-1000000000" "1\u0065-2" "12.30" "99999999999999999999999999999999999999"
"0.00000000000000000000000000000000000001" "aGk=" "aGk" "aGl=" "aG==" "aGk==" "====" "abcd" "abcd=" "abcd=="
"abcd====" "ab=c" "a===" "=abc" "ab-_" "ab cd" "a\u0047k=" "\u00e9" "\uD83D\uDE00" "\ud800" "\udc00" "\ud800\ud800"
"\ud800\u0041" "\u0000" "\x" "\u12" "\u12g4" "\/" "tab\tnew\n" "2024-01-02" "2024-1-2" "2024-01-02 " "2024-02-29"
"2023-02-29" "1900-02-29" "2000-02-29" "2024-13-01" "2024-00-10" "2024-04-31" "2024-01-00" "0000-01-01" "0001-01-01"
"9999-12-31" "10000-01-01" "-001-01-01" "2024-01-02T03:04:05Z" "2024-01-02 03:04:05" "2024-01-02T03"
"2024-01-02T03:04" "2024-01-02T03:04:05.1" "2024-01-02T03:04:05.123456Z" "2024-01-02T03:04:05.1234567"
"2024-01-02T03:04:05.1234567+01:00" "2024-01-02T03:04:05." "2024-01-02T03:04:05+01" "2024-01-02T03:04:05-0130"
"2024-01-02T03:04:05+01:30" "2024-01-02T03:04:05+1" "2024-01-02T03:04:05+24:00" "2024-01-02T03:04:05+23:60"
"2024-01-02T24:00:00" "2024-01-02T23:60:00" "2024-01-02T23:59:60" "2024-01-02T03-0130" "2024-01-02T03:04z"
"2024-01-02t03:04" "2024-01-02T3:04" "0001-01-01T00:00:00+01" "0001-01-01T00:00:00-01" "0000-12-31T23:30:00-01:00"
"0000-12-31T23:30:00-00:10" "9999-12-31T23:59:59.999999Z" "9999-12-31T23:59:59-01:00" "9999-12-31T23:59:59+01:00"
""".split()
VALUES += [b'"a\nb"', b'"\0"', b'"' + b"x" * 100 + b'"', b'"' + "é".encode() * 30 + b'"', b"9" * 400, b"0." + b"1" * 60]
VALUES += [b"[" * depth + b"]" * depth for depth in (3, 498, 499, 500, 501)]
VALUES += [b'{"a":' * depth + b"1" + b"}" * depth for depth in (3, 499, 500)]
GOOD = {
    "BOOLEAN": [b"true", b"false"],
    "STRING": [b'"a"', b'"\xc3\xa9\\n"', b'"\\u00e9"', b'"plain text of some length"', b'""', b'"\\ud83d\\ude00"'],
    "BINARY": [b'"aGk="', b'""', b'"AAEC"', b'"/+=="'],
    "DATE": [b'"2024-01-02"', b'"1969-12-31"', b'"0001-01-01"', b'"2000-02-29"'],
    "TIMESTAMP": [b'"2024-01-02T03:04:05.5Z"', b'"2024-01-02"', b'"1969-12-31 23:59:59.999999"', b'"0001-01-01T00"'],
    "FLOAT": [b"0.1", b"16777217", b"1e10", b"-2.5"],
    "DOUBLE": [b"1.5", b"2e-7", b"0.1", b"123456789.123"],
    "DECIMAL": [b"1", b'"0.5"', b"0", b"0.10", b"-1", b'"1e0"', b"1.00"],
}
SPACES = [b"", b"", b"", b"", b" ", b"\n  ", b"\t", b"\r\n"]


class Maker:
    """Makes schemas and records from one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.spread = self.dice.random() < 0.2
        """Whether spaces stand between tokens."""
        self.calm = self.dice.random() < 0.3
        """Whether no bytes are changed: what is wrong is only in the values."""

    def fields(self, level: int = 0) -> tuple[Field, ...]:
        names = self.dice.sample(NAMES, self.dice.choice([1, 2, 3, 4, 6, 9] if not level else [1, 2, 3]))
        return tuple(Field(name, self.type(level), self.dice.random() < 0.75) for name in names)

    def type(self, level: int) -> Type:
        shape = self.dice.random() * (1.5 if level > 2 else 1)
        if shape < 0.1:
            return Type("ARRAY", element=self.type(level + 1))
        if shape < 0.2:
            return Type("MAP", element=self.type(level + 1))
        if shape < 0.35:
            return Type("STRUCT", fields=self.fields(level + 1))
        if shape < 0.5:
            precision = self.dice.choice([1, 3, 6, 18, 19, 37, 38])
            return Type("DECIMAL", precision, self.dice.choice([0, min(2, precision), precision]))
        return Type(self.dice.choice(SCALARS))

    def space(self) -> bytes:
        return self.dice.choice(SPACES) if self.spread else b""

    def name(self, text: str) -> bytes:
        style = self.dice.random()
        if style < 0.9:
            return json.dumps(text, ensure_ascii=style < 0.1).encode()
        return b'"' + b"".join(b"\\u%04x" % ord(c) if ord(c) < 65536 else c.encode() for c in text) + b'"'

    def object(self, members: list[tuple[bytes, bytes]]) -> bytes:
        space = self.space
        inside = b",".join(space() + name + space() + b":" + space() + value + space() for name, value in members)
        return b"{" + inside + b"}"

    def record(self, fields: tuple[Field, ...], wild: float) -> bytes:
        members = [
            (self.name(field.name), self.value(field.type, wild))
            for field in fields
            if not field.nullable or self.dice.random() > 0.1
        ]
        if self.dice.random() < 0.15:
            unknown = self.dice.choice(["u", "w", "u/v", "~", "é2", *NAMES])
            place = self.dice.randrange(len(members) + 1)
            members.insert(place, (self.name(unknown), self.dice.choice(VALUES)))
        if self.dice.random() < 0.1:
            self.dice.shuffle(members)
        if self.dice.random() < 0.01 and members:
            members.append(self.dice.choice(members))
        return self.object(members)

    def value(self, kind: Type, wild: float) -> bytes:
        dice = self.dice.random()
        if dice < wild:
            return self.dice.choice(VALUES)
        if dice < wild + 0.05:
            return b"null"
        if kind.name == "STRUCT":
            return self.record(kind.fields, wild)
        if kind.element and kind.name == "ARRAY":
            values = [self.value(kind.element, wild) for _ in range(self.dice.choice([0, 1, 1, 2, 3]))]
            return b"[" + b",".join(self.space() + value + self.space() for value in values) + b"]"
        if kind.element:
            count = self.dice.choice([0, 1, 2, 2, 3, 20] if self.dice.random() < 0.1 else [0, 1, 2])
            keys = [self.dice.choice(NAMES) + str(self.dice.randrange(40)) for _ in range(count)]
            return self.object([(self.name(key), self.value(kind.element, wild)) for key in keys])
        return self.dice.choice(GOOD.get(kind.name, [b"1", b"-5", b"0", b"100"]))

    def mutated(self, data: bytes) -> bytes:
        """With a few bytes changed, cut, put in, doubled or moved."""
        out = bytearray(data)
        for _ in range(0 if self.calm else self.dice.choice([0, 0, 0, 1, 1, 2, 4])):
            at = self.dice.randrange(len(out) + 1)
            match self.dice.randrange(8):
                case 0:
                    del out[at : at + self.dice.randrange(1, 4)]
                case 1 | 2:
                    out[at:at] = self.dice.choice(PIECES)
                case 3 | 4:
                    out[at : at + self.dice.randrange(1, 4)] = self.dice.choice(PIECES)
                case 5 if at < len(out):
                    out[at] ^= 1 << self.dice.randrange(8)
                case 6:
                    del out[at:]
                case 7:
                    start = self.dice.randrange(len(out) + 1)
                    out[at:at] = out[start : start + self.dice.randrange(12)]
        return bytes(out)
