"""Compile the kernels ahead of their first use: `python -m mmalign.align.compile`.

Numba keeps what it compiles beside the source, so this costs a minute once per install, and nobody
waits for it later: neither a first training run nor the workers of a grid, each on its own.
"""

import torch

from mmalign.align.compiled import DTYPES, kernels
from mmalign.align.fitting import fit_loss
from mmalign.align.imputation import impute
from mmalign.align.solver import solve

LENGTHS = torch.tensor([9, 4])
SHORTER = torch.tensor([7, 4])
WINDOW = 2


def compile_kernels() -> bool:
    """Use every kernel once in every dtype; tells whether there are any to compile."""
    if kernels("align.kernels.solve") is None:
        return False
    for dtype in DTYPES:
        _use_all(dtype)
    return True


def _use_all(dtype: torch.dtype) -> None:
    steps = torch.randn(2, 9, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    for lengths, iterations in ((LENGTHS, None), (SHORTER, None), (LENGTHS, 3)):
        # Equal lengths are solved in groups, unequal ones alone, and both by fixed sweeps.
        solve(
            steps,
            steps,
            window=WINDOW,
            iterations=iterations,
            source_lengths=LENGTHS,
            target_lengths=lengths,
        )
    plan = torch.full((2, 9, 2 * WINDOW + 1), 0.2, dtype=dtype, requires_grad=True)
    imputed = impute(
        plan,
        steps.clone().requires_grad_(),
        source_lengths=LENGTHS,
        target_lengths=SHORTER,
    )
    loss = fit_loss(plan, plan.detach(), source_lengths=LENGTHS, target_lengths=SHORTER)
    (imputed.sum() + loss).backward()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    compile_kernels()
