"""Weights of several tensors as one array, with their slopes and what Adam remembers of them."""

from collections.abc import Sequence
from types import ModuleType
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from mmalign.model.adamw import AdamW

Flat = Float32[np.ndarray, " _"]


class FlatWeights:
    """Copies of tensors one after the other, which are loaded, changed and stored back.

    Args:
        tensors: In the order in which kernels read them; None and a count stand for zeros that are
            no weights.
        optimizer: What trains the tensors otherwise; it keeps the means between two loads.
        kernels: Has `adam_of_parts`.
    """

    def __init__(
        self, tensors: Sequence[Tensor | int], optimizer: AdamW, kernels: ModuleType
    ) -> None:
        self.tensors, self.optimizer, self.kernels = tensors, optimizer, kernels
        sizes = [one if isinstance(one, int) else one.numel() for one in tensors]
        self.bounds: Int64[np.ndarray, " bounds"] = np.concatenate(([0], np.cumsum(sizes)))
        count = int(self.bounds[-1])
        self.weights, self.slopes, self.means, self.squares = np.zeros((4, count), np.float32)
        self.counts = np.zeros(len(tensors), np.int64)
        places = {id(weight): place for place, weight in enumerate(optimizer.weights)}
        self.places = [places.get(id(one)) for one in tensors]

    def part(self, first: int, last: int) -> slice:
        """Where the tensors from the first to before the last lie."""
        return slice(int(self.bounds[first]), int(self.bounds[last]))

    def load(self) -> None:
        """Copy the tensors, and what the optimiser remembers."""
        for number, (tensor, place) in enumerate(zip(self.tensors, self.places, strict=True)):
            if place is None:
                continue
            own = self.part(number, number + 1)
            self.weights[own] = _numbers(cast(Tensor, tensor))
            slots = self.optimizer.slots.get(place)
            self.counts[number] = 0 if slots is None else int(slots["step"])
            for array, name in ((self.means, "exp_avg"), (self.squares, "exp_avg_sq")):
                array[own] = 0 if slots is None else _numbers(slots[name])

    @torch.no_grad()
    def store(self) -> None:
        """Copy everything back."""
        for number, (tensor, place) in enumerate(zip(self.tensors, self.places, strict=True)):
            if place is None or not self.counts[number]:
                continue
            own, slots = self.part(number, number + 1), self.optimizer.slots_of(place)
            cast(Tensor, tensor).copy_(_like(tensor, self.weights[own]))
            slots["step"].fill_(int(self.counts[number]))
            slots["exp_avg"].copy_(_like(tensor, self.means[own]))
            slots["exp_avg_sq"].copy_(_like(tensor, self.squares[own]))

    def step(self, is_moved: Bool[np.ndarray, " tensors"], most: float) -> float:
        """Change the weights by their slopes, scaled down to a norm of `most`; gives the norm.

        If it is not finite, nothing is changed.
        """
        rate, decay = self.optimizer.param_groups[0]["lr"], self.optimizer.weight_decay
        numbers = (np.float32(one) for one in (rate, decay, *self.optimizer.betas))
        memory = self.weights, self.slopes, self.means, self.squares, self.bounds
        norm: float = self.kernels.adam_of_parts(*memory, is_moved, self.counts, *numbers, most)
        return norm


def _numbers(tensor: Tensor) -> Flat:
    found: Flat = tensor.detach().numpy().reshape(-1)
    return found


def _like(tensor: Tensor | int, numbers: Flat) -> Tensor:
    return torch.from_numpy(numbers).view(cast(Tensor, tensor).shape)
