"""A cheap client for bench_serving.py: requests leave on a schedule, whatever becomes of them.

A client that waits for an answer before it asks again slows down with the service, and so hides
what an overload does. Here arrivals are random with a given rate (Poisson), and latency counts
from the moment at which a request was due, not from when the client got round to sending it.
Answers are kept as they came and checked when the load is over.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import uvloop
from safetensors.numpy import save

from mmalign.data import Split

TICK_SECONDS = 0.001
GRACE_SECONDS = 10.0
SETTLE_SECONDS = 0.5


class Requests:
    """The bytes of requests for some clips; each carries a number as the clip's id."""

    def __init__(self, clips: Split, expected: np.ndarray) -> None:
        self._expected = expected
        self._parts = [self._made(clips, row) for row in range(len(clips))]

    def _made(self, clips: Split, row: int) -> tuple[bytes, bytes]:
        """A request around its id, which always has nine digits."""
        tensors = {name: column[row] for name, column in clips.sequences.items()}
        body = save(tensors, {"ids": '["#########"]'})
        kind = "Content-Type: application/vnd.safetensors\r\n"
        head = f"POST /v1/predict HTTP/1.1\r\nHost: bench\r\n{kind}"
        before, after = f"{head}Content-Length: {len(body)}\r\n\r\n".encode(), body
        start, end = (before + after).split(b"#########")
        return start, end

    def __call__(self, number: int) -> bytes:
        """The request with this number as its id."""
        start, end = self._parts[number % len(self._parts)]
        return b"%b%09d%b" % (start, number, end)

    def is_wrong(self, number: int, answer: bytes) -> bool:
        """Whether this is not the answer for that number's clip."""
        (found,) = json.loads(answer)["answers"]
        shares = np.array(list(found["probabilities"].values()))
        expected = self._expected[number % len(self._parts)]
        return found["id"] != f"{number:09d}" or bool(np.abs(shares - expected).max() > 1e-5)


@dataclass
class Load:
    """What came of the requests; times are in seconds."""

    latency: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    lag: list[float] = field(default_factory=list)
    lost: int = 0
    wrong: int = 0
    elapsed: float = 0.0
    answers: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Requests that came to an end."""
        return len(self.latency) + len(self.refusals) + self.lost

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latency) / self.elapsed

    @property
    def offered(self) -> float:
        """Requests a second, whatever became of them."""
        return self.count / self.elapsed

    def p(self, share: float) -> float:
        """Milliseconds within which that share of the answers came."""
        return 1000 * float(np.percentile(self.latency, share))

    def checked(self, requests: Requests) -> "Load":
        """Count the wrong answers, and forget all of them."""
        self.wrong = sum(requests.is_wrong(*one) for one in self.answers)
        self.answers.clear()
        return self


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time, and tells when it is free."""

    def __init__(self, load: Load, is_free: Callable[["Connection"], None]) -> None:
        self._load, self._is_free = load, is_free
        self._now = time.perf_counter
        self._number, self._due, self._found = -1, 0.0, b""
        self.is_open = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Remember where to write."""
        self._transport, self.is_open = transport, True

    def send(self, number: int, due: float, request: bytes) -> None:
        """Send a request that was due then."""
        self._number, self._due, self._found = number, due, b""
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take note of an answer when it is there to its end."""
        found = self._found = self._found + data
        end = found.find(b"\r\n\r\n") + 4
        place = found.find(b"content-length: ") + 16
        if end < 4 or len(found) < end + int(found[place : found.index(b"\r", place)]):
            return
        seconds = self._now() - self._due
        if found.startswith(b"HTTP/1.1 200"):
            self._load.latency.append(seconds)
            self._load.answers.append((self._number, found[end:]))
        else:
            self._load.refusals.append(seconds)
        self._number = -1
        self._is_free(self)

    def connection_lost(self, _: Exception | None) -> None:
        """Take note of a request that will have no answer."""
        self.is_open = False
        if self._number >= 0:
            self._load.lost += 1

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


Address = tuple[str, int]


async def _opened(address: Address, count: int, load: Load, is_free) -> list[Connection]:
    loop = asyncio.get_running_loop()
    make = partial(loop.create_connection, lambda: Connection(load, is_free), *address)
    opened = [(await make())[1] for _ in range(count)]
    await asyncio.sleep(SETTLE_SECONDS)
    return opened


async def _steady(address: Address, requests: Requests, due: np.ndarray, connections: int) -> Load:
    load, free = Load(), []
    opened = await _opened(address, connections, load, free.append)
    free += opened
    started, sent = time.perf_counter(), 0
    due = (due + started).tolist()
    while sent < len(due):
        await asyncio.sleep(TICK_SECONDS)
        now = time.perf_counter()
        while free and sent < len(due) and due[sent] <= now:
            connection = free.pop()
            if connection.is_open:
                connection.send(sent, due[sent], requests(sent))
                load.lag.append(now - due[sent])
                sent += 1
    load.elapsed = time.perf_counter() - started
    while load.count < sent and time.perf_counter() < started + load.elapsed + GRACE_SECONDS:
        await asyncio.sleep(0.02)
    load.lost += sent - load.count
    for one in opened:
        one.close()
    return load


async def _greedy(address: Address, requests: Requests, count: int, connections: int) -> Load:
    load, numbers, over = Load(), iter(range(count)), asyncio.Event()

    def feed(connection: Connection) -> None:
        number = next(numbers, None)
        if number is not None:
            connection.send(number, time.perf_counter(), requests(number))
        elif load.count == count:
            over.set()

    opened = await _opened(address, connections, load, feed)
    started = time.perf_counter()
    for one in opened:
        feed(one)
    await over.wait()
    load.elapsed = time.perf_counter() - started
    for one in opened:
        one.close()
    return load


def ask_steadily(
    address: Address, requests: Requests, *, rate: float, seconds: float, connections: int = 200
) -> Load:
    """Ask at a rate, at random moments, over whatever connection is free."""
    due = np.cumsum(np.random.default_rng(0).exponential(1 / rate, int(rate * seconds)))
    return uvloop.run(_steady(address, requests, due, connections)).checked(requests)


def ask_greedily(address: Address, requests: Requests, *, count: int, connections: int) -> Load:
    """Ask again as soon as there is an answer, over every connection."""
    return uvloop.run(_greedy(address, requests, count, connections)).checked(requests)
