"""All built-in imputers keep the contract, and the checks notice who does not."""

import pytest
import torch
from torch import nn

from mmalign.checks import ImputerError, check_imputer
from mmalign.imputers import (
    MFM,
    SMIL,
    AlignmentDynamicsLearner,
    Copy,
    DynamicWindow,
    Imputer,
    MeanFill,
    ModalTrans,
    RandomPlan,
    UniformWindow,
    ZeroFill,
)

DIM, WINDOW = 6, 3
BUILT_IN = {
    "mmalign": lambda: AlignmentDynamicsLearner(DIM, window=WINDOW, epsilon=0.1),
    "zero-fill": ZeroFill,
    "mean-fill": lambda: MeanFill(DIM),
    "copy": Copy,
    "uniform-window": lambda: UniformWindow(WINDOW),
    "random-plan": lambda: RandomPlan(WINDOW),
    "dynamic-window": lambda: DynamicWindow(DIM, WINDOW),
    "mfm": lambda: MFM(DIM),
    "smil": lambda: SMIL(DIM, clusters=4, passes=3),
    "modal-trans": lambda: ModalTrans(DIM, 2),
    "modal-trans-uncached": lambda: ModalTrans(DIM, 2, "uncached"),
    "modal-trans-parallel": lambda: ModalTrans(DIM, 2, "parallel"),
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_imputers_keep_the_contract(name):
    torch.manual_seed(0)
    check_imputer(BUILT_IN[name](), dim=DIM)


class Good(Imputer):
    """A linear map of the copied step."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(DIM, DIM, bias=False)

    def fit_loss(self, visible, victim):
        return (self.map(visible.steps).sum() - victim.steps.sum()).square()

    def impute(self, visible, victim_lengths):
        return self.map(Copy().impute(visible, victim_lengths))

    def task_parameters(self):
        return list(self.parameters())


def test_a_sound_imputer_passes():
    check_imputer(Good(), dim=DIM)


class WrongShape(Good):
    def impute(self, visible, victim_lengths):
        return super().impute(visible, victim_lengths)[..., :-1]


class DirtyPadding(Good):
    def impute(self, visible, victim_lengths):
        return super().impute(visible, victim_lengths) + 1


class LooksAtTheBatch(Good):
    def impute(self, visible, victim_lengths):
        imputed = super().impute(visible, victim_lengths)
        return imputed * visible.steps.abs().mean()


class Dice(Good):
    def impute(self, visible, victim_lengths):
        torch.seed()
        return super().impute(visible, victim_lengths) * torch.rand(())


class SecretGradient(Good):
    def task_parameters(self):
        return []


class Unfitted(Good):
    def fit_loss(self, visible, victim):
        return (visible.steps.sum() + victim.steps.sum()).requires_grad_()


class NoDraws(Good):
    def draws(self, visible, victim_lengths):
        yield from ()


class LuckyDraws(Good):
    def draws(self, visible, victim_lengths):
        inside = super().impute(visible, victim_lengths) != 0
        yield inside * torch.rand((), dtype=torch.float64)


class DirtyDraws(Good):
    def draws(self, visible, victim_lengths):
        yield super().impute(visible, victim_lengths)
        yield super().impute(visible, victim_lengths) + 1


class LuckyPreparation(Good):
    def prepare(self, victim_steps):
        steps = victim_steps()
        with torch.no_grad():
            self.map.weight[0] = steps[torch.randint(len(steps), (20,))].mean(dim=0)


class Spoils(Good):
    def impute(self, visible, victim_lengths):
        imputed = super().impute(visible, victim_lengths)
        visible.head.zero_()
        return imputed


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
        (LuckyPreparation, "prepare depends on the state"),
        (Spoils, "changes its inputs"),
    ],
)
def test_a_broken_contract_is_named(bad, message):
    torch.manual_seed(0)
    with pytest.raises(ImputerError, match=message):
        check_imputer(bad(), dim=DIM)
