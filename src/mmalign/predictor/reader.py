"""A trained network that only reads: the same answers in a fraction of the time.

A prediction of few steps in torch is nearly all calls from operator to operator. Here clips of one
pattern are three compiled calls, without padding; what they do not cover is left to torch.
"""

import math
from collections.abc import Callable, Collection

import torch
from jaxtyping import Float
from torch import Tensor

from mmalign.data.intake import Clips
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.evaluation.predictions import check_finite, in_terms_of
from mmalign.predictor.engine import Engine, Outputs
from mmalign.predictor.members import mean_outputs
from mmalign.predictor.plain import plain_rows
from mmalign.predictor.predictor import Predictor
from mmalign.predictor.readers import reader_of


def quick_outputs(predictor: Predictor, split: Split) -> Float[Tensor, "clips outputs"]:
    """What `predictor.outputs` gives, within 1e-5: by compiled calls where they cover the model.

    Raises:
        NonFiniteOutputError: If an output is NaN or infinite, which is no prediction.
    """
    found = _read(predictor, split)
    return predictor.outputs(split) if found is None else torch.from_numpy(found[0])


def quick_answers(predictor: Predictor, split: Split) -> Labels:
    """The same in the terms of the labels; where kernels cover the model, torch is not asked.

    Raises:
        NonFiniteOutputError: If an output is NaN or infinite, which is no prediction.
    """
    found = _read(predictor, split)
    if found is None:
        return predictor.to_labels(predictor.outputs(split))
    outputs, reader = found
    return in_terms_of(predictor.task, outputs, *reader.label_scale)


def answers_to(
    predictor: Predictor, clips: Clips, needed: Collection[str], prepare: Callable[[Clips], Split]
) -> Labels:
    """Answers to whatever was given to predict; what is plain need not become a split first.

    Args:
        predictor: What predicts.
        clips: What was given.
        needed: Modalities that no clip may lack.
        prepare: Converts, cleans and checks what is not plain.

    Raises:
        DataError: If clips are refused, or an output is not finite.
    """
    rows = plain_rows(clips, predictor.features(), needed)
    found = None if rows is None else _of_members(predictor, lambda reader: reader.outputs_of(rows))
    if found is None or not all(map(_is_finite, found[0])):
        return quick_answers(predictor, prepare(clips))
    outputs, reader = _together(*found)
    return in_terms_of(predictor.task, outputs, *reader.label_scale)


def _read(predictor: Predictor, split: Split) -> tuple[Outputs, Engine] | None:
    """Finite outputs, and a reader they come from; None where there is none for these clips."""
    found = _of_members(predictor, lambda reader: reader.outputs(split, predictor.watch))
    if found is None:
        return None
    for outputs in found[0]:
        if not _is_finite(outputs):
            check_finite(outputs, split.ids)
    return _together(*found)


def _of_members(
    predictor: Predictor, ask: Callable[[Engine], Outputs | None]
) -> tuple[list[Outputs], Engine] | None:
    """Outputs of each member, and the reader of the first one."""
    readers = [reader for model in predictor.members if (reader := reader_of(model)) is not None]
    read = [found for reader in readers if (found := ask(reader)) is not None]
    return (read, readers[0]) if len(read) == len(predictor.members) else None


def _is_finite(outputs: Outputs) -> bool:
    """Whether their sum is; that of finite numbers may be too large as well."""
    return math.isfinite(outputs.sum())


def _together(read: list[Outputs], reader: Engine) -> tuple[Outputs, Engine]:
    if len(read) == 1:
        return read[0], reader
    return mean_outputs([torch.from_numpy(found) for found in read]).numpy(), reader
