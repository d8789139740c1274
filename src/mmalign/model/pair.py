"""A batch as tensors: the visible modality, the victim where it is there, the labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mmalign.data.batching import Batch
from mmalign.data.gaps import require_no_gaps


@dataclass(frozen=True)
class Pair:
    """Features of visible and victim; a missing victim has length 0."""

    visible: Float[Tensor, "batch time visible_features"]
    visible_lengths: Int[Tensor, " batch"]
    victim: Float[Tensor, "batch victim_time victim_features"]
    victim_lengths: Int[Tensor, " batch"]
    labels: Float[Tensor, " batch"] | Int[Tensor, " batch"] | None
    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.visible)

    @property
    def is_complete(self) -> Bool[Tensor, " batch"]:
        """Which clips have their victim."""
        return self.victim_lengths > 0

    def rows(self, chosen: Bool[Tensor, " batch"]) -> "Pair":
        """The chosen clips, padded no further than they need."""
        visible_lengths, victim_lengths = self.visible_lengths[chosen], self.victim_lengths[chosen]
        return Pair(
            visible=self.visible[chosen][:, : _longest(visible_lengths)],
            visible_lengths=visible_lengths,
            victim=self.victim[chosen][:, : _longest(victim_lengths)],
            victim_lengths=victim_lengths,
            labels=None if self.labels is None else self.labels[chosen],
            ids=tuple(i for i, is_in in zip(self.ids, chosen.tolist(), strict=True) if is_in),
        )

    def to(self, place: torch.device | torch.dtype) -> "Pair":
        """The same clips on another device, or with features of another floating type."""
        move: Callable[[Any], Any] = lambda t: t.to(place)  # noqa: E731
        keep = move if isinstance(place, torch.device) else lambda t: t
        return Pair(
            visible=move(self.visible),
            visible_lengths=keep(self.visible_lengths),
            victim=move(self.victim),
            victim_lengths=keep(self.victim_lengths),
            labels=None if self.labels is None else keep(self.labels),
            ids=self.ids,
        )


def to_pair(batch: Batch, visible: str, victim: str) -> Pair:
    """The tensors of a batch; they share memory with its arrays.

    Raises:
        DataError: If steps are missing inside sequences.
    """
    require_no_gaps(batch.observed)
    return Pair(
        visible=torch.from_numpy(batch.features[visible]),
        visible_lengths=torch.from_numpy(batch.lengths[visible]),
        victim=torch.from_numpy(batch.features[victim]),
        victim_lengths=torch.from_numpy(batch.lengths[victim]),
        labels=None
        if batch.labels is None
        else torch.from_numpy(np.ascontiguousarray(batch.labels)),
        ids=batch.ids,
    )


def _longest(lengths: Int[Tensor, " batch"]) -> int:
    return int(lengths.max()) if len(lengths) else 0
