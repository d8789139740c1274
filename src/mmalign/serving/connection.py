"""One connection: predictions are answered here, and who is too slow is dropped.

A request for a prediction does not go through the app: routing and validation by the framework
would cost as much time as the model takes. Under overload most requests are refused, while they are
no more than their first bytes.
"""

import asyncio
import http
import time
from functools import cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mmalign.serving.body import JSON, check_size, checked_kind, declared_size
from mmalign.serving.predicting import IS_GONE, PREDICT, Reply, answered, refused
from mmalign.serving.refusal import RefusalError, busy, too_slow, unreadable
from mmalign.serving.service import Service

HOLD_SECONDS = 0.2
"""How long a refusal is held back: who asks again at once would take time from those accepted."""

MAX_HEAD_BYTES = 1 << 16
LONG_HEAD = "The head of the request is longer than 64 KiB."
PREDICT_URL = PREDICT.encode()
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Header = tuple[bytes, bytes]


def written(reply: Reply, *others: Header, is_last: bool) -> bytes:
    """A reply as it goes over the wire, with more headers; the last one ends the connection."""
    headers = [b"%b: %b\r\n" % header for header in others]
    size = b"content-length: %d\r\n\r\n" % len(reply.content)
    return b"".join((_head(reply.status, is_last), *headers, size, reply.content))


@cache
def _head(status: int, is_last: bool) -> bytes:
    """The head of a reply, as far as it is always the same."""
    headers = Reply(status, b"").headers | {"content-type": JSON}
    headers |= {"connection": "close"} if is_last else {}
    lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}"]
    lines += [f"{name.lower()}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, ""]).encode()


class Exchange:
    """A request for a prediction, and what became of it.

    uvicorn looks at these attributes as it does at those of requests that go to the app.

    Args:
        keep_alive: Whether others may follow on the same connection.
    """

    message_event = asyncio.Event()  # nobody waits for it

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.response_started = False
        self.response_complete = False
        self.disconnected = False
        self.more_body = True
        self.body = bytearray()
        self.kind: str | None = None
        """Type of the body; none of a request that will be refused whatever comes."""


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
        """Take a request for a prediction, or pass another one on to the app."""
        self._head_bytes = 0
        if self._is_prediction():
            self._begin()
        else:
            self.scope[IS_GONE] = self.transport.is_closing  # type: ignore[literal-required]
            super().on_headers_complete()
        if self._service.is_stopping:
            self.end_with_answer()

    def _begin(self) -> None:
        """Take a request for a prediction, unless it would only be refused."""
        is_modern = self.parser.get_http_version() != "1.0"
        exchange = Exchange(is_modern and self.parser.should_keep_alive())
        self.cycle = exchange  # type: ignore[assignment]
        if not self._service.queue.admits():
            self.loop.call_later(HOLD_SECONDS, self._refuse, exchange, busy())
            return
        headers = dict(self.headers)
        try:
            kind = checked_kind(headers.get(b"content-type", b"").decode("latin-1"))
            size = declared_size(headers.get(b"content-length", b"").decode("latin-1"))
            check_size(size, self._service.limits)
        except RefusalError as refusal:
            self._refuse(exchange, refusal)
            return
        exchange.kind = kind
        if self.expect_100_continue:
            self.transport.write(CONTINUE)

    def end_with_answer(self) -> None:
        """Let the answer that is being made be the last: no request is sent into a closing door."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._head_bytes = 0
        exchange = self.cycle
        if not isinstance(exchange, Exchange):
            super().on_body(body)
        elif exchange.kind is not None:
            exchange.body += body
            try:
                check_size(len(exchange.body), self._service.limits)
            except RefusalError as refusal:
                exchange.kind = None
                self._refuse(exchange, refusal)

    def on_message_complete(self) -> None:
        """End a request; after a refusal, another is due."""
        exchange = self.cycle
        self._owes_since = None
        if not isinstance(exchange, Exchange):
            super().on_message_complete()
        elif exchange.kind is None:
            self._owes_since = time.monotonic()
        else:
            exchange.more_body = False
            task = self.loop.create_task(self._predict(exchange, exchange.kind))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

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
        return (
            is_next and is_posted and not (self.parser.should_upgrade() or self.flow.write_paused)
        )

    async def _predict(self, exchange: Exchange, kind: str) -> None:
        """Answer a request that is here as a whole."""
        body = bytes(exchange.body)
        self._reply(exchange, await answered(kind, body, self._service, self.transport.is_closing))

    def _refuse(self, exchange: Exchange, refusal: RefusalError) -> None:
        self._service.metrics.count_request("predict", refusal.status)
        self._reply(exchange, refused(refusal))

    def _reply(self, exchange: Exchange, reply: Reply) -> None:
        if self.transport.is_closing():
            return
        exchange.response_started = exchange.response_complete = True
        self._write(reply, is_last=not exchange.keep_alive)
        self.on_response_complete()

    def _drop(self, refusal: RefusalError) -> None:
        """Hang up; say why if the client waits for an answer that has not begun."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._head_bytes if is_idle else not self.cycle.response_started:
            self._service.metrics.count_request("dropped", refusal.status)
            self._write(refused(refusal), is_last=True)
        self.transport.close()

    def _write(self, reply: Reply, *, is_last: bool) -> None:
        dated = self.server_state.default_headers
        self.transport.write(written(reply, *dated, is_last=is_last))
        if is_last:
            self.transport.close()
