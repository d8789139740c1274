"""The OpenAPI description, with types and examples of the model that is served."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mmalign.serving.schema import Answers, Refusal, example_request
from mmalign.serving.service import Service

REFERENCE = "#/components/schemas/{model}"
ANSWERED: dict[int | str, dict[str, Any]] = {200: {"model": Answers}}
REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "The body cannot be parsed.",
        404: "There is no such thing.",
        408: "The request took too long to arrive.",
        413: "More bytes, clips or steps than a limit, which is named.",
        415: "The body is neither JSON nor safetensors.",
        422: "The clips do not fit the model.",
        503: "The queue is full, or the service is stopping; see Retry-After.",
    }.items()
}
TENSORS = (
    "A safetensors file: a float32 tensor [time, dim] for each modality of one clip. For many "
    "clips, sequences stand one after the other, and an int64 tensor <modality>.lengths tells how "
    "long each is, 0 where it is missing. A gap is a row of NaN. Metadata: ids, a JSON list; "
    "plans, true."
)


def predict_body(service: Service) -> dict[str, Any]:
    """The two bodies that `POST /v1/predict` takes."""
    example = example_request(service.facts, service.limits)
    binary = {"schema": {"type": "string", "format": "binary", "description": TENSORS}}
    named = {"schema": {"$ref": REFERENCE.format(model="PredictRequest")}, "example": example}
    content = {"application/json": named, "application/vnd.safetensors": binary}
    return {"requestBody": {"required": True, "content": content}}


def described_openapi(app: FastAPI, service: Service) -> dict[str, Any]:
    """The whole description, made once."""
    if app.openapi_schema is None:
        description = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = description.setdefault("components", {}).setdefault("schemas", {})
        own = service.request.json_schema(ref_template=REFERENCE)
        schemas.update(own.pop("$defs", {}))
        schemas["PredictRequest"] = own
        app.openapi_schema = description
    return app.openapi_schema
