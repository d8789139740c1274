"""SMIL: mixtures of centres, weights from a Gaussian, and a gradient through the inner step."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.vq import kmeans2
from scipy.optimize import linprog

from mmalign.data.batching import Batches
from mmalign.data.task import Regression
from mmalign.imputers import SMIL, Copy
from mmalign.imputers.smil import CLUSTERING_ROUNDS, NOISE_ROWS, cluster, kmeans_start
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.model import Model
from mmalign.training.methods import build_model
from tests.imputers.test_mmalign import DIM, LENGTHS, hidden
from tests.training.small import small_config, small_dataset, small_protocol

CLUSTERS = 4


def steps_of(sequences: Hidden) -> torch.Tensor:
    return sequences.steps[is_valid(sequences.lengths, sequences.steps.shape[1])]


def make(passes: int = 3, seed: int = 0) -> SMIL:
    torch.manual_seed(seed)
    imputer = SMIL(DIM, clusters=CLUSTERS, passes=passes).double()
    imputer.prepare(lambda: steps_of(hidden([12, 9, 7], seed=5)))
    with torch.no_grad():  # weights far from equal, as after training
        imputer.weigh.mean.weight.mul_(50)
    return imputer


def is_mixture(point: np.ndarray, centres: np.ndarray) -> bool:
    """Whether shares >= 0 that sum to 1 give the point: a linear program, to 1e-9."""
    equations = np.vstack((centres.T, np.ones(len(centres))))
    found = linprog(
        np.zeros(len(centres)),
        A_eq=equations,
        b_eq=np.append(point, 1.0),
        options={"primal_feasibility_tolerance": 1e-9},
    )
    return found.status == 0


@settings(max_examples=10)
@given(LENGTHS, st.booleans(), st.data())
def test_every_imputed_step_is_a_mixture_of_the_centres(lengths, is_training, data):
    imputer = make().train(is_training)
    source = hidden(lengths)
    target_lengths = torch.tensor([data.draw(st.integers(1, 12)) for _ in lengths])
    centres = imputer.centres.numpy()
    inside = is_valid(target_lengths, int(target_lengths.max()))
    with torch.no_grad():
        imputed = [
            imputer.impute(source, target_lengths),
            *imputer.draws(source, target_lengths),
        ]
    for steps in imputed:
        assert all(is_mixture(step, centres) for step in steps[inside].numpy())
        assert (steps[~inside] == 0).all()
    assert not is_mixture(centres.mean(axis=0) + 100, centres)


def test_centres_are_those_of_k_means_on_the_same_steps():
    steps = steps_of(hidden([40, 35, 50], seed=3)).numpy()
    imputer = SMIL(DIM, clusters=CLUSTERS).double()
    imputer.prepare(lambda: torch.from_numpy(steps))
    start = kmeans_start(steps, CLUSTERS)
    expected, _ = kmeans2(steps, start, iter=CLUSTERING_ROUNDS, minit="matrix")
    np.testing.assert_array_equal(imputer.centres, expected)
    nearest = np.square(steps[:, None] - expected).sum(-1).argmin(1)
    for number in range(CLUSTERS):  # a fixed point of Lloyd's rounds, or nearly
        np.testing.assert_allclose(expected[number], steps[nearest == number].mean(0), atol=0.3)


def test_centres_find_well_separated_clusters():
    random = np.random.default_rng(0)
    truth = 10 * random.standard_normal((6, DIM))
    steps = np.repeat(truth, 50, axis=0) + 0.01 * random.standard_normal((300, DIM))
    centres = cluster(steps, np.zeros((6, DIM)))
    distance = np.linalg.norm(truth[:, None] - centres, axis=2)
    assert distance.min(axis=1).max() < 0.01


def test_centres_keep_their_places_when_the_encoder_moves_a_little():
    steps = steps_of(hidden([40, 35, 50], seed=3)).numpy()
    first = cluster(steps, np.zeros((CLUSTERS, DIM)))
    second = cluster(steps + 0.01, first)
    moves = np.linalg.norm(first[:, None] - second, axis=2)
    assert moves.argmin(axis=1).tolist() == list(range(CLUSTERS))


@pytest.mark.parametrize("count", [1, 2, CLUSTERS])
def test_with_fewer_steps_than_clusters_the_steps_are_the_centres(count):
    steps = np.random.default_rng(0).standard_normal((count, DIM))
    centres = cluster(steps, np.zeros((CLUSTERS, DIM)))
    assert {tuple(row) for row in centres} == {tuple(row) for row in steps}


def test_steps_that_are_all_the_same_and_clusters_that_die_do_no_harm():
    centres = cluster(np.ones((20, DIM)), np.zeros((CLUSTERS, DIM)))
    np.testing.assert_allclose(centres, 1.0)
    before = np.vstack((np.ones((1, DIM)), 1000 + np.arange(3 * DIM).reshape(3, DIM)))
    np.testing.assert_array_equal(cluster(np.ones((20, DIM)), before), before)


def test_before_there_are_centres_zeros_stand_in():
    source = hidden([5, 3])
    assert (SMIL(DIM).double().impute(source, source.lengths) == 0).all()


def test_training_draws_afresh_and_evaluation_does_not():
    imputer, source = make(), hidden([5, 3])
    first, second = (imputer.impute(source, source.lengths) for _ in range(2))
    assert not torch.equal(first, second)
    imputer.eval()
    first, second = (imputer.impute(source, source.lengths) for _ in range(2))
    assert torch.equal(first, second)


def test_draws_scatter_around_the_mean_weights():
    imputer, source = make(passes=100).eval(), hidden([5, 3])
    with torch.no_grad():
        draws = torch.stack(list(imputer.draws(source, source.lengths)))
        assert draws.std(dim=0)[0].min() > 0
        imputed = imputer.impute(source, source.lengths)
    torch.testing.assert_close(draws.mean(dim=0), imputed, atol=0.04, rtol=0)


def test_noise_is_shared_by_clips_and_comes_again_after_its_table():
    imputer = make(passes=1).eval()
    long = NOISE_ROWS + 4
    step = torch.randn(1, 1, DIM, dtype=torch.float64).expand(2, long, DIM)
    source = Hidden(step[:, 0], step, torch.tensor([long, long]))
    (drawn,) = imputer.draws(source, source.lengths)
    torch.testing.assert_close(drawn[0], drawn[1])
    torch.testing.assert_close(drawn[0, :4], drawn[0, NOISE_ROWS:])
    assert not torch.equal(drawn[0, 0], drawn[0, 1])


def test_the_weights_come_from_the_source_step_at_the_same_moment():
    imputer = make().eval()
    source = hidden([8])
    with torch.no_grad():
        before = imputer.impute(source, torch.tensor([4]))
        source.steps[0, 2:4] += 5.0
        changed = (imputer.impute(source, torch.tensor([4])) != before).any(dim=-1)[0]
    assert changed.tolist() == [False, True, False, False]


def test_regularised_features_start_near_the_clean_ones_and_are_drawn_afresh():
    imputer, source = make(), hidden([6, 4])
    first, second = imputer.regularised(source), imputer.regularised(source)
    ratio = (first.steps / source.steps)[is_valid(source.lengths, 6)]
    assert 0.9 < ratio.mean() < 1.1
    assert ratio.std() < 0.2
    assert not torch.equal(first.steps, second.steps)
    assert (first.steps[1, 4:] == 0).all()


def test_fitting_brings_the_mixture_to_the_true_steps():
    """The truth is one centre or another, and the source step says which."""
    imputer = make()
    target, source = hidden([12, 9, 7], seed=5), hidden([12, 9, 7], seed=5)
    which = torch.arange(12) % CLUSTERS
    shown = torch.nn.functional.one_hot(which, DIM).double().expand(3, -1, -1)
    source = Hidden(source.head, shown, source.lengths)
    inside = is_valid(target.lengths, 12)[..., None]
    target = Hidden(target.head, imputer.centres[which].expand(3, -1, -1) * inside, target.lengths)
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.05)
    first = imputer.fit_loss(source, target).item()
    for _ in range(80):
        optimizer.zero_grad()
        loss = imputer.fit_loss(source, target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05 * first


def test_its_state_is_all_it_needs():
    imputer, other, source = make(seed=0).eval(), make(seed=1).eval(), hidden([5, 3])
    wanted = list(imputer.draws(source, source.lengths))
    other.load_state_dict(copy.deepcopy(imputer.state_dict()))
    assert all(map(torch.equal, wanted, other.draws(source, source.lengths)))


def test_the_start_of_the_factors_is_one():
    assert math.isclose(torch.nn.functional.softplus(make().multiply.mean.bias)[0].item(), 1.0)


def small_model(task) -> Model:
    torch.manual_seed(0)
    model = build_model(
        small_config(method="smil", dropout=0.0),
        task,
        {"visible": 6, "victim": 6},
        [("visible", "victim")],
    )
    model.bank.only.centres.normal_()
    with torch.no_grad():
        model.bank.only.weigh.scale.bias.fill_(1.0)  # draws that differ
    return model.eval()


def missing_pair() -> Streams:
    split = small_protocol().apply(small_dataset())["test"]
    batch = next(iter(Batches(split, {"visible": 6, "victim": 6}, batch_size=5).in_order()))
    return to_streams(batch, ("visible", "victim"))


@torch.no_grad()
def single_answers(model: Model, pair: Streams) -> torch.Tensor:
    source = model.encode("visible", pair)
    lengths = model.bank.ways[0].target_lengths(source.lengths)
    draws = list(model.bank.only.draws(source, lengths))
    assert len(draws) == 10
    stand_ins = [model.backbone.imputed("victim", draw, lengths) for draw in draws]
    return torch.stack(
        [model.backbone.predict({"visible": source, "victim": victim}) for victim in stand_ins]
    )


@torch.no_grad()
def test_averaged_passes_are_the_mean_of_the_single_ones():
    model, pair = small_model(small_dataset().task), missing_pair()
    single = single_answers(model, pair).softmax(dim=-1)
    assert single.std(dim=0).max() > 1e-4
    torch.testing.assert_close(model(pair).softmax(dim=-1), single.mean(dim=0))

    model = small_model(Regression())
    single = single_answers(model, pair)
    assert single.std(dim=0).max() > 1e-4
    torch.testing.assert_close(model(pair), single.mean(dim=0))


@torch.no_grad()
def test_one_draw_is_passed_on_to_the_bit():
    model, pair = small_model(small_dataset().task), missing_pair()
    model.bank.ways[0].imputer = Copy()
    completed = model.completed(model.known(pair))
    assert torch.equal(model(pair), model.backbone.predict(completed))
