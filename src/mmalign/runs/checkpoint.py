"""A training state in one file, replaced atomically and checked before it is believed."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from mmalign.data.names import under
from mmalign.documents import parse_json
from mmalign.errors import CorruptArtifactError
from mmalign.files import read_regular, write_atomically
from mmalign.model.adamw import Optimizer
from mmalign.predictor.members import member_prefix
from mmalign.predictor.model import Model
from mmalign.training.loop import TrainingState
from mmalign.training.member import Member

CHECKPOINT = "checkpoint/state.safetensors"
"""Where a run keeps its state."""

DIGEST_BYTES = 32
UNFIT = (SafetensorError, LookupError, ValueError, TypeError, AttributeError, RuntimeError)
"""Errors of bytes that are whole, but no checkpoint of this run."""


def save_checkpoint(state: TrainingState, file: Path) -> None:
    """Write weights, optimisers, selections and history; a kill leaves the old file or the new."""
    tensors: dict[str, Tensor] = {}
    for start, member in _members(state):
        own = member.model.state_dict()
        tensors |= {f"{start}model/{name}": tensor for name, tensor in own.items()}
        for which, optimizer in _optimizers(member).items():
            for index, slots in optimizer.state_dict()["state"].items():
                named = {f"{start}{which}/{index}/{slot}": t for slot, t in slots.items()}
                tensors |= named
        tensors |= {f"{start}average/{name}": t for name, t in member.average.items()}
    for name, selection in state.selections.items():
        tensors |= {f"best/{name}/{key}": value for key, value in selection.best_state.items()}
    progress = {
        "history": state.history,
        "seconds": state.seconds,
        "selections": {
            name: {"score": selection.best_score, "epoch": selection.best_epoch}
            for name, selection in state.selections.items()
        },
    }
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    payload = save_tensors(contiguous, metadata={"progress": json.dumps(progress)})
    write_checked(file, payload)


def load_checkpoint(file: Path, state: TrainingState) -> None:
    """Bring a fresh state to where the file was written.

    Raises:
        CorruptArtifactError: If the bytes are not those that were written, or do not fit the state.
    """
    payload = read_checked(file)
    try:
        tensors = load_tensors(payload)
        header = parse_json(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
        progress = parse_json(header["__metadata__"]["progress"].encode())
        for start, member in _members(state):
            member.model.load_state_dict(under(tensors, f"{start}model/"))
            averaged = under(tensors, f"{start}average/")
            member.average.update(_placed(averaged, member.model))
            for which, optimizer in _optimizers(member).items():
                _restore_optimizer(optimizer, under(tensors, f"{start}{which}/"))
        for name, selection in state.selections.items():
            known = progress["selections"][name]
            selection.best_score = tuple(known["score"])
            selection.best_epoch = known["epoch"]
            selection.best_state = under(tensors, f"best/{name}/")
        state.history = list(progress["history"])
        state.seconds = float(progress["seconds"])
    except UNFIT as error:
        raise CorruptArtifactError(f"{file}: does not fit this run ({error})") from error


def write_checked(file: Path, payload: bytes) -> None:
    """Replace a file by bytes and their hash."""
    write_atomically(file, payload + hashlib.sha256(payload).digest())


def read_checked(file: Path) -> bytes:
    """The bytes that `write_checked` wrote.

    Raises:
        CorruptArtifactError: If they are others.
    """
    try:
        content = read_regular(file)
    except OSError as error:
        raise CorruptArtifactError(f"{file}: cannot be read ({error.strerror})") from error
    payload, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        raise CorruptArtifactError(
            f"{file}: its bytes are not those that were written. "
            "Delete the run directory and train again."
        )
    return payload


def _members(state: TrainingState) -> Iterator[tuple[str, Member]]:
    """The members, and what the names of their tensors begin with."""
    return ((member_prefix(number), member) for number, member in enumerate(state.members))


def _optimizers(member: Member) -> dict[str, Optimizer]:
    both = {"main": member.optimizers.main, "fit": member.optimizers.fit}
    return {name: optimizer for name, optimizer in both.items() if optimizer is not None}


def _placed(tensors: dict[str, Tensor], model: Model) -> dict[str, Tensor]:
    """The tensors where the model is."""
    return {name: tensor.to(model.gate.device) for name, tensor in tensors.items()}


def _restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    slots: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, slot = key.split("/")
        slots.setdefault(int(index), {})[slot] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": slots})
