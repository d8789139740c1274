"""Links inside the pages lead somewhere."""

import re

import pytest

from tests.docs.pages import PAGES, ROOT

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(page):
    """How headings are called in links, as Markdown tools make them of the words."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {re.sub(r"\s+", "-", title.strip()) for title in plain}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_leads_to_a_page_and_a_heading(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target, anchor in LINK.findall(text):
        place = (page.parent / target) if target else page
        assert place.exists(), f"{page.name}: {target}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{page.name}: {target}#{anchor}"


def test_the_site_shows_every_page_of_the_docs():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    shown = set(re.findall(r"(\S+\.md)$", navigation, re.MULTILINE))
    assert shown == {page.name for page in PAGES if page.parent.name == "docs"}
