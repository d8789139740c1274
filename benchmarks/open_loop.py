"""A cheap client for bench_serving.py: requests leave on a schedule, whatever becomes of them.

A client that waits for an answer before it asks again slows down with the service, and so hides
what an overload does. Here arrivals are random with a given rate (Poisson), and latency counts
from the moment at which a request was due, not from when the client got round to sending it.
Answers are kept as they came and checked when the load is over.
"""

import json
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from safetensors.numpy import save

from mmalign.data import Split

TICK_SECONDS = 0.001
GRACE_SECONDS = 10.0
SETTLE_SECONDS = 0.5


Address = tuple[str, int]


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


class Line:
    """A connection that carries one request at a time."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.number, self.due, self.found = -1, 0.0, b""

    def send(self, number: int, due: float, request: bytes) -> None:
        """Send a request that was due then."""
        self.number, self.due, self.found = number, due, b""
        self.socket.send(request)

    def is_answered(self) -> bool:
        """Read what is there; whether that is the end of an answer.

        Raises:
            OSError: If the service has hung up.
        """
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        found = self.found = self.found + data
        end = found.find(b"\r\n\r\n") + 4
        place = found.find(b"content-length: ") + 16
        return end > 3 and len(found) >= end + int(found[place : found.index(b"\r", place)])


class Lines:
    """Many connections, and what came of the requests over them."""

    def __init__(self, address: Address, count: int) -> None:
        self.load = Load()
        self._poll = select.epoll()
        self._lines = {line.socket.fileno(): line for line in (Line(address) for _ in range(count))}
        for number in self._lines:
            self._poll.register(number, select.EPOLLIN)
        time.sleep(SETTLE_SECONDS)

    def __iter__(self) -> Iterator[Line]:
        return iter(list(self._lines.values()))

    def freed(self, seconds: float) -> list[Line]:
        """Connections whose request came to an end within that time."""
        free = []
        for number, _ in self._poll.poll(seconds):
            line = self._lines[number]
            try:
                is_answered = line.is_answered()
            except OSError:
                self._poll.unregister(number)
                del self._lines[number]
                self.load.lost += line.number >= 0
                continue
            if is_answered:
                self._note(line)
                free.append(line)
        return free

    def _note(self, line: Line) -> None:
        seconds = time.perf_counter() - line.due
        if line.found.startswith(b"HTTP/1.1 200"):
            self.load.latency.append(seconds)
            self.load.answers.append((line.number, line.found.partition(b"\r\n\r\n")[2]))
        else:
            self.load.refusals.append(seconds)
        line.number = -1

    def is_open(self, line: Line) -> bool:
        """Whether the service has not hung up."""
        return self._lines.get(line.socket.fileno()) is line

    def close(self) -> None:
        """Hang up."""
        self._poll.close()
        for line in self._lines.values():
            line.socket.close()


def ask_steadily(
    address: Address, requests: Requests, *, rate: float, seconds: float, connections: int = 200
) -> Load:
    """Ask at a rate, at random moments, over whatever connection is free."""
    gaps = np.random.default_rng(0).exponential(1 / rate, int(rate * seconds))
    lines = Lines(address, connections)
    load, free, sent = lines.load, list(lines), 0
    started = time.perf_counter()
    due = (np.cumsum(gaps) + started).tolist()
    while sent < len(due):
        now = time.perf_counter()
        while free and sent < len(due) and due[sent] <= now:
            line = free.pop()
            if lines.is_open(line):
                line.send(sent, due[sent], requests(sent))
                load.lag.append(now - due[sent])
                sent += 1
        free += lines.freed(TICK_SECONDS)
    load.elapsed = time.perf_counter() - started
    while load.count < sent and time.perf_counter() < started + load.elapsed + GRACE_SECONDS:
        lines.freed(TICK_SECONDS)
    load.lost += sent - load.count
    lines.close()
    return load.checked(requests)


def ask_greedily(address: Address, requests: Requests, *, count: int, connections: int) -> Load:
    """Ask again as soon as there is an answer, over every connection."""
    lines = Lines(address, connections)
    load, free, sent = lines.load, list(lines), 0
    started = time.perf_counter()
    while load.count < count:
        for line in free[: count - sent]:
            line.send(sent, time.perf_counter(), requests(sent))
            sent += 1
        free = lines.freed(GRACE_SECONDS)
    load.elapsed = time.perf_counter() - started
    lines.close()
    return load.checked(requests)
