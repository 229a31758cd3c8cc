"""upper and lower. Spark maps by the Unicode of its own library, Python by that of its own: the few code points in
which they differ are asked of Spark before the first batch, and travel with the expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.ops import NotCompiled, Op, call
from penstock.steps.compiled.tree import Node

CASED = (
    (0x80, 0x3000), (0xA000, 0xAC00), (0xF900, 0x10000), (0x10000, 0x11000), (0x11800, 0x12000), (0x16E00, 0x17000),
    (0x1D000, 0x1F200),
)  # fmt: skip
"""Where code points with a case stand, with room for those to come."""
OWN_RULES = {"az", "el", "hy", "lt", "nl", "tr"}
"""Languages in which letters change their case by rules of their own, if they are the JVM's default."""
BETWEEN = "\0"


@dataclass(frozen=True)
class Change:
    """A text in the other case."""

    upper: bool
    other: Mapping[str, str]
    """What Spark makes of characters, where Python makes something else."""

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
        if self.other and any(character in self.other for character in text):
            return "".join(self.other.get(character) or self.one(character) for character in text)
        return text.upper() if self.upper else text.lower()


def _change(node: Node, given: Sequence[Op]) -> Op:
    if given[0].type != pa.string():
        raise NotCompiled("the case of something that is no text")
    return call(pa.string(), Change(node.kind == "Upper", differences(node.kind)), given)


@cache
def differences(kind: str) -> Mapping[str, str]:
    """Characters that Spark's upper (or lower) maps otherwise than Python."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    session: Any = SparkSession.active()
    if session._jvm.java.util.Locale.getDefault().getLanguage() in OWN_RULES:
        raise NotCompiled("the case of letters, in a language with rules of its own")
    every = [chr(code) for first, end in CASED for code in range(first, end) if not 0xD800 <= code < 0xE000]
    text = F.lit(BETWEEN.join(every))
    frame = session.range(0).select(F.upper(text) if kind == "Upper" else F.lower(text))
    made = frame._jdf.queryExecution().analyzed().expressions().head().children().head().eval(None).toString()
    ours = str.upper if kind == "Upper" else str.lower
    return {one: other for one, other in zip(every, made.split(BETWEEN), strict=True) if ours(one) != other}


RULES = {"Upper": _change, "Lower": _change}
