"""Which JSON decoder a test runs on: the one in Python, the native one, or each in turn.

A test of the native decoder is skipped in one case only: there is no cargo on this machine to build it with, or the
crates that it needs cannot be had.
"""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

import pytest

from penstock.formats.json.native import SWITCH, choice

SCRIPT = Path(__file__).parents[2] / "scripts" / "native.py"


def need_native() -> None:
    """The native decoder is in use from here on; a test that cannot have it fails, or is skipped without a cargo."""
    if choice().module:
        return
    if not buildable():
        pytest.skip("no cargo on this machine, or no crates for it: the native decoder cannot be built")
    pytest.fail(f"the native decoder is not in use ({choice().why}); build it with  make native")


@cache
def buildable() -> bool:
    """Whether this machine has what the native decoder is built with."""
    script = runpy.run_path(str(SCRIPT))
    cargo = script["cargo"]()
    return cargo is not None and bool(script["fetched"](cargo))


@pytest.fixture(params=["python", "native"])
def either_decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs twice: `decode: json` is the decoder in Python, then the native one."""
    if request.param == "python":
        monkeypatch.setenv(SWITCH, "0")
    else:
        monkeypatch.delenv(SWITCH, raising=False)
        need_native()
    return str(request.param)


@pytest.fixture
def native_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    need_native()


@pytest.fixture
def python_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
