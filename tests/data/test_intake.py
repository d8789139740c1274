"""Clips in every form in which users hand them over, and labels by name."""

import numpy as np
import pandas as pd
import pytest
import torch

from mmalign.data import Classification, Clip, Dataset, Regression, Split
from mmalign.data.intake import (
    features_of,
    gathered,
    labelled,
    relabelled,
    task_of,
    taught,
    with_labels_that_fit,
)
from mmalign.data.labels import suggested_task
from mmalign.errors import DataError

STEPS = np.zeros((2, 3), np.float32)
AB = Classification(("a", "b"))


def clip(label, clip_id="x"):
    made = Clip(clip_id, None, {"eye": STEPS})
    object.__setattr__(made, "label", label)  # what the annotation does not allow comes, too
    return made


def split(labels, task=None):
    ids = tuple(f"clip{number}" for number in range(len(labels)))
    made = Split(ids, None, {"eye": [STEPS] * len(labels)}, task=task)
    object.__setattr__(made, "labels", labels)
    return made


def learned(clips):
    rows = gathered(clips)
    found = labelled(rows, ["eye"], task_of(rows))
    return found.task, found.labels.tolist()


def test_labels_are_compared_by_name_and_may_lack_a_class():
    three = Classification(("c", "b", "a"))
    turned = labelled(split(np.array([1, 0, 1]), AB), ["eye"], three)
    assert turned.task == three
    assert turned.labels.tolist() == [1, 2, 1]
    unused = labelled(split(np.array([2, 1]), three), ["eye"], AB)  # nobody is in class c
    assert unused.labels.tolist() == [0, 1]


@pytest.mark.parametrize("width", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_integers_of_any_width_are_indices(width):
    wanted = Classification(("0", "1", "2")), [2, 0]
    assert learned(split(np.array([2, 0], width))) == wanted
    assert learned([clip(width(2)), clip(width(0))]) == wanted


def test_names_and_truth_values_are_classes_and_other_numbers_are_numbers():
    assert learned(split(np.array(["b", "a", "b"]))) == (AB, [1, 0, 1])
    assert learned(split(np.array([True, False]))) == (Classification(("False", "True")), [1, 0])
    assert learned([clip("b"), clip("a")]) == (AB, [1, 0])
    assert learned([clip(1), clip(0.5)]) == (Regression(), [1, 0.5])
    assert learned(split(np.array([1, 0.5]))) == (Regression(), [1, 0.5])


def test_numbers_are_not_measured_by_another_range():
    wide = split(np.array([5, -9], np.float32), Regression())
    assert labelled(wide, ["eye"], Regression(-3, 3)).labels.tolist() == [5, -9]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1, 1], "integer labels are indices of classes, from 0; got -1. Give classes by name"),
        ([0, 10**9], "from 0; got 1000000000"),
        (["a", 1], "some labels are names and some are numbers"),
        (["a", "a"], "two or more different class names"),
        ([None, None], "there are no labels"),
        ([], "there are no clips"),
        (["a", None, "b"], "clip x: no label, though other clips have one"),
        (["a", float("nan"), "b"], "clip x: no label, though other clips have one"),
        ([[1, 0], [0, 1]], "clip x: the label is neither a name nor a number but list"),
    ],
)
def test_labels_that_suggest_no_task_are_refused(labels, message):
    with pytest.raises(DataError, match=message):
        learned([clip(label) for label in labels])


@pytest.mark.parametrize(
    ("clips", "message"),
    [
        (split(np.array([0, 1]), Classification(("a", "c"))), "clip1: label 'c' is none of a, b"),
        (split(np.array([0, 7]), AB), "clip1: label 7 is outside 0..1"),
        (split(np.array([0, -1]), AB), "clip1: label -1 is outside 0..1"),
        (split(np.array([0.0, np.inf])), "clip1: label inf is outside 0..1"),
        (split(np.array([0.0]), Regression()), "are numbers, those of the model are classes"),
        ([clip("a"), clip(None)], "no label, though"),
        ([clip(None)], "there are no labels"),
    ],
)
def test_labels_that_do_not_fit_a_task_are_refused_or_left_out(clips, message):
    with pytest.raises(DataError, match=message):
        labelled(clips, ["eye"], AB)
    found = with_labels_that_fit(clips, ["eye"], AB)
    assert len(found) == len(clips)
    assert found.labels is None


