"""Checks that every imputer must pass; run them on your own.

from mmalign.checks import check_imputer
check_imputer(MyImputer(dim=32))
"""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from mmalign.errors import MMAlignError
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, is_valid

LENGTHS = (17, 1, 4)
TARGET_LENGTHS = (15, 2, 9)
DIM = 32
TOLERANCE = 1e-9


class ImputerError(MMAlignError):
    """An imputer breaks its contract."""


def check_imputer(imputer: Imputer, *, dim: int = DIM, has_unequal_lengths: bool = True) -> None:
    """Check shapes, masks, invariances, gradients, determinism, leaks and saving of an imputer.

    What holds for `impute` must hold for each of its `draws`. The imputer is prepared first.

    Args:
        imputer: A fresh imputer for hidden vectors of width `dim`; it is not changed.
        dim: Width of the hidden vectors.
        has_unequal_lengths: Whether the target may have other lengths than the source modality.

    Raises:
        ImputerError: At the first broken promise, with what was expected.
    """
    for target_lengths in (LENGTHS, TARGET_LENGTHS) if has_unequal_lengths else (LENGTHS,):
        for check in CHECKS:
            source, target = _pair(target_lengths, dim)
            check(_prepared(imputer, target), source, target)
        source, target = _pair(target_lengths, dim)
        _check_saving(_fresh(imputer, target), _prepared(imputer, target), source, target)
        source, target = map(_in_float32, (source, target))
        _check_shape(_prepared(imputer, target).train(), source, target)


def _pair(target_lengths: tuple[int, ...], dim: int) -> tuple[Hidden, Hidden]:
    """Source and target sequences, the same at each call: no check sees what another changed."""
    return _hidden(LENGTHS, dim, seed=1), _hidden(target_lengths, dim, seed=2)


def _fresh(imputer: Imputer, target: Hidden) -> Imputer:
    """A copy as it comes, in the dtype of the target's steps."""
    return copy.deepcopy(imputer).to(target.steps.dtype).eval()


def _prepared(imputer: Imputer, target: Hidden) -> Imputer:
    """A copy that has seen the target's steps, as at the start of an epoch."""
    subject = _fresh(imputer, target)
    subject.prepare(partial(_steps, target))
    return subject


def _hidden(lengths: tuple[int, ...], dim: int, *, seed: int) -> Hidden:
    """Random sequences; the third step of the first clip is a zero vector, as silence is."""
    random = torch.Generator().manual_seed(seed)
    counts = torch.tensor(lengths)
    steps = torch.randn(len(lengths), max(lengths), dim, generator=random, dtype=torch.float64)
    steps[0, 2] = 0
    inside = is_valid(counts, max(lengths))
    head = torch.randn(len(lengths), dim, generator=random, dtype=torch.float64)
    return Hidden(head, steps * inside[..., None], counts)


def _in_float32(hidden: Hidden) -> Hidden:
    return Hidden(hidden.head.float(), hidden.steps.float(), hidden.lengths)


def _steps(hidden: Hidden) -> Tensor:
    return hidden.steps[is_valid(hidden.lengths, hidden.steps.shape[1])]


def _demand(is_kept: bool, promise: str) -> None:
    if not is_kept:
        raise ImputerError(f"the imputer breaks its contract: {promise}")


