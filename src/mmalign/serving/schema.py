"""The request and the answers as JSON: types that are made for one model, with examples."""

from typing import TYPE_CHECKING, Annotated, Any, NotRequired

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from mmalign.serving.asking import MAX_ID
from mmalign.serving.facts import Facts
from mmalign.serving.limits import Limits

if TYPE_CHECKING:
    RequestType = TypeAdapter[Any]
else:
    RequestType = TypeAdapter  # a type checker at run time does not know it with a parameter
"""What a JSON body must be for one model."""

LARGEST = float(np.finfo(np.float32).max)
STRICT = ConfigDict(extra="forbid", strict=True)
NUMBER = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


def request_type(facts: Facts, limits: Limits) -> RequestType:
    """What a JSON body must be for this model; `validate_json` makes plain dicts of it."""
    modalities = {
        name: NotRequired[_sequence_type(dim, limits) | None] for name, dim in facts.dims.items()
    }
    about = "What is there; leave out what is missing."
    clip: Any = _record(
        "Clip",
        id=NotRequired[Annotated[str, Field(max_length=MAX_ID)]],
        sequences=Annotated[_record("Sequences", **modalities), Field(description=about)],
    )
    about = "Whether answers bring the model's plans, if it has any."
    request = _record(
        "PredictRequest",
        clips=Annotated[list[clip], Field(min_length=1, max_length=limits.max_clips)],
        plans=NotRequired[Annotated[bool, Field(description=about)]],
    )
    return TypeAdapter(request)


def _record(name: str, **fields: Any) -> Any:
    """An object with these fields and no others."""
    return with_config(STRICT)(TypedDict(name, fields))  # type: ignore[operator]


def _sequence_type(dim: int, limits: Limits) -> Any:
    step: Any = Annotated[list[NUMBER], Field(min_length=dim, max_length=dim)]
    return Annotated[
        list[step | None],
        Field(
            min_length=1,
            max_length=limits.max_steps,
            description=f"[time, {dim}]; null in place of a step is a gap.",
        ),
    ]


def example_request(facts: Facts, limits: Limits) -> dict[str, Any]:
    """A small request: one clip with everything and a gap, one that lacks a modality."""
    waves: dict[str, list[Any]] = {
        name: [
            [round(0.1 * (t + k), 1) for k in range(dim)] for t in range(min(4, limits.max_steps))
        ]
        for name, dim in facts.dims.items()
    }
    first, last = next(iter(waves)), next(reversed(waves))
    kept = facts.needs[0] if facts.needs else first
    few = {name: wave for name, wave in waves.items() if name == kept or name != last}
    gapped = [step if t != 1 else None for t, step in enumerate(waves[first])]
    clips = [
        {"id": "all there, one gap", "sequences": {**waves, first: gapped}},
        {"id": "a sensor is gone", "sequences": few},
    ]
    return {"clips": clips[: limits.max_clips]}


class Plan(BaseModel):
    """How two modalities line up: rows are steps of the source, columns of the target."""

    source: str
    target: str
    is_predicted: bool = Field(description="Whether the target is missing and the plan a guess.")
    mass: list[list[float]]


class Answer(BaseModel):
    """What the model says of one clip."""

    id: str
    prediction: str | float = Field(description="The class, or the number.")
    probabilities: dict[str, float] | None = Field(description="By class; null for numbers.")
    used: list[str] = Field(description="Modalities that were there.")
    missing: list[str] = Field(description="Modalities that were not.")
    imputed: list[str] = Field(description="Those of them that were imputed; others are left out.")
    gaps: dict[str, int] = Field(description="Missing steps inside what was there.")
    plans: list[Plan] | None = Field(None, description="On request.")


class Answers(BaseModel):
    """One answer a clip, in the order of the request."""

    answers: list[Answer]


class LimitHit(BaseModel):
    """A limit of the service."""

    name: str
    value: float


class Error(BaseModel):
    """Why there is no answer."""

    code: str
    message: str
    limit: LimitHit | None = None


class Refusal(BaseModel):
    """The content of every answer that is not 2xx."""

    error: Error


class ModalityFacts(BaseModel):
    """One modality of the model."""

    dim: int = Field(description="Features a step.")
    is_needed: bool = Field(description="Whether no clip may lack it.")
    is_imputed: bool = Field(description="Whether it is imputed where it is missing.")


class ModelFacts(BaseModel):
    """The model that is served."""

    name: str
    kind: str
    method: str
    task: dict[str, Any]
    modalities: dict[str, ModalityFacts]
    directions: list[list[str]] = Field(description="Source and target of each plan.")
    limits: dict[str, float]
    card: str
    version: str


class Health(BaseModel):
    """Whether the service is well."""

    status: str
