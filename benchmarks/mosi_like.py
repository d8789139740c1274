"""Random features of MOSI's size and lengths."""

import numpy as np

from mmalign.data import Dataset, Regression, Split

DIMS = {"text": 300, "visual": 47}
CLIPS = {"train": 1284, "valid": 229, "test": 686}
MEAN_STEPS = 12
LONGEST = 104


def mosi_like(
    clips: dict[str, int] = CLIPS,
    dims: dict[str, int] = DIMS,
    *,
    mean_steps: int = MEAN_STEPS,
) -> Dataset:
    """All clips complete; the modalities of a clip have as many steps."""
    random = np.random.default_rng(0)
    splits = {}
    for name, count in clips.items():
        lengths = random.gamma(2.0, mean_steps / 2, count).round().astype(int).clip(1, LONGEST)
        columns = {
            modality: [random.standard_normal((n, dim), dtype=np.float32) for n in lengths]
            for modality, dim in dims.items()
        }
        ids = tuple(f"{name}{number}" for number in range(count))
        splits[name] = Split(ids, random.uniform(-3, 3, count).astype(np.float32), columns)
    return Dataset(Regression(-3, 3), dims, splits)
