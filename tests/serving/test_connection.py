"""Clients that are slow, leave, or come in a crowd, over raw sockets."""

import json
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest
from safetensors.numpy import save

import mmalign
from mmalign.serving.answering import Answering
from mmalign.serving.limits import Limits
from mmalign.serving.loading import facts_of
from mmalign.serving.service import Service
from mmalign.serving.worker import ThreadWorker
from tests.serving.served import ask, make_service, post, serving

POSE = {"clips": [{"sequences": {"pose": [[0.1, 0.2, 0.3, 0.4]] * 5}}]}
BODY = save({"pose": np.zeros((5, 4), np.float32)})
HEAD = (
    "POST /v1/predict HTTP/1.1\r\nHost: here\r\nContent-Type: application/vnd.safetensors\r\n"
    f"Content-Length: {len(BODY)}\r\n\r\n"
).encode()


@pytest.fixture(scope="module")
def hasty(experts):
    """A service that waits for nobody longer than a second."""
    with serving(make_service(mmalign.load(experts), experts, request_seconds=1.0)) as url:
        yield url


def opened(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname, place.port), timeout=20)


def heard(connection: socket.socket) -> bytes:
    """All that comes until the service hangs up."""
    found = b""
    try:
        while part := connection.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


def answer(connection: socket.socket) -> tuple[int, dict]:
    """Status and content of the next answer; the connection stays open."""
    head, content = b"", b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(content) < size:
        content += connection.recv(size - len(content))
    return int(head.split()[1]), json.loads(content)


def loris(url: str, *, count: int, pause: float, asked: int) -> tuple[list[float], list[bytes]]:
    """Times of healthy requests while others send byte after byte, and what these are told."""
    with ExitStack() as stack:
        slow = [stack.enter_context(opened(url)) for _ in range(count)]
        is_over = threading.Event()

        def drip() -> None:
            for byte in HEAD:
                for one in slow:
                    try:
                        one.send(bytes([byte]))
                    except OSError:
                        continue  # dropped
                if is_over.wait(pause):
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        seconds = []
        for _ in range(asked):
            started = time.perf_counter()
            assert post(url, POSE)[0] == 200
            seconds.append(time.perf_counter() - started)
        told = [heard(one) for one in slow]
        is_over.set()
        thread.join()
    return seconds, told


def test_slow_heads_are_dropped_and_others_answered(hasty):
    started = time.monotonic()
    _, told = loris(hasty, count=60, pause=0.1, asked=5)
    assert time.monotonic() - started < 15
    assert sum(one.startswith(b"HTTP/1.1 408") for one in told) >= 55  # a reset may eat an answer
    assert 'route="dropped",status="408"' in ask(hasty, "GET", "/metrics")[2].decode()


@pytest.mark.nightly
def test_five_hundred_slow_clients_change_little(experts):
    service = make_service(mmalign.load(experts), experts, request_seconds=10.0)
    with serving(service) as url:
        for _ in range(20):
            post(url, POSE)
        alone = [timed(url) for _ in range(300)]
        beside, told = loris(url, count=500, pause=1.0, asked=300)
        assert len(told) == 500
        print(f"p50 {np.median(alone):.4f} s alone, {np.median(beside):.4f} s beside 500")
        assert np.median(beside) < 1.5 * np.median(alone)


def timed(url: str) -> float:
    started = time.perf_counter()
    assert post(url, POSE)[0] == 200
    return time.perf_counter() - started


def test_a_body_that_stalls_is_refused_by_name_of_the_limit(hasty):
    with opened(hasty) as connection:
        connection.sendall(HEAD + BODY[:10])
        status, found = answer(connection)
        assert (status, found["error"]["code"]) == (408, "too_slow")
        assert found["error"]["limit"] == {"name": "request_seconds", "value": 1.0}
        assert heard(connection) == b""


def test_who_says_nothing_is_hung_up_on(hasty):
    with opened(hasty) as connection:
        assert heard(connection) == b""
    with opened(hasty) as connection:
        connection.sendall(HEAD + BODY[:10])
        connection.shutdown(socket.SHUT_WR)  # half open: the rest will never come
        assert heard(connection) == b""
    assert post(hasty, POSE)[0] == 200


def test_a_client_that_does_not_read_is_hung_up_on(hasty):
    place = urlsplit(hasty)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect((place.hostname, place.port))
        asked = 3000
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n" * asked)
        time.sleep(4)
        assert heard(connection).count(b"HTTP/1.1 200") < asked
    assert post(hasty, POSE)[0] == 200


def test_a_head_ends_somewhere_and_is_http(hasty):
    with opened(hasty) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000)
        assert answer(connection)[0] == 431
    with opened(hasty) as connection:
        connection.sendall(b"s3cret\r\n\r\n")
        status, found = answer(connection)
        assert (status, found["error"]["code"]) == (400, "unreadable")
        assert "s3cret" not in json.dumps(found)


@contextmanager
def crowded(folder):
    """A service of which the model does nothing until it is told to, and whose queue is full."""
    model, go = mmalign.load(folder), threading.Event()
    facts = facts_of(model, folder)
    answering = Answering(model, facts)

    def slow(clips):
        if service.is_ready:
            go.wait(20)
        return answering(clips)

    limits = Limits(max_batch=1, max_queue=1, request_seconds=2)
    service = Service(ThreadWorker(slow), facts, limits)
    with serving(service) as url, ExitStack() as stack:
        first, second = (stack.enter_context(opened(url)) for _ in range(2))
        for count, one in enumerate((first, second)):
            one.sendall(HEAD + BODY)
            deadline = time.monotonic() + 10
            while service.queue.waiting != count and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.05)
        yield url, go, (first, second)
        go.set()


def test_a_full_service_refuses_before_it_has_read_the_body(experts):
    with crowded(experts) as (url, go, accepted), opened(url) as connection:
        connection.sendall(HEAD)
        status, found = answer(connection)
        assert (status, found["error"]["code"]) == (503, "busy")
        connection.sendall(BODY)  # it comes all the same, and is no request
        connection.sendall((HEAD + BODY) * 2)
        assert answer(connection)[0] == 503
        assert answer(connection)[0] == 503  # the second waited for the first, and found no room
        go.set()
        assert [answer(one)[0] for one in accepted] == [200, 200]
        connection.sendall(HEAD + BODY)
        assert answer(connection)[0] == 200


def test_who_is_refused_and_then_says_nothing_is_hung_up_on(experts):
    with crowded(experts) as (url, _, _), opened(url) as connection:
        connection.sendall(HEAD + BODY)
        assert answer(connection)[0] == 503
        assert heard(connection) == b""


def test_a_client_that_leaves_is_not_computed_for(experts):
    with crowded(experts) as (url, go, (first, second)):
        second.close()
        time.sleep(0.2)
        go.set()
        assert answer(first)[0] == 200
        assert post(url, POSE)[0] == 200
        text = ask(url, "GET", "/metrics")[2].decode()
        (line,) = [x for x in text.splitlines() if x.startswith("mmalign_batch_clips_count")]
        assert int(line.split()[-1]) == 1 + 2 + 1  # the warm-up's two clips, one at a time
