"""Python steps over Arrow batches: what a user's function may do, and what becomes of each record."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StepRefused
from penstock.rows import SOURCE, Rows, Verdict
from penstock.steps.functions import find, takes
from penstock.steps.learn import columns_given
from penstock.steps.python import PythonStep

ID = pa.schema([pa.field("id", pa.int64())])


def rows_of(ids: list[int | None], verdicts: dict[int, str] | None = None, first: int = 100) -> Rows:
    """One row for each id; those with a verdict are out."""
    source = [
        {"value": b"v", "topic": "t", "partition": 0, "offset": first + n, "timestamp": 0} for n in range(len(ids))
    ]
    outs = tuple(Verdict(row, code) for row, code in (verdicts or {}).items())
    return Rows(pa.RecordBatch.from_pylist(source, SOURCE), pa.RecordBatch.from_pydict({"id": ids}, ID), outs)


def step(folder: Path, body: str, module: str = "own") -> PythonStep:
    """The step whose function is `body`, learned on zero rows."""
    (folder / f"{module}.py").write_text(
        "import pyarrow as pa\nimport pyarrow.compute as pc\n\n\ndef f(rows: pa.RecordBatch) -> pa.RecordBatch:\n"
        + textwrap.indent(textwrap.dedent(body), "    ")
    )
    find.cache_clear()
    columns = columns_given(f"{module}:f", str(folder), ID, "s")
    return PythonStep("s", f"{module}:f", str(folder), columns)


def fates(rows: Rows) -> dict[int, Any]:
    """Offset -> the ids it became, or the verdict's code."""
    found: dict[int, Any] = {}
    outs = {verdict.row: verdict for verdict in rows.verdicts}
    for row, (offset, id_) in enumerate(
        zip(rows.source["offset"].to_pylist(), rows.data["id"].to_pylist(), strict=True)
    ):
        if row in outs:
            assert offset not in found
            found[offset] = ("dropped " if outs[row].drop else "") + outs[row].code
        else:
            found.setdefault(offset, []).append(id_)
    return found


def test_rows_that_are_out_never_meet_the_function(tmp_path: Path) -> None:
    made = step(tmp_path, "assert None not in rows['id'].to_pylist()\nreturn rows")
    assert fates(made.over(rows_of([1, None, 3], {1: "wrong_type"}))) == {100: [1], 101: "wrong_type", 102: [3]}


def test_a_batch_of_rejects_passes_by(tmp_path: Path) -> None:
    made = step(tmp_path, "assert rows.num_rows == 0\nreturn rows")
    assert fates(made.over(rows_of([None], {0: "empty"}))) == {100: "empty"}


def test_a_record_on_which_it_raises_is_found_and_the_rest_goes_on(tmp_path: Path) -> None:
    made = step(tmp_path, "if 13 in rows['id'].to_pylist():\n    raise ValueError('unlucky')\nreturn rows")
    found = made.over(rows_of([1, 13, 3, 4, 13, 6]))
    assert fates(found) == {
        100: [1], 101: "step_failed", 102: [3], 103: [4], 104: "step_failed", 105: [6],
    }  # fmt: skip
    assert {verdict.detail for verdict in found.verdicts} == {"ValueError: unlucky"}
    assert {verdict.stage for verdict in found.verdicts} == {"step:s"}


def test_a_function_that_ends_the_process_harms_one_record(tmp_path: Path) -> None:
    made = step(tmp_path, "if 13 in rows['id'].to_pylist():\n    raise SystemExit(1)\nreturn rows")
    assert fates(made.over(rows_of([13, 2]))) == {100: "step_failed", 101: [2]}


def test_rows_it_leaves_out_are_dropped_and_rows_it_repeats_stay_one_record(tmp_path: Path) -> None:
    made = step(
        tmp_path,
        """
        places = [n for n, i in enumerate(rows['id'].to_pylist()) for _ in range(i)]
        return rows.take(pa.array(places, pa.int64()))
        """,
    )
    found = made.over(rows_of([2, 0, 1]))
    assert fates(found) == {100: [2, 2], 101: "dropped s", 102: [1]}
    assert found.records is not None
    assert found.records.tolist() == [0, 0, 1, 2]
    assert found.count() == 3


def test_rows_in_another_order_find_their_records(tmp_path: Path) -> None:
    made = step(tmp_path, "return rows.take(pa.array(list(reversed(range(rows.num_rows))), pa.int64()))")
    assert fates(made.over(rows_of([1, 2, 3]))) == {100: [1], 101: [2], 102: [3]}


def in_partitions(rows: Rows, partitions: list[int], offsets: list[int]) -> Rows:
    """The same rows at these places."""
    source = rows.source
    for name, values in (("partition", partitions), ("offset", offsets)):
        field = SOURCE.field(name)
        source = source.set_column(SOURCE.get_field_index(name), field, pa.array(values, field.type))
    return Rows(source, rows.data, rows.verdicts)


def test_records_of_two_partitions_with_the_same_offset_are_told_apart(tmp_path: Path) -> None:
    body = """
        ids = rows['id'].to_pylist()
        if 13 in ids:
            raise ValueError('unlucky')
        places = [n for n, i in enumerate(ids) for _ in range(i)]
        return rows.take(pa.array(list(reversed(places)), pa.int64()))
    """
    given_rows = in_partitions(rows_of([1, 13, 0, 2, 0, 1]), [0, 0, 0, 1, 1, 1], [7, 8, 9, 7, 8, 9])
    found = step(tmp_path, body).over(given_rows)
    told = zip(found.source["partition"].to_pylist(), found.source["offset"].to_pylist(), strict=True)
    codes = {verdict.row: verdict.code for verdict in found.verdicts}
    assert [(part, offset, codes.get(row, "kept")) for row, (part, offset) in enumerate(told)] == [
        (0, 7, "kept"), (0, 8, "step_failed"), (0, 9, "s"), (1, 7, "kept"), (1, 7, "kept"), (1, 8, "s"), (1, 9, "kept"),
    ]  # fmt: skip
    assert found.records is not None
    assert found.records.tolist() == [0, 1, 2, 3, 3, 4, 5]


