"""All built-in imputers keep the contract, and the checks notice who does not."""

import pytest
import torch
from torch import nn

from mmalign.checks import ImputerError, check_imputer
from mmalign.imputers import Copy, Imputer
from mmalign.model.hidden import Hidden
from mmalign.training.config import Config
from mmalign.training.methods import METHODS

DIM = 6
CONFIG = Config(dim=DIM, heads=2, window=3)


@pytest.mark.parametrize("name", METHODS)
def test_built_in_imputers_keep_the_contract(name):
    torch.manual_seed(0)
    check_imputer(METHODS[name].make_imputer(CONFIG), dim=DIM)


@pytest.mark.parametrize("name", METHODS)
def test_an_imputer_has_both_plans_or_none(name):
    torch.manual_seed(0)
    imputer = METHODS[name].make_imputer(CONFIG).eval()
    steps = torch.randn(2, 5, DIM)
    hidden = Hidden(steps[:, 0], steps, torch.tensor([5, 5]))
    solved, guessed = imputer.plan(hidden, hidden), imputer.predicted_plan(hidden, hidden.lengths)
    assert (solved is None) == (guessed is None) == (not METHODS[name].is_aligned)
    assert solved is None or solved.mass.shape == guessed.shape


class Good(Imputer):
    """A linear map of the copied step."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(DIM, DIM, bias=False)

    def fit_loss(self, source, target):
        return (self.map(source.steps).sum() - target.steps.sum()).square()

    def impute(self, source, target_lengths):
        return self.map(Copy().impute(source, target_lengths))

    def task_parameters(self):
        return list(self.parameters())


def test_a_sound_imputer_passes():
    check_imputer(Good(), dim=DIM)


class WrongShape(Good):
    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths)[..., :-1]


class DirtyPadding(Good):
    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths) + 1


class LooksAtTheBatch(Good):
    def impute(self, source, target_lengths):
        imputed = super().impute(source, target_lengths)
        return imputed * source.steps.abs().mean()


class Dice(Good):
    def impute(self, source, target_lengths):
        torch.seed()
        return super().impute(source, target_lengths) * torch.rand(())


class SecretGradient(Good):
    def task_parameters(self):
        return []


class Unfitted(Good):
    def fit_loss(self, source, target):
        return (source.steps.sum() + target.steps.sum()).requires_grad_()


class NoDraws(Good):
    def draws(self, source, target_lengths):
        yield from ()


class LuckyDraws(Good):
    def draws(self, source, target_lengths):
        inside = super().impute(source, target_lengths) != 0
        yield inside * torch.rand((), dtype=torch.float64)


class DirtyDraws(Good):
    def draws(self, source, target_lengths):
        yield super().impute(source, target_lengths)
        yield super().impute(source, target_lengths) + 1


class LuckyPreparation(Good):
    def prepare(self, target_steps):
        steps = target_steps()
        with torch.no_grad():
            self.map.weight[0] = steps[torch.randint(len(steps), (20,))].mean(dim=0)


class Spoils(Good):
    def impute(self, source, target_lengths):
        imputed = super().impute(source, target_lengths)
        source.head.zero_()
        return imputed


class SpoilsWhileFitting(Good):
    def fit_loss(self, source, target):
        loss = super().fit_loss(source, target)
        target.steps.zero_()
        return loss


class ForgetsItsMean(Good):
    """A statistic in a plain attribute is not saved."""

    mean = 0.0

    def prepare(self, target_steps):
        self.mean = float(target_steps().mean())

    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths) * (1 + self.mean)


class RemembersTheTarget(Good):
    """What it was fitted to comes back when it should impute."""

    seen = None

    def fit_loss(self, source, target):
        self.seen = target.steps
        return super().fit_loss(source, target)

    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths) if self.seen is None else self.seen


class OnlyDouble(Good):
    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths) * torch.ones(1, dtype=torch.float64)


class DividesByLength(Good):
    """Zero vectors, such as silence, have no direction."""

    def impute(self, source, target_lengths):
        given = source.steps / source.steps.norm(dim=-1, keepdim=True)
        return super().impute(type(source)(source.head, given, source.lengths), target_lengths)


class ShortTable(Good):
    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.randn(12, DIM))

    def impute(self, source, target_lengths):
        imputed = super().impute(source, target_lengths)
        return imputed * self.positions[: imputed.shape[1]]


class Unreached(Good):
    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths).detach()


class DirtyInTraining(Good):
    def impute(self, source, target_lengths):
        return super().impute(source, target_lengths) + float(self.training)


class NeedsTwo(Good):
    def fit_loss(self, source, target):
        return super().fit_loss(source, target) / (len(target.lengths) - 1)


class Reseeds(Good):
    def prepare(self, target_steps):
        torch.manual_seed(0)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (WrongShape, "expected shape"),
        (DirtyPadding, "zeros after each clip's length"),
        (LooksAtTheBatch, "differently alone"),
        (Dice, "the same seed|differently alone|padding changes"),
        (SecretGradient, "task_parameters does not name"),
        (Unfitted, "reaches none of the parameters"),
        (NoDraws, "one of draws at least"),
        (LuckyDraws, "draws depend on the state"),
        (DirtyDraws, "zeros after each clip's length"),
        (LuckyPreparation, "prepare (depends on|changes) the state"),
        (Spoils, "impute changes its inputs"),
        (SpoilsWhileFitting, "fit_loss changes its inputs"),
        (ForgetsItsMean, "saving and loading"),
        (RemembersTheTarget, "leaves something behind"),
        (OnlyDouble, "expected torch.float32"),
        (DividesByLength, "finite numbers"),
        (Unreached, "reaches none of the task_parameters"),
        (DirtyInTraining, "zeros after each clip's length"),
        (NeedsTwo, "alone must be one finite number"),
        (Reseeds, "prepare changes the state"),
    ],
)
def test_a_broken_contract_is_named(bad, message):
    torch.manual_seed(0)
    with pytest.raises(ImputerError, match=message):
        check_imputer(bad(), dim=DIM)


def test_a_table_of_positions_that_is_too_short_is_noticed():
    with pytest.raises(RuntimeError, match="must match"):
        check_imputer(ShortTable(), dim=DIM)
