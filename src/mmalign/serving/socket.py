"""A stream session over a WebSocket: frames in, an answer every stride."""

from typing import Annotated, Any, NotRequired
from urllib.parse import urlsplit

from fastapi import WebSocket, WebSocketDisconnect
from pydantic import Field, TypeAdapter, ValidationError, with_config
from pydantic_core import to_json
from typing_extensions import TypedDict

from mmalign.errors import ConfigError
from mmalign.serving.asking import Asked, checked_sequence
from mmalign.serving.json_body import to_steps
from mmalign.serving.refusal import RefusalError, over_limit, unfit, unreadable
from mmalign.serving.schema import NUMBER, STRICT
from mmalign.serving.service import Service
from mmalign.serving.stream import Stream, StreamConfig, Window
from mmalign.serving.wording import in_words

FOREIGN, CROWDED, GONE = 1008, 1013, 1006

POSITIVE = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Step = list[NUMBER] | None


@with_config(STRICT)
class Start(TypedDict):
    """How to cut the stream."""

    window: POSITIVE
    stride: POSITIVE
    patience: NotRequired[POSITIVE]
    rates: dict[str, POSITIVE]


@with_config(STRICT)
class Message(TypedDict):
    """What a client sends: `start` once, then `frames`, with `at` where time has passed."""

    start: NotRequired[Start]
    frames: NotRequired[dict[str, list[Step]]]
    at: NotRequired[Annotated[float, Field(ge=0, allow_inf_nan=False)]]


MESSAGE = TypeAdapter(Message)
KNOWN = frozenset([*Start.__annotations__, *Message.__annotations__])
"""Names that a refusal repeats: a client may make up others."""


async def serve_stream(socket: WebSocket, service: Service) -> None:
    """Answer for a live stream until the client goes."""
    await socket.accept()
    if not is_own_page(socket):
        await socket.close(FOREIGN, "another site's page may not connect")
    elif service.metrics.streams >= service.limits.max_streams:
        await socket.close(CROWDED, "max_streams is reached")
    else:
        service.metrics.streams += 1
        try:
            await Session(socket, service).run()
        except WebSocketDisconnect:
            pass
        finally:
            service.metrics.streams -= 1


def is_own_page(socket: WebSocket) -> bool:
    """Whether the page that connects is ours; programs have no page."""
    origin = socket.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == socket.headers.get("host")


class Session:
    """One client and its stream."""

    def __init__(self, socket: WebSocket, service: Service) -> None:
        self._socket = socket
        self._service = service
        self._stream: Stream | None = None

    async def run(self) -> None:
        """Take message after message; one that is refused changes nothing.

        Raises:
            WebSocketDisconnect: When the client has gone.
        """
        while True:
            text = await self._received()
            try:
                await self._take(text)
            except RefusalError as refusal:
                await self._send(refusal.body())

    async def _received(self) -> str:
        """A message; bytes are no text, and so no JSON."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", GONE), message.get("reason"))
        return message.get("text") or ""

    async def _take(self, text: str) -> None:
        message = _parsed(text)
        if "start" in message:
            self._stream = self._started(message["start"])
            await self._send({"started": {"modalities": list(self._stream.tracks)}})
        if "frames" not in message:
            return
        if self._stream is None:
            raise unfit("Send start first: window, stride and rates.")
        frames = {
            name: self._checked(name, rows, self._stream)
            for name, rows in message["frames"].items()
        }
        try:
            windows = self._stream.push(frames, message.get("at"))
        except ConfigError as error:
            raise unfit(str(error)) from error
        for window in windows:
            await self._answer(window)

    def _started(self, start: Start) -> Stream:
        facts, limits = self._service.facts, self._service.limits
        if not set(start["rates"]) <= set(facts.dims):
            raise unfit(f"rates: unknown modality. There are {', '.join(facts.dims)}.")
        try:
            config = StreamConfig(
                rates=start["rates"],
                window=start["window"],
                stride=start["stride"],
                patience=start.get("patience", start["stride"]),
                max_steps=limits.max_steps,
            )
        except ConfigError as error:
            raise unfit(str(error)) from error
        return Stream(config, facts.dims)

    def _checked(self, name: str, rows: list[Step], stream: Stream) -> Any:
        if name not in stream.tracks:
            raise unfit(f"frames: unknown modality. This stream has {', '.join(stream.tracks)}.")
        dim, limits = self._service.facts.dims[name], self._service.limits
        if not rows or any(row is not None and len(row) != dim for row in rows):
            raise unfit(f"{name}: expected [time, {dim}] with at least one step.")
        if len(rows) > limits.max_steps:
            raise over_limit(limits, "max_steps", f"{name}: {len(rows)} steps")
        steps = to_steps(rows, dim)
        checked_sequence(steps, name, dim, limits)
        return steps

    async def _answer(self, window: Window) -> None:
        about = {"time": window.time, "silent": window.silent}
        lacking = [n for n in self._service.facts.needs if n not in window.sequences]
        try:
            if lacking:
                raise unfit(f"this model needs {', '.join(lacking)}.")
            clip = Asked(f"{window.time:g}", window.sequences)
            answers = await self._service.answer([clip])
        except RefusalError as refusal:
            await self._send({"skipped": about | refusal.body()})
        else:
            await self._send({"answer": about | answers[0]})

    async def _send(self, content: dict[str, Any]) -> None:
        await self._socket.send_text(to_json(content).decode())


def _parsed(text: str) -> Message:
    try:
        return MESSAGE.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise unreadable("The message is not JSON. Write a gap as null.") from None
        known = [f"{part}" for part in first["loc"] if part in KNOWN or isinstance(part, int)]
        raise unfit(f"{'.'.join(known) or 'message'}: {in_words(first)}.") from None
