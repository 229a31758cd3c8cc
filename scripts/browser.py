"""Finds a Chromium for the browser tests and runs them. Called by `make browser`.

In this order: PENSTOCK_BROWSER; a chromium or chrome on the PATH; the one that Playwright downloads; Debian's, by
apt-get, as root. Where none can be had it says so and fails: the tests are never skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge")
NONE = """browser: there is no Chromium on this machine, and none could be fetched.
  The browser tests were not run. Install one, or name it:
    apt-get install chromium
    PENSTOCK_BROWSER=/path/to/chrome make browser"""


def main(arguments: list[str]) -> int:
    for browser in found():
        if starts(browser):
            print(f"browser: {browser}", flush=True)
            command = [sys.executable, "-m", "pytest", str(ROOT / "tests" / "browser"), *arguments]
            environment = {**os.environ, "PENSTOCK_BROWSER": browser}
            return subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode
    print(NONE, file=sys.stderr)
    return 1


def found() -> Iterator[str]:
    """Every browser that may do, the nearest first; what has to be fetched is fetched only when it is asked for."""
    named = os.environ.get("PENSTOCK_BROWSER")
    if named:
        yield named
        return
    yield from filter(None, map(shutil.which, NAMES))
    yield from playwrights()
    say("none on the PATH: Playwright is asked to fetch its own")
    fetch = [sys.executable, "-m", "playwright", "install", "chromium"]
    if done(fetch):
        yield from playwrights()
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("that did not do: apt-get is asked for chromium")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if done(["apt-get", "update"], quiet) and done(["apt-get", "install", "-y", *PACKAGES], quiet):
            yield from filter(None, map(shutil.which, NAMES))
        if done([*fetch, "--with-deps"], quiet):  # where apt's is a mere pointer to a snap
            yield from playwrights()


PACKAGES = ("--no-install-recommends", "chromium")


def playwrights() -> Iterator[str]:
    """The browser that Playwright has downloaded, if it has."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    if Path(path).exists():
        yield path


def starts(browser: str) -> bool:
    """Does it run? A download for another machine, or one that lacks a library, does not."""
    try:
        command = [browser, "--version"]
        return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def done(command: list[str], environment: dict[str, str] | None = None) -> bool:
    try:
        result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"{command[0]}: {error}")
        return False
    if result.returncode:
        say(
            f"{command[0]} ended with {result.returncode}: {(result.stderr or result.stdout).strip().splitlines()[-1:]}"
        )
    return result.returncode == 0


def say(line: str) -> None:
    print(f"browser: {line}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
