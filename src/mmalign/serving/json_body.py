"""Clips in a JSON body."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from mmalign.data.clip import Steps
from mmalign.errors import counted
from mmalign.serving.asking import Asked, checked_clip, checked_ids, checked_sequence
from mmalign.serving.facts import Facts
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import RefusalError, over_limit, unfit, unreadable
from mmalign.serving.schema import RequestType
from mmalign.serving.wording import WORDS, in_words

REQUEST = 'A request is {"clips": [clip, …]}; "plans": true is optional'
CLIP = 'A clip is {"sequences": {modality: [step, …], …}}; "id" is optional'
GAP = "null in place of a step is a gap"


class JsonBody:
    """Reads the clips of one model's requests.

    Args:
        request: What a body must be, as `mmalign.serving.schema.request_type` makes it.
        facts: Of the model.
        limits: Of the service.
    """

    def __init__(self, request: RequestType, facts: Facts, limits: Limits) -> None:
        self._request = request
        self._facts = facts
        self._limits = limits

    def __call__(self, body: bytes) -> list[Asked]:
        """The clips, in order.

        Raises:
            RefusalError: If it is no JSON, or does not fit the model.
        """
        try:
            request = self._request.validate_json(body)
        except ValidationError as error:
            raise self._refusal(error) from None
        clips = request["clips"]
        ids = [clip.get("id", str(row)) for row, clip in enumerate(clips)]
        checked_ids(ids)
        plans = request.get("plans", False)
        return [self._asked(row, ids[row], clip, plans) for row, clip in enumerate(clips)]

    def _asked(self, row: int, clip_id: str, clip: Mapping[str, Any], plans: bool) -> Asked:
        place = f"clip {row}"
        found = {}
        for name, dim in self._facts.dims.items():
            rows = clip["sequences"].get(name)
            if rows is not None:
                steps = checked_sequence(to_steps(rows, dim), f"{place}, {name}", dim, self._limits)
                if steps is not None:
                    found[name] = steps
        return checked_clip(Asked(clip_id, found, plans), place, self._facts, self._limits)

    def _refusal(self, error: ValidationError) -> RefusalError:
        """The first problem, told without what was sent."""
        first = error.errors(include_url=False, include_input=False, include_context=True)[0]
        kind, where = first["type"], first["loc"]
        if kind == "json_invalid":
            return unreadable(
                "The body is not JSON. JSON has no NaN or Infinity; write a gap as null."
            )
        place = self._place(where)
        if kind == "too_long" and where == ("clips",):
            return over_limit(self._limits, "max_clips", f"{place}: too many")
        if kind == "too_long" and len(where) == 4:
            return over_limit(self._limits, "max_steps", f"{place}: too many steps")
        if kind == "extra_forbidden" and len(where) == 4:
            return unfit(f"{place}: unknown modality. There are {', '.join(self._facts.dims)}.")
        return unfit(f"{place}: {self._wanted(kind, where) or in_words(first)}.")

    def _wanted(self, kind: str, where: Sequence[int | str]) -> str | None:
        """What should be in this place; None if the kind of the error says it all."""
        if kind in ("too_short", "too_long") and len(where) < 6:
            return self._length_wanted(where)
        if kind == "extra_forbidden":
            return f"unknown field. {CLIP if len(where) > 1 else REQUEST}"
        if kind in ("missing", "dict_type", "list_type") and len(where) < 4:
            return f"{WORDS[kind]}. {CLIP if len(where) > 1 else REQUEST}"
        if kind == "list_type" and len(where) == 4:
            return "expected a list of steps"
        if kind == "list_type" and len(where) == 5:
            dim = self._facts.dims[str(where[3])]
            return f"expected a step, a list of {counted(dim, 'number')}; {GAP}"
        if kind in ("float_type", "finite_number") and len(where) == 6:
            return f"{WORDS[kind]}; {GAP}"
        return None

    def _length_wanted(self, where: Sequence[int | str]) -> str | None:
        """What a list that is too short or too long should hold."""
        if where == ("clips",):
            return "give at least one clip"
        if len(where) == 4:
            return "give at least one step, or leave the modality out"
        return f"expected {self._facts.dims[str(where[3])]} features in every step"

    def _place(self, where: Sequence[int | str]) -> str:
        """Where it is, in words of ours: names that a client made up are left out."""
        known = {"clips", "id", "sequences", "plans", *self._facts.dims}
        parts = [f"{part}" for part in where if isinstance(part, int) or part in known]
        return ".".join(parts) or "body"


def to_steps(rows: Sequence[Sequence[float] | None], dim: int) -> Steps:
    """A sequence from lists; a null in place of a step is a row of NaN."""
    gap = [float("nan")] * dim
    return np.array([gap if row is None else row for row in rows], dtype=np.float32)
