"""Checks that every imputer must pass; run them on your own.

from mmalign.checks import check_imputer
check_imputer(MyImputer(dim=8), dim=8)
"""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from mmalign.errors import MMAlignError
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, is_valid

LENGTHS = (7, 1, 4)
VICTIM_LENGTHS = (5, 2, 9)
TOLERANCE = 1e-9


class ImputerError(MMAlignError):
    """An imputer breaks its contract."""


def check_imputer(imputer: Imputer, *, dim: int, has_unequal_lengths: bool = True) -> None:
    """Check shapes, masks, invariances, gradients, determinism and saving of an imputer.

    What holds for `impute` must hold for each of its `draws`. The imputer is prepared first.

    Args:
        imputer: A fresh imputer for hidden vectors of width `dim`; it is not changed.
        dim: Width of the hidden vectors.
        has_unequal_lengths: Whether the victim may have other lengths than the visible modality.

    Raises:
        ImputerError: At the first broken promise, with what was expected.
    """
    for check in CHECKS:
        for victim_lengths in (LENGTHS, VICTIM_LENGTHS) if has_unequal_lengths else (LENGTHS,):
            subject = copy.deepcopy(imputer).double().eval()
            victim = _hidden(victim_lengths, dim, seed=2)
            subject.prepare(partial(_steps, victim))
            check(subject, _hidden(LENGTHS, dim, seed=1), victim)


def _hidden(lengths: tuple[int, ...], dim: int, *, seed: int) -> Hidden:
    random = torch.Generator().manual_seed(seed)
    counts = torch.tensor(lengths)
    steps = torch.randn(len(lengths), max(lengths), dim, generator=random, dtype=torch.float64)
    inside = is_valid(counts, max(lengths))
    head = torch.randn(len(lengths), dim, generator=random, dtype=torch.float64)
    return Hidden(head, steps * inside[..., None], counts)


def _steps(hidden: Hidden) -> Tensor:
    return hidden.steps[is_valid(hidden.lengths, hidden.steps.shape[1])]


def _demand(is_kept: bool, promise: str) -> None:
    if not is_kept:
        raise ImputerError(f"the imputer breaks its contract: {promise}")


def _check_shape(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    expected = (*victim.steps.shape[:2], visible.steps.shape[2])
    for imputed in _impute(imputer, visible, victim.lengths):
        _demand(tuple(imputed.shape) == expected, f"expected shape {expected}, got {imputed.shape}")
        _demand(bool(torch.isfinite(imputed).all()), "expected finite numbers only")
        outside = ~is_valid(victim.lengths, imputed.shape[1])
        _demand(bool((imputed[outside] == 0).all()), "expected zeros after each clip's length")


def _check_batch_mates(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    together = _impute(imputer, visible, victim.lengths)
    for row in range(len(visible.lengths)):
        alone = _impute(imputer, _row(visible, row), victim.lengths[row : row + 1])
        length = int(victim.lengths[row])
        _demand(
            _are_close([i[row, :length] for i in together], [i[0, :length] for i in alone]),
            f"clip {row} is imputed differently alone than among others",
        )


def _check_padding(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    longer = torch.nn.functional.pad(visible.steps, (0, 0, 0, 6))
    padded = Hidden(visible.head, longer, visible.lengths)
    _demand(
        _are_close(
            _impute(imputer, padded, victim.lengths), _impute(imputer, visible, victim.lengths)
        ),
        "padding changes the imputed steps",
    )


def _check_gradients(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    imputer.train()
    loss = imputer.fit_loss(visible.detach(), victim.detach())
    if loss is not None:
        _demand(loss.ndim == 0 and bool(torch.isfinite(loss)), "fit_loss must be one finite number")
        loss.backward()  # type: ignore[no-untyped-call]
        trained = [p for p in imputer.parameters() if p.grad is not None and bool(p.grad.any())]
        _demand(bool(trained), "fit_loss reaches none of the parameters")
    imputer.zero_grad(set_to_none=True)
    imputed = imputer.impute(visible, victim.lengths)
    promised = {id(parameter) for parameter in imputer.task_parameters()}
    if imputed.requires_grad:
        imputed.square().sum().backward()  # type: ignore[no-untyped-call]
    reached = {id(p) for p in imputer.parameters() if p.grad is not None and bool(p.grad.any())}
    _demand(reached <= promised, "impute trains parameters that task_parameters does not name")
    _demand(not promised or bool(reached), "impute reaches none of the task_parameters")


def _check_determinism(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    first, second = (_impute(imputer, visible, victim.lengths) for _ in range(2))
    _demand(_are_equal(first, second), "the same seed gives another imputation")
    with torch.no_grad():
        again = list(imputer.draws(visible, victim.lengths))
    _demand(_are_equal(first[1:], again), "draws depend on the state of torch's random numbers")


def _check_preparation(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:  # noqa: ARG001
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        prepared = copy.deepcopy(imputer)
        prepared.prepare(partial(_steps, victim))
        states.append(list(prepared.state_dict().values()))
    _demand(_are_equal(*states), "prepare depends on the state of torch's random numbers")


def _check_saving(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    before = _impute(imputer, visible, victim.lengths)
    saved = {name: tensor.clone() for name, tensor in imputer.state_dict().items()}
    with torch.no_grad():
        for tensor in (*imputer.parameters(), *imputer.buffers()):
            tensor.zero_()
    imputer.load_state_dict(saved)
    _demand(
        _are_equal(before, _impute(imputer, visible, victim.lengths)),
        "saving and loading its state changes the imputation",
    )


def _check_inputs_untouched(imputer: Imputer, visible: Hidden, victim: Hidden) -> None:
    steps, head = visible.steps.clone(), visible.head.clone()
    _impute(imputer, visible, victim.lengths)
    is_same = torch.equal(steps, visible.steps) and torch.equal(head, visible.head)
    _demand(is_same, "impute changes its inputs")


def _impute(imputer: Imputer, visible: Hidden, victim_lengths: Tensor) -> list[Tensor]:
    """The imputation and all draws."""
    torch.manual_seed(0)
    with torch.no_grad():
        imputed = imputer.impute(visible, victim_lengths)
        draws = list(imputer.draws(visible, victim_lengths))
    _demand(bool(draws), "expected one of draws at least")
    return [imputed, *draws]


def _row(hidden: Hidden, row: int) -> Hidden:
    length = int(hidden.lengths[row])
    chosen = slice(row, row + 1)
    return Hidden(hidden.head[chosen], hidden.steps[chosen, :length], hidden.lengths[chosen])


def _are_close(first: list[Tensor], second: list[Tensor]) -> bool:
    return len(first) == len(second) and all(
        a.shape == b.shape and bool(((a - b).abs() <= TOLERANCE).all())
        for a, b in zip(first, second, strict=True)
    )


def _are_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return len(first) == len(second) and all(map(torch.equal, first, second))


CHECKS: tuple[Callable[[Imputer, Hidden, Hidden], None], ...] = (
    _check_shape,
    _check_batch_mates,
    _check_padding,
    _check_gradients,
    _check_determinism,
    _check_preparation,
    _check_saving,
    _check_inputs_untouched,
)
