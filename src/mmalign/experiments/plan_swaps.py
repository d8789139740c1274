"""Is the predicted plan used? Put another in its place at test time, and see what it costs."""

from collections.abc import Callable
from typing import TypeVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign import align
from mmalign.data.batching import Batches
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.errors import MMAlignError
from mmalign.evaluation.floors import score
from mmalign.imputers import Imputer
from mmalign.model.hidden import Hidden
from mmalign.model.streams import to_streams
from mmalign.predictor.members import mean_outputs
from mmalign.predictor.model import Model
from mmalign.predictor.predictor import EVALUATION_BATCH, Predictor

TINY = 1e-30
"""Mass below this counts as none."""

Plan = Float[Tensor, "batch time width"]
Lengths = Int[Tensor, " batch"]
Found = TypeVar("Found")
Swap = Callable[[Imputer, Hidden, Hidden, Lengths], tuple[Plan, Lengths]]
"""From imputer, visible, true victim and its guessed lengths to a plan and the lengths it has."""


def _demanded(plan: Found | None) -> Found:
    if plan is None:
        raise MMAlignError("this imputer has no plan to swap; train method 'mmalign'")
    return plan


def predicted(
    imputer: Imputer, visible: Hidden, _victim: Hidden, guessed: Lengths
) -> tuple[Plan, Lengths]:
    """The fitter's own plan: no swap at all."""
    return _demanded(imputer.predicted_plan(visible, guessed)), guessed


def uniform(
    imputer: Imputer, visible: Hidden, _victim: Hidden, guessed: Lengths
) -> tuple[Plan, Lengths]:
    """The same mass everywhere in the window."""
    plan = align.uniform_plan(
        visible.lengths,
        guessed,
        window=_demanded(imputer.predicted_plan(visible, guessed)).shape[2] // 2,
        time=visible.steps.shape[1],
        dtype=visible.steps.dtype,
    )
    return plan, guessed


def permuted(
    imputer: Imputer, visible: Hidden, _victim: Hidden, guessed: Lengths
) -> tuple[Plan, Lengths]:
    """Each step gets the predicted lags of another step of its clip."""
    plan = _demanded(imputer.predicted_plan(visible, guessed))
    time, width = plan.shape[1:]
    rows = torch.arange(time).repeat(len(plan), 1)
    for row, length in enumerate(visible.lengths.tolist()):
        # The order depends on the number of steps alone: batch-mates change nothing.
        order = torch.randperm(length, generator=torch.Generator().manual_seed(length))
        rows[row, :length] = order
    moved = plan.gather(1, rows.to(plan.device)[..., None].expand_as(plan))
    inside = align.is_inside(visible.lengths, guessed, window=width // 2, time=time)
    return align.band_softmax(moved.clamp(min=TINY).log(), inside), guessed


def oracle(
    imputer: Imputer, visible: Hidden, victim: Hidden, _guessed: Lengths
) -> tuple[Plan, Lengths]:
    """The solver's plan, which sees the victim that is missing in truth."""
    return _demanded(imputer.plan(visible, victim)).mass, victim.lengths


SWAPS: dict[str, Swap] = {"uniform": uniform, "permuted": permuted, "oracle": oracle}


@torch.no_grad()
def swapped_scores(predictor: Predictor, clips: Split, swap: Swap) -> dict[str, float]:
    """Metrics in setting A with another plan in place of the predicted one.

    Args:
        predictor: A trained model whose imputer has plans.
        clips: Labelled clips that all have their victim: the oracle looks at it, the others do not.
        swap: What is put in.

    Raises:
        MMAlignError: If the imputer has no plans.
    """
    outputs = mean_outputs([_swapped(model, clips, swap) for model in predictor.members])
    labels = cast(Labels, clips.labels)
    return score(predictor.task, predictor.to_labels(outputs), labels)


def _swapped(model: Model, clips: Split, swap: Swap) -> Float[Tensor, "clips outputs"]:
    """Outputs of the paper's pair with the plan swapped."""
    visible_name, victim_name = model.eval().modalities
    way = model.bank[visible_name, victim_name]
    outputs = []
    for batch in Batches(clips, model.features, batch_size=EVALUATION_BATCH).in_order():
        streams = to_streams(batch, model.modalities)
        visible, victim = (model.encode(name, streams) for name in model.modalities)
        guessed = way.target_lengths(visible.lengths)
        plan, lengths = swap(way.imputer, visible, victim, guessed)
        steps = align.impute(
            plan, visible.steps, source_lengths=visible.lengths, target_lengths=lengths
        )
        imputed = model.backbone.imputed(victim_name, steps, lengths)
        outputs.append(model.backbone.predict({visible_name: visible, victim_name: imputed}))
    return torch.cat(outputs)
