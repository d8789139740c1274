"""The straightforward loop gives the same numbers as the package: losses, weights, predictions."""

import numpy as np
import pytest
import torch
from benchmarks.reference_loop import ReferenceLoop, ReferenceModel, solve

from mmalign import align
from mmalign.data import Regression, Split
from mmalign.data.batching import Batches
from mmalign.imputers import Direction
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.predictor import Predictor
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.methods import build_model

PAIR = ("text", "visual")
DIMS = {"text": 7, "visual": 4}
CONFIG = Config(dim=8, heads=2, window=3, dropout=0.0)


def clips(count: int, *, is_complete: bool) -> Split:
    random = np.random.default_rng(count)
    lengths = random.integers(1, 12, count)
    columns = {
        name: [random.normal(2, 3, (n, dim)).astype(np.float32) for n in lengths]
        for name, dim in DIMS.items()
    }
    if not is_complete:
        columns["visual"] = [None] * count
    labels = random.uniform(-3, 3, count).astype(np.float32)
    return Split(tuple(f"{count}-{n}" for n in range(count)), labels, columns)


def batches(split: Split) -> list[Streams]:
    return [to_streams(b, PAIR) for b in Batches(split, DIMS, batch_size=8).in_order()]


@pytest.fixture(scope="module")
def both():
    """Our training and the reference with the same weights, after 20 steps on the same batches."""
    torch.manual_seed(0)
    model = build_model(CONFIG, Regression(-3, 3), DIMS, [Direction(*PAIR)])
    complete, missing = clips(36, is_complete=True), clips(80, is_complete=False)
    model.fit_scales(complete)
    reference = ReferenceModel(tuple(DIMS.values()), CONFIG)
    reference.copy_from(model)
    ours = DenoisingTraining(model, make_optimizers(model, CONFIG), CONFIG)
    theirs = ReferenceLoop(reference, PAIR)
    for loop in (ours, theirs):
        loop.epoch(batches(complete), batches(missing))
    return ours, theirs


def test_losses_of_20_steps_are_equal(both):
    ours, theirs = both
    assert sum(len(losses) for losses in theirs.losses.values()) == 20
    for name, losses in theirs.losses.items():
        assert ours.losses[name] == pytest.approx(losses, abs=1e-5), name


def test_weights_after_20_steps_are_equal(both):
    ours, theirs = both
    expected = ReferenceModel(tuple(DIMS.values()), CONFIG)
    expected.copy_from(ours.model)
    for (name, found), wanted in zip(
        theirs.model.named_parameters(), expected.parameters(), strict=True
    ):
        if name.endswith("in_proj_bias"):  # a key's bias changes no share: Adam walks on rounding
            found, wanted = (bias.reshape(3, -1)[[0, 2]] for bias in (found, wanted))
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0, msg=name)


def test_predictions_are_equal(both):
    ours, theirs = both
    split = clips(9, is_complete=False)
    predictor = Predictor(ours.model, Regression(-3, 3))
    expected = predictor.to_labels(predictor.outputs(split))
    for rows in (list(range(9)), [4]):
        found = theirs.model.predict([split[row] for row in rows], "text")
        np.testing.assert_allclose(found, expected[rows], atol=1e-5)


def test_the_plan_is_the_package_s():
    torch.manual_seed(0)
    source, target = torch.randn(2, 15, 6)
    band = align.solve(source, target, window=4, epsilon=0.1).mass.reshape(15, 9)
    dense = solve(source, target, 4, 0.1, None)
    columns = torch.arange(15)[:, None] + torch.arange(-4, 5)
    inside = (columns >= 0) & (columns < 15)
    found = dense.gather(1, columns.clamp(0, 14))
    torch.testing.assert_close(found[inside], band[inside], atol=1e-5, rtol=0)
