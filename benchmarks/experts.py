"""One model for every subset, beside what one would train for that subset alone.

Run: python benchmarks/experts.py [--data DIR] [--seeds N] [--only NAME] [--survivals 1,0.5,0.1]
     [--members N] [--rows FILE]

Experts are fitted once on clips of which a share keeps the victim, and asked about every subset.
Beside them stands MiniRocket + ridge (sktime, `pip install 'mmalign[anchors]'`), trained for each
subset alone on the clips that have it. People are never shared between training and test. Datasets
inside packages are split as `public_sets.py` says; no settings were tuned on them, but that
networks take enough steps and see long clips whole was learned from ArrowHead, GunPoint, OSULeaf.
A cell is the mean over folds and seeds with the standard deviation over seeds of that mean, and the
paired difference over seeds with its 95 % interval. "A": the victim is gone from all test clips;
"B": it survives there at the same rate as in training; the anchor answers with the classifier that
fits. With --members, experts of so many networks each are asked as well. Rows already in the file
are not computed again.
"""

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from mmalign.data import Dataset, load_dataset, smartwatch
from mmalign.data.clip import Clip
from mmalign.data.missingness import surviving_ids
from mmalign.data.resampling import resampled
from mmalign.evaluation.calibration import expected_calibration_error
from mmalign.evaluation.significance import PairedDifference, paired_difference
from mmalign.experts import Experts
from public_sets import public_sets
from study_rows import append_rows, read_rows, study_options

Names = tuple[str, ...]

Answers = dict[Names, np.ndarray]
"""What a system says of every test clip, by the modalities that it is shown."""


@dataclass(frozen=True)
class Fold:
    """Clips to learn from, clips to be asked about, and whose they are, where that is known."""

    train: list[Clip]
    test: list[Clip]
    group: Callable[[str], str] | None


Classifier = Callable[[list[Clip], list[Clip], Names, int], np.ndarray]
"""Learns clips with these modalities, with a seed, and answers about others."""


@dataclass(frozen=True)
class Task:
    """One training: a fold of a study with a seed, and what goes missing."""

    study: str
    fold: int
    seed: int
    victim: str
    survival: float


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


def studies(folder: Path, only: str) -> Iterator[tuple[str, list[Fold]]]:
    yield from people_left_out(folder)
    for title, splits in public_sets(only):
        yield title, [Fold(*splits, None)]


def people_left_out(folder: Path) -> Iterator[tuple[str, list[Fold]]]:
    """Studies in which no person and no video is in both training and test."""
    watch = smartwatch()
    test = {person(clip_id) for clip_id in watch["test"].ids}
    clips = every_clip(watch)
    parts = [[named(watch, clip) for clip in watch[name]] for name in ("train", "test")]
    yield "smartwatch, built-in split", [Fold(*parts, person)]
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


def only(clip: Clip, names: Names) -> Clip:
    return Clip(clip.id, clip.label, {n: s for n, s in clip.sequences.items() if n in names})


def subsets(names: Names) -> list[Names]:
    return [s for size in range(1, len(names) + 1) for s in itertools.combinations(names, size)]


def with_survivors(clips: list[Clip], task: Task) -> list[Clip]:
    """The clips; all but a share of them lose the victim."""
    if task.survival == 1:
        return clips
    ids = [clip.id for clip in clips]
    keeps = surviving_ids(ids, count=int(task.survival * len(clips)), seed=task.seed)
    left = tuple(name for name in clips[0].sequences if name != task.victim)
    return [clip if clip.id in keeps else only(clip, left) for clip in clips]


def ask_experts(fold: Fold, task: Task, members: int = 1) -> tuple[Answers, dict[str, float]]:
    """Answers of one model for every subset, and what it cost."""
    train = with_survivors(fold.train, task)
    started = time.process_time()
    model = Experts(seed=task.seed, members=members).fit(train, groups=fold.group)
    facts = {"cpu_seconds": time.process_time() - started}
    answers = {}
    for names in subsets(tuple(fold.test[0].sequences)):
        asked = [only(clip, names) for clip in fold.test]
        answers[names] = model.predict(asked)
        if model.fitted_task.outputs > 1:
            classes = model.classes_
            answers[names] = classes[answers[names]]
            truth = np.array([list(classes).index(clip.label) for clip in fold.test])
            error = expected_calibration_error(model.predict_proba(asked), truth)
            facts[f"ece {'+'.join(names)}"] = error
    return answers, facts


