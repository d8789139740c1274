"""Lines of numbers, filled up to whole vectors: how kernels of one clip read weights. No torch."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from jaxtyping import Float32

Flat = Float32[np.ndarray, "..."]
LANES = 16
"""Lines of a matrix are filled up with zeros to whole vectors of so many numbers."""


def in_vectors(count: int) -> int:
    """The count rounded up to whole vectors."""
    return -(-count // LANES) * LANES


def padded(lines: Float32[np.ndarray, "lines numbers"]) -> Flat:
    """The lines one after the other, each filled up to whole vectors."""
    missing = in_vectors(lines.shape[1]) - lines.shape[1]
    return (np.pad(lines, ((0, 0), (0, missing))) if missing else lines).reshape(-1)


def joined(*parts: Iterable[Flat]) -> Flat:
    """All of them, one after the other."""
    return np.concatenate([one.reshape(-1) for part in parts for one in part])


def packed_fitter(weights: Mapping[str, Flat]) -> Flat:
    """Both GRUs and the projection of a fitter, as `plan_rows` reads them.

    Units are filled up to whole vectors: those that are added stay 0.
    """
    parts = [
        _gates(weights[f"{gru}.weight_{kind}_l0"], weights[f"{gru}.bias_{kind}_l0"])
        for gru in ("forward_gru", "backward_gru")
        for kind in ("ih", "hh")
    ]
    project = weights["project.weight"]
    ahead, back = (_in_vectors_of_rows(half) for half in np.split(project.T, 2))
    return joined(*parts, [padded(ahead), padded(back), padded(weights["project.bias"][None])])


def _gates(weight: Flat, bias: Flat) -> Iterator[Flat]:
    """A line for each unit, with what it adds to each of three gates, and the bias."""
    units = weight.shape[1]
    lines = np.concatenate((weight.T, bias[None])).reshape(units + 1, 3, units)
    room = in_vectors(units)
    found = np.zeros((room + 1, 3, room), np.float32)
    found[:units, :, :units], found[room, :, :units] = lines[:units], lines[units]
    yield found


def _in_vectors_of_rows(lines: Float32[np.ndarray, "lines numbers"]) -> Flat:
    """The lines, and as many of zeros as make whole vectors of them."""
    return np.pad(lines, ((0, in_vectors(len(lines)) - len(lines)), (0, 0)))
