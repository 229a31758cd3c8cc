"""SQL expressions at random over the columns of `hard_rows`: well typed, and of every sort that is compiled."""

from __future__ import annotations

import random
from collections.abc import Callable

SIGNS = ["=", "<>", "<", "<=", ">", ">=", "<=>", "!=", "=="]
PAIRS = [
    ("f1", "f2"), ("f1", "d1"), ("c1", "l1"), ("x1", "x1"), ("x1", "X'FF00'"), ("y1", "h1"), ("st.x", "st.z.w"),
    ("f1", "1.5"), ("d1", "0.1"), ("c2", "0.00005"), ("i1", "1.0"), ("a1", "t1"), ("n1", "3"), ("n1", "l1"),
]  # fmt: skip
"""Beside each other Spark casts one of them, or both."""
MEMBERS = {
    "whole": ["1", "2", "-1", "2147483647", "NULL", "0", "100"],
    "text": ["'a'", "''", "'EUR'", "'日本語'", "NULL", "'a%c'"],
    "real": ["0.0D", "1.5D", "-1.0D", "double('NaN')", "NULL"],
    "decimal": ["1.00", "0", "1.5", "NULL", "-1"],
    "day": ["DATE'2020-01-01'", "DATE'1970-01-01'", "NULL"],
    "long": ["1", "9223372036854775807", "NULL"],
}
LIKE = [
    "a%", "%c", "%b%", "_", "a_c", "%", "", "abc", r"a\\%c", "%_%", "__", r"a\\_%", "%é%", "日%", "_😀_", "a%b%c",
    r"%\n%", "a.c", "[x]", "$", "%@%.com", "(a)", r"a\\\\c", "%%", "a%%",
]  # fmt: skip
REGEX = [
    "^a", "c$", "^abc$", "a|b", "[a-c]+", "^[A-Z]{3}$", "^a.c$", "a.*c", "^.$", "^..$", "x?y?", "(ab)+", "^(EUR|USD)$",
    "[0-9]", r"\\d+", r"^\\w+$", "[^a]", "^[^a]", r"\\.", r"^[a-z]+@[a-z]+\\.com$", "b$", ".$", "^$", "$", "^",
    "a{2,3}", "(?:abc){2}", "^.*$", "^[a-z0-9._-]+$", r"^\\d{4}-\\d{2}-\\d{2}$",
]  # fmt: skip
PLACES = [0, 1, 2, 3, -1, -2, -5, 100, -100, 2147483647, -2147483648]
UNITS = ["DAY", "hour", "minute", "second", "month", "year", "quarter", "MILLISECOND", "microsecond", "mm", "yyyy"]
Sort = Callable[[int], str]


