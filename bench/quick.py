"""The main job in five minutes, the tutorial against penstock:  python -m bench.quick [--events N] [VARIANT ...]

Both drain the same topic, each in a warm process of its own, in turns and in changing order; the first rounds are
dropped. What counts is the CPU of the process tree; start-up is left out; every round's tables are counted by DuckDB.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.peers_environment import environments
from bench.roster import QUICK, ROSTER
from bench.run import BASES, Bench, figures, wrong
from bench.table import markdown


def main() -> int:
    asked = _arguments()
    variants = asked.variants or QUICK
    peers = environments(variants)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        bench = Bench(asked.events, asked.batch_rows, folder, stack, peers)
        bench.rounds(variants, asked.rounds, asked.warm)
    told = figures(bench.drains, bench.truth)
    print(f"\n{markdown(told, BASES)}")
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2) + "\n")
    for each in wrong(bench.drains):
        print(f"WRONG COUNT  {each}", file=sys.stderr)
    return 1 if wrong(bench.drains) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quick", description="The main job: the tutorial and penstock."
    )
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the topic (default: a million)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default: 3)")
    parser.add_argument("--warm", type=int, default=2, help="rounds dropped on a JVM (default: 2)")
    parser.add_argument("--batch-rows", type=int, default=250_000, help="most rows of a batch (default: 250,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "variants",
        nargs="*",
        choices=[*(name for name, each in ROSTER.items() if each.group not in ("registry", "seeing")), []],
        default=[],
        help="default: T S P",
    )
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
