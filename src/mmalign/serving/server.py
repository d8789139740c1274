"""The process around the app: it listens, and on SIGTERM answers what it took, then ends."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import uvicorn

from mmalign.errors import MMAlignError
from mmalign.serving.app import build_app
from mmalign.serving.connection import Connection
from mmalign.serving.service import Service

Announce = Callable[[str], None]

LINGER_SECONDS = 0.3
"""How long connections that are open may still bring a request when the service stops."""

SWEEP_SECONDS = 0.5
DRAIN_SECONDS = 30


class DrainingServer(uvicorn.Server):
    """Stops listening first, answers all that was sent, and ends with exit code 0."""

    def __init__(self, config: uvicorn.Config, service: Service, announce: Announce) -> None:
        super().__init__(config)
        self._service = service
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        self._sweeping = asyncio.create_task(self._sweep())
        if self.started and self.servers:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self._announce(f"http://{shown}:{port}")

    async def _sweep(self) -> None:
        """Look after connections whose clients are too slow."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.drop_if_late(now)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and SIGINT, without raising them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are the main thread's
            return
        before = {kind: signal.signal(kind, self._stop) for kind in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _stop(self, kind: int, _: FrameType | None) -> None:
        """Stop; a second Ctrl-C does not wait for answers."""
        self.force_exit = self.should_exit and kind == signal.SIGINT
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Look ten times a second whether to stop; a service without its worker does."""
        queue = self._service.queue
        queue.is_broken = queue.is_broken or self._service.worker.has_died()
        return await super().on_tick(counter) or queue.is_broken

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the door, let open connections bring what is on its way, then close them."""
        self._service.is_stopping = True
        for connection in self.server_state.connections:
            if isinstance(connection, Connection):
                connection.end_with_answer()
        for server in self.servers:
            server.close()
        for sock in sockets or []:
            sock.close()
        await asyncio.sleep(LINGER_SECONDS)
        await super().shutdown(sockets=None)
        self._sweeping.cancel()


def bind(host: str, port: int) -> socket.socket:
    """Reserve a port, before anything else takes time.

    Raises:
        MMAlignError: If it is taken, or there is no such address here.
    """
    try:
        ((family, _, _, _, place), *_) = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
    except OSError as error:
        reason = error.strerror or error
        raise MMAlignError(
            f"cannot listen on {host}, port {port}: {reason}. Give another --host or --port."
        ) from error
    return bound


def make_server(service: Service, announce: Announce = lambda _: None) -> DrainingServer:
    """A server for the service; `run(sockets=[…])` returns when it was told to stop.

    Args:
        service: What is served.
        announce: Is told the URL when requests are taken.
    """
    config = uvicorn.Config(
        build_app(service),
        log_level="warning",
        http=partial(Connection, service),  # type: ignore[arg-type]
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws_max_size=service.limits.max_bytes,
        ws_max_queue=4,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    return DrainingServer(config, service, announce)
