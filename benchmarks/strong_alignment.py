"""Is an imputed modality worth a term in the sum of experts?

Run: python benchmarks/strong_alignment.py [--data DIR] [--seeds N] [--only NAME] [--rows FILE]
     [--cache DIR]

Experts leave a missing modality out. Here its hidden steps are imputed from those of the visible
one, read by the victim's own network, and added to the sum. Imputers see the steps as they are, or
translated by a linear map that the complete clips taught, or they get a victim's network that was
trained to have like steps at like moments (step contrast). Two ways to add: "there", with the
weights that the model has for both modalities; "chosen", with weights that make the labels of
validation people most likely, where the imputed term must help by two standard errors or gets 0
("best" drops that condition). Controls: zeros, the mean step, a second network of the visible
modality. A: the victim is gone from all test clips; B: it survives there as in training. Training,
validation and test never share a person. Finished rows in FILE are not computed again, nor are
experts in DIR.
"""

import itertools
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

from experts import person
from imputed_steps import imputed
from mmalign.data import load_dataset, smartwatch, split_by
from mmalign.data.missingness import surviving_ids
from mmalign.data.resampling import resampled
from mmalign.data.split import Split
from mmalign.evaluation.significance import paired_difference
from mmalign.experts import Experts
from mmalign.experts.contract import Lesson
from mmalign.experts.modality import AGREEMENT, NETWORK_GAIN, ModalityExperts, learn_modality
from mmalign.experts.taps_expert import TapsExpert
from study_rows import append_rows, read_rows, study_options

CLEAR = 2.0
ABSENT, THERE = "absent", "victim there"


@dataclass(frozen=True)
class Place:
    """One training: a fold of a study with a seed, and what goes missing."""

    study: str
    fold: int
    seed: int
    victim: str
    survival: float


@dataclass(frozen=True)
class Fold:
    """Clips of people who are in one part only."""

    train: Split
    valid: Split
    test: Split

    @property
    def names(self) -> tuple[str, ...]:
        """The modalities."""
        return self.train.modalities


def studies(folder: Path) -> Iterator[tuple[str, list[Fold]]]:
    watch = smartwatch()
    yield "smartwatch, built-in split", [Fold(*(watch[n] for n in ("train", "valid", "test")))]
    if (folder / "utd_mhad").is_dir():
        utd, folds = resampled(load_dataset(folder / "utd_mhad"), 32), []
        for test, valid in (("subject7", "subject5"), ("subject1", "subject3")):
            parts = {test: "test", valid: "valid"}
            cut = split_by(utd, lambda clip_id, p=parts: p.get(person(clip_id), "train"))
            folds.append(Fold(*(cut[name] for name in ("train", "valid", "test"))))
        yield "UTD-MHAD, 32 steps", folds


def survivors(split: Split, place: Place) -> frozenset[str]:
    return surviving_ids(split.ids, count=int(place.survival * len(split)), seed=place.seed)


def remembered(folder: Path, key: tuple, make: Callable[[], Any]) -> Any:
    """What `make` gives, or gave under this key."""
    file = folder / ("-".join(str(part).replace(" ", "_") for part in key) + ".pickle")
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(make()))
    return pickle.loads(file.read_bytes())


def fitted(fold: Fold, place: Place, cache: Path) -> tuple[Experts, Split]:
    """The model, and the clips that it learned from; what was learned before is taken over."""
    kept = survivors(fold.train, place)
    train = fold.train.without(place.victim, set(fold.train.ids) - kept)

    def learn(name: str, lesson: Lesson) -> ModalityExperts:
        key = place.study, place.fold, place.seed, name, len(lesson.clips)
        return remembered(cache, key, lambda: learn_modality(lesson))

    return Experts(seed=place.seed).fit(train, groups=person, learn=learn), train


