"""One connection: who cannot be answered now is told so, and who is too slow is dropped.

Both are decided here, where a request is no more than its first bytes. Under overload most
requests are refused; each would cost many times as much if it came as far as the app.
"""

import asyncio
import http
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mmalign.serving.predicting import IS_GONE, PREDICT, refusal_response
from mmalign.serving.refusal import RefusalError, busy, too_slow, unreadable
from mmalign.serving.service import Service

HOLD_SECONDS = 0.2
"""How long a refusal is held back: who asks again at once would take time from those accepted."""

MAX_HEAD_BYTES = 1 << 16
LONG_HEAD = "The head of the request is longer than 64 KiB."
PREDICT_URL = PREDICT.encode()


def written(refusal: RefusalError, *, is_last: bool) -> bytes:
    """A refusal as it goes over the wire; the last one ends the connection."""
    response = refusal_response(refusal)
    headers = dict(response.raw_headers) | ({b"connection": b"close"} if is_last else {})
    lines = [b"HTTP/1.1 %d %b" % (refusal.status, _phrase(refusal.status))]
    lines += [b"%b: %b" % header for header in headers.items()]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


def _phrase(status: int) -> bytes:
    return http.HTTPStatus(status).phrase.encode()


BUSY = {is_last: written(busy(), is_last=is_last) for is_last in (False, True)}
"""The refusal, and the same as a connection's last."""


class Held:
    """In place of the app's answer: what uvicorn looks at while a refusal is held back."""

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.response_started = False
        self.response_complete = False
        self.disconnected = False
        self.more_body = True
        self.body = bytearray()
        self.message_event = asyncio.Event()


class Connection(HttpToolsProtocol):
    """HTTP/1.1 from one client.

    Args:
        service: What is asked for.
        settings: Of `HttpToolsProtocol`.
    """

    def __init__(self, service: Service, **settings: Any) -> None:
        super().__init__(**settings)
        self._service = service
        self._head_bytes = 0  # of a head that has not ended
        self._owes_since: float | None = time.monotonic()
        self._reads_until = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head must end somewhere."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._drop(RefusalError(431, "too_large", LONG_HEAD))

    def on_message_begin(self) -> None:
        """Begin a request, which must be here as a whole in time."""
        self._owes_since = time.monotonic()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Pass a request on, unless it would only be refused."""
        self._head_bytes = 0
        self.scope[IS_GONE] = self.transport.is_closing  # type: ignore[literal-required]
        if self._is_prediction() and not self._service.queue.admits():
            self._service.metrics.count_request("predict", 503)
            held = Held(self.parser.should_keep_alive())
            self.cycle = held  # type: ignore[assignment]
            self.loop.call_later(HOLD_SECONDS, self._refuse, held)
        else:
            super().on_headers_complete()
            if self._service.is_stopping:
                self.end_with_answer()

    def end_with_answer(self) -> None:
        """Let the answer that is being made be the last: no request is sent into a closing door."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request; after a refusal, another is due."""
        self._owes_since = time.monotonic() if isinstance(self.cycle, Held) else None
        super().on_message_complete()

    def drop_if_late(self, now: float) -> None:
        """Hang up on a client that owes the rest of a request, or does not read its answer."""
        if not self.flow.write_paused:
            self._reads_until = now
        earliest = now - self._service.limits.request_seconds
        if self._reads_until < earliest:
            self.transport.abort()
        elif self._owes_since is not None and self._owes_since < earliest:
            self._drop(too_slow(self._service.limits))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in our own words."""
        del msg
        self._drop(unreadable("This is no HTTP/1.1 request."))

    def timeout_keep_alive_handler(self) -> None:
        """Hang up on an idle client, even on one that has not read its last answer."""
        self.transport.abort()

    def _is_prediction(self) -> bool:
        """Whether a prediction is asked for, and nothing else is on its way to this client."""
        is_next = self.cycle is None or self.cycle.response_complete
        is_posted = self.url == PREDICT_URL and self.parser.get_method() == b"POST"
        return is_next and is_posted and not self.parser.should_upgrade()

    def _refuse(self, held: Held) -> None:
        if self.transport.is_closing():
            return
        held.response_started = held.response_complete = True
        self.transport.write(BUSY[not held.keep_alive])
        if not held.keep_alive:
            self.transport.close()
        if self.pipeline:
            self.on_response_complete()
        else:
            self.flow.resume_reading()

    def _drop(self, refusal: RefusalError) -> None:
        """Hang up; say why if the client waits for an answer that has not begun."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._head_bytes if is_idle else not self.cycle.response_started:
            self._service.metrics.count_request("dropped", refusal.status)
            self.transport.write(written(refusal, is_last=True))
        self.transport.close()
