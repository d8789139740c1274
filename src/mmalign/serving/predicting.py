"""`POST /v1/predict`: from a request to its answers, or to a refusal."""

import logging
from typing import Any, NamedTuple

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from mmalign.serving.body import JSON, checked_kind, read_body, reader_of
from mmalign.serving.microbatches import IsGone, never
from mmalign.serving.refusal import RETRY_SECONDS, RefusalError
from mmalign.serving.service import Service

PREDICT = "/v1/predict"
IS_GONE = "mmalign.is_gone"
"""Where the scope of a request holds a function that tells whether its client has left."""

FAILED = RefusalError(500, "failed", "The service failed; its log says why.")


class Reply(NamedTuple):
    """What a client gets: a status, and content in JSON."""

    status: int
    content: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Headers beside type and length of the content."""
        return {"Retry-After": str(RETRY_SECONDS)} if self.status == 503 else {}


async def answered(kind: str, body: bytes, service: Service, is_gone: IsGone = never) -> Reply:
    """Answer for the clips of a body of this type, whatever modalities each has."""
    try:
        clips = reader_of(kind, service)(body)
        answers = await service.answer(clips, is_gone)
        reply = Reply(200, to_json({"answers": answers}))
    except RefusalError as refusal:
        reply = refused(refusal)
    except Exception:
        logging.getLogger("uvicorn.error").exception("predict")
        reply = refused(FAILED)
    service.metrics.count_request("predict", reply.status)
    return reply


async def predicted(request: Request, service: Service) -> Response:
    """Answer a request that comes by way of the app."""
    try:
        kind = checked_kind(request.headers.get("content-type", ""))
        body = await read_body(request, service.limits)
    except RefusalError as refusal:
        service.metrics.count_request("predict", refusal.status)
        return refusal_response(refusal)
    reply = await answered(kind, body, service, request.scope.get(IS_GONE, never))
    return Response(reply.content, reply.status, reply.headers, JSON)


def refused(refusal: RefusalError) -> Reply:
    """What a client is told."""
    return Reply(refusal.status, to_json(refusal.body()))


def refusal_response(refusal: RefusalError) -> Response:
    """What a client is told, by way of the app."""
    reply = refused(refusal)
    return Response(reply.content, reply.status, reply.headers, JSON)


def json_response(
    content: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """An answer in JSON."""
    return Response(to_json(content), status, headers, JSON)
