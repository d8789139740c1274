"""What experts cost beside sktime's MiniRocket + ridge: features, one clip, a whole training.

Run: python benchmarks/bench_experts.py [--rounds N]

Contenders take turns in one process, on one thread; times are CPU time, the median of the rounds
with the fastest and the slowest, and ratios are of the medians: above 1, ours is faster.

- features: 600 clips of 40 steps and 3 channels, about as many features of each kind
- one clip: both modalities of a smartwatch clip, from arrays to a class
- training: one model for every subset, against one classifier for each of the three subsets
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sktime.transformations.panel.rocket import MiniRocketMultivariate

import mmalign
from mmalign.data import smartwatch
from mmalign.data.clip import Clip
from mmalign.experts.patterns import fit_patterns
from turns import take_turns

FEATURES = 4000
NAMES = ("accelerometer", "gyroscope")
SUBSETS = (NAMES[:1], NAMES[1:], NAMES)


def panel(clips: list[Clip], names: tuple[str, ...]) -> np.ndarray:
    """Clips as sktime takes them: channels before time."""
    rows = [np.concatenate([clip.sequences[name] for name in names], axis=1).T for clip in clips]
    return np.stack(rows).astype(np.float64)


@dataclass(frozen=True)
class Anchor:
    """MiniRocket + ridge for one subset."""

    names: tuple[str, ...]
    rocket: MiniRocketMultivariate
    ridge: Pipeline

    def predict(self, clips: list[Clip]) -> np.ndarray:
        """Classes by name."""
        return self.ridge.predict(self.rocket.transform(panel(clips, self.names)))


def fit_minirocket(clips: list[Clip], names: tuple[str, ...]) -> Anchor:
    rocket = MiniRocketMultivariate(FEATURES, random_state=0)
    ridge = make_pipeline(
        StandardScaler(with_mean=False), RidgeClassifierCV(np.logspace(-3, 3, 10))
    )
    ridge.fit(rocket.fit_transform(panel(clips, names)), [clip.label for clip in clips])
    return Anchor(names, rocket, ridge)


def compare(title: str, ours: Callable[[], object], theirs: Callable[[], object], rounds: int):
    """Time both by turns, after a first round for compilation and caches."""
    times = take_turns({"ours": ours, "sktime": theirs}, rounds)
    shown = ", ".join(f"{name} {taken}" for name, taken in times.items())
    ratio = times["sktime"].median / times["ours"].median
    print(f"{title}: {shown}: {ratio:.2f}x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--trainings", type=int, default=2, help="0 leaves the training out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(40, 3)).astype(np.float32) for _ in range(600)]
    stacked = np.stack([steps.T for steps in clips]).astype(np.float64)
    bank = fit_patterns(clips, features=FEATURES, rng=rng)
    rocket = MiniRocketMultivariate(FEATURES, random_state=0).fit(stacked)
    counts = bank.transform(clips[:1]).shape[1], np.asarray(rocket.transform(stacked[:1])).shape[1]
    compare(
        f"features of 600 clips x 40 steps ({counts[0]} and {counts[1]})",
        lambda: bank.transform(clips),
        lambda: rocket.transform(stacked),
        options.rounds,
    )
    watch = smartwatch()
    train = list(watch["train"])
    model = mmalign.MMAlign(epochs=1).fit(watch["train"])
    anchor = fit_minirocket(train, NAMES)
    clip = watch["test"][0]
    compare(
        "predict([clip]), two modalities of 40 steps",
        lambda: model.predict([clip]),
        lambda: anchor.predict([clip]),
        options.rounds,
    )
    if options.trainings:
        compare(
            "a whole training, smartwatch",
            lambda: mmalign.MMAlign().fit(watch["train"]),
            lambda: [fit_minirocket(train, names) for names in SUBSETS],
            options.trainings,
        )


if __name__ == "__main__":
    main()
