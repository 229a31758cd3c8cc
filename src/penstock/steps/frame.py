"""A Spark stage's view of the rows: the user's columns by name, penstock's own beside them, and what is out left alone.

Every stage is one projection that keeps every record: WHERE and `explode` become marks on rows (`__out`), because a
filter would swallow the records that are out already, and nobody could count what it dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OWN = {
    "_timestamp_type": "CASE __timestamp_type WHEN 0 THEN 'CreateTime' WHEN 1 THEN 'LogAppendTime' END",
    "_headers": "transform(from_json(__headers, 'ARRAY<STRUCT<key: STRING, value: STRING>>'), "
    "h -> named_struct('key', h.key, 'value', unbase64(h.value)))",
}
"""Columns that users may read and that are worked out only where somebody does."""
LIVE = "__out IS NULL"


@dataclass(frozen=True)
class Frame:
    """Rows between two stages."""

    rows: DataFrame
    """In the form of `crossing`."""
    columns: tuple[str, ...]
    """The user's columns, in order."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a LATERAL VIEW -> its columns: `t.item` is another name of `item`."""

    def scope(self, alias: str = "rows") -> DataFrame:
        """The rows with everything that an expression may name."""
        from pyspark.sql import functions as F  # noqa: N812

        views = {name: F.struct(*map(column, columns)) for name, columns in self.aliases.items()}
        return self.rows.withColumns({**{name: F.expr(text) for name, text in OWN.items()}, **views}).alias(alias)

    @property
    def carried(self) -> list[str]:
        """What passes every stage: all but the user's columns."""
        return [name for name in self.rows.columns if name not in self.columns]


def quoted(name: str) -> str:
    """The name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def column(*path: str) -> Column:
    """The column, or the field inside it, of exactly these names."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(".".join(quoted(name) for name in path))


def carried(frame: Frame, mark: Column) -> list[Column]:
    """What passes the stage, with the new mark."""
    return [mark.alias(name) if name == "__out" else column(name) for name in frame.carried]


def out(stage: str, code: str, detail: str | None, fate: str = "reject") -> Column:
    """The mark of a row that goes no further."""
    from pyspark.sql import functions as F  # noqa: N812

    parts = {"stage": stage, "code": code, "field": None, "detail": detail, "fate": fate}
    return F.struct(*(F.lit(value).cast("string").alias(name) for name, value in parts.items()))
