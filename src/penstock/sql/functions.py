"""The functions that Spark knows, each with its sort, and those that no expression of a pipeline may call."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files

SORTS = ("scalar", "aggregate", "window", "generator", "table")
GRAMMAR = {"try_cast": "scalar", "timestampadd": "scalar", "timestampdiff": "scalar"}
"""Calls that Spark's grammar knows and its list of functions does not."""
GENERATORS = {
    "explode": ("col",), "explode_outer": ("col",), "posexplode": ("pos", "col"), "posexplode_outer": ("pos", "col"),
    "inline": None, "inline_outer": None,
}  # fmt: skip
"""Generators that a `sql` step may use -> the names Spark gives their columns."""
WITHOUT_BRACKETS = {
    "current_catalog", "current_database", "current_date", "current_path", "current_schema", "current_time",
    "current_timestamp", "current_user", "localtimestamp", "session_user", "user",
}  # fmt: skip
"""Functions that Spark also takes without brackets, where there is no column of that name."""

_CODE = "it runs code outside the row"
_FILES = "it reads a file of the machine it runs on"
_SCAN = "the rows come from Kafka, not from files"
_NUMBER = "its numbers are of Spark's partitions, and another try gives others"
_WINDOW = "it may turn a record into several rows, or needs an aggregate"
FORBIDDEN = {
    "reflect": (_CODE, ""), "java_method": (_CODE, ""), "try_reflect": (_CODE, ""),
    "from_protobuf": (_FILES, ""), "to_protobuf": (_FILES, ""),
    "input_file_name": (_SCAN, "Where a record came from is in  _topic, _partition, _offset"),
    "input_file_block_start": (_SCAN, "Where a record came from is in  _topic, _partition, _offset"),
    "input_file_block_length": (_SCAN, "Where a record came from is in  _topic, _partition, _offset"),
    "monotonically_increasing_id": (_NUMBER, "A record is told apart by  _topic, _partition, _offset"),
    "spark_partition_id": (_NUMBER, "The partition of the topic is  _partition"),
    "window": (_WINDOW, "The beginning of a record's window is  time_bucket(INTERVAL '10' MINUTE, at)"),
    "window_time": (_WINDOW, ""), "session_window": (_WINDOW, ""),
    "identifier": ("a name that is computed cannot be checked", "Write the name itself."),
}  # fmt: skip
"""Function -> why it is refused, and what to write instead."""
INSTEAD = {
    "max": "The largest of several values is  greatest(a, b)", "min": "The smallest of several values is  least(a, b)",
    "sum": "The sum over an array is  aggregate(xs, 0, (total, x) -> total + x)",
    "count": "The length of an array is  size(xs)", "first": "The first of an array is  xs[0]",
    "any": "Over an array:  exists(xs, x -> ...)", "some": "Over an array:  exists(xs, x -> ...)",
    "every": "Over an array:  forall(xs, x -> ...)", "json_tuple": "Take  get_json_object(text, '$.a') AS a",
    "stack": "Make an array of structs, and use  inline(array(named_struct(...), ...))",
}  # fmt: skip
"""What to write instead of a function that is of the wrong sort."""


@cache
def sorts() -> dict[str, str]:
    """Every function of Spark's -> scalar, aggregate, window, generator or table."""
    known, sort = dict(GRAMMAR), ""
    for line in files("penstock.sql").joinpath("spark_functions.txt").read_text(encoding="utf-8").splitlines():
        if line in SORTS:
            sort = line
        elif not line.startswith("#"):
            known.update(dict.fromkeys(line.split(), sort))
    return known


def nearest(name: str) -> str:
    """The function that was probably meant, or nothing."""
    usable = [each for each, sort in sorts().items() if sort in ("scalar", "generator") and each not in FORBIDDEN]
    close = difflib.get_close_matches(name[:60], usable, n=1, cutoff=0.7)
    return close[0] if close else ""
