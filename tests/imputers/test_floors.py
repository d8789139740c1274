"""Floors know nothing but what their names say."""

import torch

from mmalign.data.batching import Batches
from mmalign.imputers import MeanFill
from mmalign.model.hidden import is_valid
from mmalign.model.streams import to_streams
from mmalign.training.loop import Training
from tests.training.small import IN_PAIR, small_config, small_dataset, small_protocol

TWO = ("visible", "victim")


def test_mean_fill_is_the_mean_of_the_steps_from_the_first_epoch_on():
    masked = small_protocol().apply(small_dataset())
    config = small_config(method="mean-fill", warm_up=0, epochs=1)
    training = Training(masked, config, validations={"A": masked["valid"]}, **IN_PAIR)
    model, train = training.state.model, masked["train"]
    complete = train.select([row for row, n in enumerate(train.lengths("victim")) if n])
    steps = []
    with torch.no_grad():
        for batch in Batches(complete, masked.dims, batch_size=1).in_order():
            steps.append(model.eval().encode("victim", to_streams(batch, TWO)).steps[0])
    training.run_epoch()
    imputer = model.bank.only
    assert isinstance(imputer, MeanFill)
    torch.testing.assert_close(imputer.mean, torch.cat(steps).mean(dim=0))
    assert imputer.mean.abs().max() > 0.01

    hidden = model.encode("visible", to_streams(batch, TWO))
    lengths = torch.tensor([3])
    imputed = imputer.impute(hidden, lengths)
    assert torch.equal(imputed[0, is_valid(lengths, 3)[0]], imputer.mean.expand(3, -1))
