"""The client says what the model says."""

import numpy as np
import pytest

import mmalign
from mmalign.errors import ConfigError, DataError
from mmalign.serving.client import ServiceError, _content, _pause


def test_clips_of_any_kind_get_the_model_s_answers(url, experts, experts_data):
    client, model = mmalign.Client(url), mmalign.load(experts)
    split = experts_data["test"]
    wanted = model.predict(split).tolist()
    for clips in (split, list(split), [dict(c.sequences) for c in split]):
        answers = client.predict(clips)
        assert [answer.prediction for answer in answers] == wanted
    assert [answer.id for answer in client.predict(split)] == list(split.ids)
    assert client.model["kind"] == "experts"
    client.close()


def test_gaps_and_other_modalities_are_no_trouble(url):
    pose = np.random.default_rng(0).normal(size=(9, 4))
    seen = np.arange(9) != 4
    clip = {"pose": pose, "thermometer": np.zeros((3, 1)), "observed": {"pose": seen}}
    (answer,) = mmalign.Client(url).predict(clip)
    assert answer.gaps == {"pose": 1}
    assert answer.missing == ["wrist", "voice"]


def test_a_clip_with_nothing_that_the_model_reads_is_refused_by_name(url):
    pose = {"id": "good", "pose": np.zeros((9, 4))}
    with pytest.raises(DataError, match=r"clip bad: .* none of the model's .* Give it pose or"):
        mmalign.Client(url).predict([pose, {"id": "bad", "heart": np.zeros((9, 4))}])
    with pytest.raises(DataError, match=r"clip bad: .* none of the model's"):
        mmalign.Client(url).predict({"id": "bad", "heart": np.zeros((9, 4))})


def test_a_misspelt_modality_is_refused_before_it_is_asked(url):
    wrong = {"id": "bad", "wrist": np.zeros((9, 3)), "poze": np.zeros((9, 4))}
    with pytest.raises(DataError, match=r"clip bad: .* not know 'poze'\. Did you mean 'pose'"):
        mmalign.Client(url).predict(wrong)


def test_more_clips_than_a_request_may_have_are_sent_in_parts(url, experts_data, monkeypatch):
    client = mmalign.Client(url)
    client.model["limits"]["max_clips"] = 5
    split = experts_data["test"]
    assert [answer.id for answer in client.predict(split)] == list(split.ids)


def test_refusals_are_errors_with_a_code(url):
    with pytest.raises(ServiceError, match="max_steps is 60") as caught:
        mmalign.Client(url).predict({"pose": np.zeros((61, 4))})
    assert (caught.value.status, caught.value.code) == (413, "too_large")
    with pytest.raises(ServiceError, match="Check that mmalign serve is running") as caught:
        mmalign.Client("http://127.0.0.1:9", retries=0).predict({"pose": np.zeros((1, 4))})
    assert caught.value.status == 0
    for url in ("127.0.0.1:8000", "http://host:99999", "http://[host"):
        with pytest.raises(ConfigError, match="not an address"):
            mmalign.Client(url)


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b"[]", b"7", b'{"error": "no"}', b"{}", b'{"answers": [{"x": 1}]}', b"\xff"],
)
@pytest.mark.parametrize("status", [200, 400])
def test_a_server_of_something_else_is_told(content, status):
    client = mmalign.Client("http://127.0.0.1:9")
    client._ask = lambda *_: _content(status, content)
    with pytest.raises(ServiceError) as caught:
        client.predict({"pose": np.zeros((1, 4))})
    assert caught.value.status == status


def test_a_pause_is_short_whatever_a_proxy_says():
    told = ("2", "", "1e9", "nan", "-1", "999999", "Wed, 21 Oct 2026 07:28:00 GMT")
    assert [_pause(text) for text in told] == [2, 1, 1, 1, 1, 60, 1]
