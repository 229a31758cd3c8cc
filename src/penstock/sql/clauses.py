"""Clauses and statements of SQL that a `sql` step does not take: why, and what to do instead."""

from __future__ import annotations

ASK = "Write  SELECT ... FROM rows [WHERE ...]"
ONE = "a `sql` step works on one record at a time"
_LATER = "Do it where you query the table."
_ORDER = (f"{ONE}: it has no order to give.", "Take it out; order where you query the table.")
_SET = (f"{ONE}: it cannot be combined with another query.", "Take it out; every row comes from `rows`.")
_JOIN = (f"{ONE}, of `rows` alone: it cannot join.", "Take it out; join where you query the table.")
_PART = (f"{ONE}: it takes no part of the rows.", "Choose records by their columns:  WHERE amount > 0")

CLAUSES: dict[str, tuple[str, str]] = {
    "GROUP": (f"{ONE}: it cannot group.", "Aggregate where you query the table."),
    "HAVING": (f"{ONE}: it cannot group.", "A condition on a record is  WHERE ..."),
    "DISTINCT": (f"{ONE}: it cannot tell rows apart from earlier ones.", _LATER),
    "WINDOW": (f"{ONE}: it has no windows.", _LATER),
    "QUALIFY": (f"{ONE}: it has no windows.", "A condition on a record is  WHERE ..."),
    "PIVOT": (f"{ONE}: it cannot pivot.", _LATER),
    "UNPIVOT": (f"{ONE}: it cannot unpivot.", "Make an array of structs, and use  inline(...)"),
    "WHERE": ("WHERE stands after FROM and LATERAL VIEW, and once.", "Join the conditions by AND."),
    "FROM": ("FROM stands once.", ASK),
    "|>": ("pipes are not taken here.", ASK),
    **dict.fromkeys(("ORDER", "SORT", "CLUSTER", "DISTRIBUTE"), _ORDER),
    **dict.fromkeys(("LIMIT", "OFFSET", "TABLESAMPLE", "FETCH"), _PART),
    **dict.fromkeys(("UNION", "INTERSECT", "EXCEPT", "MINUS"), _SET),
    **dict.fromkeys(
        ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "ON", "USING", ",", "ASOF"),
        _JOIN,
    ),
    "VERSION": (f"{ONE}, of the batch at hand: it reads no older version.", "Write  FROM rows"),
    "TIMESTAMP": (f"{ONE}, of the batch at hand: it reads no older version.", "Write  FROM rows"),
    "FOR": (f"{ONE}, of the batch at hand: it reads no older version.", "Write  FROM rows"),
}
BEGINNINGS = {
    "WITH": ("a `sql` step is one SELECT: no WITH.", "Put the inner query in a step of its own, before this one."),
    "FROM": ("a `sql` step begins with SELECT.", ASK),
    "(": ("a `sql` step is one SELECT, without brackets around it.", ASK),
    "VALUES": ("the rows come from `rows`, not from VALUES.", ASK),
    "TABLE": ("the rows come from `rows`.", ASK),
    **{
        word: (f"a `sql` step only reads: {word} is refused.", ASK)
        for word in (
            "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE", "SET", "RESET", "ADD", "USE",
            "CACHE", "UNCACHE", "REFRESH", "LOAD", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "ANALYZE", "CALL", "EXECUTE",
            "DECLARE", "BEGIN", "GRANT", "REVOKE", "COMMENT", "MSCK", "REPAIR", "OPTIMIZE", "VACUUM", "MAP", "REDUCE",
        )
    },
}  # fmt: skip
"""First word of a text that is no SELECT -> message and remedy."""


def refusal(word: str) -> tuple[str, str] | None:
    """Message and remedy for a word that begins a clause; None for any other word."""
    return CLAUSES.get(word.partition(" ")[0])
