"""One number: scikit-learn's, but for classes that a fold lacks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, r2_score

from mmalign.data import Classification, Regression
from mmalign.errors import DataError
from mmalign.estimator.scoring import agreement

ABC = Classification(("a", "b", "c"))
NUMBERS = st.floats(-100, 100, width=32)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_accuracy_is_scikit_learn_s_for_names_and_for_indices(pairs):
    said, true = map(np.array, zip(*pairs, strict=True))
    expected = accuracy_score(true, said)
    assert agreement(ABC, said, true.tolist()) == pytest.approx(expected)
    assert agreement(ABC, said, ["abc"[k] for k in true]) == pytest.approx(expected)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=20))
def test_numbers_are_scored_by_explained_variance(pairs):
    said, true = np.array(pairs, np.float32).T
    found = agreement(Regression(), said, true.tolist())
    if true.std() > 1e-3:
        assert found == pytest.approx(r2_score(true, said), rel=1e-6, abs=1e-6)
    elif len(set(true.tolist())) == 1:
        assert found == 0.0


def test_unknown_classes_are_wrong_answers_but_not_all_of_them():
    assert agreement(ABC, np.array([0, 1, 2]), ["a", "z", "c"]) == pytest.approx(2 / 3)
    assert agreement(ABC, np.array([0, 1]), [0, 7]) == 0.5
    with pytest.raises(DataError, match="label 'y' is none of a, b, c"):
        agreement(ABC, np.array([0, 1]), ["y", "z"])
    with pytest.raises(DataError, match="a clip has no label"):
        agreement(ABC, np.array([0, 1]), ["a", None])