def losses(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    own = shifted[np.arange(len(labels)), labels]
    return np.log(np.exp(shifted).sum(axis=1)) - own


def best_weights(terms: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weights, never negative, of the terms that make the labels most likely."""

    def loss(weights: np.ndarray) -> float:
        return float(losses(np.tensordot(weights, terms, 1), labels).mean())

    start, bounds = np.r_[1.0, np.full(len(terms) - 1, 0.1)], [(0.0, 50.0)] * len(terms)
    return minimize(loss, start, bounds=bounds, method="L-BFGS-B").x


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(100 * np.mean(scores.argmax(axis=1) == labels))


def weighed(base: dict, said: dict, fold: Fold) -> tuple[dict[str, np.ndarray], dict]:
    """Test answers with the weights that validation people choose, and what these people say."""
    labels = np.asarray(fold.valid.labels)
    terms = np.stack([base["valid"], said["valid"]])
    alone, both = best_weights(terms[:1], labels), best_weights(terms, labels)
    gains = losses(alone[0] * terms[0], labels) - losses(np.tensordot(both, terms, 1), labels)
    errors = gains.mean() / max(gains.std() / len(gains) ** 0.5, 1e-12)
    best = both[0] * base["test"] + both[1] * said["test"]
    facts = {
        "weight": float(both[1]),
        "errors": float(errors),
        "valid_gain": accuracy(np.tensordot(both, terms, 1), labels)
        - accuracy(terms[0], labels),
    }  # fmt: skip
    return {"best": best, "chosen": best if errors >= CLEAR else base["test"]}, facts


def second_network(fold: Fold, place: Place, model: Experts, cache: Path) -> dict:
    """Log-probabilities of one more network of the visible modality."""
    visible = next(name for name in fold.names if name != place.victim)
    key = place.study, place.fold, place.seed, visible, "second"

    def make() -> TapsExpert:
        _, lessons = model.lessons(fold.train, person)
        expert = TapsExpert()
        lesson = replace(lessons[visible], seed=place.seed + 1000)
        expert.fit(lesson, model.experts[visible].sense)
        return expert

    expert = remembered(cache, key, make)
    clips = {"valid": fold.valid, "test": fold.test}
    return {p: expert.evidence(split.sequences[visible]) for p, split in clips.items()}


def compute(fold: Fold, place: Place, cache: Path) -> list[dict]:
    model, train = fitted(fold, place, cache)
    visible = next(name for name in fold.names if name != place.victim)
    labels = np.asarray(fold.test.labels)
    kept = survivors(fold.test, place)
    has = np.array([clip_id in kept for clip_id in fold.test.ids])[:, None]
    base = {p: model.evidence(getattr(fold, p).only([visible])) for p in ("valid", "test")}
    both = model.evidence(fold.test)
    rows = []

    def add(system: str, answers: dict[str, np.ndarray], facts: dict) -> None:
        found = {f"A {how}": accuracy(scores, labels) for how, scores in answers.items()}
        found |= {
            f"B {how}": accuracy(np.where(has, both, s), labels) for how, s in answers.items()
        }
        rows.append({**vars(place), "system": system, "scores": found, "facts": facts})

    add(ABSENT, dict.fromkeys(("there", "best", "chosen"), base["test"]), {})
    add(THERE, {"there": both}, {})
    panel = model.fitted
    weights = dict(zip(fold.names, panel.weights[fold.names], strict=False))
    own = weights[visible] * panel.members[visible,].evidence(fold.test.sequences[visible])
    gain = weights[place.victim] * AGREEMENT * NETWORK_GAIN
    complete = train.select(np.flatnonzero(train.is_present(place.victim)))
    clips = {"complete": complete, "labelled": train, "valid": fold.valid, "test": fold.test}
    for found in imputed(model, place.victim, clips, seed=place.seed):
        answers, facts = weighed(base, found.said, fold)
        facts |= {"explained": found.explained, "alone": accuracy(found.said["test"], labels)}
        add(found.name, {"there": own + gain * found.said["test"], **answers}, facts)
    said = second_network(fold, place, model, cache)
    answers, facts = weighed(base, said, fold)
    add("second network", answers, facts | {"alone": accuracy(said["test"], labels)})
    return rows


def show(rows: list[dict]) -> None:
    """Print a table a place: scores, and paired differences from leaving the victim out."""
    places: dict[tuple, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        places[row["study"], row["victim"], row["survival"]][row["system"]].append(row)
    columns = [f"{setting} {how}" for setting in "AB" for how in ("there", "best", "chosen")]
    for (study, victim, survival), systems in places.items():
        print(f"\n{study}; {victim} at {survival:.0%} | {' | '.join(columns)} | facts")
        for system, own in systems.items():
            cells = [cell(own, systems[ABSENT], column) for column in columns]
            facts = {n: np.mean([row["facts"][n] for row in own]) for n in own[0]["facts"]}
            told = ", ".join(f"{name} {value:.2f}" for name, value in facts.items())
            taken = sum(row["facts"].get("errors", 0) >= CLEAR for row in own)
            print(f"  {system} | {' | '.join(cells)} | {told}, in {taken} of {len(own)}")


def cell(own: list[dict], absent: list[dict], column: str) -> str:
    """The mean over seeds of the mean over folds, and the difference with its 95 % interval."""
    if column not in own[0]["scores"]:
        return "-"
    first, second = (by_seed(part, column) for part in (own, absent))
    text = f"{np.mean(list(first.values())):.1f}"
    if own is absent or len(first) < 2:
        return text
    gain = paired_difference(
        *([found[seed] for seed in sorted(first)] for found in (first, second))
    )
    return f"{text}, {gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"


def by_seed(rows: list[dict], column: str) -> dict[int, float]:
    found = defaultdict(list)
    for row in rows:
        found[row["seed"]].append(row["scores"][column])
    return {seed: float(np.mean(values)) for seed, values in found.items()}


def places(title: str, folds: list[Fold], seed: int) -> Iterator[Place]:
    for number, victim, survival in itertools.product(
        range(len(folds)), folds[0].names, (0.5, 0.1)
    ):
        yield Place(title, number, seed, victim, survival)


def main() -> None:
    parser = study_options(__doc__.splitlines()[0], "strong_alignment.jsonl")
    parser.add_argument("--cache", type=Path, default=Path("experts-cache"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = read_rows(options.rows)
    done = {tuple(row[name] for name in Place.__annotations__) for row in rows}
    chosen = [(t, folds) for t, folds in studies(options.data) if options.only in t]
    for (title, folds), seed in itertools.product(chosen, range(options.seeds)):
        for place in places(title, folds, seed):
            if tuple(vars(place).values()) not in done:
                fresh = compute(folds[place.fold], place, options.cache)
                rows += fresh
                append_rows(options.rows, fresh)
                print(place, flush=True)
    show(rows)


if __name__ == "__main__":
    main()
