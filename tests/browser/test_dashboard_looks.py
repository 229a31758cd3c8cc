"""The dashboard can be read: light and dark, in a narrow window, and by those who cannot see it."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from penstock.testing.dashboard import Dashboard


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
