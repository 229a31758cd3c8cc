"""What the ledger itself tells an audit: edited outcomes, skipped ranges, batches that are gone, and `--since`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.files import here
from penstock.ledger import shelf
from penstock.operate.audit import Verdict, audit
from penstock.operate.audit.walk import WrongCall
from penstock.operate.generation import new_generation
from penstock.ranges import Range, digest_of
from penstock.spec import to_yaml
from penstock.testing.handmade import HandMade


@pytest.fixture
def case(tmp_path: Path) -> HandMade:
    made = HandMade(tmp_path)
    for records in ("wwww", "wrw", "ww"):
        made.write(records)
    return made


def worst(verdict: Verdict) -> str:
    return verdict.of(verdict.verdict)[0].what


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.update(read=2), "it read 2 records, and its partitions saw 3"),
        (lambda body: body["tally"]["partitions"][0]["written"].update(lake=1), "3 records read, 2 accounted for"),
        (lambda body: body["receipts"]["lake"].update(rows=1), "its receipt of lake says 1 rows, its counts say 2"),
        (lambda body: body["totals"].update(seen=70), "its totals are not those of the batch before it and its own"),
        (lambda body: body.update(digest="0" * 64), "its outcome names other ranges than its intent"),
        (lambda body: body["ranges"][0].update(start=5), "its outcome names other ranges than its intent"),
        (lambda body: body.pop("tally"), "its outcome cannot be read (KeyError: 'tally')"),
    ],
)
def test_an_outcome_edited_by_hand_proves_nothing(
    case: HandMade, deep: bool, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    edit(case.outcome_file(1), change)
    found = audit(case.pipeline, deep=deep)
    assert (found.verdict, found.exit_code) == ("unproven", 3)
    assert "batch 1: the ledger does not agree with itself" in worst(found)
    assert words in worst(found)


def test_an_outcome_edited_with_care_still_differs_from_its_commit(case: HandMade) -> None:
    def one_row_less(body: dict[str, Any]) -> None:
        for fates in (body["tally"]["partitions"][0], body["totals"]):
            for counts in (fates["written"], fates["rows"]):
                counts["lake"] -= 1
            fates["dropped"]["quietly"] = 1
        body["receipts"]["lake"]["rows"] -= 1

    edit(case.outcome_file(1), one_row_less)
    edit(case.outcome_file(2), lambda body: one_row_less({**body, "tally": {"partitions": [body["totals"]]}}))
    quick, deep = audit(case.pipeline), audit(case.pipeline, deep=True)
    assert quick.verdict == "unproven"
    assert any("version 2 says 2 rows, the ledger 1: one of them was edited" in f.what for f in quick.findings)
    assert deep.verdict == "doubled", "the table has a record more than the ledger says"


def test_a_cut_file_is_told(case: HandMade) -> None:
    case.outcome_file(1).write_text('{"batch_id": 1,')
    found = audit(case.pipeline)
    assert found.verdict == "unproven"
    assert "its outcome cannot be read" in worst(found)


def test_an_outcome_that_is_gone_is_told(case: HandMade) -> None:
    case.outcome_file(1).unlink()
    for found in (audit(case.pipeline), audit(case.pipeline, deep=True)):
        assert found.verdict == "unproven"
        assert "batch 1 has no outcome in the ledger, though later batches have" in worst(found)


def test_a_batch_of_which_only_the_table_tells_is_told(case: HandMade) -> None:
    case.outcome_file(1).unlink()
    (here(case.ledger.folder) / "intents" / "1.json").unlink()
    found = audit(case.pipeline)
    assert found.verdict == "unproven"
    assert any("a table holds its commit, but the ledger has neither" in f.what for f in found.findings)
    assert found.sinks["lake"].holes == []


def test_a_range_that_no_batch_read_is_a_hole(case: HandMade) -> None:
    case.at["t", 0] += 5
    case.write("ww")
    for found in (audit(case.pipeline), audit(case.pipeline, deep=True)):
        assert (found.verdict, found.lost, found.exit_code) == ("lost", 5, 1)
        assert "t-0 9 to 13 was never read: batch 3 begins behind it" in worst(found)
        [hole] = found.sinks["lake"].holes
        assert (hole.topic, hole.partition, hole.start, hole.end) == ("t", 0, 9, 14)


def test_a_range_that_two_batches_read_is_an_overlap(case: HandMade) -> None:
    case.at["t", 0] -= 1
    case.write("ww")
    quick, deep = audit(case.pipeline), audit(case.pipeline, deep=True)
    assert (quick.verdict, quick.doubled) == ("doubled", 1)
    assert "t-0 8 to 8 was read before, and again by batch 3" in worst(quick)
    assert (deep.verdict, deep.doubled) == ("doubled", 1)
    assert deep.of("doubled")[0].examples == ("t-0-8",)


def test_a_skipped_range_is_found_where_ledger_and_commits_agree_on_it(case: HandMade) -> None:
    """As a pipeline with a fault would leave it: intent, outcome and commit all say 5 instead of 4."""
    digest = digest_of("p", 1, 1, (Range("t", 0, 5, 7),), case.ledger.id)

    def skip(body: dict[str, Any]) -> None:
        body["ranges"][0]["start"], body["digest"] = 5, digest

    edit(here(case.ledger.folder) / "intents" / "1.json", skip)
    edit(case.outcome_file(1), skip)
    found = audit(case.pipeline)
    assert found.verdict == "lost"
    assert any("t-0 4 to 4 was never read: batch 1 begins behind it" in f.what for f in found.of("lost"))


def test_a_ledger_older_than_its_table_proves_nothing(case: HandMade) -> None:
    for kind in ("intents", "outcomes"):
        (here(case.ledger.folder) / kind / "2.json").unlink()
    found = audit(case.pipeline)
    assert found.verdict == "unproven"
    assert "is batch 2, of which the ledger knows nothing (2 rows)" in worst(found)


def test_a_generation_whose_ledger_is_gone_is_told_once(case: HandMade) -> None:
    new_generation("p", case.state, case.tables(), "last", "run")
    shutil.rmtree(here(case.ledger.folder))
    case.generation, case.batch_id = 2, 0
    case.write("ww")
    found = audit(case.pipeline)
    assert [finding.what for finding in found.findings] == [
        "sink dead_letters: generation 1 left 1 batch (1 row), and its ledger is gone.",
        "sink lake: generation 1 left 3 batches (8 rows), and its ledger is gone.",
    ]
    assert audit(case.pipeline, since="0", deep=True).exact


def test_since_leaves_earlier_batches_out(case: HandMade) -> None:
    edit(case.outcome_file(0), lambda body: body.update(read=9))
    assert audit(case.pipeline).verdict == "unproven"
    for since in ("1", "1 hour"):
        found = audit(case.pipeline, since=since)
        assert found.verdict == ("exact" if since == "1" else "unproven")
    later = audit(case.pipeline, since="2", deep=True)
    assert (later.verdict, later.read, later.batches) == ("exact", 2, 1)
    assert audit(case.pipeline, since="2999-01-01").batches == 0


def test_old_batches_are_read_from_their_archive(case: HandMade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "BLOCK", 2)
    for _ in range(5):
        case.write("w")
    case.ledger.fold()
    assert list(here(case.ledger.folder).glob("outcomes-*.jsonl.gz"))
    for deep in (False, True):
        found = audit(case.pipeline, deep=deep)
        assert (found.verdict, found.batches, found.read) == ("exact", 8, 14)


def test_a_pipeline_that_never_ran_is_unproven(tmp_path: Path) -> None:
    case = HandMade(tmp_path)
    (here(case.ledger.folder) / "generation.json").unlink()
    found = audit(case.pipeline)
    assert (found.verdict, found.exit_code) == ("unproven", 3)
    assert "there is no ledger in" in worst(found)


@pytest.mark.parametrize(
    ("wrong", "words"), [({"sink": "lakes"}, "Its sinks: lake"), ({"since": "yesterday"}, "Write it like  912")]
)
def test_a_wrong_call_is_told(case: HandMade, wrong: dict[str, str], words: str) -> None:
    with pytest.raises(WrongCall, match=words) as raised:
        audit(case.pipeline, **wrong)  # type: ignore[arg-type]
    assert raised.value.exit_code == 2


def test_the_command_line_prints_a_table_a_sentence_and_json(case: HandMade) -> None:
    file = case.folder / "p.yaml"
    file.write_text(to_yaml(case.pipeline))
    done = command(file)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["sink", "read", "written", "not", "routed", "rejected", "dropped", "lost", "doubled"]
    assert lines[2].split() == ["lake", "9", "8", "0", "1", "0", "0", "0"]
    assert "exact: 9 records read, 0 lost, 0 doubled" in lines
    assert lines[-1].endswith(f"penstock audit {file} --deep")
    case.outcome_file(1).unlink()
    told = json.loads(command(file, "--json", "--deep").stdout)
    assert told["verdict"] == "unproven"
    assert {"read", "written", "rejected", "dropped", "lost", "doubled"} <= told.keys()
    assert {"not_routed", "holes", "overlaps", "lost", "doubled", "read"} <= told["sinks"]["lake"].keys()
    assert command(file).returncode == 3
    assert command(file, "--sink", "nope").returncode == 2


def test_the_keys_of_the_json_are_those_of_the_page(case: HandMade) -> None:
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    table = page.read_text(encoding="utf-8").partition("## JSON")[2].partition("\n\n`holes`")[0]
    listed = [key for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(audit(case.pipeline).to_json())


def command(file: Path, *more: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "penstock", "audit", str(file), *more]
    return subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
