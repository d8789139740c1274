"""The page in a real browser."""

import pytest

from tests.browser import CONTRAST, open_browser


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


SIZES = [(1280, "light"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def pages(browser, report):
    """A page of each size, all open at once: tests in random order would open them again."""
    return {size: opened(browser, report, *size) for size in SIZES}


def opened(browser, report, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.asked, page.said = [], []
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.on("console", lambda said: page.said.append(said.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto((report / "report.html").as_uri())
    return page


@pytest.fixture(params=SIZES, ids=str)
def page(request, pages):
    found = pages[request.param]
    found.set_viewport_size({"width": request.param[0], "height": 844})  # another test changes it
    return found


def test_nothing_is_asked_for_and_nothing_complains(page):
    page.wait_for_load_state("networkidle")
    outside = [url for url in page.asked[1:] if not url.startswith("data:")]
    assert outside == []
    assert page.said == []


def test_the_page_never_scrolls_sideways_open_or_closed(page):
    for state in ("false", "true"):
        page.evaluate(f"document.querySelectorAll('details').forEach(d => d.open = {state})")
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]


def test_every_picture_is_drawn_and_described(page):
    pictures = page.evaluate(
        "[...document.images].map(i => [i.complete && i.naturalWidth > 0, i.alt.length])"
    )
    assert len(pictures) == 10
    assert all(drawn and words > 20 for drawn, words in pictures)


def test_wide_tables_scroll_inside_their_box_and_keep_their_first_column(page):
    page.set_viewport_size({"width": 390, "height": 844})
    box = page.locator("#main .scroll").first
    box.evaluate("b => { b.scrollLeft = 120 }")
    assert box.evaluate("b => b.scrollLeft") == 120
    left = box.evaluate(
        "b => b.querySelector('tbody th').getBoundingClientRect().left"
        " - b.getBoundingClientRect().left"
    )
    assert left == pytest.approx(0, abs=1)


def test_all_text_has_the_contrast_that_wcag_asks_for(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(CONTRAST) == []


def test_landmarks_headings_and_links_lead_somewhere(page):
    assert page.locator("main, header, footer, nav").count() == 4
    assert page.locator("h1").count() == 1
    broken = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')]"
        ".filter(a => !document.getElementById(a.hash.slice(1))).length"
    )
    assert broken == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_a_dark_page_has_dark_pictures(page):
    shown = page.locator("img").first.evaluate("i => atob(i.currentSrc.split(',')[1])")
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert ("#171c24" in shown) == is_dark