def test_a_value_that_does_not_fit_the_learned_type_is_that_records_matter(tmp_path: Path) -> None:
    made = step(
        tmp_path,
        """
        if rows.num_rows == 0:
            return rows
        texts = pa.array(['x' if i == 13 else str(i) for i in rows['id'].to_pylist()])
        return rows.set_column(0, 'id', texts)
        """,
    )
    assert fates(made.over(rows_of([1, 13]))) == {100: [1], 101: "step_failed"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return rows.drop_columns(['_offset'])", "without _offset"),
        ("return rows['id']", "not a pyarrow.RecordBatch"),
        ("return rows.append_column('_mine', rows['id'])", "begin with `_` are penstock's own"),
        ("raise KeyError('x')", "called on zero rows"),
    ],
)
def test_what_breaks_the_contract_on_zero_rows_is_refused_at_the_start(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(StepRefused) as caught:
        step(tmp_path, body)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("rows.drop_columns(['_offset'])", "without _offset"),
        ("rows.drop_columns(['id'])", "without id"),
        ("rows.append_column('more', rows['id'])", "gave more, which it did not give"),
        ("None", "a NoneType, not a pyarrow.RecordBatch"),
        ("rows.set_column(rows.schema.get_field_index('_offset'), '_offset', pc.add(rows['_offset'], 1))", "not given"),
        (
            "rows.set_column(rows.schema.get_field_index('_partition'), '_partition', pc.add(rows['_partition'], 1))",
            "a row of t-1, of which it was given none",
        ),
    ],
)
def test_what_breaks_the_contract_later_stops_the_batch(tmp_path: Path, change: str, words: str) -> None:
    made = step(tmp_path, f"return {change} if rows.num_rows else rows")
    with pytest.raises(StepRefused) as caught:
        made.over(rows_of([1, 2]))
    assert words in str(caught.value)
    assert "Nothing of this batch is visible." in str(caught.value)


def test_the_annotation_says_what_a_function_takes(tmp_path: Path) -> None:
    (tmp_path / "kinds.py").write_text(
        "from __future__ import annotations\nimport pyarrow\nfrom pyspark.sql import DataFrame\n"
        "def a(rows: pyarrow.RecordBatch): ...\ndef b(rows: DataFrame): ...\ndef c(rows): ...\ndef d(): ...\n"
        "def e(rows: int): ...\n"
    )
    assert takes("kinds:a", str(tmp_path)) == "arrow"
    assert takes("kinds:b", str(tmp_path)) == "spark"
    for name in "cde":
        with pytest.raises(StepRefused, match="first parameter"):
            takes(f"kinds:{name}", str(tmp_path))
    with pytest.raises(StepRefused, match="has no function"):
        takes("kinds:nothing", str(tmp_path))


def test_two_pipelines_with_a_module_of_the_same_name_each_get_their_own(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "steps_of_mine.py").write_text(f"def where(rows): return {folder.name!r}\n")
    assert find("steps_of_mine:where", str(one))(None) == "one"
    assert find("steps_of_mine:where", str(other))(None) == "other"
    assert find("steps_of_mine:where", str(one))(None) == "one"


@settings(deadline=None, max_examples=150)
@given(
    plan=st.lists(st.sampled_from(["keep", "drop", "twice", "raise", "out"]), min_size=1, max_size=30),
    upside_down=st.booleans(),
)
def test_every_record_has_one_fate_whatever_the_function_does(
    tmp_path_factory: pytest.TempPathFactory, plan: list[str], upside_down: bool
) -> None:
    codes = {"keep": 1, "drop": 2, "twice": 3, "raise": 4, "out": 5}
    made = _step_of_fates(tmp_path_factory)
    ids: list[int | None] = [codes[what] if what != "out" else None for what in plan]
    rows = rows_of(ids, {row: "empty" for row, what in enumerate(plan) if what == "out"})
    if upside_down:
        offsets = pa.array(list(reversed(rows.source["offset"].to_pylist())))
        rows = Rows(rows.source.set_column(SOURCE.get_field_index("offset"), SOURCE.field("offset"), offsets),
                    rows.data, rows.verdicts)  # fmt: skip
    found = made.over(rows)
    wanted = {"keep": [1], "drop": "dropped s", "twice": [3, 3], "raise": "step_failed", "out": "empty"}
    order = rows.source["offset"].to_pylist()
    assert fates(found) == {order[row]: wanted[what] for row, what in enumerate(plan)}
    assert found.count() == len(plan)
    assert found.records is None or bool(np.all(np.diff(found.records) >= 0))


_made: list[PythonStep] = []


def _step_of_fates(factory: pytest.TempPathFactory) -> PythonStep:
    if not _made:
        body = """
            ids = rows['id'].to_pylist()
            if 4 in ids:
                raise RuntimeError('four')
            places = [n for n, i in enumerate(ids) for _ in range({1: 1, 2: 0, 3: 2}[i])]
            return rows.take(pa.array(list(reversed(places)), pa.int64()))
        """
        _made.append(step(factory.mktemp("fates"), body, "fates_of_mine"))
    return _made[0]
