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


def received(connection: socket.socket, most: int) -> bytes:
    """What comes next; the connection must not end here."""
    found = connection.recv(most)
    assert found
    return found


def answer(connection: socket.socket) -> tuple[int, dict]:
    """Status and content of the next answer; the connection stays open."""
    head, content = b"", b""
    while not head.endswith(b"\r\n\r\n"):
        head += received(connection, 1)
    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(content) < size:
        content += received(connection, size - len(content))
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


ROADS = {"here": "/v1/predict", "through the app": "/v1/predict?"}
"""Where a request for a prediction may go; what it gets does not depend on it."""


@pytest.fixture(params=ROADS)
def road(request):
    return ROADS[request.param]


def spoken(url: str, *parts: bytes) -> list[tuple[int, dict]]:
    """What the service answers to each part, over one connection."""
    with opened(url) as connection:
        found = []
        for part in parts:
            connection.sendall(part)
            found.append(answer(connection))
        return found


def asked(road: str, body: bytes = BODY, **headers: str) -> bytes:
    named = {"Content-Type": "application/vnd.safetensors", "Content-Length": str(len(body))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"POST {road} HTTP/1.1", "Host: here", *(f"{n}: {v}" for n, v in named.items() if v)]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(body: bytes) -> bytes:
    parts = [body[:7], body[7:]]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_both_roads_say_the_same(url):
    heads = []
    for road in ROADS.values():
        with opened(url) as connection:
            connection.sendall(asked(road, Connection="close"))
            heads.append(heard(connection).lower().split(b"\r\n"))
    one, other = ({x for x in head if not x.startswith(b"date: ")} for head in heads)
    assert one == other
    assert heads[0][0] == b"http/1.1 200 ok"
    assert len(heads[0]) == len(heads[1]) == len(one) + 1  # an empty line, and the date


def test_many_requests_over_one_connection_are_answered_in_turn(url, road):
    numbered = [
        asked(road, save({"pose": np.zeros((5, 4), np.float32)}, {"ids": f'["{n}"]'}))
        for n in range(6)
    ]
    in_turn = spoken(url, *numbered)
    with opened(url) as connection:
        connection.sendall(b"".join(numbered))  # before any answer
        at_once = [answer(connection) for _ in numbered]
    for found in (in_turn, at_once):
        assert [(status, said["answers"][0]["id"]) for status, said in found] == [
            (200, str(n)) for n in range(6)
        ]


def test_a_body_in_chunks_is_read(url, road):
    request = asked(road, chunked(BODY), Content_Length="", Transfer_Encoding="chunked")
    assert [status for status, _ in spoken(url, request, request)] == [200, 200]


def test_who_waits_for_permission_gets_it(url, road):
    with opened(url) as connection:
        request = asked(road, Expect="100-continue")
        connection.sendall(request[: -len(BODY)])
        assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert answer(connection)[0] == 200


def test_an_old_client_is_answered_once(url, road):
    with opened(url) as connection:
        connection.sendall(asked(road).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        found = heard(connection)
        assert found.startswith(b"HTTP/1.1 200")
        assert b"\r\nconnection: close\r\n" in found


def test_what_is_too_large_is_refused_before_it_is_here_and_the_next_answered(experts, road):
    service = make_service(mmalign.load(experts), experts, max_bytes=300)
    with serving(service) as url, opened(url) as connection:
        large = asked(road, BODY + bytes(300))
        connection.sendall(large[:-300])
        status, found = answer(connection)
        assert (status, found["error"]["limit"]) == (413, {"name": "max_bytes", "value": 300})
        connection.sendall(large[-300:] + asked(road))
        assert answer(connection)[0] == 200
        lines = asked(road, chunked(bytes(400)), Content_Length="", Transfer_Encoding="chunked")
        connection.sendall(lines + asked(road))
        assert [answer(connection)[0] for _ in range(2)] == [413, 200]


def test_other_types_are_refused_and_the_next_is_answered(url, road):
    found = spoken(url, asked(road, Content_Type="text/plain"), asked(road))
    assert [status for status, _ in found] == [415, 200]


def test_every_request_is_counted_once(experts, road):
    service = make_service(mmalign.load(experts), experts)
    with serving(service) as url:
        spoken(url, asked(road), asked(road, b"no file"), asked(road, Content_Type="text/plain"))
        text = ask(url, "GET", "/metrics")[2].decode()
    lines = [line for line in text.splitlines() if line.startswith("mmalign_requests_total")]
    assert sorted(lines) == [
        f'mmalign_requests_total{{route="predict",status="{status}"}} 1'
        for status in (200, 400, 415)
    ]
