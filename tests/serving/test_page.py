"""The page in a real browser: a sensor is switched off, and the answer changes."""

import json

import pytest

import mmalign
from tests.browser import CONTRAST, open_browser
from tests.serving.served import make_service, serving


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


def opened(browser, url, width=1280, scheme="light"):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.asked, page.said = [], []
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.on("console", lambda said: page.said.append(said.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(url)
    page.wait_for_selector("#sentence strong")
    return page


@pytest.fixture(params=[(1280, "light"), (390, "light"), (390, "dark")], ids=str)
def sized(request, browser, url):
    page = opened(browser, url, *request.param)
    yield page
    page.context.close()


@pytest.fixture
def page(browser, url):
    page = opened(browser, url)
    yield page
    page.context.close()


def sentence(page, part: str) -> str:
    page.wait_for_selector(f"#sentence:has-text({json.dumps(part)})")
    return page.inner_text("#sentence")


def test_it_fits_every_screen_asks_nobody_else_and_can_be_read(sized, url):
    sized.get_by_role("switch", name="wrist").click()
    assert "The answer" in sentence(sized, "wrist is off.")
    shown = sized.evaluate("document.querySelector('#sentence').getBoundingClientRect().toJSON()")
    assert 0 <= shown["top"] < shown["bottom"] <= 844  # far above the switch, on a phone
    assert all(asked.startswith((url, "data:")) for asked in sized.asked)
    widths = sized.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    assert sized.evaluate(CONTRAST) == []
    assert sized.said == []


def test_a_modality_that_is_switched_off_is_left_out_of_the_answer(page, url, experts_data):
    clip = experts_data["test"][0]  # it has no pose
    answer = mmalign.Client(url).predict({"wrist": clip.sequences["wrist"]})[0]
    page.get_by_role("switch", name="voice").click()
    text = sentence(page, "voice is off.").replace("\xa0", " ")
    share = round(100 * answer.probabilities[answer.prediction])
    assert f"{answer.prediction} ({share} %)." in text
    assert f"True label: {experts_data.task.classes[clip.label]}" in text
    assert "off: left out of the answer" in page.inner_text("#cards")
    page.get_by_role("switch", name="wrist").click()
    page.wait_for_selector("#problem:has-text('Nothing is left')")
    page.get_by_role("switch", name="voice").click()
    sentence(page, "wrist is off.")
    assert page.said == []


def test_a_gap_is_painted_with_the_mouse_and_with_keys(page):
    plot = page.get_by_role("application").first
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 9, steps=4)
    page.mouse.up()
    assert "steps of wrist" in sentence(page, "steps of")
    plot.focus()
    page.keyboard.press("Delete")
    sentence(page, "which the clip lacks:")
    for key in ("ArrowRight", "Space", "Space", "Shift+ArrowRight"):
        page.keyboard.press(key)
    sentence(page, "3 steps of wrist")


def test_all_is_reached_by_the_keyboard(page):
    page.focus("#clip")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className"
                ".baseVal || document.activeElement.className"
            )
        )
    assert {"next", "file", "switch", "plot", "play"} <= set(seen)


def test_a_file_is_shown(page):
    request = {"clips": [{"sequences": {"pose": [[1, 2, 3, 4], None, [2, 1, 0, 1]]}}]}
    file = {"name": "clip.json", "mimeType": "application/json"}
    page.set_input_files("#file", [{**file, "buffer": json.dumps(request).encode()}])
    page.wait_for_selector("#cards:has-text('3 steps, 1 of them lost in the recording')")
    found = sentence(page, "which the clip lacks:")
    assert "missing" not in found  # nobody has painted anything
    page.set_input_files("#file", [{**file, "buffer": b"{}"}])
    page.wait_for_selector("#problem:has-text('Expected')")


def test_a_live_sensor_dies_and_the_page_says_so(page):
    page.click("#play")
    page.wait_for_selector("#timeline td:has-text('4.0 s')")
    page.get_by_role("switch", name="voice").click()
    page.wait_for_selector("#silent:has-text('voice fell silent at')", timeout=15000)
    page.click("#play")


def test_plans_are_drawn_where_a_model_has_them(browser, pair, pair_data):
    service = make_service(mmalign.load(pair), pair, examples=pair_data)
    with serving(service) as url:
        page = opened(browser, url)
        assert page.get_by_role("switch", name="visible").is_disabled()
        page.wait_for_selector("#maps figcaption:has-text('solved from both')")
        page.get_by_role("switch", name="victim").click()
        page.wait_for_selector("#maps figcaption:has-text('guessed')")
        assert "off: imputed" in page.inner_text("#cards")
        assert page.evaluate("document.querySelector('canvas').width") > 1
        page.context.close()