class Grammar:
    """Each method gives an expression of its sort, at most so deep."""

    def __init__(self, luck: random.Random) -> None:
        self.luck = luck

    def any(self, depth: int = 3) -> str:
        sorts: list[Sort] = [
            self.truth, self.truth, self.whole, self.long, self.real, self.decimal, self.text, self.day, self.time,
        ]  # fmt: skip
        return self.luck.choice(sorts)(depth)

    def one(self, *texts: str) -> str:
        return self.luck.choice(texts)

    def pick(self, *options: Callable[[], str]) -> str:
        return self.luck.choice(options)()

    def maybe(self, word: str) -> str:
        return self.one("", word)

    def truth(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("b1", "b2", "b1", "b2", "TRUE", "FALSE")
        return self.pick(
            lambda: self.truth(0),
            lambda: self.compared(d),
            lambda: self.compared(d),
            lambda: self.compared(d),
            lambda: f"({self.truth(d)} AND {self.truth(d)})",
            lambda: f"({self.truth(d)} OR {self.truth(d)})",
            lambda: f"(NOT {self.truth(d)})",
            lambda: f"({self.any(d)} IS {self.maybe('NOT ')}NULL)",
            lambda: f"({self.one('e1', 'st', 'st.z', 'x1')} IS {self.maybe('NOT ')}NULL)",
            lambda: self.listed(d),
            lambda: self.between(d),
            lambda: self.matched(d),
            lambda: self.chosen(self.truth, d),
        )

    def compared(self, d: int) -> str:
        sort: Sort = self.luck.choice(
            [self.whole, self.long, self.text, self.real, self.decimal, self.day, self.time, self.truth]
        )
        pairs = [
            (sort(d), sort(d)), (sort(d), sort(d)), (self.long(d), self.whole(d)), (self.real(d), self.whole(d)),
            (self.decimal(d), self.whole(d)), (self.day(d), "'2020-02-29'"), (self.time(d), "'2020-01-01 00:00:00'"),
            (self.whole(d), "'7'"), (self.whole(d), "NULL"), self.luck.choice(PAIRS),
        ]  # fmt: skip
        one, other = self.luck.choice(pairs)
        sign = self.luck.choice(SIGNS)
        return f"({one} {sign} {other})" if self.luck.random() < 0.8 else f"({other} {sign} {one})"

    def listed(self, d: int) -> str:
        sort = self.luck.choice([*MEMBERS])
        members = ", ".join(self.luck.choice(MEMBERS[sort]) for _ in range(self.luck.randint(1, 12)))
        return f"({getattr(self, sort)(d)} {self.maybe('NOT ')}IN ({members}))"

    def between(self, d: int) -> str:
        sort: Sort = self.luck.choice([self.whole, self.long, self.real, self.decimal, self.text, self.day, self.time])
        return f"({sort(d)} {self.maybe('NOT ')}BETWEEN {sort(0)} AND {sort(d)})"

    def matched(self, d: int) -> str:
        word = self.one("'a'", "'ab'", "''", "'é'", r"'\n'", "'%'")
        return self.pick(
            lambda: f"({self.text(d)} {self.maybe('NOT ')}LIKE '{self.luck.choice(LIKE)}')",
            lambda: f"({self.text(d)} RLIKE '{self.luck.choice(REGEX)}')",
            lambda: f"{self.one('startswith', 'endswith', 'contains')}({self.text(d)}, {word})",
        )

    def chosen(self, sort: Sort, d: int) -> str:
        other = "NULL" if self.luck.random() < 0.15 else sort(d)
        return self.pick(
            lambda: f"IF({self.truth(d)}, {sort(d)}, {other})",
            lambda: f"CASE WHEN {self.truth(d)} THEN {sort(d)} WHEN {self.truth(d)} THEN {other} ELSE {sort(0)} END",
            lambda: f"CASE WHEN {self.truth(d)} THEN {sort(d)} END",
            lambda: f"coalesce({sort(d)}, {other}, {sort(0)})",
            lambda: f"nullif({sort(d)}, {sort(0)})",
            lambda: f"{self.one('nvl', 'ifnull')}({sort(d)}, {sort(0)})",
            lambda: f"nvl2({self.any(d)}, {sort(d)}, {sort(0)})",
        )

    def whole(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("i1", "i2", "st.x", "i1", "1", "0", "-1", "3", "2147483647", "y1", "h1")
        return self.pick(
            lambda: self.whole(0),
            lambda: f"({self.whole(d)} {self.one(*'+-*%')} {self.whole(d)})",
            lambda: f"(y1 {self.one(*'+-*%')} {self.one('y1', 'h1', '2Y')})",
            lambda: f"(- {self.whole(d)})",
            lambda: f"abs({self.whole(d)})",
            lambda: f"{self.one('length', 'char_length', 'len')}({self.text(d)})",
            lambda: self.one("size(e1)", "length(x1)", "e1[0]", "e1[1]", "datediff(a1, a2)"),
            lambda: f"{self.one('year', 'month', 'day', 'quarter')}({self.day(d)})",
            lambda: f"{self.one('year', 'month', 'dayofmonth', 'hour', 'minute', 'second')}({self.time(d)})",
            lambda: f"{self.one('greatest', 'least')}({self.whole(d)}, {self.whole(d)}, {self.whole(0)})",
            lambda: self.chosen(self.whole, d),
            lambda: f"CAST({self.truth(d)} AS INT)",
            lambda: f"CAST({self.long(d)} AS {self.one('INT', 'SMALLINT', 'TINYINT')})",
            lambda: f"CAST({self.one('n1', 'n1', 's1')} AS {self.one('INT', 'TINYINT', 'SMALLINT')})",
        )

    def long(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("l1", "l2", "st.z.w", "9223372036854775807", "5L", "_offset")
        return self.pick(
            lambda: self.long(0),
            lambda: f"({self.long(d)} {self.one(*'+-*%')} {self.pick(lambda: self.whole(d), lambda: self.long(d))})",
            lambda: f"CAST({self.whole(d)} AS BIGINT)",
            lambda: f"({self.long(d)} DIV {self.pick(lambda: self.whole(d), lambda: self.long(d))})",
            lambda: "CAST(n1 AS BIGINT)",
            lambda: f"(- {self.long(d)})",
            lambda: self.chosen(self.long, d),
        )

    def real(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("d1", "d2", "1.5D", "0.0D", "double('NaN')")
        return self.pick(
            lambda: self.real(0),
            lambda: f"({self.real(d)} {self.one(*'+-*/%')} {self.real(d)})",
            lambda: f"({self.whole(d)} / {self.whole(d)})",
            lambda: f"CAST({self.pick(lambda: self.whole(d), lambda: self.long(d))} AS DOUBLE)",
            lambda: "CAST(f1 AS DOUBLE)",
            lambda: f"CAST((f1 {self.one(*'+-*%')} f2) AS DOUBLE)",
            lambda: f"(- {self.real(d)})",
            lambda: f"abs({self.real(d)})",
            lambda: self.chosen(self.real, d),
        )

    def decimal(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("c1", "c2", "c1", "c3", "1.50", "0.001")
        return self.pick(
            lambda: self.decimal(0),
            lambda: f"({self.one('c1', 'c2', '1.25')} {self.one(*'+-*')} {self.one('c1', 'c2', 'i1', '3')})",
            lambda: f"(- {self.decimal(d)})",
            lambda: f"abs({self.decimal(d)})",
            lambda: f"CAST({self.whole(d)} AS DECIMAL(12,2))",
            lambda: "CAST(c2 AS DECIMAL(20,6))",
            lambda: f"coalesce({self.one('c1', 'c2')}, {self.one('c1', 'c2', '0')})",
            lambda: self.chosen(lambda _: self.one("c1", "1.25"), d),
        )

    def text(self, depth: int) -> str:
        d, luck = depth - 1, self.luck
        if depth <= 0:
            return self.one("s1", "s2", "s1", "n1", "st.y", "'a'", "''", "'日本'", "_topic")
        return self.pick(
            lambda: self.text(0),
            lambda: f"({self.text(d)} || {self.text(d)})",
            lambda: f"concat({self.text(d)}, {self.text(d)}, {self.whole(d)})",
            lambda: f"substring({self.text(d)}, {luck.choice(PLACES)}, {luck.choice(PLACES)})",
            lambda: f"substring({self.text(d)}, {luck.choice(PLACES)})",
            lambda: f"left({self.text(d)}, {luck.choice(PLACES)})",
            lambda: f"{self.one('trim', 'ltrim', 'rtrim')}({self.text(d)})",
            lambda: f"trim(BOTH 'a ' FROM {self.text(d)})",
            lambda: f"{self.one('upper', 'lower')}({self.text(d)})",
            lambda: f"replace({self.text(d)}, {self.one(chr(39) + 'a' + chr(39), chr(39) + 'é' + chr(39))}, 'xy')",
            lambda: f"decode({self.one('x1', '_key')}, 'UTF-8')",
            lambda: f"CAST({self.pick(lambda: self.whole(d), lambda: self.long(d), lambda: self.truth(d))} AS STRING)",
            lambda: f"CAST({self.pick(lambda: self.day(d), lambda: self.time(d))} AS STRING)",
            lambda: f"CAST({self.one('c1', 'c2')} AS STRING)",
            lambda: self.chosen(self.text, d),
        )

    def day(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("a1", "a2", "DATE'2020-02-29'")
        return self.pick(
            lambda: self.day(0),
            lambda: f"to_date({self.time(d)})",
            lambda: f"CAST({self.time(d)} AS DATE)",
            lambda: f"to_date({self.day(d)})",
            lambda: (
                f"{self.one('date_add', 'date_sub')}({self.day(d)}, {self.one('1', 'i1', 'i2', '-720000', '-800000')})"
            ),
            lambda: self.chosen(self.day, d),
        )

    def time(self, depth: int) -> str:
        d = depth - 1
        if depth <= 0:
            return self.one("t1", "t2", "TIMESTAMP'2020-02-29 12:34:56.789'", "_timestamp")
        return self.pick(
            lambda: self.time(0),
            lambda: f"date_trunc('{self.luck.choice(UNITS)}', {self.time(d)})",
            lambda: f"CAST({self.day(d)} AS TIMESTAMP)",
            lambda: self.chosen(self.time, d),
        )
