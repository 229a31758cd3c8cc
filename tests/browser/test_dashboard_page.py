"""The dashboard in a real browser: what it shows is what the API says."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from penstock.testing.dashboard import Dashboard


def test_the_overview_shows_every_pipeline_and_those_in_need_first(page: Page, board: Dashboard) -> None:
    page.goto(board.url)
    rows = page.locator("#pipelines tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.nth(0)).to_contain_text("Failed")
    expect(page.locator("#pipelines tr", has_text="billing")).to_contain_text("the disk is full")
    expect(page.locator("tr", has_text="payments")).to_contain_text("Dead")
    orders = page.locator("#pipelines tr", has_text="orders, returns")
    expect(orders).to_contain_text("Running")
    expect(orders).to_contain_text("lag_growing")
    found = next(card for card in board.get("/pipelines")["pipelines"] if card["id"] == "orders")
    expect(orders.locator("td").nth(3)).to_contain_text(f"{found['lag_rows']:,}")
    expect(page.locator("#live")).to_have_text("live")


def test_a_pipeline_that_died_is_shown_from_its_state(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/payments")
    expect(page.locator(".pill")).to_have_text("Dead")
    expect(page.locator(".notice.is-bad")).to_contain_text("penstock run FILE")
    expect(page.locator(".flow")).to_be_visible()
    expect(page.locator("svg[data-chart=lag] path.line")).to_have_attribute("d", re.compile("^M"))
    page.goto(f"{board.url}/p/billing")
    expect(page.locator(".notice.is-bad")).to_contain_text("the disk is full")
    expect(page.locator(".notice.is-bad code")).to_have_text("penstock run billing.yaml")


def test_six_hundred_partitions_are_grouped_sorted_and_filtered(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/clickstream/lag")
    expect(page.locator("#topics tbody tr")).to_have_count(50)
    expect(page.locator("#topics tbody tr").nth(0)).to_contain_text("hot")
    page.locator("#topics .fold").nth(0).click()
    expect(page.locator("#topics tbody tr")).to_have_count(62)
    page.get_by_role("button", name="Partitions").click()
    table = board.get("/pipelines/clickstream/lag")["partitions"]
    rows = page.locator("#partitions tbody tr")
    expect(rows).to_have_count(150)
    expect(rows.nth(0)).to_contain_text("hot")
    page.get_by_role("button", name="Show all 600").click()
    expect(rows).to_have_count(600)
    page.get_by_role("button", name="Position").click()
    most = max(table, key=lambda part: part["position"])
    expect(rows.nth(0)).to_contain_text(str(most["position"]))
    page.fill("#filter", "events.07")
    expect(rows).to_have_count(12)
    expect(page.locator("#main")).to_contain_text("12 partitions of 600 of 1 topic")
    page.fill("#filter", "nothing of the kind")
    expect(page.locator(".empty")).to_contain_text("No partition matches")


def values_of(page: Page, chart: str) -> list[str]:
    cells = f"table[data-values={chart}] tbody tr td:nth-child(2)"
    return list(page.eval_on_selector_all(cells, "all => all.map(each => each.textContent)"))


def test_the_charts_hold_the_values_of_the_api(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/billing")
    expect(page.locator("svg[data-chart]")).to_have_count(4)
    course = board.get("/pipelines/billing/history?span=1h")
    known = [value for value in course["lag_rows"] if value is not None]
    assert [int(text.replace(",", "")) for text in values_of(page, "lag")] == [
        round(value) for value in reversed(known)
    ]
    chart = page.locator("svg[data-chart=lag]")
    chart.focus()
    page.keyboard.press("End")
    tip = page.locator("#tip")
    expect(tip).to_be_visible()
    last = course["lag_rows"][-1]
    expect(tip).to_contain_text("–" if last is None else f"{round(last):,}")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 60)
    expect(tip).to_be_visible()
    page.get_by_role("button", name="24 h").click()
    expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")
    day = board.get("/pipelines/billing/history?span=24h")
    expect(page.locator("table[data-values=lag] tbody tr")).to_have_count(
        len([value for value in day["lag_rows"] if value is not None])
    )


def test_the_flow_shows_the_counts_of_the_ledger(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders")
    flow = board.get("/pipelines/orders")["flow"]
    expect(page.locator(".flow")).to_contain_text(f"{flow['read']:,}")
    expect(page.locator(".stage.sink")).to_contain_text(f"{flow['sinks'][0]['written']:,}")
    expect(page.locator(".leak-box").nth(0)).to_contain_text(f"{sum(flow['rejected'].values()):,}")
    page.get_by_role("button", name="Batch 999").click()
    last = board.get("/pipelines/orders")["flow_last"]
    expect(page.locator(".stage").nth(0)).to_contain_text(f"{last['read']:,}")


def test_dead_letters_are_shown_by_code_with_samples(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders/dead-letters")
    expect(page.locator(".letter")).to_have_count(5)
    expect(page.locator(".letter pre.is-hex")).to_have_text("ff 00 01 02")
    page.get_by_role("button", name="wrong_type").click()
    expect(page.locator(".letter .badge", has_text="missing_field")).to_have_count(0)
    expect(page.locator(".letter").first).to_contain_text("wrong_type")
