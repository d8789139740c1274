"""scikit-learn takes the estimator for one of its own, clips standing for X."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import mmalign
from mmalign.errors import DataError
from tests.experts.made import made_clips, only, with_holes
from tests.training.joint import TINY, whole_twin

CLIPS = made_clips(18, seed=0)
LABELS = [clip.label for clip in CLIPS]
QUICK = mmalign.MMAlign(modalities=["pose"], epochs=1)


@pytest.fixture(autouse=True)
def no_warnings():
    """A fold that fails is a warning of scikit-learn's, and a score that is no number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_cross_validation_of_clips_with_holes():
    scores = cross_val_score(mmalign.MMAlign(epochs=1), with_holes(CLIPS), cv=2)
    assert scores.shape == (2,)
    assert scores.min() > 0.4  # a third by chance


def test_cross_validation_with_labels_apart_and_with_groups():
    plain = [{"pose": clip.sequences["pose"]} for clip in CLIPS]
    assert np.isfinite(cross_val_score(QUICK, plain, LABELS, cv=2, scoring="f1_macro")).all()
    people = [clip.id[:7] for clip in CLIPS]
    assert set(cross_val_predict(QUICK, CLIPS, groups=people, cv=GroupKFold(2))) <= set("abc")


def test_groups_of_a_fold_reach_fit():
    people = np.array([clip.id[:7] for clip in CLIPS])
    told = {"groups": people}
    scores = cross_val_score(QUICK, CLIPS, groups=people, cv=GroupKFold(2), params=told)
    assert np.isfinite(scores).all()
    search = GridSearchCV(QUICK, {"seed": [3]}, cv=GroupKFold(2)).fit(CLIPS, groups=people)
    assert np.isfinite(search.best_score_)


def test_groups_are_a_list_or_a_function_of_the_id():
    people = [clip.id[:7] for clip in CLIPS]
    told = clone(QUICK).fit(CLIPS, groups=people)
    asked = clone(QUICK).fit(CLIPS, groups=lambda clip_id: clip_id[:7])
    carried = clone(QUICK).fit([replace(clip, group=clip.id[:7]) for clip in CLIPS])
    for other in (asked, carried):
        np.testing.assert_array_equal(told.predict_proba(CLIPS), other.predict_proba(CLIPS))
    with pytest.raises(DataError, match=r"split train: 17 groups for 18 clips.*Give one person"):
        clone(QUICK).fit(CLIPS, groups=people[1:])


def test_a_search_over_two_values():
    search = GridSearchCV(QUICK, {"seed": [3, 4]}, cv=2).fit(CLIPS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["seed"] == search.best_estimator_.seed
    assert search.predict(CLIPS[:2]).tolist() == search.best_estimator_.predict(CLIPS[:2]).tolist()


def test_a_pipeline_of_clips():
    line = make_pipeline(
        FunctionTransformer(lambda clips: only(clips, "pose")), mmalign.MMAlign(epochs=1)
    )
    assert line.fit(CLIPS, LABELS).score(CLIPS) > 0.5
    check_is_fitted(line)
    assert line[-1].reads == ("pose",)
    assert line.predict_proba(CLIPS).shape == (18, 3)
    assert line.score(CLIPS, ["a"] * 18) == np.mean(line.predict(CLIPS) == "a")


def test_the_kind_is_known_once_it_is_fitted():
    model = clone(QUICK)
    assert not is_classifier(model)
    assert not is_regressor(model)
    assert is_classifier(model.fit(CLIPS))
    numbers = clone(QUICK).fit(made_clips(9, seed=0, numbers=True))
    assert is_regressor(numbers)
    assert not hasattr(numbers, "classes_")


def test_a_network_is_cross_validated_as_well():
    clips = list(whole_twin()["train"])
    network = mmalign.MMAlign(method="copy", **TINY)
    assert np.isfinite(cross_val_score(network, clips, cv=2)).all()
    people = [clip.id[-1] for clip in clips]
    assert np.isfinite(cross_val_score(network, clips, cv=2, params={"groups": people})).all()
    with pytest.raises(DataError, match="1 group for"):
        network.fit(clips, groups=["anna"])


@pytest.mark.parametrize(
    "values", [["no", "yes"], [0, 1], [-1, 1], [3, 7], [False, True], ["0", "1"]], ids=str
)
def test_labels_come_back_as_they_came_in(values, tmp_path):
    y = [values[row % 2] for row in range(len(CLIPS))]
    model = clone(QUICK).fit(CLIPS, np.array(y))
    model.save(tmp_path / "saved")
    for one in (model, mmalign.load(tmp_path / "saved")):
        found = one.predict(CLIPS)
        assert found.dtype.kind == np.array(values).dtype.kind
        assert set(found.tolist()) <= set(values)
        assert set(one.classes_.tolist()) >= set(values)
        right = np.mean(found == np.array(y))
        assert one.score(CLIPS, y) == right == one.metrics(CLIPS, y)["accuracy"]
