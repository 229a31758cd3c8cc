"""The whole benchmark of the main job:  python -m bench.main [--events N] [--rounds N] [--without-peers]

Every peer in its usual form, penstock with and without its native decoder, the same job with checks and a column, and
two limits. Leaves a Markdown table, the figures and a chart in bench/results, named for the version.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.peers_environment import environments
from bench.roster import ROSTER
from bench.run import BASES, Bench, figures, wrong
from bench.table import chart, markdown
from penstock.version import __version__

RESULTS = Path(__file__).resolve().parent / "results"


def main() -> int:
    asked = _arguments()
    taking_part = [name for name, each in ROSTER.items() if not (asked.without_peers and each.peer)]
    peers = environments(taking_part)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        bench = Bench(asked.events, asked.batch_rows, folder, stack, peers)
        for group in ("main", "checks", "limit"):
            bench.rounds([name for name in taking_part if ROSTER[name].group == group], asked.rounds)
    told = figures(bench.drains, bench.truth)
    text = markdown(told, BASES)
    print(f"\n{text}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{__version__}.md").write_text(text + "\n")
    (RESULTS / f"{__version__}.json").write_text(json.dumps(told, indent=2) + "\n")
    (RESULTS / f"{__version__}.svg").write_text(chart(told))
    for each in wrong(bench.drains):
        print(f"WRONG COUNT  {each}", file=sys.stderr)
    return 1 if wrong(bench.drains) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.main", description="The main job, by everybody.")
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the topic (default: a million)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default: 3)")
    parser.add_argument("--batch-rows", type=int, default=250_000, help="most rows of a batch (default: 250,000)")
    parser.add_argument("--without-peers", action="store_true", help="leave out Bytewax, Quix, Pathway and PyFlink")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
