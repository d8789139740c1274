"""Clips in a safetensors body: no number is ever spelled out.

One clip is a tensor `[time, dim]` of float32 for each modality that it has. Many clips stand one
after the other in each tensor, and `<modality>.lengths` (int64) tells how long each is; 0 where it
is missing. A gap is a row of NaN. The metadata may hold `ids`, a JSON list, and `plans`, `true`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int64, Shaped
from pydantic_core import from_json
from safetensors import SafetensorError, deserialize

from mmalign.serving.asking import MAX_ID, Asked, checked_clip, checked_ids, checked_sequence
from mmalign.serving.facts import Facts
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import over_limit, unfit, unreadable

LENGTHS = ".lengths"
TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}

Lengths = Int64[np.ndarray, " clips"]


class TensorBody:
    """Reads the clips of one model's requests.

    Args:
        facts: Of the model.
        limits: Of the service.
    """

    def __init__(self, facts: Facts, limits: Limits) -> None:
        self._facts = facts
        self._limits = limits
        self._known = {*facts.dims, *(f"{name}{LENGTHS}" for name in facts.dims)}

    def __call__(self, body: bytes) -> list[Asked]:
        """The clips, in order.

        Raises:
            RefusalError: If it is no safetensors file, or does not fit the model.
        """
        tensors = self._tensors(body)
        lengths = self._lengths(tensors)
        about = _metadata(body)
        count = len(next(iter(lengths.values())))
        ids = _ids(about, count)
        parts = {name: _parts(tensors[name], own) for name, own in lengths.items()}
        plans = about.get("plans") == "true"
        return [self._asked(row, ids[row], parts, plans) for row in range(count)]

    def _tensors(self, body: bytes) -> dict[str, Shaped[np.ndarray, "..."]]:
        try:
            stored = deserialize(body)  # type: ignore[no-untyped-call]
        except (SafetensorError, ValueError, OverflowError) as error:
            raise unreadable("The body is not a safetensors file.") from error
        if any(name not in self._known for name, _ in stored):
            raise unfit(f"Unknown tensor. There are {', '.join(sorted(self._known))}.")
        return {name: _array(name, content) for name, content in stored}

    def _lengths(self, tensors: Mapping[str, Shaped[np.ndarray, "..."]]) -> dict[str, Lengths]:
        """Steps of each clip in each modality that is there."""
        found: dict[str, Lengths] = {}
        for name in self._facts.dims:
            own = tensors.get(f"{name}{LENGTHS}")
            if name not in tensors:
                if own is not None:
                    raise unfit(f"{name}{LENGTHS}: there is no {name}.")
                continue
            steps = tensors[name]
            if steps.ndim != 2 or steps.dtype != np.float32:
                raise unfit(f"{name}: expected [time, {self._facts.dims[name]}] of float32.")
            found[name] = np.array([len(steps)]) if own is None else _checked(name, own, len(steps))
        counts = {len(lengths) for lengths in found.values()}
        if len(counts) != 1 or counts == {0}:
            raise unfit(
                "Give at least one clip and one modality, all modalities for the same clips."
            )
        if max(counts) > self._limits.max_clips:
            raise over_limit(self._limits, "max_clips", f"{max(counts)} clips")
        return found

    def _asked(
        self,
        row: int,
        clip_id: str,
        parts: Mapping[str, Sequence[Shaped[np.ndarray, "..."]]],
        plans: bool,
    ) -> Asked:
        place = f"clip {row}"
        found = {}
        for name, column in parts.items():
            if len(column[row]):
                dim = self._facts.dims[name]
                steps = checked_sequence(column[row], f"{place}, {name}", dim, self._limits)
                if steps is not None:
                    found[name] = steps
        return checked_clip(Asked(clip_id, found, plans), place, self._facts, self._limits)


def _parts(steps: Shaped[np.ndarray, "..."], lengths: Lengths) -> list[Shaped[np.ndarray, "..."]]:
    return [steps] if len(lengths) == 1 else np.split(steps, np.cumsum(lengths)[:-1])


def _array(name: str, content: Mapping[str, Any]) -> Shaped[np.ndarray, "..."]:
    kind = TYPES.get(content["dtype"])
    if kind is None:
        raise unfit(f"{name}: expected float32, and int64 for lengths.")
    values: Any = np.frombuffer(content["data"], kind)
    try:
        return np.asarray(values.reshape(content["shape"]))
    except ValueError as error:  # sides that only a tensor without values can have
        raise unfit(f"{name}: no array has such a shape.") from error


def _checked(name: str, lengths: Shaped[np.ndarray, "..."], steps: int) -> Lengths:
    is_sound = lengths.ndim == 1 and lengths.dtype == np.int64
    if not is_sound or (lengths < 0).any() or (lengths > steps).any() or lengths.sum() != steps:
        raise unfit(f"{name}{LENGTHS}: expected int64 [clips] that add up to the steps of {name}.")
    return lengths


def _metadata(body: bytes) -> Mapping[str, str]:
    """What the header says beside the tensors; it was parsed before, if less strictly."""
    size = int.from_bytes(body[:8], "little")
    if b"__metadata__" not in body[8 : 8 + size]:
        return {}
    try:
        return dict(from_json(body[8 : 8 + size]).get("__metadata__") or {})
    except ValueError as error:
        raise unreadable("The body is not a safetensors file.") from error


def _ids(about: Mapping[str, str], count: int) -> list[str]:
    if "ids" not in about:
        return [str(row) for row in range(count)]
    try:
        ids = from_json(about["ids"])  # half a character is none, as in a JSON body
    except ValueError:
        ids = None
    is_list = isinstance(ids, list) and len(ids) == count
    if not is_list or not all(isinstance(i, str) and len(i) <= MAX_ID for i in ids):
        raise unfit(f"ids: expected a JSON list of a text for each clip, at most {MAX_ID} long.")
    checked_ids(ids)
    return list(ids)
