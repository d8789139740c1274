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

from mmalign.data.inputs import Sense
from mmalign.data.task import task_from_json, task_to_json
from mmalign.errors import CorruptArtifactError, DataError, MMAlignError
from mmalign.experts.contract import under
from mmalign.experts.modality import ModalityExperts
from mmalign.experts.panel import Panel
from mmalign.experts.ridge_expert import RidgeExpert
from mmalign.experts.taps_expert import TapsExpert
from mmalign.files import replaced_directory, write_atomically

WEIGHTS, CARD = "experts.safetensors", "experts.json"
FILES = {WEIGHTS, CARD}


Card = dict[str, Any]
"""What is known of a model beside its arrays, as plain values."""


def pack_panel(panel: Panel, *, seed: int, epochs: int) -> tuple[bytes, Card]:
    """The arrays of a model as safetensors, and its card."""
    arrays = {
        f"{number}/{name}": np.ascontiguousarray(array)
        for number, one in enumerate(panel.members.values())
        for name, array in member_state(one).items()
    }
    card = {
        "task": task_to_json(panel.task),
        "centre": panel.centre,
        "seed": seed,
        "epochs": epochs,
        "members": [
            {"modalities": list(names), "sense": asdict(one.sense), "skill": one.skill}
            for names, one in panel.members.items()
        ],
        "weights": [
            {"modalities": list(subset), "weights": weights.tolist()}
            for subset, weights in panel.weights.items()
        ],
    }
    return save_arrays(arrays), card


def unpack_panel(payload: bytes, card: Card) -> Panel:
    """The panel that `pack_panel` took.

    Raises:
        CorruptArtifactError: If arrays and card do not fit.
    """
    try:
        arrays = load_arrays(payload)
        members = {
            tuple(described["modalities"]): restored_member(
                under(arrays, str(number)), Sense(**described["sense"]), described["skill"]
            )
            for number, described in enumerate(card["members"])
        }
        weights = {
            tuple(row["modalities"]): np.array(row["weights"], np.float64)
            for row in card["weights"]
        }
        return Panel(task_from_json(card["task"]), float(card["centre"]), members, weights)
    except (ValueError, KeyError, TypeError, RuntimeError, SafetensorError, DataError) as error:
        raise CorruptArtifactError(f"arrays and card of experts do not fit ({error})") from error


def member_state(member: ModalityExperts) -> dict[str, np.ndarray]:
    """The arrays of a member, by name."""
    kinds = (("ridge", member.ridge), ("taps", member.taps))
    states = {f"{kind}/{k}": a for kind, expert in kinds for k, a in expert.state().items()}
    return {"held_out": member.held_out, **states}


def restored_member(
    arrays: Mapping[str, np.ndarray], sense: Sense, skill: float
) -> ModalityExperts:
    """The member whose arrays `member_state` gave."""
    ridge, taps = RidgeExpert(), TapsExpert()
    for kind, expert in (("ridge", ridge), ("taps", taps)):
        expert.restore(under(arrays, kind))
    return ModalityExperts(sense, ridge, taps, arrays["held_out"], float(skill))


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
