"""Senses that are given: what is wrong with them is told before anything is learned."""

import pytest
from sklearn.base import clone

import mmalign
from mmalign.errors import ConfigError, DataError
from mmalign.experts.senses import sense_problems
from tests.experts.made import made_dataset

BAD = {
    "no dict": (["pose"], "senses must be a dict for each modality"),
    "no dict inside": ({"pose": True}, "senses must be a dict for each modality"),
    "misspelt": ({"pose": {"center": True}}, "did you mean 'centre'?"),
    "no truth value": ({"pose": {"centre": 1}}, "centre must be true or false, got 1"),
    "nothing is read": ({"pose": {"patterns": False, "windows": False}}, "needs patterns, windows"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said(name):
    senses, expected = BAD[name]
    (problem,) = sense_problems(senses)
    assert expected in problem


@pytest.fixture(scope="module")
def train():
    return made_dataset()["train"]


def test_a_model_reads_as_it_is_told(train):
    given = {"centre": False, "windows": False, "smooth": False}
    model = mmalign.MMAlign(epochs=1, senses={"pose": given}).fit(train)
    assert given.items() <= vars(model.experts.experts["pose"].sense).items()
    assert clone(model).senses == {"pose": given}


def test_a_modality_that_is_not_there_is_named(train):
    with pytest.raises(DataError, match=r"no modality 'poes'\. Did you mean 'pose'\?"):
        mmalign.MMAlign(epochs=1, senses={"poes": {"centre": True}}).fit(train)
    with pytest.raises(ConfigError, match="did you mean 'centre'"):
        mmalign.MMAlign(senses={"pose": {"center": True}})
