"""Plain clips take the short way to the kernels, and nothing else does."""

from types import MappingProxyType

import numpy as np
import pytest

import mmalign
from mmalign.data.clip import Clip
from mmalign.errors import DataError
from mmalign.predictor.plain import plain_rows
from tests.training.joint import TINY, restless, whole_twin

FEATURES = {"m1": 3, "m2": 2}
STEPS = np.ones((4, 3), np.float32)
READ_ONLY = STEPS.copy()
READ_ONLY.flags.writeable = False
NAN, INFINITE = (np.full((4, 3), number, np.float32) for number in (np.nan, np.inf))
UNUSUAL = {
    "wide": np.ones((4, 4), np.float32),
    "flat": np.ones(3, np.float32),
    "deep": np.ones((1, 4, 3), np.float32),
    "empty": np.ones((0, 3), np.float32),
    "float64": np.ones((4, 3)),
    "swapped bytes": STEPS.astype(">f4"),
    "masked": np.ma.masked_array(STEPS),
    "transposed": np.ones((3, 4), np.float32).T,
    "read-only": READ_ONLY,
    "NaN": NAN,
    "infinite": INFINITE,
}


def test_plain_clips_are_taken_as_they_are():
    other = np.ones((2, 2), np.float32)
    clips = [
        Clip("a", None, {"m2": other, "m1": STEPS, "unread": None}),
        Clip("b", None, MappingProxyType({"m1": STEPS})),
    ]
    (first, second) = plain_rows(clips, FEATURES, ("m1",))
    assert first[0] is STEPS
    assert first[1] is other
    assert second[0] is STEPS
    assert second[1] is None


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_sequences_are_not_plain(kind):
    assert plain_rows([Clip("a", None, {"m1": UNUSUAL[kind]})], FEATURES, ()) is None


def test_other_clips_are_not_plain():
    clip = Clip("a", None, {"m1": STEPS})
    gapped = Clip("a", None, {"m1": STEPS}, observed={"m1": np.ones(4, bool)})
    for given in ([], (clip,), iter([clip]), clip, [{"m1": STEPS}], [clip, gapped], None):
        assert plain_rows(given, FEATURES, ()) is None
    assert plain_rows([Clip("a", None, {"m1": None})], FEATURES, ()) is None
    assert plain_rows([clip], FEATURES, ("m2",)) is None


@pytest.fixture(scope="module")
def pair():
    two = whole_twin(2)
    return restless(mmalign.MMAlign("m2", "m1", **TINY).fit(two["train"], valid=two["valid"]))


def test_both_ways_give_the_same_bits(pair, monkeypatch):
    features = pair.fitted.features()
    random = np.random.default_rng(0)
    clips = []
    for number in range(40):
        steps = {n: random.normal(size=(1 + number % 9, d)) for n, d in features.items()}
        steps = {n: s.astype(np.float32) for n, s in steps.items() if n == "m2" or number % 2}
        clips.append(Clip(f"c{number}", None, steps))
    expected = pair.predict(tuple(clips))
    monkeypatch.setattr(type(pair), "_features", lambda *_: pytest.fail("a split was made"))
    assert (pair.predict(clips) == expected).all()
    assert pair.predict(clips[:1]) == expected[0]


def test_what_is_refused_is_refused_with_its_place(pair):
    width = pair.fitted.features()["m2"]
    for bad, told in ((np.full((2, width), np.nan, np.float32), "non-finite"), (None, "missing")):
        with pytest.raises(DataError, match=told):
            pair.predict([Clip("odd", None, {"m2": bad})])
    with pytest.raises(DataError, match="odd"):
        pair.predict([Clip("odd", None, {"m2": np.full((2, width), 3e18, np.float32) * 1e19})])


def test_a_method_that_sees_the_visible_twice_goes_the_long_way():
    two = whole_twin(2)
    model = mmalign.MMAlign("m2", "m1", method="lb", **TINY).fit(two["train"], valid=two["valid"])
    clips = list(two["test"])
    expected = model.fitted.to_labels(model.fitted.outputs(model.prepared(clips)))
    assert (model.answers(clips) == expected).all()
