"""Padded batches with lengths and presence; the one place in the code that pads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64

from mmalign.data.clip import Steps, StepsColumn
from mmalign.data.columns import StoredColumn
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.errors import ConfigError

Padded = tuple[Float32[np.ndarray, "batch time dim"], Int64[np.ndarray, " batch"]]
"""Features with zeros after each sequence's last step, and the steps of each."""

POOL_BATCHES = 64
"""Clips are sorted by length inside pools of this many batches: short padding, fresh mixtures."""


@dataclass(frozen=True)
class Batch:
    """Some clips, padded with zeros; a missing sequence has length 0, gaps hold zeros.

    Attributes:
        ids: One a clip.
        labels: One a clip, or None where the split has none.
        features: Per modality `[batch, time, dim]`, zeros from each clip's length on.
        lengths: Per modality the steps of each clip.
        observed: Per modality that may have gaps, which steps are there: False in a gap and from
            each clip's length on. A modality that is not named has no gaps.
    """

    ids: tuple[str, ...]
    labels: Labels | None
    features: Mapping[str, Float32[np.ndarray, "batch _ _"]]
    lengths: Mapping[str, Int64[np.ndarray, " batch"]]
    observed: Mapping[str, Bool[np.ndarray, "batch _"]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def is_present(self, modality: str) -> Bool[np.ndarray, " batch"]:
        """Which clips have the modality."""
        return self.lengths[modality] > 0


def pad(sequences: Sequence[Steps | None], dim: int) -> Padded:
    """Stack sequences `[time, dim]` into one array, zeros after each one's last step.

    >>> import numpy as np
    >>> padded, lengths = pad([np.ones((2, 1), np.float32), None], 1)
    >>> padded[..., 0].tolist(), lengths.tolist()
    ([[1.0, 1.0], [0.0, 0.0]], [2, 0])
    """
    lengths = [0 if steps is None else len(steps) for steps in sequences]
    longest = max(lengths, default=0)
    if min(lengths, default=0) == longest:
        pieces = [steps for steps in sequences if steps is not None]
    else:
        pieces = _filled_up(sequences, lengths, np.zeros((longest, dim), np.float32))
    # One concatenation in C: several times faster than filling row by row.
    padded = np.concatenate(pieces) if pieces else np.zeros((0, dim), np.float32)
    return padded.reshape(len(sequences), longest, dim), np.array(lengths, dtype=np.int64)


def _filled_up(sequences: Sequence[Steps | None], lengths: list[int], zeros: Steps) -> list[Steps]:
    """The sequences in order, each followed by as many zero steps as it is too short."""
    pieces = []
    for steps, length in zip(sequences, lengths, strict=True):
        if steps is not None:
            pieces.append(steps)
        if length < len(zeros):
            pieces.append(zeros[length:])
    return pieces


def _pad_rows(column: StepsColumn, rows: Int64[np.ndarray, " batch"], dim: int) -> Padded:
    """The sequences at these rows, padded as `pad` does it."""
    if isinstance(column, StoredColumn):
        padded = _pad_stored(column, rows)
        if padded is not None:
            return padded
    return pad([column[row] for row in rows.tolist()], dim)


def _pad_stored(column: StoredColumn, rows: Int64[np.ndarray, " batch"]) -> Padded | None:
    """The same with one copy for all sequences, or None where the column cannot do that."""
    lengths = column.lengths[rows]
    longest = int(lengths.max(initial=0))
    features = column.windows(rows, longest) if longest else None
    if features is None:
        return None
    for index, length in enumerate(lengths.tolist()):
        if length < longest:
            features[index, length:] = 0  # what follows a sequence in the file is not its own
    return features, lengths


def make_batch(split: Split, dims: Mapping[str, int], rows: Sequence[int]) -> Batch:
    """The clips at these rows as one padded batch."""
    where = np.array(rows, dtype=np.int64)
    features: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    observed: dict[str, Any] = {}
    for name, dim in dims.items():
        features[name], lengths[name] = _pad_rows(split.sequences[name], where, dim)
        if name in split.gapped:
            observed[name] = _zero_gaps(features[name], lengths[name])
    return Batch(
        ids=tuple(split.ids[row] for row in rows),
        labels=None if split.labels is None else split.labels[where],
        features=features,
        lengths=lengths,
        observed=observed,
    )


def _zero_gaps(
    features: Float32[np.ndarray, "batch time dim"], lengths: Int64[np.ndarray, " batch"]
) -> Bool[np.ndarray, "batch time"]:
    """Put zeros into the gaps, in place; tells which steps are there."""
    is_gap = np.isnan(features[..., 0])
    features[is_gap] = 0
    observed: Bool[np.ndarray, "batch time"] = ~is_gap
    observed &= np.arange(features.shape[1]) < lengths[:, None]
    return observed


Watch = Callable[[Iterator[Any], int], Iterator[Any]]
"""Passes batches, or groups of rows, on, told how many there will be; a progress bar is one."""


def unwatched(batches: Iterator[Any], _: int) -> Iterator[Any]:
    """The batches, shown to nobody."""
    return batches


class Batches:
    """Batches of a split: every epoch holds the same clips, in an order of its own.

    The order is a pure function of seed and epoch. Clips of like length share a batch.

    Args:
        split: Where the clips come from.
        dims: Modalities to batch, with their dims (`dataset.dims`).
        batch_size: Clips a batch; the last one may be smaller.
        seed: Another seed, another order.
    """

    def __init__(
        self, split: Split, dims: Mapping[str, int], *, batch_size: int = 32, seed: int = 0
    ) -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size must be >= 1, got {batch_size}")
        self.split = split
        self.dims = dims
        self.batch_size = batch_size
        self.seed = seed
        # The floats a clip brings: what padding and computing cost grows with it.
        self._sizes = sum(
            (split.lengths(name) * dim for name, dim in dims.items()),
            np.zeros(len(split), np.int64),
        )

    def __len__(self) -> int:
        return -(-len(self.split) // self.batch_size)

    def order(self, epoch: int) -> list[list[int]]:
        """Rows of each batch of an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        shuffled = random.permutation(len(self.split))
        pool = POOL_BATCHES * self.batch_size
        batches = []
        for start in range(0, len(shuffled), pool):
            members = shuffled[start : start + pool]
            by_size = members[np.argsort(self._sizes[members], kind="stable")].tolist()
            batches += [
                by_size[at : at + self.batch_size] for at in range(0, len(by_size), self.batch_size)
            ]
        return [batches[index] for index in random.permutation(len(batches))]

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, in that epoch's order."""
        return (make_batch(self.split, self.dims, rows) for rows in self.order(epoch))

    def in_order(self) -> Iterator[Batch]:
        """The batches in the split's own order, for prediction."""
        rows = range(len(self.split))
        starts = range(0, len(self.split), self.batch_size)
        return (make_batch(self.split, self.dims, rows[s : s + self.batch_size]) for s in starts)


def batches(dataset: Dataset, split: str, *, batch_size: int = 32, seed: int = 0) -> Batches:
    """Batches of one split of a dataset.

    Raises:
        DataError: If the dataset has no such split.
    """
    return Batches(dataset[split], dataset.dims, batch_size=batch_size, seed=seed)
