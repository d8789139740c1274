"""The documentation as a site: `make docs` builds it, and it asks no other server for anything."""

import re
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

pytest.importorskip("mkdocs", reason="pip install 'mmalign[docs]'")
pytest.importorskip("material", reason="pip install 'mmalign[docs]'")
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(https?:)?//[^\"]*\"|<link[^>]*rel=\"(?:stylesheet|preload|icon)\""
    r"[^>]*href=\"(https?:)?//[^\"]*\""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} <= {page.stem for page in pages}
    for page in pages:
        found = LOADED.search(page.read_text(encoding="utf-8"))
        assert found is None, f"{page.name}: {found[0]}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?https?:", style.read_text(encoding="utf-8"))


def test_the_reference_has_signatures_and_examples(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in ("clips_from_frames", "predict_proba", "split_by_group", "check_imputer"):
        assert name in text
    assert "&gt;&gt;&gt; </span>" in text
