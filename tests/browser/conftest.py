"""One real Chromium for all browser tests; a page of its own for each, which fails on any console error or dialog."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from penstock.testing.dashboard import Dashboard, dashboard
from penstock.testing.kept_state import KeptState

HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>"
ALERT = {
    "alert": "lag_growing",
    "text": "more comes than is read: 41,000 rows behind",
    "since": 1_794_000_000.0,
    "cause": "The pipeline is slower than its producers.",
    "next_step": "See where the time goes:  penstock lag orders.yaml",
}


@dataclass
class Seen:
    """What a page must never show: errors in its console, dialogs, requests to elsewhere."""

    wrong: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of texts that this test brings about itself."""

    def watch(self, page: Page) -> None:
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: None if "://127.0.0.1:" in asked.url else self.wrong.append(asked.url))

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def left(self) -> list[str]:
        return [text for text in self.wrong if not any(part in text for part in self.expected)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("PENSTOCK_BROWSER") or shutil.which("chromium")
    assert path, "no browser: run  make browser"
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        made = playwright.chromium.launch(executable_path=path, args=flags)
        yield made
        made.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1360, "height": 900}, reduced_motion="reduce")
    made.set_default_timeout(30_000)
    yield made
    made.close()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def page(context: BrowserContext, seen: Seen) -> Iterator[Page]:
    """A page; when the test is over, nothing may have gone wrong in it."""
    made = context.new_page()
    seen.watch(made)
    yield made
    assert seen.left() == []


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """States as they are in life: a thousand batches, 50 topics x 12 partitions, failed, dead, hostile."""
    folder = tmp_path_factory.mktemp("states")
    orders = KeptState(folder, batches=1000, alerts=(ALERT,), ranges_of=6).write()
    orders.dead_letters([b'{"order_id": 17}', b"\xff\x00\x01\x02", None, b'{"amount": "many"}', b"[1, 2"])
    topics = [f"events.{place:02}" for place in range(50)]
    KeptState(folder, "clickstream", topics, partitions=12, batches=12, behind=400_000, ranges_of=24).write()
    error = (
        "billing, batch 40: the disk is full.\n  Nothing was written.\n  Make room, then:  penstock run billing.yaml"
    )
    KeptState(
        folder, "billing", ["invoices"], batches=40, ended="failed", error=error, until=time.time() - 3600
    ).write()
    KeptState(folder, "payments", ["payments"], batches=40, until=time.time() - 7200).write()
    topics = [HOSTILE, "</script><script>alert(3)</script>"]
    hostile = KeptState(folder, HOSTILE, topics, batches=3, codes={HOSTILE: 5}, place="hostile")
    hostile.error, hostile.ended = HOSTILE, "failed"
    hostile.write()
    hostile.dead_letters([HOSTILE.encode(), b"<svg onload=alert(4)>"], detail=HOSTILE)
    return folder / "state"


@pytest.fixture(scope="session")
def board(states: Path) -> Iterator[Dashboard]:
    """The dashboard over them; `orders` and `clickstream` run, as far as anybody can tell."""
    from penstock.ledger.lease import lease

    with (
        dashboard([states]) as made,
        lease(states / "orders" / "lease", "orders", "4f1c22a90b7d"),
        lease(states / "clickstream" / "lease", "clickstream", "4f1c22a90b7d"),
    ):
        yield made