def ask_minirocket(fold: Fold, task: Task) -> tuple[Answers, dict[str, float]]:
    """Answers of one classifier a subset; none without sktime."""
    try:
        import sktime  # noqa: F401
    except ImportError:
        return {}, {}
    return ask_each(fold, task, minirocket), {}


def ask_each(fold: Fold, task: Task, classifier: Classifier) -> Answers:
    """Answers of one classifier a subset, on the clips that have it."""
    train = with_survivors(fold.train, task)
    found = {}
    for names in subsets(tuple(fold.test[0].sequences)):
        having = [clip for clip in train if set(names) <= set(clip.sequences)]
        found[names] = classifier(having, fold.test, names, task.seed)
    return found


def minirocket(train: list[Clip], test: list[Clip], names: Names, seed: int) -> np.ndarray:
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kind = RidgeClassifierCV if isinstance(train[0].label, str) else RidgeCV
    features = minirocket_features(train, test, names, seed)
    ridge = make_pipeline(StandardScaler(with_mean=False), kind(np.logspace(-3, 3, 10)))
    ridge.fit(features[0], [clip.label for clip in train])
    return ridge.predict(features[1])


def minirocket_features(
    train: list[Clip], test: list[Clip], names: Names, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features of sktime's MiniRocket; its variant for unequal lengths where they are unequal."""
    import pandas as pd
    from sktime.transformations.panel.rocket import (
        MiniRocketMultivariate,
        MiniRocketMultivariateVariable,
    )

    panels = [[long_enough(clip, names) for clip in part] for part in (train, test)]
    if len({panel.shape[1] for part in panels for panel in part}) == 1:
        rocket = MiniRocketMultivariate(4000, random_state=seed)
        given = [np.stack(part) for part in panels]
    else:
        rocket = MiniRocketMultivariateVariable(4000, random_state=seed, pad_value_short_series=0.0)
        given = [pd.DataFrame([[pd.Series(c) for c in panel] for panel in p]) for p in panels]
    return rocket.fit_transform(given[0]), rocket.transform(given[1])


def long_enough(clip: Clip, names: Names) -> np.ndarray:
    """Channels before time, with zeros after the last step: sktime refuses fewer than nine."""
    steps = np.concatenate([clip.sequences[name] for name in names], axis=1).T.astype(np.float64)
    return np.pad(steps, ((0, 0), (0, max(0, 9 - steps.shape[1]))))


def scores(answers: Answers, fold: Fold, task: Task) -> dict[str, float]:
    """Accuracy in percent, or MAE, of every subset, and of the mixture that setting B asks for."""
    truth = np.array([clip.label for clip in fold.test])
    is_number = truth.dtype.kind == "f"

    def metric(given: np.ndarray) -> float:
        return float(np.mean(np.abs(given - truth)) if is_number else 100 * np.mean(given == truth))

    found = {" + ".join(names): metric(given) for names, given in answers.items()}
    everything = max(answers, key=len)
    left = tuple(name for name in everything if name != task.victim)
    if task.victim:
        ids = [clip.id for clip in fold.test]
        keeps = surviving_ids(ids, count=int(task.survival * len(ids)), seed=task.seed)
        has = np.array([clip_id in keeps for clip_id in ids])
        found["A"] = metric(answers[left])
        found["B"] = metric(np.where(has, answers[everything], answers[left]))
    return found


System = Callable[[Fold, Task], tuple[Answers, dict[str, float]]]


def systems_of(members: int) -> dict[str, System]:
    """What is asked, by name."""
    found: dict[str, System] = {"experts": ask_experts, "MiniRocket": ask_minirocket}
    if members > 1:
        found[f"experts, {members} members"] = partial(ask_experts, members=members)
    return found


def compute(fold: Fold, task: Task, name: str, system: System) -> list[dict]:
    """The row of a system; none where it cannot be asked."""
    answers, facts = system(fold, task)
    if not answers:
        return []
    found = scores(answers, fold, task)
    return [{**vars(task), "system": name, "scores": found, "facts": facts}]


def tasks(study: str, folds: list[Fold], seed: int, survivals: list[float]) -> Iterator[Task]:
    modalities = tuple(folds[0].test[0].sequences)
    for survival in survivals:
        victims = ("",) if survival == 1 else modalities if len(modalities) == 2 else ()
        for victim, fold in itertools.product(victims, range(len(folds))):
            yield Task(study, fold, seed, victim, survival)


def seed_means(rows: list[dict]) -> dict[tuple, dict[str, dict[int, float]]]:
    """Means over folds: by study, survival, victim and subset; by system; by seed."""
    cells = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows:
        place = row["study"], row["survival"], row["victim"]
        for name, value in row["scores"].items():
            cells[*place, name][row["system"]][row["seed"]].append(value)
    return {
        place: {s: {k: np.mean(v) for k, v in seeds.items()} for s, seeds in systems.items()}
        for place, systems in cells.items()
    }


def show(rows: list[dict]) -> None:
    """Print a line a cell: all systems, and paired differences."""
    counts, numbers = defaultdict(int), of_numbers(rows)
    for (study, survival, victim, name), means in seed_means(rows).items():
        digits = 3 if study in numbers else 1
        text = ", ".join(f"{s} {cell(list(found.values()), digits)}" for s, found in means.items())
        several = [(s, "experts") for s in means if s.startswith("experts,")]
        for first, second in [("experts", "MiniRocket"), *several]:
            found = difference(means.get(first, {}), means.get(second, {}))
            if found is None:
                continue
            gain = -found.mean if study in numbers else found.mean  # of errors, less is better
            sign = "better" if gain > 0 else "worse" if gain < 0 else "level"
            about = "" if first == "experts" else f"{first}: "
            counts[f"{about}{'clearly ' if found.is_clear else ''}{sign}"] += 1
            low, high = f"{found.low:+.{digits}f}", f"{found.high:+.{digits}f}"
            text += f", {about}difference {found.mean:+.{digits}f} [{low}, {high}]"
        print(f"{study}; {victim or 'nothing'} at {survival:.0%}; {name}: {text}")
    print(dict(counts))
    for study in dict.fromkeys(row["study"] for row in rows):
        own = [r for r in rows if r["study"] == study and r["system"] == "experts"]
        seconds = [row["facts"]["cpu_seconds"] for row in own if row["survival"] == 1]
        if not seconds:
            continue
        print(f"{study}: {np.mean(seconds):.1f} s of CPU a training")
        errors = defaultdict(list)
        for row in (row for row in own if row["survival"] == 1):
            for name, value in row["facts"].items():
                if name.startswith("ece "):
                    errors[name].append(100 * value)
        print("  " + ", ".join(f"{name} {np.mean(values):.1f}" for name, values in errors.items()))


def difference(ours: dict[int, float], theirs: dict[int, float]) -> PairedDifference | None:
    """Over the seeds of both; none where they do not share two."""
    seeds = sorted(set(ours) & set(theirs))
    if len(seeds) < 2:
        return None
    return paired_difference(*([float(means[seed]) for seed in seeds] for means in (ours, theirs)))


def of_numbers(rows: list[dict]) -> set[str]:
    """Studies whose labels are numbers: scores are errors, and no row of experts tells how sure."""
    sure = {row["study"] for row in rows if any(name.startswith("ece ") for name in row["facts"])}
    return {row["study"] for row in rows} - sure


def cell(values: list[float], digits: int) -> str:
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {spread:.{digits}f} ({len(values)})"


def main() -> None:
    parser = study_options(__doc__.splitlines()[0], "experts.jsonl")
    parser.add_argument("--survivals", default="1", help="shares that keep a victim")
    parser.add_argument("--members", type=int, default=1, help="of experts that are asked as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    survivals = [float(share) for share in options.survivals.split(",")]
    chosen = [(t, folds) for t, folds in studies(options.data, options.only) if options.only in t]
    asked = [
        (folds[task.fold], task)
        for seed, (title, folds) in itertools.product(range(options.seeds), chosen)
        for task in tasks(title, folds, seed, survivals)
    ]
    show(completed(options.rows, asked, systems_of(options.members)))


def completed(file: Path, asked: list[tuple[Fold, Task]], systems: dict[str, System]) -> list[dict]:
    """Rows of the file, and behind them those that were missing, which are added to it."""
    rows = read_rows(file)
    done = {tuple(row[name] for name in (*Task.__annotations__, "system")) for row in rows}
    for (fold, task), (name, system) in itertools.product(asked, systems.items()):
        if (*vars(task).values(), name) in done:
            continue
        fresh = compute(fold, task, name, system)
        rows += fresh
        append_rows(file, fresh)
    return rows


if __name__ == "__main__":
    main()
