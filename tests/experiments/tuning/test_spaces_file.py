"""A user's own space in a file: what it may say, and what it is told when it may not."""

import pytest

from mmalign.errors import ConfigError
from mmalign.experiments.tuning.spaces import Choice, Range
from mmalign.experiments.tuning.spaces_file import SPACES, find_space, read_space

SPACE = """
window = [4, 8, 4]
learning_rate = { low = 1e-4, high = 1, log = true }
dim = { low = 16, high = 64, step = 16 }
dropout = [0, 0.1]
both_passes = [false, true]
epochs = 20
"""


def test_a_space_is_read(tmp_path):
    (tmp_path / "mine.toml").write_text(SPACE)
    space = find_space(str(tmp_path / "mine.toml"))
    assert space.dimensions == {
        "window": Choice((4, 8)),
        "learning_rate": Range(1e-4, 1.0, is_log=True),
        "dim": Range(16, 64, step=16),
        "dropout": Choice((0.0, 0.1)),
        "both_passes": Choice((False, True)),
        "epochs": Choice((20,)),
    }
    assert space.constants() == {"epochs": 20}
    assert not space.is_grid
    assert isinstance(space.dimensions["learning_rate"].high, float)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windw = [1]", "unknown setting 'windw'; did you mean 'window'"),
        ("window = []", "window has no choices"),
        ('window = ["wide"]', "window must be of type int, got 'wide'"),
        ("window = [1.5]", "window must be of type int, got 1.5"),
        ("both_passes = [0, 1]", "both_passes must be of type bool, got 0"),
        ("window = { low = 1 }", "needs low and high"),
        ("window = { low = 1, high = 2, lgo = true }", "needs low and high"),
        ("window = { low = 4, high = 4 }", "low of window must be below high"),
        ("epsilon = { low = nan, high = 1.0 }", "low of epsilon must be below high"),
        ("dropout = { low = 0, high = 0.5, log = true }", "must be > 0 on a log scale"),
        ("dropout = { low = 0, high = 0.5, step = 1 }", "only whole numbers"),
        ("dim = { low = 16, high = 60, step = 8 }", "must lead from low to high"),
        ("dim = { low = 16, high = 64, step = 0 }", "must lead from low to high"),
        ("window = { low = 1, high = 4, log = 1 }", "log of window must be true or false"),
        ("both_passes = { low = false, high = true }", "both_passes is not a number"),
        ("seed = [1, 2]", "seed is not searched"),
        ('method = ["mfm"]', "method is not searched"),
        ("", "names no setting"),
        ("window = [", "mine.toml"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path, text, message):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_space(file)
    assert message in str(caught.value)
    assert "mine.toml" in str(caught.value)


def test_all_problems_are_told_at_once(tmp_path):
    (tmp_path / "mine.toml").write_text("windw = [1]\ndim = []\n")
    with pytest.raises(ConfigError) as caught:
        read_space(tmp_path / "mine.toml")
    assert len(caught.value.problems) == 2


def test_spaces_are_found_by_name():
    assert find_space("paper-meld") is SPACES["paper-meld"]
    with pytest.raises(ConfigError, match="did you mean 'paper-mosi'"):
        find_space("paper-mosy")
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        find_space("nowhere.toml")