def test_a_prediction_looks_at_features_alone():
    gap = np.array([True, False])
    one = Clip("a", "who knows", {"eye": np.ones((2, 3))}, observed={"eye": gap}, group="anna")
    for given in ([one, clip(7)], [one, clip(None)]):
        found, known = (
            give(given, ["eye", "ear"], AB) for give in (features_of, with_labels_that_fit)
        )
        assert (found.labels, found.groups, found.gapped) == (None, None, frozenset({"eye"}))
        assert (found.ids, found.task) == (known.ids, known.task)
        for name in ("eye", "ear"):
            for steps, expected in zip(found.sequences[name], known.sequences[name], strict=True):
                assert (steps is None) == (expected is None)
                np.testing.assert_array_equal(steps, expected)
    labelled_split = split(np.array([0, 1]), AB)
    assert features_of(labelled_split, ["eye"], AB).labels is None
    with pytest.raises(DataError, match="expected clips, got int"):
        features_of(7, ["eye"], AB)


def test_one_clip_and_anything_that_yields_clips_will_do():
    clips = [clip("a"), clip("b")]
    assert gathered(clips[0]) == clips[:1]
    for many in (clips, tuple(clips), iter(clips), (one for one in clips)):
        assert with_labels_that_fit(many, ["eye"], AB).labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            np.zeros((2, 3)),
            "expected clips, got ndarray at position 0. A clip is mmalign.data.Clip",
        ),
        ([0, 1], "got int at position 0.*fit\\(clips, labels\\)"),
        ([clip(1), None], "got NoneType at position 1"),
        (7, "expected clips, got int"),
        (pd.DataFrame({"wrist": [1.0]}), "a DataFrame. Make clips of it with .*clips_from_frames"),
        (Dataset(AB, {"eye": 3}, {"test": split([])}), r"a dataset. Give one.*\['test'\]"),
    ],
)
def test_what_is_no_clip_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        gathered(given)


def test_many_classes_are_suggested_by_their_largest_index():
    assert suggested_task([3, 1]).classes == ("0", "1", "2", "3")
    assert suggested_task([0]).classes == ("0", "1")


def test_plain_dicts_are_clips():
    given = {"eye": STEPS.tolist(), "ear": None, "label": np.int64(1), "group": 7}
    (one,) = gathered(given)
    assert (one.id, one.label, one.group) == ("clip0", 1, "7")
    assert one.is_missing("ear")
    rows = gathered([given | {"id": "mine"}, clip("a"), given])
    assert [row.id for row in rows] == ["mine", "x", "clip2"]
    found = labelled([given, given | {"label": 0}], ["eye", "ear"], AB)
    assert found.labels.tolist() == [1, 0]
    assert found.groups == ("7", "7")
    assert found.sequences["eye"][0].dtype == np.float32


def test_a_plain_dict_may_tell_which_steps_are_there():
    found = labelled(
        {"eye": STEPS, "label": "a", "observed": {"eye": np.array([True, False])}}, ["eye"], AB
    )
    assert found.gapped == {"eye"}
    assert [observed.tolist() for observed in found.observed("eye")] == [[True, False]]


@pytest.mark.parametrize("nothing", [{}, {"id": "mine", "label": "a"}, {"eye": None, "id": "mine"}])
def test_a_plain_dict_without_any_modality_is_refused_by_name(nothing):
    for clips in (nothing, [clip("a"), nothing]):
        with pytest.raises(DataError, match=r"clip (mine|clip.): every modality is missing"):
            gathered(clips)


