"""Sinusoidal positions: where in time a step stands."""

import math
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor


def sinusoids(
    positions: Float[Tensor, "*batch time"], dim: int
) -> Float[Tensor, "*batch time dim"]:
    """Sines and cosines of the positions at wavelengths from 2 pi to 10000 * 2 pi.

    >>> sinusoids(torch.tensor([0.0, 0.5]), 4)[0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    half = (dim + 1) // 2
    exponents = torch.arange(half, dtype=positions.dtype, device=positions.device)
    rates = torch.exp(exponents * (-math.log(10_000.0) / half))
    angles = positions[..., None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., :dim]


def position_table(
    time: int, dim: int, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "time dim"]:
    """Positions 0, 1, 2, …, from a table that is kept."""
    return _kept_table(max(time - 1, 0).bit_length(), dim, dtype, device)[:time]


@lru_cache(maxsize=512)
def _kept_table(
    doublings: int, dim: int, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "time dim"]:
    """A power of 2 of positions: all lengths together keep twice the longest table at most."""
    with torch.no_grad():
        return sinusoids(torch.arange(1 << doublings, dtype=torch.float64), dim).to(device, dtype)


def scaled_positions(
    time: int, lengths: Int[Tensor, " batch"], clock: Int[Tensor, " batch"], dim: int
) -> Float[Tensor, "batch time_and_one dim"]:
    """Positions of [CLS] (0) and of steps that share the time span of `clock` steps.

    Step j of m covers the time of steps around (j + 1/2) n/m - 1/2 of n: the centre of the slanted
    band (design E13). Where lengths are equal this is the plain count 1, 2, 3, ….
    """
    steps = torch.arange(time, dtype=torch.float64, device=lengths.device)
    rate = (clock.double() / lengths.double())[:, None]
    placed = (steps + 0.5) * rate + 0.5
    with_head = torch.cat((torch.zeros_like(rate), placed), dim=1)
    return sinusoids(with_head, dim)
