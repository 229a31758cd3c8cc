"""The dashboard, used in a real browser: by mouse and by keyboard, light and dark, with hostile names."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from penstock.testing.dashboard import Dashboard, dashboard
from penstock.testing.harness import wait_until
from tests.browser.conftest import HOSTILE, Seen


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


def colour(page: Page, selector: str, name: str) -> tuple[int, ...]:
    found = page.eval_on_selector(selector, f"each => getComputedStyle(each)['{name}']")
    return tuple(map(int, re.findall(r"\d+", found)[:3]))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """As WCAG defines it."""

    def light(colour: tuple[int, ...]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_it_is_light_or_dark_as_the_system_is_and_as_one_likes(page: Page, board: Dashboard) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{board.url}/p/orders")
    expect(page.locator(".figures")).to_be_visible()
    assert min(colour(page, "body", "backgroundColor")) > 230
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert max(colour(page, "body", "backgroundColor")) < 40
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator(".figures")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert min(colour(page, "body", "backgroundColor")) > 230


def test_every_text_can_be_read_in_light_and_in_dark(page: Page, board: Dashboard) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(board.url)
        expect(page.locator("#pipelines")).to_be_visible()
        ground = colour(page, ".panel", "backgroundColor")
        for text in (".strong", ".sub", "th", ".faint", ".figure dt", ".figure .note"):
            assert contrast(colour(page, text, "color"), ground) >= 4.5, (scheme, text)
        for pill in (".pill.is-working", ".pill.is-failed", ".badge.is-bad"):
            pair = colour(page, pill, "color"), colour(page, pill, "backgroundColor")
            assert contrast(*pair) >= 4.5, (scheme, pill)


def test_hostile_names_and_payloads_are_text_everywhere(page: Page, board: Dashboard) -> None:
    """The fixture `page` fails on a dialog, a script's error, a refusal of the content policy, a request elsewhere."""
    hostile = next(f"/p/{card['id']}" for card in board.get("/pipelines")["pipelines"] if card["name"] == HOSTILE)
    parts = ["", "/lag", "/batches", "/batches/1", "/dead-letters", "/schemas", "/alerts", "/ledger"]
    for place in ["/", *(hostile + part for part in parts)]:
        page.goto(board.url + place)
        expect(page.locator(".page")).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
        assert page.locator("img").count() == 1, place  # the mark
        assert page.locator("script").count() == 2, place
    page.goto(board.url)
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    expect(page.locator("h1")).to_have_text(HOSTILE)
    page.goto(f"{board.url}{hostile}/lag")
    page.locator("#topics .fold").first.click()
    expect(page.locator("#topics tbody tr")).to_have_count(5)
    page.goto(f"{board.url}{hostile}/dead-letters")
    page.get_by_role("button", name=HOSTILE, exact=True).click()
    expect(page.locator(".letter pre").filter(has_text="<img src=x").first).to_have_text(HOSTILE)


def test_who_watches_the_pages_hears_dialogs_scripts_and_the_content_policy(
    context: BrowserContext, board: Dashboard
) -> None:
    page, seen = context.new_page(), Seen()
    seen.watch(page)
    page.goto(board.url)
    expect(page.locator("#pipelines")).to_be_visible()
    page.evaluate("document.querySelector('#pipelines').innerHTML = '<img src=x onerror=alert(1)>'")
    page.evaluate("setTimeout(() => { alert(2); }, 0); setTimeout(() => { throw new Error('three'); }, 0)")
    expect(page.locator("#live")).to_have_text("live")
    wait_until(lambda: page.evaluate("1") and len(seen.wrong) >= 4, f"all is heard, of which there is {seen.wrong}")
    heard = " ".join(seen.wrong)
    assert all(word in heard for word in ("Content Security Policy", "dialog 2", "three"))
    assert "dialog 1" not in heard  # the policy holds, even where somebody parses data as HTML


def test_a_pipeline_that_died_is_shown_from_its_state(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/payments")
    expect(page.locator(".pill")).to_have_text("Dead")
    expect(page.locator(".notice.is-bad")).to_contain_text("penstock run FILE")
    expect(page.locator(".flow")).to_be_visible()
    expect(page.locator("svg[data-chart=lag] path.line")).to_have_attribute("d", re.compile("^M"))
    page.goto(f"{board.url}/p/billing")
    expect(page.locator(".notice.is-bad")).to_contain_text("the disk is full")
    expect(page.locator(".notice.is-bad code")).to_have_text("penstock run billing.yaml")


def test_dead_letters_are_shown_by_code_with_samples(page: Page, board: Dashboard) -> None:
    page.goto(f"{board.url}/p/orders/dead-letters")
    expect(page.locator(".letter")).to_have_count(5)
    expect(page.locator(".letter pre.is-hex")).to_have_text("ff 00 01 02")
    page.get_by_role("button", name="wrong_type").click()
    expect(page.locator(".letter .badge", has_text="missing_field")).to_have_count(0)
    expect(page.locator(".letter").first).to_contain_text("wrong_type")


def test_without_the_token_nothing_is_shown_and_with_it_everything(
    context: BrowserContext, page: Page, seen: Seen, states: Path
) -> None:
    seen.expected.append("401")
    with dashboard([states], host="0.0.0.0", token="the-token-of-this-test") as guarded:
        url = f"http://127.0.0.1:{guarded.port}"
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == 401
        expect(page.locator(".empty")).to_contain_text("This dashboard needs its token")
        assert "orders" not in page.content()
        page.goto(f"{url}/?token=the-token-of-this-test")
        expect(page.locator("#pipelines tbody tr")).to_have_count(5)
        assert page.url == f"{url}/"
        [cookie] = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        page.goto(f"{url}/p/orders")
        expect(page.locator(".figures")).to_be_visible()


def test_an_idle_page_asks_little_and_says_when_nobody_answers(page: Page, seen: Seen, states: Path) -> None:
    seen.expected.append("ERR_CONNECTION")
    answers: list[int] = []
    with dashboard([states / "payments"]) as board:
        page.goto(f"{board.url}/p/payments/lag")
        expect(page.locator("#topics")).to_be_visible()
        page.on("response", lambda answer: answers.append(answer.status))
        for _ in range(3):
            with page.expect_response(lambda answer: answer.url.endswith("/api/v1/pipelines/payments")):
                pass
        assert set(answers) == {304}
    expect(page.locator("#live")).to_have_text("not connected")
    expect(page.locator("#banner")).to_contain_text("does not answer")


def test_a_narrow_window_needs_no_sideways_scrolling(page: Page, board: Dashboard) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    for place in (
        "/",
        "/p/orders",
        "/p/clickstream/lag",
        "/p/orders/batches/5",
        "/p/orders/dead-letters",
        "/p/orders/ledger",
    ):
        page.goto(board.url + place)
        expect(page.locator(".page")).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


def test_the_skip_link_and_the_live_region_are_there_for_those_who_cannot_see(page: Page, board: Dashboard) -> None:
    page.goto(board.url)
    expect(page.locator("#pipelines")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.goto(f"{board.url}/p/orders")
    expect(page.locator("svg[data-chart]")).to_have_count(4)
    for chart in page.locator("svg[data-chart]").all():
        assert "Arrow keys" in (chart.get_attribute("aria-label") or "")
    assert page.locator("h1").count() == 1
