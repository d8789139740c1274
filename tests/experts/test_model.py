"""One model for every subset."""

from dataclasses import replace

import numpy as np
import pytest

import mmalign
from mmalign.data.clip import Clip
from mmalign.errors import CorruptArtifactError, DataError, MMAlignError
from mmalign.experts import Experts, recipe
from mmalign.experts.recipe import Recipe
from tests.experts.made import NAMES, made_clips, only, with_holes


@pytest.fixture(scope="module")
def small():
    """Networks that train in a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "Recipe", lambda **_: Recipe(epochs=12))
        yield


@pytest.fixture(scope="module")
def model(small):
    return Experts(seed=3).fit(with_holes(made_clips(90, seed=0)), groups=lambda i: i[:7])


TEST = made_clips(30, seed=1)


def test_every_subset_has_an_answer_and_more_modalities_do_not_hurt(model):
    scores = {s: model.score(only(TEST, *s))["accuracy"] for s in [("pose",), ("wrist",), NAMES]}
    assert min(scores.values()) > 0.6
    assert scores[NAMES] >= max(scores[("pose",)], scores[("wrist",)]) - 0.05
    assert set(model.predict(only(TEST, "voice"))) <= {0, 1, 2}


def classes_shown_once(count: int) -> list[Clip]:
    """Pose and wrist show the class as a pace; every clip has a class of its own."""
    clips = []
    for row in range(count):
        paces = np.arange(24)[:, None] * (0.3 + 0.15 * row)
        sequences = {"pose": np.sin(paces + np.arange(3)), "wrist": np.cos(paces + np.arange(2))}
        clips.append(Clip(f"clip{row}", f"class{row}", sequences))
    return clips


@pytest.mark.parametrize("repeats", [1, 3])
def test_classes_that_nobody_else_has_shown_are_recognised_all_the_same(small, repeats):
    """One clip a class, or who it is with groups by person: nothing can be left out to ask about.

    Weights of 0 would answer the first class for every clip.
    """
    shown = classes_shown_once(8)
    train = [replace(clip, id=f"{clip.id}-{n}") for clip in shown for n in range(repeats)]
    groups = None if repeats == 1 else lambda clip_id: clip_id.split("-")[0]
    model = Experts(seed=0).fit(train, groups=groups)
    for names in (("pose",), ("wrist",), ("pose", "wrist")):
        assert model.score(only(shown, *names))["accuracy"] > 0.8


def shifted(rng: np.random.Generator, shift: float) -> np.ndarray:
    """A noisy sequence at this level."""
    return (shift + 0.6 * rng.normal(size=2) + 0.3 * rng.normal(size=(12, 2))).astype(np.float32)


def test_a_rare_class_is_not_held_against_a_clip_once_a_modality(small):
    """Three modalities that say as much; each training clip has one of them."""
    rng = np.random.default_rng(0)

    def clips(count: int, *, whole: bool) -> list[Clip]:
        made = []
        for row in range(count):
            rare = bool(rng.random() < 0.15)
            names = ["left", "right", "middle"] if whole else [["left", "right", "middle"][row % 3]]
            sequences = {name: shifted(rng, 0.8 * rare) for name in names}
            made.append(Clip(f"clip{row}", "rare" if rare else "usual", sequences))
        return made

    model = Experts(seed=0).fit(clips(240, whole=False))
    test = clips(400, whole=True)
    said, rare = model.classes_[model.predict(test)], np.array([c.label == "rare" for c in test])
    assert np.mean(said[rare] == "rare") > 0.6
    assert np.mean(said[~rare] == "usual") > 0.9


def test_numbers_are_not_drawn_to_the_mean_where_other_clips_have_another_one(small):
    """Clips with high labels have the pose, clips with low labels the wrist."""
    rng = np.random.default_rng(1)

    def clips(count: int) -> list[Clip]:
        labels = rng.normal(size=count) + 8.0 * (np.arange(count) % 2)
        names = ["wrist", "pose"]
        return [
            Clip(f"clip{row}", float(label), {names[row % 2]: shifted(rng, 3 * float(label))})
            for row, label in enumerate(labels)
        ]

    model = Experts(seed=0).fit(clips(120))
    assert model.score(clips(120))["mae"] < 0.6


def test_a_strong_modality_counts_though_few_clips_have_it(small):
    rng = np.random.default_rng(2)

    def clips(count: int, every: int) -> list[Clip]:
        made = []
        for row in range(count):
            kind = int(rng.integers(4))
            sequences = {"weak": shifted(rng, 0.5 * kind)}
            if row % every == 0:
                sequences["strong"] = shifted(rng, 5.0 * kind)
            made.append(Clip(f"clip{row}", "abcd"[kind], sequences))
        return made

    model = Experts(seed=0).fit(clips(300, 10))
    assert model.score(clips(200, 1))["accuracy"] > 0.95


def test_groups_count_only_if_most_classes_are_shown_by_two_of_them():
    clips = classes_shown_once(10)
    repeated = [replace(clip, id=f"{clip.id}-{n}") for clip in clips for n in range(3)]

    def groups(shared: int) -> list[str]:
        of = [int(clip.id.split("-")[0][4:]) for clip in repeated]
        numbers = [int(clip.id.split("-")[1]) for clip in repeated]
        return [f"g{n}" if k < shared else f"g{k % 3}" for k, n in zip(of, numbers, strict=True)]

    for shared, known in ((6, True), (4, False)):
        _, lessons = Experts().lessons(repeated, groups(shared))
        assert (lessons["pose"].groups is not None) is known


def test_clips_of_one_class_are_refused():
    for label in ("run", 0, 1):
        clips = [replace(clip, label=label) for clip in made_clips(6, seed=0)]
        with pytest.raises(DataError, match="two"):
            Experts(epochs=1).fit(clips)


def test_no_clips_get_no_answers(model):
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 3)


def test_absent_null_and_masked_are_the_same(model):
    absent = only(TEST, "pose", "wrist")
    null = [replace(c, sequences={**c.sequences, "voice": None}) for c in absent]
    poisoned = [
        replace(c, sequences={**c.sequences, "voice": np.full((4, 2), np.nan, np.float32)})
        for c in absent
    ]
    split = mmalign.data.split.Split.from_clips(poisoned, list(NAMES), model.task)
    masked = split.without("voice", split.ids)
    expected = model.evidence(absent)
    for other in (null, masked):
        np.testing.assert_array_equal(model.evidence(other), expected)


def test_order_of_clips_and_batch_mates_change_nothing(model):
    mixed = with_holes(TEST)
    found = model.predict_proba(mixed)
    np.testing.assert_allclose(model.predict_proba(mixed[::-1])[::-1], found, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(mixed[4])[0], found[4], atol=1e-6)
    longer = {name: np.tile(steps, (9, 1)) for name, steps in TEST[0].sequences.items()}
    padded = [*mixed, replace(TEST[0], id="longer", sequences=longer)]
    np.testing.assert_allclose(model.predict_proba(padded)[:-1], found, atol=1e-6)


def test_a_clip_without_a_group_is_answered_beside_one_with(model):
    mixed = [replace(TEST[0], group="ann"), replace(TEST[1], group=None)]
    np.testing.assert_array_equal(model.predict(mixed), model.predict(TEST[:2]))


def test_trained_again_it_has_the_same_bits_whatever_lies_in_what_is_hidden(model, small):
    clips = with_holes(made_clips(90, seed=0))
    whole = made_clips(90, seed=0)
    nan = [
        replace(
            clip,
            sequences={
                name: full.sequences[name] * np.float32(np.nan) if steps is None else steps
                for name, steps in clip.sequences.items()
            },
        )
        for clip, full in zip(clips, whole, strict=True)
    ]
    split = mmalign.data.split.Split.from_clips(nan, list(NAMES), model.task)
    for number, name in enumerate(NAMES):
        split = split.without(name, split.ids[number::3])
    again = Experts(seed=3).fit(replace(split, labels=np.arange(90) % 3), groups=lambda i: i[:7])
    np.testing.assert_array_equal(again.evidence(TEST), model.evidence(TEST))


def test_probabilities_sum_to_one_and_agree_with_predictions(model):
    shares = model.predict_proba(with_holes(TEST))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == model.predict(with_holes(TEST))).all()
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_saved_and_loaded_it_answers_the_same_and_damage_is_refused(model, tmp_path):
    model.save(tmp_path / "saved")
    model.save(tmp_path / "saved")  # replaced as a whole
    back = Experts.load(tmp_path / "saved")
    np.testing.assert_array_equal(back.evidence(with_holes(TEST)), model.evidence(with_holes(TEST)))
    file = tmp_path / "saved" / "experts.safetensors"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptArtifactError):
        Experts.load(tmp_path / "saved")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(MMAlignError, match="holds other files"):
        model.save(tmp_path / "mine")


def test_numbers_are_predicted_better_than_by_their_mean(small):
    train, test = (made_clips(n, seed=s, numbers=True) for n, s in ((180, 0), (120, 1)))
    model = Experts(seed=3).fit(with_holes(train))
    mean = np.mean([clip.label for clip in train])
    floor = np.mean([abs(clip.label - mean) for clip in test])
    for names in (("pose",), ("wrist",), NAMES):
        assert model.score(only(test, *names))["mae"] < 0.9 * floor
    with pytest.raises(MMAlignError, match="classification"):
        model.predict_proba(test)


@pytest.mark.parametrize(
    ("clips", "message"),
    [
        (only(TEST[:2]), "none of the model's modalities"),
        ([Clip("x", None, {"pose": np.ones((4, 9), np.float32)})], r"expected \[time, 4\]"),
        ([Clip("x", None, {"pose": np.full((4, 4), np.nan, np.float32)})], "non-finite"),
    ],
)
def test_clips_that_do_not_fit_are_refused_by_name(model, clips, message):
    with pytest.raises(DataError, match=message) as found:
        model.predict(clips)
    assert clips[0].id in str(found.value)


def probabilities(model, clips) -> np.ndarray | DataError:
    try:
        return model.predict_proba(clips)
    except DataError as error:
        return error


@pytest.mark.parametrize("value", [1e20, 1e37, 3e38])
def test_features_at_the_end_of_float32_get_finite_answers_or_one_error(model, value):
    filled = [np.full_like(TEST[0].sequences["pose"], fill) for fill in (value, -value)]
    spike, zigzag = TEST[0].sequences["pose"].copy(), filled[0].copy()
    spike[0, 0], zigzag[::2] = value, -value
    for steps in (*filled, spike, zigzag):
        clips = [TEST[1], replace(TEST[0], sequences={"pose": steps})]
        found = probabilities(model, clips)
        if isinstance(found, DataError):
            assert f"clip {TEST[0].id}: the model's output is not finite" in str(found)
            with pytest.raises(DataError, match="not finite"):
                model.predict(clips)
        else:
            assert np.isfinite(found).all()


def test_training_features_at_the_end_of_float32_are_learned_from(small):
    clips = only(made_clips(12, seed=0), "pose")
    huge = [
        replace(clip, sequences={"pose": np.full((5, 4), (-1) ** row * 3e38, np.float32)})
        for row, clip in enumerate(clips)
    ]
    assert np.isfinite(Experts(seed=0).fit(huge).evidence(huge)).all()


def test_bad_training_clips_and_unfitted_models_are_refused(model):
    odd = replace(TEST[4], sequences={"pose": np.ones((4, 9), np.float32)})
    with pytest.raises(
        DataError, match=rf"expected \[time, 4\].*clip {TEST[4].id}|clip {TEST[4].id}"
    ):
        Experts().fit([*only(TEST[:4], "pose"), odd])
    with pytest.raises(DataError, match="fewer than two training clips"):
        Experts(["smell"]).fit(TEST)
    with pytest.raises(DataError, match="fewer than two training clips"):
        Experts().fit([*only(TEST[:9], "pose"), *only(TEST[9:10], "pose", "wrist")])
    with pytest.raises(MMAlignError, match="not fitted"):
        Experts().predict(TEST)
