"""How sure are experts with each subset of modalities, and would a temperature help?

Run: python benchmarks/calibration.py [--data DIR] [--seeds N] [--only NAME] [--rows FILE]
     [--cache DIR]

Experts learn from all modalities and are asked about test people with each subset. Beside their
probabilities as they are ("as is") stand those with one temperature for all subsets, and with one
a subset; temperatures make the labels of validation people, who taught nothing, most likely.
Scores: expected calibration error in points, and surprise, the mean cross-entropy. Every person is
in one part only. Finished rows in FILE are not computed again, nor are experts in DIR.
"""

import itertools
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from experts import person, subsets
from mmalign.evaluation.calibration import expected_calibration_error
from mmalign.evaluation.significance import paired_difference
from mmalign.experts import Experts
from mmalign.experts.contract import Lesson
from mmalign.experts.modality import ModalityExperts, learn_modality
from strong_alignment import Fold, accuracy, best_weights, losses, remembered, studies
from study_rows import append_rows, read_rows, study_options

AS_IS = "as is"


def fitted(fold: Fold, place: tuple, cache: Path) -> Experts:
    def learn(name: str, lesson: Lesson) -> ModalityExperts:
        key = *place, name, len(lesson.clips)
        return remembered(cache, key, lambda: learn_modality(lesson))

    return Experts(seed=place[2]).fit(fold.train, groups=person, learn=learn)


def shares_of(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def compute(fold: Fold, place: tuple, cache: Path) -> list[dict]:
    model, rows = fitted(fold, place, cache), []
    known, labels = np.asarray(fold.valid.labels), np.asarray(fold.test.labels)
    asked = {" + ".join(s): s for s in subsets(fold.names)}
    valid = {name: model.evidence(fold.valid.only(s)) for name, s in asked.items()}
    test = {name: model.evidence(fold.test.only(s)) for name, s in asked.items()}
    every = np.concatenate(list(valid.values()))
    common = best_weights(every[None], np.tile(known, len(valid)))[0]
    everything = shares_of(test[" + ".join(fold.names)]).max(axis=1)
    for name, scores in test.items():
        factors = {AS_IS: 1.0, "one temperature": common}
        factors["one a subset"] = best_weights(valid[name][None], known)[0]
        found = {}
        for how, factor in factors.items():
            error = 100 * expected_calibration_error(shares_of(factor * scores), labels)
            found[how] = {"error": error, "surprise": float(losses(factor * scores, labels).mean())}
        confidence = shares_of(scores).max(axis=1)
        facts = {
            "accuracy": accuracy(scores, labels),
            "confidence": float(100 * confidence.mean()),
            "less sure": float(100 * np.mean(confidence < everything)),
            "factor": float(factors["one a subset"]),
        }
        own = dict(zip(("study", "fold", "seed"), place, strict=True))
        rows.append({**own, "subset": name, "scores": found, "facts": facts})
    return rows


def by_seed(rows: list[dict], value) -> list[float]:
    """The mean over folds, seed by seed."""
    found = defaultdict(list)
    for row in rows:
        found[row["seed"]].append(value(row))
    return [float(np.mean(found[seed])) for seed in sorted(found)]


def show(rows: list[dict]) -> None:
    cells = defaultdict(list)
    for row in rows:
        cells[row["study"], row["subset"]].append(row)
    for (study, subset), own in cells.items():
        facts = {n: np.mean([row["facts"][n] for row in own]) for n in own[0]["facts"]}
        told = ", ".join(f"{name} {value:.1f}" for name, value in facts.items())
        print(f"\n{study}; {subset}: {told} ({len({row['seed'] for row in own})} seeds)")
        for how, score in itertools.product(own[0]["scores"], ("error", "surprise")):
            values = by_seed(own, lambda row, h=how, s=score: row["scores"][h][s])
            text = f"  {how}, {score}: {np.mean(values):.3f}"
            if how != AS_IS and len(values) > 1:
                before = by_seed(own, lambda row, s=score: row["scores"][AS_IS][s])
                gain = paired_difference(values, before)
                text += f", {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
            print(text)


def main() -> None:
    parser = study_options(__doc__.splitlines()[0], "calibration.jsonl")
    parser.add_argument("--cache", type=Path, default=Path("experts-cache"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = read_rows(options.rows)
    done = {(row["study"], row["fold"], row["seed"]) for row in rows}
    chosen = [(t, folds) for t, folds in studies(options.data) if options.only in t]
    for (title, folds), seed in itertools.product(chosen, range(options.seeds)):
        for number, fold in enumerate(folds):
            place = title, number, seed
            if place not in done:
                fresh = compute(fold, place, options.cache)
                rows += fresh
                append_rows(options.rows, fresh)
    show(rows)


if __name__ == "__main__":
    main()
