"""Whether an exported graph answers as the model does, on clips that are made up."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mmalign.data.batching import pad
from mmalign.data.clip import Clip, Observed, Steps
from mmalign.errors import MMAlignError
from mmalign.export.sequences import length_name
from mmalign.export.subject import Subject

TOLERANCE = 1e-5
"""Of a probability, or of a number beside its own size."""

BATCHES = ((1, 1), (1, 2), (1, 12), (64, 48), (7, 512))
"""Clips of a batch, and steps of the longest."""

GAPS = 0.3
"""Share of sequences that have gaps."""


def largest_difference(payload: bytes, subject: Subject) -> float:
    """How far the graph is from the model at most; numbers count relative to their size."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(payload, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    worst = 0.0
    for count, longest in BATCHES:
        clips = list(made_clips(subject, random, count, longest))
        (found,) = session.run(None, feeds(subject, clips))
        expected = subject.answers(clips)
        apart = np.abs(found.reshape(expected.shape) - expected)
        worst = max(worst, float((apart / np.maximum(1.0, np.abs(expected))).max()))
    return worst


def check_parity(payload: bytes, subject: Subject) -> float:
    """The largest difference, which must be small.

    Raises:
        MMAlignError: If the graph does not answer as the model does.
    """
    found = largest_difference(payload, subject)
    if not found <= TOLERANCE:
        raise MMAlignError(
            f"the exported graph is {found:.1e} away from the model's own answers, more than "
            f"{TOLERANCE:g}: nothing is written. Look for features of extreme scales."
        )
    return found


def feeds(subject: Subject, clips: list[Clip]) -> dict[str, Any]:
    """Clips as a graph takes them: padded, with lengths; a gap is a step of NaN."""
    given: dict[str, Any] = {}
    for name, dim in subject.dims.items():
        padded, lengths = pad([clip.sequences.get(name) for clip in clips], dim)
        given |= {name: padded, length_name(name): lengths}
    return given


def made_clips(
    subject: Subject, random: np.random.Generator, count: int, longest: int
) -> Iterator[Clip]:
    """Clips of all patterns, lengths of any size up to the longest, some with gaps."""
    names = list(subject.dims)
    for number in range(count):
        kept = random.random(len(names)) < 0.6
        kept[random.integers(len(names))] = True
        has = [n for n, is_kept in zip(names, kept, strict=True) if is_kept or n in subject.needs]
        sequences, observed = {}, {}
        for name in has:
            most = longest if number == 0 else int(longest ** random.random())
            sequences[name], observed[name] = _made(subject, name, random, most)
        yield Clip(f"made{number}", None, sequences, observed=observed)


def _made(
    subject: Subject, name: str, random: np.random.Generator, length: int
) -> tuple[Steps, Observed]:
    """A walk with noise on the scale of the training clips, and which of its steps are there."""
    mean, scale = subject.scales[name]
    noise = random.normal(size=(2, length, len(mean)))
    walk = 0.3 * noise[0].cumsum(axis=0) + 0.5 * noise[1]
    is_there = np.ones(length, bool)
    if random.random() < GAPS:
        is_there = random.random(length) < 0.8
        is_there[random.integers(length)] = True
    steps = (mean + scale * walk).astype(np.float32)
    steps[~is_there] = np.nan
    return steps, is_there
