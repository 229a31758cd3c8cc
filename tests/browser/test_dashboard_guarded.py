"""The dashboard among hostile names, without its token, and when nobody answers it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from penstock.testing.dashboard import Dashboard, dashboard
from penstock.testing.harness import wait_until
from tests.browser.conftest import HOSTILE, Seen


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
