"""What is wrong with a JSON body is told in plain words, where it is, without what was sent."""

import json

import pytest

from mmalign.data import Classification
from mmalign.serving.facts import Facts
from mmalign.serving.json_body import JsonBody
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import RefusalError
from mmalign.serving.schema import request_type

FACTS = Facts("run", "experts", "experts", Classification(("a", "b")), {"wrist": 2}, (), (), ())
LIMITS = Limits()
READ = JsonBody(request_type(FACTS, LIMITS), FACTS, LIMITS)

GAP = "null in place of a step is a gap."
REQUEST = 'A request is {"clips": [clip, …]}; "plans": true is optional.'
CLIP = 'A clip is {"sequences": {modality: [step, …], …}}; "id" is optional.'


def wrist(steps: object) -> dict:
    """A request with this in place of the wrist's steps."""
    return {"clips": [{"sequences": {"wrist": steps}}]}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([], f"body: expected an object in braces. {REQUEST}"),
        ({"clip": []}, f"clips: missing. {REQUEST}"),
        ({"clips": "s3cret"}, f"clips: expected a list. {REQUEST}"),
        ({**wrist([[1, 2]]), "s3cret": True}, f"body: unknown field. {REQUEST}"),
        ({**wrist([[1, 2]]), "plans": 1}, "plans: expected true or false."),
        ({"clips": [5]}, f"clips.0: expected an object in braces. {CLIP}"),
        ({"clips": [{"wrist": [[1, 2]]}]}, f"clips.0.sequences: missing. {CLIP}"),
        (
            {"clips": [{"sequences": []}]},
            f"clips.0.sequences: expected an object in braces. {CLIP}",
        ),
        (
            {"clips": [{"sequences": {"wrist": [[1, 2]]}, "label": "s3cret"}]},
            f"clips.0: unknown field. {CLIP}",
        ),
        (
            {"clips": [{"id": 5, "sequences": {"wrist": [[1, 2]]}}]},
            "clips.0.id: expected text.",
        ),
        (
            {"clips": [{"id": "x" * 201, "sequences": {"wrist": [[1, 2]]}}]},
            "clips.0.id: longer than 200 characters.",
        ),
        (wrist("s3cret"), "clips.0.sequences.wrist: expected a list of steps."),
        (
            wrist([1, 2]),
            f"clips.0.sequences.wrist.0: expected a step, a list of 2 numbers; {GAP}",
        ),
        (wrist([[1, None]]), f"clips.0.sequences.wrist.0.1: expected a number; {GAP}"),
        (
            wrist([[1, float("nan")]]),
            f"clips.0.sequences.wrist.0.1: expected a finite number; {GAP}",
        ),
        (wrist([[1, 1e39]]), "clips.0.sequences.wrist.0.1: too large: numbers are float32."),
        (wrist([[1, -1e39]]), "clips.0.sequences.wrist.0.1: too small: numbers are float32."),
    ],
    ids=str,
)
def test_a_refusal_says_what_is_expected_and_where(body, told):
    with pytest.raises(RefusalError) as caught:
        READ(json.dumps(body).encode())
    assert str(caught.value) == told


def test_a_request_as_it_should_be_is_read():
    (asked,) = READ(json.dumps(wrist([[1, 2], None])).encode())
    assert asked.sequences["wrist"].shape == (2, 2)
