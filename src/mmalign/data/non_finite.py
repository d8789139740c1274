"""NaN and infinity: refused with their place, or cleaned by a named policy and counted.

A row of NaN in a modality that may have gaps is a gap, and no fault.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.gaps import with_gaps
from mmalign.data.split import Split
from mmalign.data.validation import validate
from mmalign.errors import DataError, counted

Policy = Literal["reject", "zero", "clip", "gap"]
FOUND = "non-finite value (NaN, infinity, or beyond float32's 3.4e38)"


@dataclass(frozen=True)
class NonFinite:
    """The non-finite values of one modality in one split, and where the first one is."""

    split: str
    modality: str
    values: int
    steps: int
    clips: int
    first_clip: str
    first_step: int
    first_feature: int


def find_non_finite(dataset: Dataset) -> list[NonFinite]:
    """Count and locate NaN and infinity in every split and modality that holds any."""
    found = []
    for split_name, split in dataset.splits.items():
        for modality in split.modalities:
            summary = _scan(split_name, split, modality)
            if summary is not None:
                found.append(summary)
    return found


def _scan(split_name: str, split: Split, modality: str) -> NonFinite | None:
    first: tuple[str, int, int] | None = None
    values = rows = clips = 0
    for clip_id, steps in zip(split.ids, split.sequences[modality], strict=True):
        if steps is None or np.isfinite(steps).all():
            continue
        is_bad = ~np.isfinite(steps)
        if modality in split.gapped:
            is_bad &= ~np.isnan(steps).all(axis=1, keepdims=True)
        places = np.argwhere(is_bad)
        if not len(places):
            continue
        values, clips = values + len(places), clips + 1
        rows += int(is_bad.any(axis=1).sum())
        if first is None:
            first = (clip_id, int(places[0, 0]), int(places[0, 1]))
    return first and NonFinite(split_name, modality, values, rows, clips, *first)


def require_finite(split: Split) -> None:
    """Look for NaN and infinity, unless the split was checked before.

    Raises:
        DataError: At the first non-finite value.
    """
    for modality in () if split.is_finite else split.modalities:
        found = _scan("", split, modality)
        if found is not None:
            raise DataError(
                FOUND,
                clip=found.first_clip,
                modality=modality,
                step=found.first_step,
                feature=found.first_feature,
                fix="Clean it, or give non_finite='gap' or 'zero' to MMAlign or load_dataset; "
                "observed= of a clip tells which steps are there.",
            )


def cleaned(split: Split, policy: Policy) -> Split:
    """The clips with zeros, or with gaps, in place of NaN and infinity; as they are otherwise.

    What would need training clips, or is refused, is left to `require_finite`.
    """
    if split.is_finite or policy not in ("zero", "gap"):
        return split
    for modality in split.modalities:
        if _scan("", split, modality) is not None:
            split = (
                _torn_in(split, modality) if policy == "gap" else _cleaned(split, modality, _zero)
            )
    return split.checked_finite()


def apply_policy(dataset: Dataset, policy: Policy) -> Dataset:
    """A dataset of finite values and gaps only, with a note for every modality that was cleaned.

    `zero` puts 0 in place of NaN and infinity. `clip` puts 0 in place of NaN, and the smallest or
    largest finite value of the feature in the training split in place of an infinity; these bounds
    come from all training clips, also from those whose victim a protocol takes away later. `gap`
    takes every step that holds such a value as missing, and a sequence of nothing else as well.

    Raises:
        DataError: Under `reject`, at the first non-finite value; under `gap`, at a clip of which
            nothing is left.
    """
    unchecked = {name: split for name, split in dataset.splits.items() if not split.is_finite}
    found = find_non_finite(replace(dataset, splits=unchecked))
    if not found:
        return dataset.checked_finite()
    if policy == "reject":
        raise _rejection(found[0])
    if policy == "gap":
        return _with_gaps(dataset, found).checked_finite()
    splits = dict(dataset.splits)
    totals = _totals(found, "values")
    for modality in totals:
        clean = _zero if policy == "zero" else _clipper(dataset, modality)
        splits = {name: _cleaned(split, modality, clean) for name, split in splits.items()}
    verb = {"zero": "set to zero", "clip": "clipped"}[policy]
    notes = tuple(
        f"{counted(count, 'non-finite value')} of {m} {verb}" for m, count in totals.items()
    )
    return replace(dataset, splits=splits, notes=dataset.notes + notes).checked_finite()


def _totals(found: Sequence[NonFinite], what: str) -> Counter[str]:
    """Values or steps of each modality, over all splits."""
    totals = Counter[str]()
    for summary in found:
        totals[summary.modality] += getattr(summary, what)
    return totals


def _with_gaps(dataset: Dataset, found: Sequence[NonFinite]) -> Dataset:
    splits = dict(dataset.splits)
    lost = Counter[str]()
    for summary in found:
        split, name = splits[summary.split], summary.modality
        torn = _torn_in(split, name)
        lost[name] += int(split.is_present(name).sum()) - int(torn.is_present(name).sum())
        splits[summary.split] = torn
    notes = [
        f"{counted(n, 'non-finite step')} of {m} taken as gaps"
        for m, n in _totals(found, "steps").items()
    ]
    notes += [
        f"{counted(n, 'sequence')} of {m} without a finite step taken as missing"
        for m, n in (+lost).items()
    ]
    return validate(replace(dataset, splits=splits, notes=(*dataset.notes, *notes)))


def _torn_in(split: Split, modality: str) -> Split:
    """The split with gaps where the modality has steps that are not finite."""
    column = [
        None if steps is None else with_gaps(steps, np.asarray(np.isfinite(steps).all(axis=1)))
        for steps in split.sequences[modality]
    ]
    columns = {**split.sequences, modality: column}
    return replace(split, sequences=columns, gapped=split.gapped | {modality})


def _rejection(summary: NonFinite) -> DataError:
    values, clips = summary.values, counted(summary.clips, "clip")
    return DataError(
        f"{FOUND}; there {'is' if values == 1 else 'are'} {values} in {clips} of this modality",
        split=summary.split,
        clip=summary.first_clip,
        modality=summary.modality,
        step=summary.first_step,
        feature=summary.first_feature,
        fix="Fix the source, or choose a policy: --non-finite zero, --non-finite clip, or "
        "--non-finite gap, which counts such steps as missing.",
    )


def _zero(steps: Steps) -> Steps:
    return np.where(np.isfinite(steps), steps, np.float32(0))


def _clipper(dataset: Dataset, modality: str) -> Callable[[Steps], Steps]:
    reference = dataset.splits.get("train") or next(iter(dataset.splits.values()))
    low = np.full(dataset.dims[modality], np.inf, dtype=np.float32)
    high = -low
    for steps in reference.sequences[modality]:
        if steps is not None:
            is_finite = np.isfinite(steps)
            low = np.minimum(low, np.where(is_finite, steps, np.inf).min(axis=0))
            high = np.maximum(high, np.where(is_finite, steps, -np.inf).max(axis=0))
    low, high = np.where(np.isinf(low), 0, low), np.where(np.isinf(high), 0, high)

    def clip(steps: Steps) -> Steps:
        bounded = np.where(np.isneginf(steps), low, np.where(np.isposinf(steps), high, steps))
        return np.nan_to_num(bounded, nan=0.0).astype(np.float32, copy=False)

    return clip


def _cleaned(split: Split, modality: str, clean: Callable[[Steps], Steps]) -> Split:
    def cleaned(steps: Steps) -> Steps | None:
        if modality not in split.gapped:
            return clean(steps)
        return with_gaps(clean(steps), ~np.isnan(steps).all(axis=1))

    column = [
        steps if steps is None or np.isfinite(steps).all() else cleaned(steps)
        for steps in split.sequences[modality]
    ]
    return replace(split, sequences={**split.sequences, modality: column})
