"""penstock top: how many pipelines stand, from their states alone, drawn again every two seconds."""

from __future__ import annotations

import json as json_text
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Env, Set, load

if TYPE_CHECKING:
    from penstock.operate.panorama import Panorama
    from penstock.operate.standings import Subject

PLAIN_COLUMNS = 120
"""How wide the table is where no terminal says."""


def top(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Pipeline files. Without any, and without --state: those of this folder.",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Besides: a pipeline's state folder, or a folder of such folders. Repeatable.",
            show_default=False,
        ),
    ] = None,
    env: Env = None,
    sets: Set = None,
    every: Annotated[str, typer.Option(metavar="SECONDS", help="How often to look.")] = "2s",
    once: Annotated[bool, typer.Option("--once", help="Look once, print it, and end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON: one object a look, on one line.")] = False,
) -> None:
    """Watch one or many pipelines, running or dead, by what they left in their states. Asks no broker.

    In a terminal: j and k (or the arrows) choose one, Enter opens it, ? helps, q ends. In a pipe it prints a table at
    every look.
    """
    seconds = _seconds(every)
    subjects = _subjects(files or [], state or [], env, sets)

    from penstock.operate.panorama import Panorama

    panorama = Panorama(subjects)
    try:
        if once or json or not _drawable():
            _print(panorama, seconds, once=once, json=json)
        else:
            from penstock.cli.top.screen import watch

            watch(panorama, seconds)
    except KeyboardInterrupt:
        return


def _print(panorama: Panorama, seconds: float, *, once: bool, json: bool) -> None:
    """Again and again, or once; a reader who went away ends it."""
    from penstock.cli.top.table import as_json, as_lines

    while True:
        found = panorama.look()
        try:
            print(json_text.dumps(as_json(found)) if json else "\n".join(as_lines(found, _columns())), flush=True)
            if not once and not json:
                print(flush=True)
        except BrokenPipeError:
            sys.stdout = None  # nobody is left who could be told
            return
        if once:
            return
        time.sleep(seconds)


def _drawable() -> bool:
    from penstock.observe.live.terminal import suits

    return suits(sys.stdout) and sys.stdin.isatty()


def _columns() -> int:
    from penstock.observe.live.terminal import size_of

    return size_of(sys.stdout).width if sys.stdout.isatty() else PLAIN_COLUMNS


def _seconds(text: str) -> float:
    """`2`, `2s`, `0.5 s`."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:s|seconds?)?\s*", text)
    if match is None or float(match[1]) < 0.1:
        raise typer.BadParameter("needs seconds, at least 0.1: --every 2s", param_hint="--every")
    return float(match[1])


def _subjects(given: list[Path], states: list[Path], env: str | None, sets: list[str] | None) -> list[Subject]:
    from penstock.operate.standings import Subject

    named = given or ([] if states else list(_here()))
    found = [Subject.of(load(file, env, sets), str(file)) for file in named]
    found += [subject for folder in states for subject in _in(folder)]
    if not found:
        raise typer.BadParameter(
            "needs pipeline files, or --state DIR: there is no pipeline file in this folder.", param_hint="FILE"
        )
    return list({subject.state.absolute(): subject for subject in reversed(found)}.values())[::-1]


def _here() -> Iterator[Path]:
    """The pipeline files of this folder; other YAML is left alone."""
    for path in sorted([*Path().glob("*.yaml"), *Path().glob("*.yml")]):
        if re.search(r"^pipeline\s*:", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
            yield path


def _in(folder: Path) -> list[Subject]:
    from penstock.operate.panorama import named, states_in

    found = [named(state) for state in states_in(folder)]
    if not found:
        raise typer.BadParameter(f"{folder} is no state of a pipeline, and holds none.", param_hint="--state")
    return found
