"""A real pipeline in a process of its own, seen on the page while it runs and after it was killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from penstock.spec import load_pipeline
from penstock.testing.dashboard import dashboard
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, produce, up


@pytest.fixture
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevKafka]:
    broker = up(tmp_path_factory.mktemp("kafka"), child=True)
    yield broker
    broker.stop()


def values(start: int, end: int) -> list[bytes]:
    return [b'{"id": %d}' % number for number in range(start, end)]


def shown_read(page: Page) -> int:
    """How many records the flow says were read; 0 before there is a flow."""
    found = page.locator(".stage b").first
    return int(found.inner_text().replace(",", "")) if found.count() else 0


@pytest.mark.timeout(600)
def test_the_numbers_of_a_running_pipeline_move_on_the_page(page: Page, kafka: DevKafka, tmp_path: Path) -> None:
    assert ensure_topic(kafka.bootstrap, "orders", 3)
    case = Case(
        tmp_path,
        {
            "pipeline": "orders",
            "source": {"kafka": {"brokers": [kafka.bootstrap], "topics": ["orders"]}},
            "decode": {"json": {"schema": "id BIGINT NOT NULL"}},
            "sinks": {"lake": {"delta": {"table": "./lake/orders"}}},
            "trigger": "as_fast_as_possible",
            "observe": {"poll": "500 milliseconds"},
        },
    )
    produce(kafka.bootstrap, "orders", values(0, 500))
    with dashboard([], [(case.file, load_pipeline(case.file))]) as board:
        page.goto(f"{board.url}/p/orders")
        expect(page.locator(".pill")).to_have_text("Not run yet")
        process = case.start()
        try:
            wait_until(lambda: shown_read(page) == 500, "the page shows the first 500 records")
            produce(kafka.bootstrap, "orders", [*values(500, 1200), b"this is no JSON"])
            wait_until(lambda: shown_read(page) == 1201, "the page shows what came since, without a reload")
            expect(page.locator(".leak-box").first).to_contain_text("invalid_json 1")
            expect(page.locator(".stage.sink")).to_contain_text("1,200")
            page.get_by_role("tab", name="Lag").click()
            expect(page.locator("#topics")).to_contain_text("0/3 behind")
            page.get_by_role("tab", name="Dead letters").click()
            expect(page.locator(".letter pre", has_text="this is no JSON")).to_be_visible()
        finally:
            process.kill()
        expect(page.locator(".pill")).to_have_text("Dead")
        expect(page.locator(".notice.is-bad")).to_contain_text("penstock run orders.yaml")
        page.get_by_role("tab", name="Batches").click()
        page.locator("#batches tbody tr a").last.click()
        expect(page.get_by_role("dialog").get_by_role("table", name="Ranges").locator("tbody tr")).to_have_count(3)
