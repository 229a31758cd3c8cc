"""upper and lower. Spark maps by the Unicode of its own library, Python by that of its own: the few code points in
which they differ are asked of Spark before the first batch, and travel with the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.ops import Call, NotCompiled, Op, call
from penstock.steps.compiled.tree import Node

ASKED = ((0x80, 0xD800), (0xE000, 0x20000), (0xE0000, 0xE1000))
"""Where code points stand that have a case, or are passed over in looking for one. Between them are ideographs."""
OWN_RULES = {"az", "el", "hy", "lt", "nl", "tr"}
"""Languages in which letters change their case by rules of their own, if they are the JVM's default."""
BETWEEN = "\0"
SIGMA = "Σ"
Lower = Callable[[Iterable[str]], list[str]]


@dataclass(frozen=True)
class Change:
    """A text in the other case."""

    upper: bool
    other: Mapping[str, str]
    """What Spark makes of characters, where Python makes something else."""
    sorts: Mapping[str, str] = field(default_factory=dict)
    """Which sort Spark takes characters for, where Python takes them for another: `sort_of`."""

    def __call__(self, texts: Any) -> Any:
        plain = pc.string_is_ascii(texts)
        quick = pc.ascii_upper if self.upper else pc.ascii_lower
        if pc.all(plain).as_py() is not False:
            return quick(texts)
        strange = np.flatnonzero(~pc.fill_null(plain, True).to_numpy(zero_copy_only=False))
        made = pa.array([self.one(text) for text in texts.take(pa.array(strange)).to_pylist()], pa.string())
        mask = np.zeros(len(texts), dtype=np.bool_)
        mask[strange] = True
        return pc.replace_with_mask(quick(texts), pa.array(mask), made)

    def one(self, text: str) -> str:
        if not self.upper and SIGMA in text:
            return "".join(self._sigma(text, at) if one == SIGMA else self._each(one) for at, one in enumerate(text))
        if any(one in self.other for one in text):
            return "".join(map(self._each, text))
        return text.upper() if self.upper else text.lower()

    def _each(self, one: str) -> str:
        return self.other.get(one) or (one.upper() if self.upper else one.lower())

    def _sigma(self, text: str, at: int) -> str:
        """At the end of a word it is another letter: behind one with a case, and in front of none."""
        ends = self._meets_a_letter(reversed(text[:at])) and not self._meets_a_letter(text[at + 1 :])
        return "ς" if ends else "σ"

    def _meets_a_letter(self, characters: Iterable[str]) -> bool:
        for one in characters:
            sort = self.sorts.get(one) or sort_of(one)
            if sort != "passed over":
                return sort == "cased"
        return False


@lru_cache(4096)
def sort_of(one: str) -> str:
    """`cased`, `passed over` in looking for a letter with a case, or `plain`: as Python takes it."""
    [sort] = _sorts([one], _by_python)
    return sort


def _by_python(texts: Iterable[str]) -> list[str]:
    return [text.lower() for text in texts]


def _sorts(every: Sequence[str], lower: Lower) -> list[str]:
    """The sort of each character, as it shows in what becomes of a sigma in front of it."""
    cased = lower([f"a{SIGMA}{one}" for one in every])
    reached = lower([f"a{SIGMA}{one}a" for one in every])
    return [
        "cased" if at_end[1] == "σ" else "passed over" if inside[1] == "σ" else "plain"
        for at_end, inside in zip(cased, reached, strict=True)
    ]


def _change(node: Node, given: Sequence[Op]) -> Op:
    if given[0].type != pa.string():
        raise NotCompiled("the case of something that is no text")
    [value] = given
    if isinstance(value, Call) and isinstance(value.kernel, Change):
        given = value.arguments  # the optimizer leaves out the inner one, which may have changed more than the case
    return call(pa.string(), asked_of_spark(node.kind == "Upper"), given)


@cache
def asked_of_spark(upper: bool) -> Change:
    """The change as Spark makes it. A second of work, once."""
    from pyspark.sql import SparkSession

    session: Any = SparkSession.active()
    if session._jvm.java.util.Locale.getDefault().getLanguage() in OWN_RULES:
        raise NotCompiled("the case of letters, in a language with rules of its own")
    every = [chr(code) for first, end in ASKED for code in range(first, end)]
    change = str.upper if upper else str.lower
    other = {one: made for one, made in zip(every, by_spark(every, upper), strict=True) if change(one) != made}
    if upper:
        return Change(upper, other)
    sorts = zip(every, _sorts(every, _by_python), _sorts(every, partial(by_spark, upper=False)), strict=True)
    return Change(upper, other, {one: theirs for one, ours, theirs in sorts if ours != theirs})


def by_spark(texts: Iterable[str], upper: bool) -> list[str]:
    """What Spark makes of the texts: worked out in the driver, without a job."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    text = F.lit(BETWEEN.join(texts))
    frame: Any = SparkSession.active().range(0).select(F.upper(text) if upper else F.lower(text))
    made = frame._jdf.queryExecution().analyzed().expressions().head().children().head().eval(None)
    return str(made.toString()).split(BETWEEN)


RULES = {"Upper": _change, "Lower": _change}
