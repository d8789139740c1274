"""Products of matrices take one thread in training and prediction, and as many as before after."""

import pytest
import scipy.linalg.cython_blas  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

from mmalign.experts import Experts, panel
from mmalign.experts.modality import learn_modality
from mmalign.experts.threads import learning_on_one_thread, reading_on_one_thread
from tests.experts.made import NAMES, made_clips


def threads() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.parametrize("limit", [learning_on_one_thread, reading_on_one_thread])
def test_every_library_takes_one_thread_inside_and_as_many_as_before_outside(limit):
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with limit():
            assert set(threads()) == {1}
        assert threads() == before
        assert len(before) >= 2  # numpy's and SciPy's


def test_a_model_learns_and_reads_on_one_thread(monkeypatch):
    seen = []

    def watched(plain):
        def inner(*given):
            seen.append(set(threads()))
            return plain(*given)

        return inner

    clips = made_clips(12, seed=0)
    with threadpool_limits(2, user_api="blas"):
        model = Experts(epochs=1).fit(clips, learn=watched(lambda _, one: learn_modality(one)))
        assert seen == [{1}] * len(NAMES)
        monkeypatch.setattr(panel, "steps_of", watched(panel.steps_of))
        model.predict(clips)
    assert seen == [{1}] * 2 * len(NAMES)
