"""A live stream over a WebSocket, of which one sensor dies."""

import json

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import mmalign

START = {"start": {"window": 2, "stride": 1, "rates": {"pose": 10, "wrist": 10}}}


def frames(**counts):
    dims = {"pose": 4, "wrist": 3, "voice": 2}
    rng = np.random.default_rng(0)
    found = {n: rng.normal(size=(count, dims[n])).round(3).tolist() for n, count in counts.items()}
    return {"frames": found}


@pytest.fixture
def session(url):
    with connect(url.replace("http", "ws") + "/v1/stream") as socket:
        yield socket


def tell(socket, message) -> None:
    socket.send(message if isinstance(message, str | bytes) else json.dumps(message))


def hear(socket):
    return json.loads(socket.recv(timeout=20))


def test_the_answer_says_that_a_sensor_died(session, experts):
    tell(session, START)
    assert hear(session) == {"started": {"modalities": ["pose", "wrist"]}}
    chunk = frames(pose=20, wrist=20)
    tell(session, chunk)
    first = hear(session)["answer"]
    assert (first["time"], first["used"], first["silent"]) == (2.0, ["pose", "wrist"], {})
    expected = mmalign.load(experts).predict_proba(
        {n: np.array(rows, np.float32) for n, rows in chunk["frames"].items()}
    )[0]
    assert list(first["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
    for _ in range(3):
        tell(session, frames(pose=10))  # the wrist sends nothing any more
    for time in (3.0, 4.0, 5.0):
        answer = hear(session)["answer"]
        assert (answer["time"], answer["used"]) == (time, ["pose"])
        assert answer["silent"] == {"wrist": 2.0}
        assert answer["missing"] == ["wrist", "voice"]
    tell(session, frames(pose=10, wrist=10))
    answer = hear(session)["answer"]
    assert (answer["time"], answer["used"], answer["silent"]) == (6.0, ["pose", "wrist"], {})
    assert answer["gaps"] == {"wrist": 10}


def test_a_bad_message_is_refused_and_the_session_goes_on(session):
    bad = [
        frames(pose=3),
        "{",
        "[" * 100_000,
        {"start": {"window": 2, "stride": 1, "rates": {"s3cret": 1}}},
        {"start": {"window": -2, "stride": 1, "rates": {"pose": 1}}},
        {"start": {"window": 2000, "stride": 1, "rates": {"pose": 1}}},
        {"s3cret": 1},
    ]
    for message in bad:
        tell(session, message)
        found = hear(session)
        assert "error" in found
        assert "s3cret" not in json.dumps(found)
    tell(session, START)
    assert "started" in hear(session)
    for message in (
        frames(voice=3),
        {"frames": {"pose": []}},
        {"frames": {"pose": [[1]]}},
        {"frames": {"pose": [[1e39, 1, 1, 1]]}},
        '{"frames": {"pose": [[NaN, 1, 1, 1]]}}',
        frames(pose=61),
        {**frames(pose=3), "at": 1e20},
        b"\x00\xff",
    ):
        tell(session, message)
        assert "error" in hear(session)
    tell(session, frames(pose=20, wrist=20))
    assert "answer" in hear(session)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            {"start": {"window": -2, "stride": 1, "rates": {}}},
            "start.window: expected a number abo",
        ),
        ({"start": {"window": 2, "rates": {}}}, "start.stride: missing."),
        ({"s3cret": 1}, "message: unknown field."),
        ({"frames": {"s3cret": 5}}, "frames: expected a list."),
    ],
    ids=str,
)
def test_a_refusal_says_what_is_expected_in_plain_words(session, message, told):
    tell(session, message)
    assert hear(session)["error"]["message"].startswith(told)


def test_another_site_s_page_may_not_connect(url):
    address = url.replace("http", "ws") + "/v1/stream"
    with pytest.raises((ConnectionClosed, InvalidStatus)):  # noqa: SIM117
        with connect(address, origin="https://elsewhere.example") as socket:
            socket.recv(timeout=10)
    with connect(address, origin=url) as socket:
        tell(socket, START)
        assert "started" in hear(socket)
