"""A bank of imputers: one for each direction in which a modality may have to be imputed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.data.split import Split
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, Known

CLOSED = -1e30
"""The logit of a direction whose source is missing: after a softmax, exactly 0."""

Steps = Float[Tensor, "_ _ _"]
Lengths = Int[Tensor, " _"]
Ask = Callable[[Imputer, Hidden, Lengths], Iterable[Steps]]
"""How an imputer is asked for stand-ins: for one, or for all its draws."""


class Direction(NamedTuple):
    """From which modality which one is imputed."""

    source: str
    target: str


def needed_directions(
    train: Split, modalities: Sequence[str], targets: Sequence[str] | None = None
) -> tuple[Direction, ...]:
    """The directions that a training can need.

    A direction needs some training clip that has both ends, as an imputer learns from such clips.

    Args:
        train: The training clips.
        modalities: What the model reads.
        targets: What may have to be imputed. Without it: what some training clip lacks, or
            everything if all clips are complete.
    """
    present = {name: train.is_present(name) for name in modalities}
    lacking = [name for name in modalities if not present[name].all()]
    wanted = targets if targets is not None else lacking or modalities
    return tuple(
        Direction(source, target)
        for target in wanted
        for source in modalities
        if source != target and (present[source] & present[target]).any()
    )


class Way(nn.Module):
    """One direction: its imputer, and how many target steps there are per source step."""

    length_ratio: Tensor

    def __init__(self, imputer: Imputer) -> None:
        super().__init__()
        self.imputer = imputer
        self.register_buffer("length_ratio", torch.ones((), dtype=torch.float64))

    def target_lengths(self, lengths: Int[Tensor, " clips"]) -> Int[Tensor, " clips"]:
        """How long a missing target is taken to be, by this source alone."""
        return (lengths * self.length_ratio).round().long().clamp(min=1)

    def fit_lengths(
        self, source: Int[np.ndarray, " clips"], target: Int[np.ndarray, " clips"]
    ) -> None:
        """Learn the ratio of lengths from clips that have both."""
        is_both = (source > 0) & (target > 0)
        if is_both.any():
            self.length_ratio.fill_(float(target[is_both].sum() / source[is_both].sum()))


class ImputerBank(nn.Module):
    """Imputers by direction; what several sources say of a target is mixed.

    The mixture is a softmax over one learned scalar for each direction whose source is there; from
    one source alone, the imputation is taken as it is. Where no source has a direction to the
    target, zeros stand in.

    Args:
        directions: From `needed_directions`.
        make_imputer: Makes a fresh imputer; called once a direction, in their order.
    """

    preferences: nn.Parameter | None

    def __init__(
        self, directions: Sequence[tuple[str, str]], make_imputer: Callable[[], Imputer]
    ) -> None:
        super().__init__()
        self.directions = tuple(Direction(*direction) for direction in directions)
        self.ways = nn.ModuleList(Way(make_imputer()) for _ in self.directions)
        self.register_parameter("preferences", None)
        if len(set(self.targets)) < len(self.directions):
            self.preferences = nn.Parameter(torch.zeros(len(self.directions)))

    def __getitem__(self, direction: tuple[str, str]) -> Way:
        return cast(Way, self.ways[self.directions.index(Direction(*direction))])

    def items(self) -> Iterator[tuple[Direction, Way]]:
        """Each direction and what imputes it."""
        return zip(self.directions, cast(Iterable[Way], self.ways), strict=True)

    @property
    def only(self) -> Imputer:
        """The imputer of a bank with one direction, as in the paper."""
        (way,) = self.ways
        return cast(Way, way).imputer

    @property
    def targets(self) -> tuple[str, ...]:
        """What can be imputed, direction by direction."""
        return tuple(target for _, target in self.directions)

    @property
    def sources(self) -> frozenset[str]:
        """What something can be imputed from."""
        return frozenset(source for source, _ in self.directions)

    def imputer_parameters(self) -> list[nn.Parameter]:
        """Those of all imputers: what fitting trains."""
        return [p for _, way in self.items() for p in way.imputer.parameters()]

    def task_parameters(self) -> list[nn.Parameter]:
        """What the main task trains: the imputers' own choice, and how their answers are mixed."""
        of_imputers = [p for _, way in self.items() for p in way.imputer.task_parameters()]
        return of_imputers if self.preferences is None else [*of_imputers, self.preferences]

    def prepare(self, steps_of: Callable[[str], Float[Tensor, "steps dim"]]) -> None:
        """Get all imputers ready for an epoch.

        Args:
            steps_of: Gives the hidden steps of a target on all training clips that have it.
        """
        once = cache(steps_of)
        for (_, target), way in self.items():
            way.imputer.prepare(lambda target=target: once(target))  # type: ignore[misc]

    def fit_losses(self, known: Mapping[str, Known]) -> dict[Direction, Float[Tensor, ""]]:
        """How badly each imputer does on the clips that have both its ends, if there are any."""
        losses = {}
        for (source, target), way in self.items():
            if source not in known or target not in known:
                continue
            is_both = known[source].is_there & known[target].is_there
            if not bool(is_both.any()):
                continue
            loss = way.imputer.fit_loss(known[source].of(is_both), known[target].of(is_both))
            if loss is not None:
                losses[Direction(source, target)] = loss
        return losses

    def lengths(
        self, target: str, known: Mapping[str, Known], is_wanted: Bool[Tensor, " batch"]
    ) -> Lengths:
        """How long a missing target is taken to be: the mean of what its sources say.

        Sources without a direction to the target count, step for step, where there is no other.
        """
        totals = [torch.zeros(len(is_wanted), dtype=torch.float64) for _ in range(4)]
        said, sayers, others, other_count = (total.to(is_wanted.device) for total in totals)
        for source, found in known.items():
            rows = found.is_there
            if Direction(source, target) in self.directions:
                said[rows] += found.hidden.lengths * self[source, target].length_ratio
                sayers += rows
            else:
                others[rows] += found.hidden.lengths
                other_count += rows
        guess = torch.where(sayers > 0, said / sayers.clamp(min=1), others / other_count)
        return guess[is_wanted].round().long().clamp(min=1)

    def stand_ins(
        self, target: str, known: Mapping[str, Known], is_wanted: Bool[Tensor, " batch"], ask: Ask
    ) -> Iterator[tuple[Steps, Lengths]]:
        """Steps that stand in for the target in the wanted clips, once or draw by draw."""
        lengths = self.lengths(target, known, is_wanted)
        ways = [
            (place, way.imputer, known[source])
            for place, ((source, goal), way) in enumerate(self.items())
            if goal == target and source in known and bool(known[source].is_there[is_wanted].any())
        ]
        if len(ways) == 1 and bool(ways[0][2].is_there[is_wanted].all()):
            _, imputer, source = ways[0]
            yield from ((steps, lengths) for steps in ask(imputer, source.of(is_wanted), lengths))
            return
        if not ways:
            like = next(iter(known.values())).hidden.steps
            yield like.new_zeros(len(lengths), int(lengths.max()), like.shape[2]), lengths
            return
        shares = self._shares([place for place, *_ in ways], [w[2].is_there for w in ways])
        asked = [_asked(ask, imputer, source, is_wanted, lengths) for _, imputer, source in ways]
        for draws in zip(*asked, strict=True):
            mixed: Tensor | float = 0.0
            for share, (rows, steps) in zip(shares[is_wanted].T, draws, strict=True):
                mixed = mixed + _placed(steps * share[rows, None, None], rows, lengths)
            yield cast(Tensor, mixed), lengths

    def _shares(
        self, places: list[int], there: list[Bool[Tensor, " batch"]]
    ) -> Float[Tensor, "batch ways"]:
        is_there = torch.stack(there, dim=1)
        if self.preferences is None:
            return is_there.float()
        logits = self.preferences[places].expand(is_there.shape)
        return logits.masked_fill(~is_there, CLOSED).softmax(dim=1) * is_there


def one(imputer: Imputer, source: Hidden, lengths: Lengths) -> Iterable[Steps]:
    """Ask for one imputation."""
    yield imputer.impute(source, lengths)


def all_draws(imputer: Imputer, source: Hidden, lengths: Lengths) -> Iterable[Steps]:
    """Ask for all imputations whose predictions are averaged."""
    return imputer.draws(source, lengths)


def _asked(
    ask: Ask, imputer: Imputer, source: Known, is_wanted: Bool[Tensor, " batch"], lengths: Lengths
) -> Iterator[tuple[Lengths, Steps]]:
    """Stand-ins of the wanted clips that have the source, and their rows among the wanted."""
    rows = source.is_there[is_wanted].nonzero()[:, 0]
    for steps in ask(imputer, source.of(source.is_there & is_wanted), lengths[rows]):
        yield rows, steps


def _placed(steps: Steps, rows: Lengths, lengths: Lengths) -> Steps:
    """Steps of some clips among all wanted ones, zeros for the others."""
    longer = functional.pad(steps, (0, 0, 0, int(lengths.max()) - steps.shape[1]))
    return longer.new_zeros(len(lengths), *longer.shape[1:]).index_add(0, rows, longer)
