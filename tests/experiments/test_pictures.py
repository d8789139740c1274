"""What stands on the axes of pictures."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from mmalign.data import Clip, PatternProtocol
from mmalign.errors import ConfigError
from mmalign.experiments.pictures import check_picture, draw_clips, draw_plans, signed
from tests.training.small import small_dataset

WORDS = ("a", "$$", "film", "$x^")


@pytest.fixture
def drawn(monkeypatch) -> list[Figure]:
    """Every figure that is saved, as it was then."""
    figures = []
    save = Figure.savefig

    def keep(figure, *arguments, **options) -> None:
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def axis_texts(tmp_path, drawn, shape, words=WORDS) -> tuple[list[str], list[str]]:
    """Labels of the visible and of the victim axis, inside the picture."""
    clip = Clip("c", None, {}, words=words)
    plans = {"plan": np.full(shape, 0.25, np.float32)}
    draw_plans(plans, clip, tmp_path / "p.png", title="$$", visible="text", victim="$$ face")
    axes = drawn[-1].axes[0]
    rows, columns = shape
    return _inside(axes.yaxis, rows), _inside(axes.xaxis, columns)


def _inside(axis, steps: int) -> list[str]:
    ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    shown = [(place, label.get_text()) for place, label in ticks if -0.5 <= place <= steps - 0.5]
    assert all(place == round(place) for place, _ in shown)
    return [text for _, text in shown]


def test_words_stand_on_both_axes_where_both_have_a_step_a_word(tmp_path, drawn):
    assert axis_texts(tmp_path, drawn, (4, 4)) == (list(WORDS), list(WORDS))


def test_words_stand_on_the_visible_axis_alone_where_the_victim_has_other_steps(tmp_path, drawn):
    assert axis_texts(tmp_path, drawn, (4, 3)) == (list(WORDS), ["0", "1", "2"])


def test_words_stand_on_the_victim_axis_alone_where_the_visible_has_other_steps(tmp_path, drawn):
    assert axis_texts(tmp_path, drawn, (2, 4)) == (["0", "1"], list(WORDS))


@pytest.mark.parametrize("words", [None, WORDS])
def test_steps_are_whole_numbers_where_there_are_no_words(tmp_path, drawn, words):
    assert axis_texts(tmp_path, drawn, (1, 3), words) == (["0"], ["0", "1", "2"])


def test_names_of_modalities_may_hold_dollars(tmp_path):
    dataset = small_dataset()
    names = {"visible": "$$ wrist", "victim": "$x^"}
    splits = {
        name: replace(split, sequences={names[k]: v for k, v in split.sequences.items()})
        for name, split in dataset.splits.items()
    }
    renamed = replace(dataset, dims={names[k]: v for k, v in dataset.dims.items()}, splits=splits)
    draw_clips(renamed, tmp_path / "clips.png")
    assert (tmp_path / "clips.png").exists()


def test_the_ending_may_be_in_capitals(tmp_path):
    check_picture(tmp_path / "p.PNG")
    draw_clips(small_dataset(), tmp_path / "p.PNG")
    assert (tmp_path / "p.PNG").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(
        ConfigError, match=r"not the name of a picture. End it in .png, .svg or .pdf"
    ):
        check_picture(tmp_path / "p.xyz")


def test_clips_of_each_pattern_have_names_units_and_one_size_of_letters(tmp_path, drawn):
    dataset = PatternProtocol(patterns={"visible": 0.3, "victim": 0.3}).apply(small_dataset())
    draw_clips(dataset, tmp_path / "c.png", unit="volts", step="step of 0.1 s")
    (figure,) = drawn
    panels = np.array(figure.axes).reshape(2, 3)  # two modalities; both, and each alone
    assert sum(any(t.get_text() == "missing" for t in p.texts) for p in panels.ravel()) == 2
    assert [p.get_ylabel() for p in panels[:, 0]] == ["visible\nvolts", "victim\nvolts"]
    assert {p.get_xlabel() for p in panels[1]} == {"step of 0.1 s"}
    (legend,) = figure.legends
    widest = max(dataset.dims.values())
    assert [t.get_text() for t in legend.get_texts()] == [f"feature {n}" for n in range(widest)]
    texts = [
        *legend.get_texts(),
        *(p.title for p in panels[0]),
        *(p.yaxis.label for p in panels.T[0]),
    ]
    assert {text.get_fontsize() for text in texts} == {9}


@pytest.mark.parametrize(
    ("value", "shown"), [(1.014, "+1.01"), (-2.5, "-2.50"), (-0.001, "0.00"), (0.0, "0.00")]
)
def test_what_rounds_to_zero_has_no_sign(value, shown):
    assert signed(value) == shown
