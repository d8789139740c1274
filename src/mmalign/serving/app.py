"""The routes of the service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mmalign.serving.openapi import ANSWERED, REFUSED, described_openapi, predict_body
from mmalign.serving.predicting import (
    FAILED,
    PREDICT,
    json_response,
    predicted,
    refusal_response,
)
from mmalign.serving.refusal import RefusalError, stopping, unfit
from mmalign.serving.schema import Health, ModelFacts
from mmalign.serving.service import Service
from mmalign.serving.socket import serve_stream
from mmalign.version import __version__

PAGE = {"page.css": "text/css", "page.js": "text/javascript", "page.html": "text/html"}
SAFE = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def build_app(service: Service) -> FastAPI:
    """The service as an ASGI app; its queue runs as long as the app does."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.worker.start()
        batches = asyncio.create_task(service.queue.run())
        await service.warm_up()
        service.is_ready = True
        yield
        service.is_ready = False
        batches.cancel()
        with suppress(asyncio.CancelledError):
            await batches
        await service.worker.stop()

    app = FastAPI(
        title="mmalign",
        version=__version__,
        summary="Predictions from whatever modalities a clip has.",
        lifespan=lifespan,
        docs_url=None,  # these pages would ask other sites for their scripts
        redoc_url=None,
    )
    _add_predict(app, service)
    _add_facts(app, service)
    _add_health(app, service)
    _add_page(app)
    _add_stream(app, service)
    _add_refusals(app)
    app.openapi = lambda: described_openapi(app, service)  # type: ignore[method-assign]
    return app


def _add_predict(app: FastAPI, service: Service) -> None:
    async def predict(request: Request) -> Response:
        """Answer for one clip or many, whatever modalities each has."""
        return await predicted(request, service)

    app.add_api_route(
        PREDICT,
        predict,
        methods=["POST"],
        response_model=None,
        responses={**ANSWERED, **REFUSED},
        openapi_extra=predict_body(service),
    )


def _add_stream(app: FastAPI, service: Service) -> None:
    @app.websocket("/v1/stream")
    async def stream(socket: WebSocket) -> None:
        await serve_stream(socket, service)


def _add_facts(app: FastAPI, service: Service) -> None:
    about = {"responses": {404: REFUSED[404], 422: REFUSED[422]}, "response_model": None}

    @app.get("/v1/model", response_model=ModelFacts)
    async def model() -> Response:
        """Tell what the model reads and predicts, its card, and the service's limits."""
        return json_response(service.described())

    @app.get("/v1/examples", response_model=None)
    async def examples() -> Response:
        """List the clips that the service was started with."""
        return json_response({"examples": service.examples.listed()})

    @app.get("/v1/examples/{index}", **about)  # type: ignore[arg-type]
    async def example(index: int) -> Response:
        """One of these clips, by position."""
        return json_response(service.examples.clip(index))


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", response_model=Health)
    async def healthz() -> Response:
        """Say that the process is alive."""
        return json_response({"status": "alive"})

    @app.get("/readyz", response_model=Health, responses={503: REFUSED[503]})
    async def readyz() -> Response:
        """Say whether requests should be sent here."""
        if service.is_stopping or service.queue.is_broken or not service.is_ready:
            raise stopping()
        return json_response({"status": "ready"})

    @app.get("/metrics", response_model=None, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Counters in Prometheus' text format."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_page(app: FastAPI) -> None:
    folder = files("mmalign.serving") / "page"
    contents = {name: (folder / name).read_bytes() for name in PAGE}

    def route(path: str, name: str) -> None:
        async def show() -> Response:
            return Response(contents[name], media_type=PAGE[name], headers=SAFE)

        app.add_api_route(path, show, methods=["GET"], include_in_schema=False)

    route("/", "page.html")
    route("/page.css", "page.css")
    route("/page.js", "page.js")


def _add_refusals(app: FastAPI) -> None:
    async def refuse(_: Request, error: Exception) -> Response:
        return refusal_response(error if isinstance(error, RefusalError) else FAILED)

    async def refuse_route(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        code = {404: "not_found", 405: "wrong_method"}.get(status, "refused")
        refusal = RefusalError(
            status, code, "There is no such route, or not for this method; see /openapi.json."
        )
        return json_response(refusal.body(), status, getattr(error, "headers", None))

    async def refuse_index(_: Request, __: Exception) -> Response:
        return refusal_response(unfit("Expected a whole number in the path."))

    app.add_exception_handler(RefusalError, refuse)
    app.add_exception_handler(HTTPException, refuse_route)
    app.add_exception_handler(RequestValidationError, refuse_index)
    app.add_exception_handler(Exception, refuse)
