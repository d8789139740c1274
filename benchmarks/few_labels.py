"""Few labels, many complete clips without one: can the other modality teach?

Run: python benchmarks/few_labels.py [--data DIR] [--seeds N] [--only NAME] [--rows FILE]
     [--cache DIR]

All training clips have both modalities; a share has labels. Test clips have one modality, the
visible one. Rows: experts of the labelled clips alone; students, which are experts of all clips
whose missing labels a teacher gave (the visible experts themselves, those of the other modality, or
the sum of both); the labelled experts with an imputed term, whose imputer saw all complete clips
(see strong_alignment.py for "there", "best" and "chosen"); MiniRocket + ridge of labelled clips.
The ceiling has all labels.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from experts import person
from imputed_steps import imputed
from mmalign.data.missingness import surviving_ids
from mmalign.data.split import Split
from mmalign.evaluation.significance import paired_difference
from mmalign.experts import Experts
from mmalign.experts.contract import Lesson
from mmalign.experts.modality import AGREEMENT, NETWORK_GAIN, learn_modality
from strong_alignment import Fold, accuracy, remembered, studies, weighed
from study_rows import append_rows, read_rows, study_options

SHARES = (0.1, 0.3)
IMPUTERS = ("zero-fill", "copy", "MM-Align", "dynamic window")
ALONE = "labelled clips alone"
ROCKET = "MiniRocket"


@dataclass(frozen=True)
class Place:
    """A fold of a study with a seed, and how many clips have labels."""

    study: str
    fold: int
    seed: int
    labels: float


@dataclass(frozen=True)
class Class:
    """The training clips, which of them have labels, and the experts that these taught."""

    fold: Fold
    place: Place
    has_label: np.ndarray
    labelled: Split
    model: Experts


def opened(fold: Fold, place: Place) -> Class:
    ids = fold.train.ids
    kept = surviving_ids(ids, count=int(place.labels * len(ids)), seed=place.seed)
    has_label = np.array([clip_id in kept for clip_id in ids])
    labelled = fold.train.select(np.flatnonzero(has_label))
    model = Experts(seed=place.seed).fit(labelled, groups=person)
    return Class(fold, place, has_label, labelled, model)


def student(taught: Class, name: str, answers: np.ndarray) -> np.ndarray:
    """Test evidence of experts that learned from all clips, with a teacher's answers."""
    train = taught.fold.train
    labels = np.where(taught.has_label, np.asarray(train.labels), answers)
    _, lessons = Experts(seed=taught.place.seed).lessons(train, person)
    lesson: Lesson = replace(lessons[name], labels=labels)
    return learn_modality(lesson).evidence(taught.fold.test.sequences[name])


def ceiling(taught: Class, name: str, cache: Path) -> np.ndarray:
    place, train = taught.place, taught.fold.train
    _, lessons = Experts(seed=place.seed).lessons(train, person)
    key = place.study, place.fold, place.seed, name, len(train)
    found = remembered(cache, key, lambda: learn_modality(lessons[name]))
    return found.evidence(taught.fold.test.sequences[name])


def students(taught: Class, name: str, cache: Path) -> dict[str, np.ndarray]:
    """Test evidence of each row without an imputer."""
    fold, model = taught.fold, taught.model
    other = next(n for n in fold.names if n != name)
    own = {n: model.experts[n].evidence(fold.train.sequences[n]) for n in (name, other)}
    both = model.evidence(fold.train)
    return {
        ALONE: model.experts[name].evidence(fold.test.sequences[name]),
        "taught by itself": student(taught, name, own[name].argmax(axis=1)),
        "taught by the other": student(taught, name, own[other].argmax(axis=1)),
        "taught by both": student(taught, name, both.argmax(axis=1)),
        "all labels": ceiling(taught, name, cache),
    }


