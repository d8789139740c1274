"""One model for N modalities: nothing leaks, and nothing but what a clip has decides its answer."""

import json

import numpy as np
import pytest
import torch

from mmalign.data import Clip
from mmalign.data.batching import Batches
from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.imputers import Direction
from mmalign.model.streams import to_streams
from mmalign.predictor.features import check_any, with_modalities
from mmalign.predictor.plans import dense_plans, imputed_steps
from mmalign.predictor.predictor import Predictor, prediction_table
from mmalign.runs.artifact import Artifact, load_artifact
from mmalign.runs.manifest import replace_saved
from mmalign.training.losses import drawn_subset, imputed_loss
from mmalign.training.methods import METHODS, configure, find_method, seen_subset
from tests.forked import run_module
from tests.training.joint import TINY, trained, whole_twin, with_holes

pytestmark = pytest.mark.long

WHOLE = whole_twin()
HOLES = with_holes(WHOLE)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return trained(HOLES, both_passes=True, learning_rate=0.01)


def test_every_method_trains_and_nothing_sees_what_a_pattern_hides():
    """What is hidden becomes NaN: not a bit of weights and predictions changes."""
    done = run_module("tests.training.leaks")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["method"] for line in found] == [*METHODS, "mmalign", "mmalign"]
    assert [line["modalities"] for line in found] == [3] * len(METHODS) + [2, 5]
    for line in found:
        assert line["directions"] == line["modalities"] * (line["modalities"] - 1)
        assert line["weights are equal"], line
        assert line["answers are equal"], line
        assert line["answers differ"], line


def test_what_stands_where_nothing_is_has_no_say(predictor):
    """Features after a sequence's end, and of clips that lack it, become NaN in the tensors."""
    model = predictor.model
    streams = to_streams(next(Batches(HOLES["test"], HOLES.dims).in_order()), model.modalities)
    before = model(streams)
    loss = imputed_loss(model, streams)
    for name, features in streams.features.items():
        for row, length in enumerate(streams.lengths[name].tolist()):
            features[row, length:] = np.nan
    assert torch.equal(model(streams), before)
    assert torch.equal(imputed_loss(model, streams), loss)
    gradients = torch.autograd.grad(loss, list(model.backbone.parameters()), allow_unused=True)
    assert all(g is None or g.isfinite().all() for g in gradients)


def test_a_mixed_batch_is_trained_as_its_patterns_would_be(predictor):
    """Row by row in training, pattern by pattern in prediction: the same answers."""
    model = predictor.model
    streams = to_streams(next(Batches(HOLES["test"], HOLES.dims).in_order()), model.modalities)
    assert len(list(streams.patterns())) == 7
    together = model.backbone.predict(model.completed(model.known(streams)))
    torch.testing.assert_close(together, model(streams), atol=1e-6, rtol=0)


def test_order_of_modalities_and_of_clips_and_batch_mates_do_not_matter(predictor):
    test = HOLES["test"]
    expected = predictor.outputs(test)
    turned = test.only(test.modalities[::-1])
    torch.testing.assert_close(predictor.outputs(turned), expected, atol=1e-6, rtol=0)
    rows = np.random.default_rng(0).permutation(len(test))
    torch.testing.assert_close(
        predictor.outputs(test.select(rows)), expected[rows], atol=1e-6, rtol=0
    )
    alone = torch.cat([predictor.outputs(test.select([row])) for row in range(len(test))])
    torch.testing.assert_close(alone, expected, atol=1e-6, rtol=0)


def test_the_order_of_modalities_in_the_training_data_does_not_matter(predictor):
    names = HOLES.modalities
    again = trained(HOLES.only(names[::-1]), names, both_passes=True, learning_rate=0.01)
    assert torch.equal(again.outputs(HOLES["test"]), predictor.outputs(HOLES["test"]))


def test_null_absent_and_masked_are_the_same(predictor):
    whole = WHOLE["test"]
    masked = whole.without("m1", whole.ids).without("m3", whole.ids)
    absent = with_modalities(whole.only(["m2"]), predictor.modalities)
    null = Split(
        whole.ids, None, {**whole.sequences, "m1": [None] * len(whole), "m3": [None] * len(whole)}
    )
    expected = predictor.outputs(masked)
    for split in (absent, null):
        assert torch.equal(predictor.outputs(split), expected)
    assert not torch.equal(predictor.outputs(whole), expected)


def test_a_clip_that_has_nothing_is_refused_by_name(predictor):
    test = WHOLE["test"]
    for name in test.modalities:
        test = test.without(name, {"test-00004"})
    with pytest.raises(DataError, match=r"clip test-00004: none of m1, m2, m3 is there"):
        check_any(test, predictor.features())
    check_any(HOLES["test"], predictor.features())


def test_only_what_some_clip_lacks_is_imputed_unless_training_drops_at_random():
    lost = WHOLE["train"].ids[:6]
    partial = {n: s.without("m3", {*lost, *s.ids[:2]}) for n, s in WHOLE.splits.items()}
    data = type(WHOLE)(WHOLE.task, WHOLE.dims, partial)
    found = trained(data)
    assert set(found.model.bank.directions) == {("m1", "m3"), ("m2", "m3")}
    bare = WHOLE["test"].without("m1", WHOLE["test"].ids)
    assert found.outputs(bare).isfinite().all()  # zeros stand in
    assert len(trained(data, both_passes=True).model.bank.directions) == 6


def test_without_complete_clips_imputers_learn_from_pairs_that_are_there():
    splits = dict(WHOLE.splits)
    for place, name in enumerate(WHOLE.modalities):
        part = splits["train"]
        splits["train"] = part.without(name, set(part.ids[place::3]))
    data = type(WHOLE)(WHOLE.task, WHOLE.dims, splits)
    assert trained(data).outputs(data["test"]).isfinite().all()
    with pytest.raises(DataError, match="no training clip has all of m1, m2, m3"):
        trained(data, method="smil")


