"""`POST /v1/predict`: from a request to its answers, or to a refusal."""

import logging
from typing import Any

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from mmalign.serving.body import read_clips
from mmalign.serving.microbatches import never
from mmalign.serving.refusal import RETRY_SECONDS, RefusalError
from mmalign.serving.service import Service

PREDICT = "/v1/predict"
IS_GONE = "mmalign.is_gone"
"""Where the scope of a request holds a function that tells whether its client has left."""

FAILED = RefusalError(500, "failed", "The service failed; its log says why.")


async def predicted(request: Request, service: Service) -> Response:
    """Answer for the clips of a request, whatever modalities each has."""
    try:
        clips = await read_clips(request, service)
        answers = await service.answer(clips, request.scope.get(IS_GONE, never))
        answer = json_response({"answers": answers})
    except RefusalError as refusal:
        answer = refusal_response(refusal)
    except Exception:
        logging.getLogger("uvicorn.error").exception("predict")
        answer = refusal_response(FAILED)
    service.metrics.count_request("predict", answer.status_code)
    return answer


def refusal_response(refusal: RefusalError) -> Response:
    """What a client is told."""
    headers = {"Retry-After": str(RETRY_SECONDS)} if refusal.status == 503 else {}
    return json_response(refusal.body(), refusal.status, headers)


def json_response(
    content: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """An answer in JSON."""
    return Response(to_json(content), status, headers, "application/json")