def rocket(train: Split, asked: Split, name: str, seed: int) -> np.ndarray:
    """Answers of MiniRocket + ridge, as `experts.py` trains it."""
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sktime.transformations.panel.rocket import MiniRocketMultivariate

    panels = [np.stack(s.sequences[name]).transpose(0, 2, 1) for s in (train, asked)]
    bank = MiniRocketMultivariate(4000, random_state=seed)
    ridge = make_pipeline(
        StandardScaler(with_mean=False), RidgeClassifierCV(np.logspace(-3, 3, 10))
    )
    ridge.fit(bank.fit_transform(panels[0].astype(np.float64)), np.asarray(train.labels))
    return ridge.predict(bank.transform(panels[1].astype(np.float64)))


def imputing(taught: Class, name: str) -> Iterator[tuple[str, np.ndarray, dict]]:
    """Test evidence with an imputed term, in each of the ways to add it."""
    fold, model = taught.fold, taught.model
    victim = next(n for n in fold.names if n != name)
    labels = np.asarray(fold.test.labels)
    parts = {"complete": fold.train, "labelled": taught.labelled}
    clips = {**parts, "valid": fold.valid, "test": fold.test}
    base = {p: model.evidence(clips[p].only([name])) for p in ("valid", "test")}
    weights = dict(zip(fold.names, model.fitted.weights[fold.names], strict=False))
    own = weights[name] * model.experts[name].evidence(fold.test.sequences[name])
    gain = weights[victim] * AGREEMENT * NETWORK_GAIN
    for found in imputed(model, victim, clips, seed=taught.place.seed, names=IMPUTERS):
        answers, facts = weighed(base, found.said, fold)
        facts |= {"explained": found.explained, "alone": accuracy(found.said["test"], labels)}
        answers = {"there": own + gain * found.said["test"], **answers}
        for how, scores in answers.items():
            yield f"{found.name}, {how}", scores, facts


def compute(fold: Fold, place: Place, cache: Path) -> list[dict]:
    taught = opened(fold, place)
    labels, rows = np.asarray(fold.test.labels), []

    def add(visible: str, system: str, score: float, facts: dict) -> None:
        found = {"visible": visible, "system": system, "score": score, "facts": facts}
        rows.append({**vars(place), **found})

    for name in fold.names:
        for system, scores in students(taught, name, cache).items():
            add(name, system, accuracy(scores, labels), {})
        answers = rocket(taught.labelled, fold.test, name, place.seed)
        add(name, ROCKET, float(100 * np.mean(answers == labels)), {})
        for system, scores, facts in imputing(taught, name):
            add(name, system, accuracy(scores, labels), facts)
    add("both", ALONE, accuracy(taught.model.evidence(fold.test), labels), {})
    return rows


def show(rows: list[dict]) -> None:
    """Print a line a system, with the paired difference to the labelled clips alone."""
    cells = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows:
        place = row["study"], row["labels"], row["visible"]
        cells[place][row["system"]][row["seed"]].append(row["score"])
    for (study, share, visible), systems in sorted(cells.items()):
        print(f"\n{study}; {share:.0%} of the labels; {visible}")
        means = {
            s: {k: float(np.mean(v)) for k, v in seeds.items()} for s, seeds in systems.items()
        }
        for system, found in means.items():
            values = list(found.values())
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            text = f"{system}: {np.mean(values):.1f} ± {spread:.1f} ({len(values)})"
            if system != ALONE and len(found) > 1:
                seeds = sorted(found)
                gain = paired_difference(*([means[s][k] for k in seeds] for s in (system, ALONE)))
                text += f", {gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"
                text += " clear" if gain.is_clear else ""
            print("  " + text)


def main() -> None:
    parser = study_options(__doc__.splitlines()[0], "few_labels.jsonl", only="smartwatch")
    parser.add_argument("--cache", type=Path, default=Path("experts-cache"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = read_rows(options.rows)
    done = {tuple(row[name] for name in Place.__annotations__) for row in rows}
    chosen = [(t, folds) for t, folds in studies(options.data) if options.only in t]
    for (title, folds), seed in itertools.product(chosen, range(options.seeds)):
        for number, share in itertools.product(range(len(folds)), SHARES):
            place = Place(title, number, seed, share)
            if tuple(vars(place).values()) not in done:
                fresh = compute(folds[number], place, options.cache)
                rows += fresh
                append_rows(options.rows, fresh)
                print(place, flush=True)
    show(rows)


if __name__ == "__main__":
    main()
