"""A request's body: read up to a limit, and parsed by its type."""

from starlette.requests import ClientDisconnect, Request

from mmalign.serving.asking import Asked
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import RefusalError, gone, over_limit
from mmalign.serving.service import Service

JSON = "application/json"
BINARY = ("application/vnd.safetensors", "application/octet-stream")


async def read_clips(request: Request, service: Service) -> list[Asked]:
    """The clips of a request.

    Raises:
        RefusalError: If the body is of another type, too large, or does not fit.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, *BINARY):
        message = f"Send Content-Type {JSON}, or {BINARY[0]} for safetensors."
        raise RefusalError(415, "unknown_type", message)
    body = await read_body(request, service.limits)
    return service.read_json(body) if kind == JSON else service.read_tensors(body)


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body.

    Raises:
        RefusalError: If it is too large, or does not come to its end.
    """
    too_large = over_limit(limits, "max_bytes", "The body is too large")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.max_bytes:
        raise too_large
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.max_bytes:
                raise too_large
    except ClientDisconnect as error:
        raise gone() from error
    return bytes(body)
