"""What stands before the app: the way that most requests take, and the way out."""

from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mmalign.serving.predicting import PREDICT, predicted
from mmalign.serving.service import Service


class Gate:
    """An ASGI app around another.

    Requests for predictions go straight to the queue: routing and validation by the framework
    would cost as much time as the model takes. While the service is stopping, every answer ends its
    connection, so that no client sends another request into a closing door.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Predict, or pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] == PREDICT and scope["method"] == "POST":
            answer = await predicted(Request(scope, receive), self._service)
            await answer(scope, receive, self._closing(send))
        else:
            await self._app(scope, receive, self._closing(send))

    def _closing(self, send: Send) -> Send:
        async def closing(message: Message) -> None:
            if self._service.is_stopping and message["type"] == "http.response.start":
                headers: list[Any] = [*message.get("headers", []), (b"connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        return closing
