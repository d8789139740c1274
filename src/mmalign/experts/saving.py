"""Experts on disk: arrays as safetensors, the rest as JSON, and a hash of both."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from mmalign.data.task import Task, task_from_json, task_to_json
from mmalign.errors import CorruptArtifactError, DataError, MMAlignError
from mmalign.experts.contract import under
from mmalign.experts.inputs import Sense
from mmalign.experts.modality import ModalityExperts
from mmalign.experts.ridge_expert import RidgeExpert
from mmalign.experts.taps_expert import TapsExpert
from mmalign.files import replaced_directory, write_atomically

WEIGHTS, CARD = "experts.safetensors", "experts.json"
FILES = {WEIGHTS, CARD}


Card = dict[str, Any]
"""What is known of a model beside its arrays, as plain values."""


def pack_experts(
    task: Task, experts: Mapping[str, ModalityExperts], *, seed: int, epochs: int
) -> tuple[bytes, Card]:
    """The arrays of a model as safetensors, and its card."""
    arrays = {
        f"{number}/{kind}/{name}": np.ascontiguousarray(array)
        for number, one in enumerate(experts.values())
        for kind, expert in (("ridge", one.ridge), ("taps", one.taps))
        for name, array in expert.state().items()
    }
    card = {
        "task": task_to_json(task),
        "seed": seed,
        "epochs": epochs,
        "modalities": {
            name: {"sense": asdict(one.sense), "clips": one.clips, "skill": one.skill}
            for name, one in experts.items()
        },
    }
    return save_arrays(arrays), card


def unpack_experts(payload: bytes, card: Card) -> tuple[Task, dict[str, ModalityExperts]]:
    """Task and experts by modality, from what `pack_experts` gave.

    Raises:
        CorruptArtifactError: If the two do not fit.
    """
    try:
        arrays = load_arrays(payload)
        experts = {
            name: _restored(described, arrays, number)
            for number, (name, described) in enumerate(card["modalities"].items())
        }
        return task_from_json(card["task"]), experts
    except (ValueError, KeyError, TypeError, RuntimeError, SafetensorError, DataError) as error:
        raise CorruptArtifactError(f"arrays and card of experts do not fit ({error})") from error


def save_experts(folder: Path, payload: bytes, card: Card) -> None:
    """Write a model into a directory of its own; one that is there is replaced as a whole.

    Raises:
        MMAlignError: If the directory holds something else.
    """
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or {p.name for p in folder.iterdir()} - FILES):
        raise MMAlignError(f"{folder}: holds other files than a saved model. Give another path.")
    sealed = {**card, "sha256": hashlib.sha256(payload).hexdigest()}
    with replaced_directory(folder) as draft:
        write_atomically(draft / WEIGHTS, payload)
        write_atomically(draft / CARD, (json.dumps(sealed, indent=2) + "\n").encode())


def load_experts(folder: Path) -> tuple[bytes, Card]:
    """What `save_experts` wrote.

    Raises:
        CorruptArtifactError: If a file is not as it was written.
    """
    try:
        card = dict(json.loads((folder / CARD).read_bytes()))
        payload = (folder / WEIGHTS).read_bytes()
        if hashlib.sha256(payload).hexdigest() != card["sha256"]:
            raise ValueError("its bytes are not those that were written")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(
            f"{folder}: holds no sound model of experts ({error})"
        ) from error
    return payload, card


def _restored(
    described: dict[str, Any], arrays: Mapping[str, np.ndarray], number: int
) -> ModalityExperts:
    ridge, taps = RidgeExpert(), TapsExpert()
    for kind, expert in (("ridge", ridge), ("taps", taps)):
        expert.restore(under(arrays, f"{number}/{kind}"))
    sense = Sense(**described["sense"])
    return ModalityExperts(sense, ridge, taps, int(described["clips"]), float(described["skill"]))
