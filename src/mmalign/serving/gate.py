"""What stands before the app: it tells clients to leave when the service stops."""

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mmalign.serving.service import Service


class Gate:
    """An ASGI app around another.

    While the service is stopping, every answer ends its connection, so that no client sends
    another request into a closing door.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; answers that start while the service is stopping say `Connection: close`."""
        await self._app(scope, receive, self._closing(send) if scope["type"] == "http" else send)

    def _closing(self, send: Send) -> Send:
        async def closing(message: Message) -> None:
            if self._service.is_stopping and message["type"] == "http.response.start":
                headers: list[Any] = [*message.get("headers", []), (b"connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        return closing
