"""A batch as tensors: every modality where it is there, and the labels."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mmalign.data.batching import Batch


@dataclass(frozen=True)
class Streams:
    """Some clips with their features, modality by modality.

    Attributes:
        ids: One a clip.
        labels: One a clip, or None where they are not known.
        features: Per modality `[batch, time, features]`.
        lengths: Per modality the steps of each clip; 0 where it is missing.
        observed: Per modality with gaps in these clips, which steps are there.
    """

    ids: tuple[str, ...]
    labels: Float[Tensor, " batch"] | Int[Tensor, " batch"] | None
    features: Mapping[str, Float[Tensor, "batch _ _"]]
    lengths: Mapping[str, Int[Tensor, " batch"]]
    observed: Mapping[str, Bool[Tensor, "batch _"]]

    def __len__(self) -> int:
        return len(self.ids)

    def is_present(self, modality: str) -> Bool[Tensor, " batch"]:
        """Which clips have the modality."""
        return self.lengths[modality] > 0

    def patterns(self) -> Iterator[tuple[tuple[str, ...], Bool[Tensor, " batch"]]]:
        """The modalities that some clips have, and which clips these are; complete ones first."""
        present = torch.stack([self.is_present(name) for name in self.lengths], dim=1)
        for pattern in sorted(set(map(tuple, present.tolist())), reverse=True):
            is_of_it = (present == torch.tensor(pattern, device=present.device)).all(dim=1)
            names = zip(self.lengths, pattern, strict=True)
            yield tuple(name for name, is_there in names if is_there), is_of_it

    def rows(self, chosen: Bool[Tensor, " batch"]) -> "Streams":
        """The chosen clips, padded no further than they need."""
        lengths = {name: counts[chosen] for name, counts in self.lengths.items()}
        longest = {name: _longest(counts) for name, counts in lengths.items()}
        return Streams(
            ids=tuple(i for i, is_in in zip(self.ids, chosen.tolist(), strict=True) if is_in),
            labels=None if self.labels is None else self.labels[chosen],
            features={m: f[chosen][:, : longest[m]] for m, f in self.features.items()},
            lengths=lengths,
            observed={m: o[chosen][:, : longest[m]] for m, o in self.observed.items()},
        )

    def without(self, modalities: Collection[str]) -> "Streams":
        """The same clips with these modalities missing: their features are dropped."""
        features, lengths = dict(self.features), dict(self.lengths)
        for name in modalities:
            features[name] = features[name][:, :0]
            lengths[name] = torch.zeros_like(lengths[name])
        observed = {name: there for name, there in self.observed.items() if name not in modalities}
        return replace(self, features=features, lengths=lengths, observed=observed)

    def to(self, place: torch.device | torch.dtype) -> "Streams":
        """The same clips on another device, or with features of another floating type."""
        move: Callable[[Any], Any] = lambda t: t.to(place)  # noqa: E731
        keep = move if isinstance(place, torch.device) else lambda t: t
        return Streams(
            ids=self.ids,
            labels=None if self.labels is None else keep(self.labels),
            features={name: move(features) for name, features in self.features.items()},
            lengths={name: keep(lengths) for name, lengths in self.lengths.items()},
            observed={name: keep(observed) for name, observed in self.observed.items()},
        )


def to_streams(batch: Batch, modalities: Sequence[str]) -> Streams:
    """The tensors of a batch; they share memory with its arrays."""
    lengths = {name: torch.from_numpy(batch.lengths[name]) for name in modalities}
    observed = {
        name: torch.from_numpy(there)
        for name, there in batch.observed.items()
        if name in lengths and there.sum() < batch.lengths[name].sum()
    }
    return Streams(
        ids=batch.ids,
        labels=None
        if batch.labels is None
        else torch.from_numpy(np.ascontiguousarray(batch.labels)),
        features={name: torch.from_numpy(batch.features[name]) for name in modalities},
        lengths=lengths,
        observed=observed,
    )


def _longest(lengths: Int[Tensor, " batch"]) -> int:
    return int(lengths.max()) if len(lengths) else 0