def test_a_plain_dict_of_something_else_is_refused():
    with pytest.raises(DataError, match="clip clip0, modality eye: not numbers"):
        gathered({"eye": [[1.0, 2.0], [3.0]]})
    with pytest.raises(DataError, match="modality eye: not numbers"):
        labelled({"eye": [["a"]], "label": "a"}, ["eye"], AB)


def test_no_two_clips_to_learn_from_share_an_id():
    clips = [Clip("same", label, {"m": np.ones((2, 3))}) for label in ("a", "b")]
    with pytest.raises(DataError, match="clip same: the id appears twice"):
        taught(clips, ["m"], Classification(("a", "b")))
    assert len(labelled(clips, ["m"], Classification(("a", "b")))) == 2  # to be scored they may


@pytest.mark.parametrize(
    "steps",
    [
        *(np.ones((2, 3), complex), np.zeros((2, 3), "M8[s]"), np.zeros((2, 3), [("a", "f4")])),
        *(torch.ones(2, 3).to_sparse(), torch.ones(2, 3, device="meta")),
        *(torch.ones(2, 3, requires_grad=True), np.full((2, 3), 10**400, object)),
    ],
)
def test_what_cannot_be_float32_is_refused_and_not_cast(steps):
    """Complex numbers lost a part, dates became numbers, tensors raised errors of torch's."""
    with pytest.raises(DataError, match=r"modality eye: not numbers \(.+\)"):
        labelled({"eye": steps, "label": "a"}, ["eye"], AB)


def test_a_masked_value_is_missing_and_not_what_lies_under_the_mask():
    steps = np.ma.masked_array(np.ones((2, 3)), mask=[[True, False, False], [False] * 3])
    found = labelled({"eye": steps, "label": "a"}, ["eye"], AB).sequences["eye"][0]
    assert np.isnan(found).tolist() == [[True, False, False], [False] * 3]


@pytest.mark.parametrize("observed", [7, ["eye"], {"eye": [[1], [1, 2]]}, {"eye": [1, 0]}])
def test_an_odd_account_of_gaps_is_refused(observed):
    with pytest.raises(DataError, match=r"observed is|not numbers"):
        labelled({"eye": STEPS, "label": "a", "observed": observed}, ["eye"], AB)


@pytest.mark.parametrize("y", [[2**70, 1], [-(2**70), 1], np.array(5)])
def test_labels_that_no_integer_holds_are_refused(y):
    with pytest.raises(DataError, match=r"indices of classes|must hold labels"):
        relabelled([{"eye": STEPS}, {"eye": STEPS}], y)


def test_names_that_no_saved_model_may_have_are_refused_before_training():
    """Such a model was trained and saved, and then could not be loaded."""
    for name in ("a\x1b", "\ud800", "x" * 5000):
        with pytest.raises(DataError, match=r"class .* (holds control characters|is too long)"):
            relabelled([{"eye": STEPS}, {"eye": STEPS}], [name, "b"])
        with pytest.raises(DataError, match="modality"):
            taught([{name: STEPS, "label": "a"}], [name], AB)


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("lable", "a", "label"),
        ("Label", 1.5, "label"),
        ("groups", "anna", "group"),
        ("ID", "x", "id"),
        ("observd", {"eye": [True, True]}, "observed"),
    ],
)
def test_a_misspelt_key_of_a_clip_is_refused(key, value, meant):
    clip = {"eye": STEPS, "id": "x", "label": "a", key: value}
    clip.pop(meant, None)
    with pytest.raises(DataError, match=rf"no key '{key}' of a clip\. Did you mean '{meant}'"):
        gathered(clip)
    assert gathered({**clip, key: STEPS})[0].sequences[key] is STEPS  # a modality of that name


def test_facts_that_are_no_sequences_are_told_apart():
    given = {"eye": STEPS, "place": "park"}
    with pytest.raises(DataError, match=r"place: not numbers but text.*choose its modalities"):
        labelled([{**given, "label": "a"}], ["eye", "place"], AB)
    with pytest.raises(DataError, match=r"expected \[time, dim\], got \[2\].*array\[:, None\]"):
        labelled([{"eye": STEPS[:, 0], "label": "a"}], ["eye"], AB)
