"""The routes, asked over a real socket."""

import json
import socket
import struct
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from safetensors.numpy import save

import mmalign
from tests.serving.served import JSON, ask, plain, post

POSE = [[0.1, 0.2, 0.3, 0.4]] * 5
DEEP = b"[" * 100_000
BAD = {
    "no JSON": (b"{", 400),
    "deep nesting": (DEEP, 400),
    "NaN": (b'{"clips":[{"sequences":{"pose":[[NaN,1,1,1]]}}]}', 422),
    "infinity": (b'{"clips":[{"sequences":{"pose":[[-Infinity,1,1,1]]}}]}', 422),
    "1e400": (b'{"clips":[{"sequences":{"pose":[[1e400,1,1,1]]}}]}', 422),
    "beyond float32": (b'{"clips":[{"sequences":{"pose":[[1e39,1,1,1]]}}]}', 422),
    "text": (b'{"clips":[{"sequences":{"pose":[["1",1,1,1]]}}]}', 422),
    "wrong dim": (b'{"clips":[{"sequences":{"pose":[[1,1]]}}]}', 422),
    "no steps": (b'{"clips":[{"sequences":{"pose":[]}}]}', 422),
    "unknown modality": (b'{"clips":[{"sequences":{"s3cret":[[1]]}}]}', 422),
    "unknown field": (b'{"clips":[{"s3cret":1,"sequences":{"pose":[[1,1,1,1]]}}]}', 422),
    "empty clip": (b'{"clips":[{"sequences":{}}]}', 422),
    "nothing but a gap": (b'{"clips":[{"sequences":{"pose":[null,null]}}]}', 422),
    "no clips": (b'{"clips":[]}', 422),
    "no object": (b'"s3cret"', 422),
    "invalid UTF-8": (b'{"clips":"\xff\xfe"}', 400),
}

HINTS = {
    "wrong dim": "clips.0.sequences.pose.0: expected 4 features in every step.",
    "no steps": "clips.0.sequences.pose: give at least one step, or leave the modality out.",
    "no clips": "clips: give at least one clip.",
}


@pytest.mark.parametrize("name", HINTS)
def test_lists_of_a_wrong_length_are_told_in_plain_words(url, name):
    _, found = post(url, BAD[name][0])
    assert found["error"]["message"] == HINTS[name]


