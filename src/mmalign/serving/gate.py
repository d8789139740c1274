"""What stands before the app: it refuses at once when the queue is full, and empties the house."""

import asyncio
from typing import Any

from pydantic_core import to_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mmalign.serving.refusal import BUSY, RETRY_SECONDS, RefusalError
from mmalign.serving.service import Service

PREDICT = "/v1/predict"

HOLD_SECONDS = 0.2
"""How long a refusal is held back: who asks again at once would take time from those accepted."""


class Gate:
    """An ASGI app around another.

    Under overload most requests are refused; here that costs next to nothing, so that those which
    are accepted are not slowed down by the others. While the service is stopping, every answer
    ends its connection, so that no client sends another request into a closing door.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._busy = to_json(BUSY.body())
        self._headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self._busy)).encode()),
            (b"retry-after", str(RETRY_SECONDS).encode()),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == PREDICT and scope["method"] == "POST" and self._is_full():
            await self._refuse(self._closing(send))
        else:
            await self._app(scope, receive, self._closing(send))

    def _is_full(self) -> bool:
        try:
            self._service.queue.require_room()
        except RefusalError:
            return True
        return False

    async def _refuse(self, send: Send) -> None:
        self._service.metrics.count_request("predict", BUSY.status)
        await asyncio.sleep(HOLD_SECONDS)
        start = {"type": "http.response.start", "status": BUSY.status, "headers": self._headers}
        await send(start)
        await send({"type": "http.response.body", "body": self._busy})

    def _closing(self, send: Send) -> Send:
        async def closing(message: Message) -> None:
            if self._service.is_stopping and message["type"] == "http.response.start":
                headers: list[Any] = [*message.get("headers", []), (b"connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        return closing
