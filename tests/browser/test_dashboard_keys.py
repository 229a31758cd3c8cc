"""The dashboard, used by mouse and by keyboard: batches, tabs, the filter."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from penstock.testing.dashboard import Dashboard


def test_the_overview_is_filtered_by_what_is_typed(page: Page, board: Dashboard) -> None:
    page.goto(board.url)
    expect(page.locator("#pipelines tbody tr")).to_have_count(5)
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("billing")
    expect(page.locator("#pipelines tbody tr")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#pipelines tbody tr")).to_have_count(5)


def test_a_batch_is_opened_by_one_click_and_closed_by_escape(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders/batches")
    expect(page.locator("#batches tbody tr")).to_have_count(50)
    page.locator("#batches tbody tr").nth(2).locator("td").nth(2).click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Batch 997")
    batch = board.get("/pipelines/orders/batches/997")
    for phase in ("intent", "pass", "freeze", "tables", "outcome"):
        expect(drawer.get_by_role("table", name="Phases")).to_contain_text(phase)
    ranges = drawer.get_by_role("table", name="Ranges").locator("tbody tr")
    expect(ranges).to_have_count(len(batch["ranges"]))
    expect(ranges.nth(0)).to_contain_text(str(batch["ranges"][0]["start"]))
    expect(drawer).to_contain_text("committed")
    expect(drawer).to_contain_text(batch["digest"])
    assert page.url.endswith("/p/orders/batches/997")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    assert page.url.endswith("/p/orders/batches")


def test_a_batch_is_opened_by_keyboard_alone_and_the_focus_comes_back(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders/batches")
    page.get_by_role("link", name="Batch 999", exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="Batch 998", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Batch 998")
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('[role=dialog]') !== null")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(page.get_by_role("link", name="Batch 998", exact=True)).to_be_focused()


def test_a_thousand_batches_are_paged_to_the_first(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders/batches")
    older = page.get_by_role("button", name="Older")
    for number in range(950, 0, -50):
        older.click()
        expect(page.get_by_role("link", name=f"Batch {number - 1}", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Batch 0", exact=True)).to_be_visible()
    expect(older).to_be_disabled()
    page.fill("#jump", "421")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Batch 421")


def test_tabs_are_turned_by_arrows(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders")
    page.get_by_role("tab", name="Overview").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Lag")).to_be_focused()
    expect(page.get_by_role("tab", name="Lag")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Ledger")).to_be_focused()
    expect(page.locator("#ledger tbody tr")).to_have_count(30)
    page.go_back()
    expect(page.get_by_role("tab", name="Lag")).to_have_attribute("aria-selected", "true")
