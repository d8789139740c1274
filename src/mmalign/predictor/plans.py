"""What a model does with a clip on its way to a prediction: plans, and steps that stand in."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float

from mmalign import align
from mmalign.data.batching import Batches
from mmalign.data.split import Split
from mmalign.errors import MMAlignError
from mmalign.model.pair import Pair
from mmalign.predictor.predictor import Predictor, check_finite

Plan = Float[np.ndarray, "_ _"]


@torch.no_grad()
def imputed_steps(predictor: Predictor, split: Split) -> list[Float[np.ndarray, "_ _"]]:
    """The hidden steps `[time, dim]` that would stand in for the victim, clip by clip.

    Raises:
        DataError: If one of them is not finite.
    """
    imputed = []
    for pair in one_by_one(predictor, split):
        hidden = predictor.model.impute(predictor.model.encode_visible(pair))
        check_finite(hidden.steps, pair.ids)
        imputed.append(hidden.steps[0].cpu().numpy())
    return imputed


def dense_plans(predictor: Predictor, split: Split) -> list[Plan]:
    """One plan `[visible time, victim time]` a clip.

    The solver's where the clip has its victim, the fitter's prediction where it has not.

    Raises:
        DataError: If a hidden step is not finite.
        MMAlignError: If the model's imputer does not align.
    """
    return [_plan(predictor, pair) for pair in one_by_one(predictor, split)]


@torch.no_grad()
def _plan(predictor: Predictor, pair: Pair) -> Plan:
    model = predictor.model
    visible = model.encode_visible(pair)
    check_finite(visible.steps, pair.ids)
    if bool(pair.is_complete.all()):
        lengths = pair.victim_lengths
        victim = model.encode_victim(pair)
        check_finite(victim.steps, pair.ids)
        solved = model.imputer.plan(visible, victim)
        mass = None if solved is None else solved.mass
    else:
        lengths = model.victim_lengths(visible.lengths)
        mass = model.imputer.predicted_plan(visible, lengths)
    if mass is None:
        name = type(model.imputer).__name__
        raise MMAlignError(f"this model's imputer, {name}, does not align modalities")
    dense = align.to_dense(mass, source_lengths=visible.lengths, target_lengths=lengths)
    plan: Plan = dense[0].cpu().numpy()
    return plan


def one_by_one(predictor: Predictor, split: Split) -> Iterator[Pair]:
    """The clips one by one: an answer must not depend on batch-mates."""
    predictor.model.eval()
    for batch in Batches(split, predictor.features(), batch_size=1).in_order():
        yield predictor.pair(batch)
