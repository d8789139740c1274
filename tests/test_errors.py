"""Messages say what is wrong, where, and what to do."""

from mmalign.errors import ConfigError, DataError, MMAlignError


def test_places_stand_from_the_file_down():
    error = DataError("bad value", fix="Mend it.", clip="c", step=3, modality="audio", file="a.pkl")
    assert str(error) == "file a.pkl, clip c, modality audio, step 3: bad value. Mend it."
    assert isinstance(error, MMAlignError)


def test_a_place_is_filled_in_once():
    error = DataError("bad", clip="inner").located(clip="outer", file="a.pkl")
    assert error.place == "file a.pkl, clip inner"


def test_configuration_problems_are_told_together():
    assert str(ConfigError(["one", "two"])) == "one; two"