def test_a_modality_that_no_training_clip_has_is_refused():
    splits = {**WHOLE.splits, "train": WHOLE["train"].without("m2", WHOLE["train"].ids)}
    with pytest.raises(DataError, match="modality m2: no training clip has the modality"):
        trained(type(WHOLE)(WHOLE.task, WHOLE.dims, splits))


@pytest.mark.parametrize("subset", [("m2",), ("m1", "m3")])
def test_the_dedicated_network_reads_its_subset_alone(subset):
    seen = seen_subset(find_method("lb"), HOLES, subset)
    assert all(seen["train"].is_present(name).all() for name in subset)
    assert 0 < len(seen["train"]) < len(HOLES["train"])
    valid = seen["valid"]
    has_any = np.any([valid.is_present(name) for name in subset], axis=0)
    seen = type(seen)(
        seen.task, seen.dims, {**seen.splits, "valid": valid.select(np.flatnonzero(has_any))}
    )
    found = trained(seen, subset, method="lb")
    assert found.modalities == subset
    assert found.outputs(WHOLE.only(subset)["test"]).isfinite().all()


def test_a_saved_model_answers_as_before(predictor, tmp_path):
    config = configure({**TINY, "both_passes": True, "learning_rate": 0.01})
    replace_saved(tmp_path / "model", Artifact(predictor, config).saved())
    loaded = load_artifact(tmp_path / "model").predictor
    assert loaded.modalities == predictor.modalities
    assert loaded.model.bank.directions == predictor.model.bank.directions
    assert torch.equal(loaded.outputs(HOLES["test"]), predictor.outputs(HOLES["test"]))
    with pytest.raises(MMAlignError, match="no visible and victim modality; it reads m1, m2, m3"):
        _ = loaded.victim


def test_the_table_of_predictions_says_what_was_there(predictor):
    table = prediction_table(predictor, {"test": HOLES["test"]})
    for name in HOLES.modalities:
        assert table[f"has_{name}"].to_pylist() == HOLES["test"].is_present(name).tolist()


def test_stand_ins_and_plans_are_had_for_any_direction(predictor):
    test = HOLES["test"]
    there = test.select(np.flatnonzero(test.is_present("m1")))
    plans = dense_plans(predictor, there, Direction("m1", "m3"))
    for plan, length in zip(plans, there.lengths("m1"), strict=True):
        assert plan.shape[0] == length
        np.testing.assert_allclose(plan.sum(axis=1), 1, atol=1e-3)
    steps = imputed_steps(predictor, there.select([0]), "m3")[0]
    assert steps.shape[1] == TINY["dim"]
    with pytest.raises(ConfigError, match="does not align 'm1' to 'm4'"):
        dense_plans(predictor, there, Direction("m1", "m4"))
    with pytest.raises(ConfigError, match="does not impute 'm4'; it imputes m1, m2, m3"):
        imputed_steps(predictor, there, "m4")
    lonely = WHOLE["test"].without("m2", WHOLE["test"].ids).without("m3", WHOLE["test"].ids)
    with pytest.raises(DataError, match="nothing is there to impute from"):
        imputed_steps(predictor, lonely, "m1")
    with pytest.raises(DataError, match="the modality to align from is missing"):
        dense_plans(predictor, lonely, Direction("m2", "m1"))


def test_every_subset_that_leaves_something_is_dropped_now_and_then(predictor):
    torch.manual_seed(0)
    drawn = [drawn_subset(predictor.model) for _ in range(120)]
    assert len(set(drawn)) == 6
    assert all(0 < len(subset) < 3 for subset in drawn)


def with_gaps(split: Split, hidden: float) -> Split:
    """The second step of every sequence of m1, and all of the first clip's m2, is not observed."""
    clips = []
    for row, clip in enumerate(split):
        sequences, observed = dict(clip.sequences), {}
        for name in ("m1", "m2"):
            if sequences[name] is not None:
                steps = np.arange(len(sequences[name]))
                there = steps != 1 if name == "m1" else np.full(len(steps), row > 0)
                sequences[name] = np.where(there[:, None], sequences[name], hidden)
                observed[name] = there
        clips.append(Clip(clip.id, clip.label, sequences, observed=observed))
    return Split.from_clips(clips, split.modalities, WHOLE.task)


def test_gaps_are_learned_and_a_modality_that_is_all_gap_is_missing(tmp_path):
    data = [
        type(HOLES)(HOLES.task, HOLES.dims, {n: with_gaps(HOLES[n], hidden) for n in HOLES.splits})
        for hidden in (0.0, 1e30)
    ]
    first, second = (trained(holes, learning_rate=0.01) for holes in data)
    assert all(
        map(torch.equal, first.model.state_dict().values(), second.model.state_dict().values())
    )
    learned = {n for n in first.model.state_dict() if n.endswith(".gap")}
    assert learned == {"backbone.encoders.0.gap", "backbone.encoders.1.gap"}
    assert first.model.backbone.encoder("m1").gap.abs().max() > 0

    test = data[0]["test"]
    expected = first.outputs(test)
    without = HOLES["test"].without("m2", {"test-00000"})
    same = first.outputs(with_gaps(without, 0.0))
    assert torch.equal(expected, same)
    assert not torch.equal(expected, first.outputs(HOLES["test"]))

    replace_saved(tmp_path / "model", Artifact(first, configure(TINY)).saved())
    loaded = load_artifact(tmp_path / "model").predictor
    assert torch.equal(loaded.outputs(test), expected)
