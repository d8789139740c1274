"""Compile the kernels ahead of their first use: `python -m mmalign.align.compile`.

Numba keeps what it compiles beside the source, so this costs a minute once per install, and nobody
waits for it later: neither a first training run nor the workers of a grid, each on its own.
"""

import torch

from mmalign.align.compiled import DTYPES, kernels
from mmalign.align.fitting import fit_loss
from mmalign.align.imputation import impute
from mmalign.align.solver import solve


def compile_kernels() -> bool:
    """Use every kernel once in every dtype; tells whether there are any to compile."""
    if kernels("align.kernels.solve") is None:
        return False
    for dtype in DTYPES:
        _use_all(dtype)
    return True


def _use_all(dtype: torch.dtype) -> None:
    steps = torch.eye(2, dtype=dtype)[None]
    # Equal lengths are solved in groups, unequal ones alone, and both by fixed sweeps.
    solve(steps, steps[:, 1:])
    solve(steps, steps, iterations=1)
    mass = solve(steps, steps).mass.requires_grad_()
    imputed = impute(mass, steps.clone().requires_grad_())
    loss = fit_loss(mass, mass.detach())
    torch.autograd.backward((imputed.sum(), loss))


if __name__ == "__main__":
    compile_kernels()
