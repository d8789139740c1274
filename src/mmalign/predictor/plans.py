"""What a model does with a clip on its way to a prediction: plans, and steps that stand in."""

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import torch
from jaxtyping import Float

from mmalign import align
from mmalign.data.batching import Batches
from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.evaluation.predictions import check_finite
from mmalign.imputers.bank import Direction
from mmalign.model.streams import Streams
from mmalign.predictor.predictor import Predictor

Plan = Float[np.ndarray, "_ _"]


@torch.no_grad()
def imputed_steps(
    predictor: Predictor, split: Split, target: str | None = None
) -> list[Float[np.ndarray, "_ _"]]:
    """The hidden steps `[time, dim]` that would stand in for the target, clip by clip.

    Without a target, the victim of the paper's pair is meant.

    Raises:
        DataError: If a clip has nothing but the target, or steps are not finite.
        MMAlignError: If the model has no such target.
    """
    goal = predictor.victim if target is None else target
    if goal not in predictor.model.bank.targets:
        names = ", ".join(dict.fromkeys(predictor.model.bank.targets)) or "nothing"
        raise ConfigError(f"this model does not impute {goal!r}; it imputes {names}")
    imputed = []
    for streams in one_by_one(predictor, split):
        known = predictor.model.known(streams.without([goal]))
        if not known:
            _refuse(streams, goal, "nothing is there to impute from")
        everywhere = torch.ones(1, dtype=torch.bool, device=predictor.model.gate.device)
        hidden = predictor.model.stand_in(goal, known, everywhere)
        steps = hidden.steps.cpu().numpy()
        check_finite(steps, streams.ids)
        imputed.append(steps[0])
    return imputed


def dense_plans(
    predictor: Predictor, split: Split, direction: Direction | None = None
) -> list[Plan]:
    """One plan `[source time, target time]` a clip.

    The solver's where the clip has the target, the fitter's prediction where it has not. Without
    a direction, the one of the paper's pair is meant.

    Raises:
        DataError: If a clip lacks the source, or a hidden step is not finite.
        MMAlignError: If the model has no such direction, or its imputer does not align.
    """
    chosen = direction or Direction(predictor.visible, predictor.victim)
    require_direction(predictor, chosen)
    return [_plan(predictor, streams, chosen) for streams in one_by_one(predictor, split)]


def chosen_direction(predictor: Predictor, source: str | None, target: str | None) -> Direction:
    """The direction that is meant: the named one, or the only one of a pair.

    Raises:
        ConfigError: If one end alone is named, or none where there are several directions, or the
            model does not know this one.
    """
    if source is not None and target is not None:
        require_direction(predictor, Direction(source, target))
        return Direction(source, target)
    pair = predictor.model.pair
    if source is not None or target is not None or pair is None:
        raise ConfigError(f"give both source and target; this model aligns {_known(predictor)}")
    return pair


def require_direction(predictor: Predictor, direction: Direction) -> None:
    """Check that the model imputes in this direction.

    Raises:
        ConfigError: If not.
    """
    source, target = direction
    if direction not in predictor.model.bank.directions:
        known = _known(predictor)
        raise ConfigError(f"this model does not align {source!r} to {target!r}; it knows {known}")


def _known(predictor: Predictor) -> str:
    return ", ".join(f"{s} to {t}" for s, t in predictor.model.bank.directions)


@torch.no_grad()
def _plan(predictor: Predictor, streams: Streams, direction: Direction) -> Plan:
    model, way = predictor.model, predictor.model.bank[direction]
    known = model.known(streams)
    for found in known.values():
        check_finite(found.hidden.steps.cpu().numpy(), streams.ids)
    if direction.source not in known:
        _refuse(streams, direction.source, "the modality to align from is missing")
    source = known[direction.source].hidden
    if direction.target in known:
        target = known[direction.target].hidden
        lengths = target.lengths
        solved = way.imputer.plan(source, target)
        mass = None if solved is None else solved.mass
    else:
        lengths = way.target_lengths(source.lengths)
        mass = way.imputer.predicted_plan(source, lengths)
    if mass is None:
        name = type(way.imputer).__name__
        raise MMAlignError(f"this model's imputer, {name}, does not align modalities")
    dense = align.to_dense(mass, source_lengths=source.lengths, target_lengths=lengths)
    plan: Plan = dense[0].cpu().numpy()
    return plan


def _refuse(streams: Streams, modality: str, problem: str) -> NoReturn:
    raise DataError(
        problem, clip=streams.ids[0], modality=modality, fix="Leave the clip out, or choose others."
    )


def one_by_one(predictor: Predictor, split: Split) -> Iterator[Streams]:
    """The clips one by one: an answer must not depend on batch-mates."""
    predictor.model.eval()
    for batch in Batches(split, predictor.features(), batch_size=1).in_order():
        yield predictor.streams(batch)