def _check_shape(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    expected = (*target.steps.shape[:2], source.steps.shape[2])
    for imputed in _impute(imputer, source, target.lengths):
        _demand(tuple(imputed.shape) == expected, f"expected shape {expected}, got {imputed.shape}")
        _demand(
            imputed.dtype == source.steps.dtype,
            f"expected {source.steps.dtype} as the source steps have, got {imputed.dtype}",
        )
        _demand(bool(torch.isfinite(imputed).all()), "expected finite numbers only")
        outside = ~is_valid(target.lengths, imputed.shape[1])
        _demand(bool((imputed[outside] == 0).all()), "expected zeros after each clip's length")


def _check_batch_mates(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    together = _impute(imputer, source, target.lengths)
    for row in range(len(source.lengths)):
        alone = _impute(imputer, _row(source, row), target.lengths[row : row + 1])
        length = int(target.lengths[row])
        _demand(
            _are_close([i[row, :length] for i in together], [i[0, :length] for i in alone]),
            f"clip {row} is imputed differently alone than among others",
        )


def _check_padding(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    longer = torch.nn.functional.pad(source.steps, (0, 0, 0, 6))
    padded = Hidden(source.head, longer, source.lengths)
    _demand(
        _are_close(
            _impute(imputer, padded, target.lengths), _impute(imputer, source, target.lengths)
        ),
        "padding changes the imputed steps",
    )


def _check_fitting(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    imputer.train()
    kept = copy.deepcopy((source, target))
    loss = imputer.fit_loss(source.detach(), target.detach())
    _demand(_are_untouched(kept, (source, target)), "fit_loss changes its inputs")
    if loss is None:
        return
    _demand(loss.ndim == 0 and bool(torch.isfinite(loss)), "fit_loss must be one finite number")
    loss.backward()  # type: ignore[no-untyped-call]
    trained = [p for p in imputer.parameters() if p.grad is not None and bool(p.grad.any())]
    _demand(bool(trained), "fit_loss reaches none of the parameters")
    for row in range(len(source.lengths)):
        alone = imputer.fit_loss(_row(source, row), _row(target, row))
        is_finite = alone is not None and bool(torch.isfinite(alone))
        _demand(is_finite, f"fit_loss of clip {row} alone must be one finite number")


def _check_leaks(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    before = _impute(imputer, source, target.lengths)
    imputer.fit_loss(source.detach(), target.detach())
    _demand(
        _are_equal(before, _impute(imputer, source, target.lengths)),
        "fit_loss leaves something behind that changes the imputation",
    )


def _check_gradients(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    imputer.train()
    imputed = imputer.impute(source, target.lengths)
    promised = {id(parameter) for parameter in imputer.task_parameters()}
    if imputed.requires_grad:
        imputed.square().sum().backward()  # type: ignore[no-untyped-call]
    reached = {id(p) for p in imputer.parameters() if p.grad is not None and bool(p.grad.any())}
    _demand(reached <= promised, "impute trains parameters that task_parameters does not name")
    # Not all of them: some may learn from another part of the task, as SMIL's regularisation does.
    _demand(not promised or bool(reached), "impute reaches none of the task_parameters")


def _check_determinism(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    first, second = (_impute(imputer, source, target.lengths) for _ in range(2))
    _demand(_are_equal(first, second), "the same seed gives another imputation")
    with torch.no_grad():
        again = list(imputer.draws(source, target.lengths))
    _demand(_are_equal(first[1:], again), "draws depend on the state of torch's random numbers")


def _check_preparation(imputer: Imputer, source: Hidden, target: Hidden) -> None:  # noqa: ARG001
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        chance = torch.get_rng_state()
        states.append(list(_prepared(imputer, target).state_dict().values()))
        is_same = torch.equal(chance, torch.get_rng_state())
        _demand(is_same, "prepare changes the state of torch's random numbers")
    _demand(_are_equal(*states), "prepare depends on the state of torch's random numbers")


def _check_saving(fresh: Imputer, imputer: Imputer, source: Hidden, target: Hidden) -> None:
    """What a fresh imputer imputes with the state of another, as after loading a model."""
    before = _impute(imputer, source, target.lengths)
    with torch.no_grad():
        for tensor in (*fresh.parameters(), *fresh.buffers()):
            tensor.zero_()
    fresh.load_state_dict(imputer.state_dict())
    _demand(
        _are_equal(before, _impute(fresh, source, target.lengths)),
        "saving and loading its state changes the imputation: keep statistics in buffers",
    )


def _check_inputs_untouched(imputer: Imputer, source: Hidden, target: Hidden) -> None:
    kept = copy.deepcopy(source)
    _impute(imputer, source, target.lengths)
    _demand(_are_untouched((kept,), (source,)), "impute changes its inputs")


def _impute(imputer: Imputer, source: Hidden, target_lengths: Tensor) -> list[Tensor]:
    """The imputation and all draws."""
    torch.manual_seed(0)
    with torch.no_grad():
        imputed = imputer.impute(source, target_lengths)
        draws = list(imputer.draws(source, target_lengths))
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


def _are_untouched(kept: tuple[Hidden, ...], given: tuple[Hidden, ...]) -> bool:
    return all(
        torch.equal(a.head, b.head) and torch.equal(a.steps, b.steps)
        for a, b in zip(kept, given, strict=True)
    )


def _are_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return len(first) == len(second) and all(map(torch.equal, first, second))


CHECKS: tuple[Callable[[Imputer, Hidden, Hidden], None], ...] = (
    _check_shape,
    _check_batch_mates,
    _check_padding,
    _check_fitting,
    _check_leaks,
    _check_gradients,
    _check_determinism,
    _check_preparation,
    _check_inputs_untouched,
)
