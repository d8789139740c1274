"""Messages say what is wrong, where, and what to do."""

import pytest

from mmalign.errors import ConfigError, CorruptArtifactError, DataError, MMAlignError


def test_places_stand_from_the_file_down():
    error = DataError("bad value", fix="Mend it.", clip="c", step=3, modality="audio", file="a.pkl")
    assert str(error) == "file a.pkl, clip c, modality audio, step 3: bad value. Mend it."
    assert isinstance(error, MMAlignError)


def test_a_place_is_filled_in_once():
    error = DataError("bad", clip="inner").located(clip="outer", file="a.pkl")
    assert error.place == "file a.pkl, clip inner"


def test_configuration_problems_are_told_together():
    assert str(ConfigError(["one", "two"])) == "one; two"


@pytest.mark.parametrize("error", [MMAlignError, ConfigError, CorruptArtifactError, DataError])
def test_a_message_is_one_line_of_bounded_length_that_a_terminal_only_shows(error):
    hostile = "first\nsecond\r\x1b]0;HACK\x07\u202eback\ud800" + "x" * 10**6
    message = str(error(hostile))
    assert len(message) < 2200
    assert message.isprintable()
    assert message.startswith(r"first\nsecond\r\x1b]0;HACK\x07")


def test_the_way_out_is_never_cut():
    assert str(DataError("x" * 10**6, fix="Mend it.")).endswith(". Mend it.")


def test_a_question_keeps_its_mark():
    assert str(DataError("no 'x'; did you mean 'y'?", fix="Rename it.")).endswith("'y'? Rename it.")
