"""Modal-Trans: cyclic sequence-to-sequence translation between the modalities.

After TransModality (Wang et al., WWW 2020) and CTFN (Tang et al., ACL 2021), as the paper's
baseline describes it, on hidden sequences. Decoding is autoregressive, with or without a cache of
keys and values, or parallel; the first two give the same answer.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mmalign.imputers.contract import Imputer
from mmalign.model.attention import Remembered, TransformerLayer
from mmalign.model.hidden import Hidden, is_valid, step_error
from mmalign.model.loading import drawn
from mmalign.model.positions import position_table

Decoding = Literal["cached", "uncached", "parallel"]


class Translator(nn.Module):
    """One direction: a decoder that reads the source and writes the target step by step."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.start = nn.Parameter(drawn(dim, over=math.sqrt(dim)))
        self.read_own = TransformerLayer(dim, heads, dropout=0.0)
        self.read_source = TransformerLayer(dim, heads, dropout=0.0)
        self.write = nn.Linear(dim, dim)

    def teacher_forced(
        self, source: Hidden, target: Float[Tensor, "batch time dim"]
    ) -> Float[Tensor, "batch time dim"]:
        """Every step from the true steps before it, all at once."""
        shifted = torch.cat((self._starts(target), target[:, :-1]), dim=1)
        return self._decode(shifted, source)

    def parallel(self, source: Hidden, time: int) -> Float[Tensor, "batch time dim"]:
        """Every step from its position alone."""
        batch, _, dim = source.steps.shape
        return self._decode(self.start.expand(batch, time, dim), source)

    def uncached(self, source: Hidden, time: int) -> Float[Tensor, "batch time dim"]:
        """Step by step, everything computed anew at each one."""
        written = self._starts(source.steps)
        for _ in range(time):
            written = torch.cat((written, self._decode(written, source)[:, -1:]), dim=1)
        return written[:, 1:]

    def cached(self, source: Hidden, time: int) -> Float[Tensor, "batch time dim"]:
        """Step by step, with the keys and values of earlier steps kept."""
        table = self._positions(source.steps, time)
        memory = self.read_source.attention.remember(source.steps)
        is_source = _source_mask(source)
        kept: Remembered | None = None
        step, written = self._starts(source.steps), []
        for at in range(time):
            placed = step + table[at]
            kept = _lengthened(kept, self.read_own.attention.remember(placed))
            everything = torch.ones(len(step), 1, at + 1, dtype=torch.bool, device=step.device)
            own = self.read_own.read(placed, kept, everything)
            step = self.write(self.read_source.read(own, memory, is_source))
            written.append(step)
        return torch.cat(written, dim=1)

    def _decode(
        self, inputs: Float[Tensor, "batch time dim"], source: Hidden
    ) -> Float[Tensor, "batch time dim"]:
        time = inputs.shape[1]
        placed = inputs + self._positions(inputs, time)
        earlier = torch.ones(time, time, dtype=torch.bool, device=inputs.device).tril()
        own = self.read_own(placed, placed, earlier.expand(len(inputs), -1, -1))
        written: Tensor = self.write(self.read_source(own, source.steps, _source_mask(source)))
        return written

    def _starts(self, like: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch 1 dim"]:
        return self.start.expand(len(like), 1, -1)

    def _positions(self, like: Tensor, time: int) -> Float[Tensor, "time dim"]:
        return position_table(time, like.shape[-1], like.dtype, like.device)


class ModalTrans(Imputer):
    """Translates both ways and there and back; imputes by translating the source sequence.

    Args:
        dim: Width of the hidden vectors.
        heads: Attention heads.
        decoding: How `impute` writes: `cached` or `uncached` step by step, or `parallel`.
    """

    def __init__(self, dim: int, heads: int, decoding: Decoding = "cached") -> None:
        super().__init__()
        self.decoding = decoding
        self.forth = Translator(dim, heads)
        self.back = Translator(dim, heads)

    def fit_loss(self, source: Hidden, target: Hidden) -> Float[Tensor, ""]:
        """Translation errors in both directions, and of both cycles."""
        there = self._translated(self.forth, source, target)
        back = self._translated(self.back, target, source)
        return (
            step_error(there, target)
            + step_error(back, source)
            + self.cycle_error(source, target, there)
            + step_error(self._translated(self.forth, _as_source(back, source), target), target)
        )

    def cycle_error(
        self, source: Hidden, target: Hidden, there: Float[Tensor, "batch time dim"]
    ) -> Float[Tensor, ""]:
        """How far the source sequence is from itself after a translation there and back."""
        return step_error(self._translated(self.back, _as_source(there, target), source), source)

    def _translated(
        self, translator: Translator, source: Hidden, target: Hidden
    ) -> Float[Tensor, "batch time dim"]:
        if self.decoding == "parallel":
            return translator.parallel(source, target.steps.shape[1])
        return translator.teacher_forced(source, target.steps)

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The translation; gradients of the task reach the translator and the source sequence."""
        time = int(target_lengths.max())
        decode = {
            "cached": self.forth.cached,
            "uncached": self.forth.uncached,
            "parallel": self.forth.parallel,
        }[self.decoding]
        return decode(source, time) * is_valid(target_lengths, time)[..., None]

    def task_parameters(self) -> list[nn.Parameter]:
        """Those of the translator that imputes."""
        return list(self.forth.parameters())


def _source_mask(source: Hidden) -> Bool[Tensor, "batch 1 time"]:
    return is_valid(source.lengths, source.steps.shape[1])[:, None]


def _lengthened(kept: Remembered | None, new: Remembered) -> Remembered:
    if kept is None:
        return new
    return torch.cat((kept[0], new[0]), dim=1), torch.cat((kept[1], new[1]), dim=1)


def _as_source(steps: Float[Tensor, "batch time dim"], like: Hidden) -> Hidden:
    return Hidden(like.head, steps, like.lengths)
