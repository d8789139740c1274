"""Where steps and words stand, and in which colours."""

import re
import xml.etree.ElementTree as ET
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.experiments.report.pictures.canvas import DARK, LIGHT, make_picture, short
from mmalign.experiments.report.pictures.case import MOST_LINES, case_picture, positions, spaced
from mmalign.experiments.report.pictures.plans import plans_picture
from mmalign.experiments.report.runs import read_runs
from tests.experiments.report.made import Making, make_grid

places = st.lists(st.floats(0, 100, width=32), min_size=1, max_size=30).map(sorted).map(np.array)


@given(places, st.floats(0.01, 5))
def test_labels_keep_their_order_and_their_distance(wanted, gap):
    found = spaced(wanted, gap)
    assert (np.diff(found) >= gap - 1e-9).all()
    assert (found >= wanted - 1e-9).all()
    assert found[0] == wanted[0]


def test_steps_stand_at_their_words_or_evenly_over_the_same_time():
    result = {"times": [[0.0, 1.0], [1.0, 4.0]], "visible_steps": 2, "victim_steps": 4}
    assert positions(result, 2).tolist() == [0.5, 2.5]
    assert positions(result, 4).tolist() == [0.5, 1.5, 2.5, 3.5]
    result = {"times": None, "visible_steps": 2, "victim_steps": 4}
    assert positions(result, 4).tolist() == [0.5, 1.5, 2.5, 3.5]
    assert positions(result, 2).tolist() == [1.0, 3.0]


def test_a_dark_picture_has_no_light_colour_left():
    assert not set(astuple(LIGHT)) & set(astuple(DARK))

    def draw(figure, theme) -> None:
        axes = figure.subplots()
        for name in ("ink", "muted", "line", "void", "method", "lower", "floor", "uniform"):
            axes.plot([0, 1], color=getattr(theme, name))

    made = make_picture("p", draw, inches=(2, 2), caption="c", alt="a")
    for colour in set(astuple(LIGHT)):
        assert colour.encode() in made.light
        assert colour.encode() not in made.dark
    assert re.sub(b"#[0-9a-f]{6}", b"", made.light) == re.sub(b"#[0-9a-f]{6}", b"", made.dark)


@given(st.text(max_size=60))
def test_labels_are_short_and_printable(text):
    assert len(short(text)) <= 24
    short(text).encode()


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    making = Making(suites=("case",), pairs=(("vision", "text"),), words=("a", "film", "$x$"))
    return next(read_runs(make_grid(tmp_path_factory.mktemp("grids") / "g", making)).of("case"))


def heights(svg: bytes, words: list[str]) -> list[float]:
    """How far down each of some texts stands."""
    found = {}
    for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        place = re.search(r"translate\(([\d.]+) ([\d.]+)\)", element.get("transform", ""))
        found[element.text] = float(place[2]) if place else float(element.get("y", "nan"))
    return [found[word] for word in words]


def test_words_stand_at_the_text_whichever_side_it_is_on(case):
    word, text, vision = heights(case_picture(case, "p").light, ["film", "text", "vision"])
    assert vision < text < word  # victim text is below, its words below it


def test_too_many_lines_are_cut_and_the_caption_says_so(case):
    lines = [[i % 3, i % 3, 0.1] for i in range(MOST_LINES + 1)]
    picture = case_picture(replace(case, result={**case.result, "solver": lines}), "p")
    assert f"Only the {MOST_LINES} heaviest of {MOST_LINES + 1}" in picture.caption


def test_empty_plans_can_be_drawn(case, tmp_path):
    empty = {**case.result, "solver": [], "fitter": []}
    assert case_picture(replace(case, result=empty), "p").light
    run = next(read_runs(make_grid(tmp_path / "g", Making(suites=("alignment",)))).of("alignment"))
    nothing = {**run.result, "solver": [[0.0] * 3] * 2, "fitter": [[0.0] * 3] * 2}
    assert "no mass" in plans_picture(replace(run, result=nothing), "p").alt
