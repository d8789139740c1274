"""What stands before the app: the way that most requests take."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from mmalign.serving.predicting import PREDICT, predicted
from mmalign.serving.service import Service


class Gate:
    """An ASGI app around another.

    Requests for predictions go straight to the queue: routing and validation by the framework
    would cost as much time as the model takes.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Predict, or pass on."""
        app = self._app
        if scope["type"] == "http" and scope["path"] == PREDICT and scope["method"] == "POST":
            app = await predicted(Request(scope, receive), self._service)
        await app(scope, receive, send)
