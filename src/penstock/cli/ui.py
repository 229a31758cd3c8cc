"""penstock ui: the dashboard in a browser, over one or many pipelines. It only reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Env, Set, load

if TYPE_CHECKING:
    from penstock.ui.shop import Shop

DEFAULT = Path("state")


def ui(
    file: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Pipeline files.")] = None,
    env: Env = None,
    sets: Set = None,
    state: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A state folder, or a folder of them; repeatable. Default, without a file: ./state",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen. Any other than loopback demands a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any port that is free.")] = 0,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="PENSTOCK_UI_TOKEN",
            show_envvar=True,
            help="Demand this token; without it one is made where it is needed.",
            show_default=False,
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Show pipelines in the browser: lag, throughput, batches, dead letters, alerts. Works for dead ones too."""
    from penstock.ui.serve import served

    made = served(_shop(file or [], env, sets, state or []), host, port, token)
    print(f"penstock ui: {made.address}", flush=True)
    print("It only reads. Ctrl-C ends it.", flush=True)
    if open_:
        import webbrowser

        webbrowser.open(made.address)
    made.run()


def _shop(files: list[Path], env: str | None, sets: list[str] | None, folders: list[Path]) -> Shop:
    from penstock.errors import Refused
    from penstock.ui.shop import Shop

    given = folders or ([] if files else [DEFAULT])
    for folder in given:
        if not folder.is_dir():
            raise Refused(
                f"penstock ui: there is no folder {folder}.",
                data="Nothing was started.",
                remedy="Name pipeline files, or folders of states:  penstock ui FILE  or  penstock ui --state DIR",
            )
    return Shop([(file, load(file, env, sets)) for file in files], [folder.resolve() for folder in given])
