"""A request's body: read up to a limit, and parsed by its type."""

from collections.abc import Callable

from starlette.requests import ClientDisconnect, Request

from mmalign.serving.asking import Asked
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import RefusalError, gone, over_limit
from mmalign.serving.service import Service

JSON = "application/json"
BINARY = ("application/vnd.safetensors", "application/octet-stream")


def checked_kind(content_type: str) -> str:
    """The type of a body, from its header.

    Raises:
        RefusalError: If it is neither JSON nor safetensors.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (JSON, *BINARY):
        message = f"Send Content-Type {JSON}, or {BINARY[0]} for safetensors."
        raise RefusalError(415, "unknown_type", message)
    return kind


def reader_of(kind: str, service: Service) -> Callable[[bytes], list[Asked]]:
    """What reads the clips of a body of this type."""
    return service.read_json if kind == JSON else service.read_tensors


def check_size(size: int, limits: Limits) -> None:
    """Check that a body of so many bytes may come in.

    Raises:
        RefusalError: If it is too large.
    """
    if size > limits.max_bytes:
        raise over_limit(limits, "max_bytes", "The body is too large")


def declared_size(content_length: str) -> int:
    """The size of a body as its header tells it; 0 where it does not."""
    return int(content_length) if content_length.isdecimal() else 0


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body.

    Raises:
        RefusalError: If it is too large, or does not come to its end.
    """
    check_size(declared_size(request.headers.get("content-length", "")), limits)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            check_size(len(body), limits)
    except ClientDisconnect as error:
        raise gone() from error
    return bytes(body)
