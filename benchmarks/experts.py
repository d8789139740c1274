"""One model for every subset, beside what one would train for that subset alone.

Run: python benchmarks/experts.py [--data DIR] [--seeds N] [--only NAME]

Experts are fitted once on clips that have everything, and asked about every subset. Beside them
stands MiniRocket + ridge (sktime, `pip install sktime`), trained for each subset alone; it is left
out where sktime is not installed. People are never shared between training and test. A row is the
mean over folds and seeds with the standard deviation over seeds of that mean.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from mmalign.data import Dataset, load_dataset, smartwatch
from mmalign.data.clip import Clip
from mmalign.data.resampling import resampled
from mmalign.experts import Experts


@dataclass(frozen=True)
class Fold:
    """Clips to learn from, clips to be asked about, and whose they are."""

    train: list[Clip]
    test: list[Clip]
    group: Callable[[str], str]


def every_clip(dataset: Dataset) -> list[Clip]:
    return [named(dataset, clip) for split in dataset.splits.values() for clip in split]


def named(dataset: Dataset, clip: Clip) -> Clip:
    """Classes by name, so that lists of clips keep them."""
    classes = getattr(dataset.task, "classes", None)
    label = clip.label if classes is None else classes[int(clip.label)]
    return Clip(clip.id, label, clip.sequences)


def folds_by(clips: list[Clip], group: Callable[[str], str], out: list[set[str]]) -> list[Fold]:
    return [
        Fold(
            [clip for clip in clips if group(clip.id) not in left],
            [clip for clip in clips if group(clip.id) in left],
            group,
        )
        for left in out
    ]


def person(clip_id: str) -> str:
    return next(part for part in clip_id.split("-") if part.startswith("subject"))


def video(clip_id: str) -> str:
    return clip_id.split("[")[0]


def studies(folder: Path) -> Iterator[tuple[str, list[Fold]]]:
    watch = smartwatch()
    test = {person(clip_id) for clip_id in watch["test"].ids}
    clips = every_clip(watch)
    yield "smartwatch, built-in split", folds_by(clips, person, [test])
    known = [clip for clip in clips if person(clip.id) not in test]
    out = [{f"subject{n:02d}" for n in part} for part in ((1, 2), (4, 5), (7, 8), (10,))]
    yield "smartwatch, people left out", folds_by(known, person, out)
    if (folder / "utd_mhad").is_dir():
        utd = every_clip(resampled(load_dataset(folder / "utd_mhad"), 32))
        out = [{f"subject{n}"} for n in (1, 3, 5, 7)]
        yield "UTD-MHAD, 32 steps, people left out", folds_by(utd, person, out)
        parts = [split_inertial(clip) for clip in utd]
        yield "UTD-MHAD, three modalities", folds_by(parts, person, out)
    if (folder / "mosi").is_dir():
        mosi = load_dataset(folder / "mosi")
        train, dev = ([named(mosi, clip) for clip in mosi[name]] for name in ("train", "valid"))
        yield "MOSI, dev videos", [Fold(train, dev, video)]


def split_inertial(clip: Clip) -> Clip:
    inertial = clip.sequences["inertial"]
    parts = {"accelerometer": inertial[:, :3], "gyroscope": inertial[:, 3:]}
    return Clip(clip.id, clip.label, {**parts, "skeleton": clip.sequences["skeleton"]})


def only(clip: Clip, names: tuple[str, ...]) -> Clip:
    return Clip(clip.id, clip.label, {n: s for n, s in clip.sequences.items() if n in names})


def subsets(clip: Clip) -> list[tuple[str, ...]]:
    names = list(clip.sequences)
    return [s for size in range(1, len(names) + 1) for s in itertools.combinations(names, size)]


def metric(scores: dict[str, float]) -> float:
    return scores["mae"] if "mae" in scores else 100 * scores["accuracy"]


def ask_experts(fold: Fold, seed: int) -> tuple[dict[tuple[str, ...], float], float]:
    started = time.process_time()
    model = Experts(seed=seed).fit(fold.train, groups=fold.group)
    seconds = time.process_time() - started
    for name, experts in model.experts.items():
        print(f"    {name}: {experts.sense}, {experts.ridge.patterns} patterns", flush=True)
    names = subsets(fold.test[0])
    return {s: metric(model.score([only(c, s) for c in fold.test])) for s in names}, seconds


def ask_minirocket(fold: Fold, seed: int) -> dict[tuple[str, ...], float] | None:
    """Trained for each subset alone, on sequences of one length."""
    try:
        from sktime.transformations.panel.rocket import MiniRocketMultivariate
    except ImportError:
        return None
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    lengths = {len(s) for clip in fold.train + fold.test for s in clip.sequences.values()}
    if len(lengths) > 1 or not isinstance(fold.train[0].label, str):
        return None
    found = {}
    for names in subsets(fold.test[0]):
        panels = [
            np.stack([np.concatenate([c.sequences[n] for n in names], axis=1).T for c in clips])
            for clips in (fold.train, fold.test)
        ]
        rocket = MiniRocketMultivariate(4000, random_state=seed)
        ridge = make_pipeline(
            StandardScaler(with_mean=False), RidgeClassifierCV(np.logspace(-3, 3, 10))
        )
        labels = [[clip.label for clip in clips] for clips in (fold.train, fold.test)]
        ridge.fit(rocket.fit_transform(panels[0].astype(np.float64)), labels[0])
        answers = ridge.predict(rocket.transform(panels[1].astype(np.float64)))
        found[names] = 100 * float(np.mean(answers == np.array(labels[1])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--data", type=Path, default=root / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="studies whose title holds this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for title, folds in studies(options.data):
        if options.only not in title:
            continue
        print(title, flush=True)
        rows: dict[str, dict[tuple[str, ...], list[float]]] = {"experts": {}, "MiniRocket": {}}
        seconds = []
        for seed in range(options.seeds):
            answers = [ask_experts(fold, seed) for fold in folds]
            seconds += [spent for _, spent in answers]
            collect(rows["experts"], [found for found, _ in answers])
            anchors = [ask_minirocket(fold, seed) for fold in folds]
            if all(anchor is not None for anchor in anchors):
                collect(rows["MiniRocket"], anchors)
        print(f"  training: {np.mean(seconds):.1f} s of CPU a model")
        for names in rows["experts"]:
            cells = [f"{s} {cell(found[names])}" for s, found in rows.items() if names in found]
            print(f"  {' + '.join(names)}: {', '.join(cells)}", flush=True)


def collect(row: dict[tuple[str, ...], list[float]], folds: list) -> None:
    for names in folds[0]:
        row.setdefault(names, []).append(float(np.mean([found[names] for found in folds])))


def cell(values: list[float]) -> str:
    digits = 3 if max(values) < 10 else 1
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {spread:.{digits}f}"


if __name__ == "__main__":
    main()
