"""Experts on disk: arrays as safetensors, the rest as JSON, and a hash of both."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from mmalign.data.inputs import Sense
from mmalign.data.names import under
from mmalign.data.task import task_from_json, task_to_json
from mmalign.documents import SEAL, parse_object, sealed, unsealed
from mmalign.errors import CorruptArtifactError, DataError
from mmalign.experts.modality import HALF, ModalityExperts
from mmalign.experts.panel import Panel
from mmalign.experts.ridge_expert import RidgeExpert
from mmalign.experts.soundness import check_panel, finite
from mmalign.experts.taps_expert import TapsExpert
from mmalign.files import read_regular, replaced_directory, write_atomically

WEIGHTS, CARD = "experts.safetensors", "experts.json"
FILES = frozenset({WEIGHTS, CARD})
ARRAYS = "arrays_sha256"
WHOLE = ("patterns", "centre", "dilations", "kernels", "channels")
"""Arrays of whole numbers or of yes and no; all others hold floats."""
FORMAT = 2
"""Of a card. In the first, priors counted once a member, and joint experts read centred clips."""


UNFIT = (
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError),
    *(MemoryError, SafetensorError, DataError),
)
"""Errors of arrays and a card that do not fit each other."""

Card = dict[str, Any]
"""What is known of a model beside its arrays, as plain values."""


def pack_panel(panel: Panel, *, seed: int, epochs: int) -> tuple[bytes, Card]:
    """The arrays of a model as safetensors, and its card."""
    arrays = numbered_states(panel.members.values())
    card = {
        "format": FORMAT,
        "task": task_to_json(panel.task),
        "prior": panel.prior.tolist(),
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
        if card.get("format", 1) != FORMAT:
            raise ValueError("it was saved by another version: train it again")
        arrays = finite(load_arrays(payload))
        members = {
            tuple(described["modalities"]): restored_member(
                under(arrays, f"{number}/"), _sense(described["sense"]), described["skill"]
            )
            for number, described in enumerate(card["members"])
        }
        owners = {name.partition("/")[0] for name in arrays}
        if owners != {str(number) for number in range(len(members))}:
            raise ValueError("arrays of other members than those of the card")
        weights = {
            tuple(row["modalities"]): np.array(row["weights"], np.float64)
            for row in card["weights"]
        }
        panel = Panel(
            task_from_json(card["task"]), np.array(card["prior"], np.float64), members, weights
        )
        check_panel(panel)
        return panel
    except UNFIT as error:
        raise CorruptArtifactError(f"arrays and card of experts do not fit ({error})") from error


def _sense(described: dict[str, bool]) -> Sense:
    if not all(isinstance(answer, bool) for answer in described.values()):
        raise ValueError("a sense is neither true nor false")
    return Sense(**described)


def numbered_states(members: Iterable[ModalityExperts]) -> dict[str, np.ndarray]:
    """The arrays of all members, by a member's number and their own names."""
    return {
        f"{number}/{name}": np.ascontiguousarray(array)
        for number, one in enumerate(members)
        for name, array in member_state(one).items()
    }


def member_state(member: ModalityExperts) -> dict[str, np.ndarray]:
    """The arrays of a member, by name."""
    kinds = (("ridge", member.ridge), ("taps", member.taps))
    states = {f"{kind}/{k}": a for kind, expert in kinds for k, a in expert.state().items()}
    share = {} if member.share == HALF else {"share": np.array([member.share])}
    return {"held_out": member.held_out, **share, **states}


def restored_member(
    arrays: Mapping[str, np.ndarray], sense: Sense, skill: float
) -> ModalityExperts:
    """The member whose arrays `member_state` gave."""
    ridge, taps = RidgeExpert(), TapsExpert()
    for kind, expert in (("ridge", ridge), ("taps", taps)):
        expert.restore(under(arrays, f"{kind}/"))
    share = float(arrays["share"].item()) if "share" in arrays else HALF
    if not 0 <= share <= 1:
        raise ValueError(f"a network with a share of {share:g}")
    member = ModalityExperts(sense, ridge, taps, arrays["held_out"], float(skill), share)
    _check_same(arrays, member_state(member))
    return member


def _check_same(given: Mapping[str, np.ndarray], restored: Mapping[str, np.ndarray]) -> None:
    """Check that nothing was left out or cast on the way.

    Raises:
        ValueError: If an array is not known, or is of another type or shape than it must be.
    """
    for name in {*given, *restored}:
        before, after = given.get(name), restored.get(name)
        if before is None or after is None:
            raise ValueError(f"array {name!r} is not known, or missing")
        is_same = before.dtype == after.dtype and before.shape == (after.shape or (1,))
        if not is_same or (before.dtype.kind != "f" and name.split("/")[-1] not in WHOLE):
            raise ValueError(f"array {name!r} is {before.dtype} of shape {list(before.shape)}")


def save_experts(folder: Path, payload: bytes, card: Card) -> None:
    """Write a model into a directory of its own; one that is there is replaced as a whole.

    Raises:
        MMAlignError: If the directory holds something else.
    """
    content = sealed({**card, ARRAYS: hashlib.sha256(payload).hexdigest()})
    with replaced_directory(folder.resolve(), own=FILES) as draft:
        write_atomically(draft / WEIGHTS, payload)
        write_atomically(draft / CARD, (json.dumps(content, indent=2) + "\n").encode())


def load_experts(folder: Path) -> tuple[bytes, Card]:
    """What `save_experts` wrote.

    Raises:
        CorruptArtifactError: If a file is not as it was written.
    """
    try:
        card = parse_object(read_regular(folder / CARD))
        if ARRAYS in card:
            card = unsealed(card)
        payload = read_regular(folder / WEIGHTS)
        # Before cards were sealed, their one hash was that of the arrays.
        if hashlib.sha256(payload).hexdigest() != card.get(ARRAYS, card.get(SEAL)):
            raise ValueError("its bytes are not those that were written")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(
            f"{folder}: holds no sound model of experts ({error})"
        ) from error
    return payload, card