def test_any_subset_is_answered_in_words(url, experts, experts_data):
    clips = list(experts_data["test"])[:4]
    status, found = post(url, {"clips": [plain(clip) for clip in clips]})
    assert status == 200
    model = mmalign.load(experts)
    for clip, answer in zip(clips, found["answers"], strict=True):
        there = {n: s for n, s in clip.sequences.items() if s is not None}
        expected = model.predict_proba(there)[0]
        assert answer["id"] == clip.id
        assert list(answer["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
        assert answer["prediction"] == model.classes_[expected.argmax()]
        assert set(answer["used"]) == set(there)
        assert answer["imputed"] == []


def test_both_bodies_say_the_same(url):
    rng = np.random.default_rng(0)
    pose = rng.normal(size=(7, 4)).astype(np.float32)
    pose[2] = np.nan
    rows = [None if np.isnan(row[0]) else row.tolist() for row in pose]
    _, spelled = post(url, {"clips": [{"id": "x", "sequences": {"pose": rows}}]})
    body = save({"pose": pose}, {"ids": '["x"]'})
    status, binary = post(url, body, {"Content-Type": "application/vnd.safetensors"})
    assert status == 200
    assert binary == spelled
    assert binary["answers"][0]["gaps"] == {"pose": 1}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_and_not_echoed(url, name):
    body, expected = BAD[name]
    status, found = post(url, body)
    assert status == expected
    assert set(found["error"]) <= {"code", "message", "limit"}
    assert "s3cret" not in json.dumps(found)
    assert ask(url, "GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("tensors", "metadata", "expected"),
    [
        ({"pose": np.zeros((3, 5), np.float32)}, None, 422),
        ({"pose": np.zeros((0, 4), np.float32)}, None, 422),
        ({"pose": np.zeros((3, 4), np.float64)}, None, 422),
        ({"pose": np.zeros(4, np.float32)}, None, 422),
        ({"s3cret": np.zeros((3, 4), np.float32)}, None, 422),
        ({"pose": np.full((3, 4), np.inf, np.float32)}, None, 422),
        ({"pose": np.array([[1, np.nan, 1, 1]], np.float32)}, None, 422),
        ({"pose": np.full((3, 4), np.nan, np.float32)}, None, 422),
        ({"pose": np.zeros((3, 4), np.float32), "pose.lengths": np.array([1, 1])}, None, 422),
        ({"pose": np.zeros((3, 4), np.float32), "pose.lengths": np.array([-1, 4])}, None, 422),
        ({"pose.lengths": np.array([1, 1])}, None, 422),
        ({"pose": np.zeros((3, 4), np.float32)}, {"ids": "[1]"}, 422),
        ({"pose": np.zeros((3, 4), np.float32)}, {"ids": "[" * 50_000}, 422),
        (
            {"pose": np.zeros((3, 4), np.float32), "pose.lengths": np.array([1, 2])},
            {"ids": '["a", "a"]'},
            422,
        ),
        ({"pose": np.zeros((61, 4), np.float32)}, None, 413),
        ({"pose": np.zeros((300, 4), np.float32), "pose.lengths": np.ones(300, int)}, None, 413),
    ],
)
def test_tensors_that_do_not_fit_are_refused(url, tensors, metadata, expected):
    status, found = post(url, save(tensors, metadata), {"Content-Type": "application/octet-stream"})
    assert status == expected, found
    assert "s3cret" not in json.dumps(found)


def test_bytes_that_are_no_safetensors_are_refused(url):
    body = save({"pose": np.zeros((3, 4), np.float32)})
    for broken in (b"", b"\xff" * 8, body[:-1], body[:20], b"\xff" * 7 + b"\x7f" + body):
        assert post(url, broken, {"Content-Type": "application/octet-stream"})[0] == 400


@pytest.mark.parametrize(
    ("shape", "metadata"),
    [([2**64 - 1, 0], {}), ([2**62, 0], {}), ([1, 4], {"ids": '["\\ud800"]'})],
)
def test_headers_that_only_python_takes_for_sound_are_refused(url, shape, metadata):
    """Sides that no array has, and half a character as an id, were answered with 500."""
    values = bytes(16 if shape == [1, 4] else 0)
    stated = {"dtype": "F32", "shape": shape, "data_offsets": [0, len(values)]}
    head = json.dumps({"__metadata__": metadata, "pose": stated}).encode()
    body = struct.pack("<Q", len(head)) + head + values
    status, _ = post(url, body, {"Content-Type": "application/vnd.safetensors"})
    assert status == 422


def test_limits_are_named(url, service):
    status, found = post(url, {"clips": [{"sequences": {"pose": POSE[:1] * 61}}]})
    assert (status, found["error"]["limit"]) == (413, {"name": "max_steps", "value": 60})
    status, found = post(url, {"clips": [{"sequences": {"pose": POSE}}] * 257})
    assert (status, found["error"]["limit"]) == (413, {"name": "max_clips", "value": 256})
    status, found = post(url, b"x" * (service.limits.max_bytes + 1))
    assert (status, found["error"]["limit"]["name"]) == (413, "max_bytes")
    assert post(url, b"{}", {"Content-Type": "text/plain"})[0] == 415


def test_a_body_of_100_megabytes_is_refused_before_it_is_read(url):
    host, port = urlsplit(url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        head = f"POST /v1/predict HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {100 << 20}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_a_client_that_leaves_in_the_middle_harms_nobody(url):
    host, port = urlsplit(url).netloc.split(":")
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    for sent in ("POST", head, f"{head}Content-Length: 1000\r\n\r\n{{"):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent.encode())
    time.sleep(0.05)
    assert post(url, {"clips": [{"sequences": {"pose": POSE}}]})[0] == 200


def test_the_model_describes_itself(url, experts):
    status, _, content = ask(url, "GET", "/v1/model")
    found = json.loads(content)
    assert status == 200
    assert found["kind"] == "experts"
    assert found["task"] == {"kind": "classification", "classes": ["a", "b", "c"]}
    assert {n: m["dim"] for n, m in found["modalities"].items()} == {
        "pose": 4,
        "wrist": 3,
        "voice": 2,
    }
    assert found["limits"]["max_steps"] == 60
    assert found["card"] == (experts / "README.md").read_text()


def test_health_and_metrics_tell_of_a_lost_sensor(url):
    assert ask(url, "GET", "/healthz")[0] == ask(url, "GET", "/readyz")[0] == 200

    def lost() -> int:
        text = ask(url, "GET", "/metrics")[2].decode()
        (line,) = [
            x
            for x in text.splitlines()
            if x.startswith("mmalign_clips_missing_total{mod") and "voice" in x
        ]
        return int(line.split()[-1])

    before = lost()
    post(url, {"clips": [{"sequences": {"pose": POSE}}]})
    assert lost() == before + 1


def test_the_example_of_the_description_is_answered(url):
    description = json.loads(ask(url, "GET", "/openapi.json")[2])
    body = description["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
    status, found = post(url, body["application/json"]["example"])
    assert status == 200
    assert found["answers"][0]["gaps"] == {"pose": 1}
    assert found["answers"][1]["missing"] == ["voice"]


def test_examples_are_known_by_position_only(url, experts_data):
    listed = json.loads(ask(url, "GET", "/v1/examples")[2])["examples"]
    assert [one["id"] for one in listed] == list(experts_data["test"].ids)
    clip = json.loads(ask(url, "GET", "/v1/examples/3")[2])
    assert clip["label"] == listed[3]["label"]
    request = {"clips": [{"id": clip["id"], "sequences": clip["sequences"]}]}
    assert post(url, request)[0] == 200
    for path, status in (("99", 404), ("-1", 404), ("x", 422), ("..%2f..%2fetc%2fpasswd", 404)):
        assert ask(url, "GET", f"/v1/examples/{path}")[0] == status
    assert ask(url, "GET", "/nothing")[0] == 404
    assert ask(url, "GET", "/v1/predict", headers=JSON)[0] == 405
