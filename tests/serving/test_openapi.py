"""Requests made up from the description: none is answered in a way that it does not tell of."""

import json

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import mmalign
from tests.serving.served import ask, make_service, serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
CASES = 500
MANY_CASES = 20_000


@pytest.fixture(scope="module")
def small(experts):
    """A service of short clips: what is made up for it is made quickly."""
    service = make_service(mmalign.load(experts), experts, max_steps=4, max_clips=3)
    with serving(service) as url:
        yield url


def operations(url):
    schema = schemathesis.openapi.from_dict(json.loads(ask(url, "GET", "/openapi.json")[2]))
    return [found.ok() for found in schema.get_all_operations()]


def attack(url: str, cases: int) -> int:
    """Ask for that many predictions, and for a few other things, all made up; tells how many."""
    session, asked = requests.Session(), 0
    found = operations(url)
    others = max(cases // 50, 1)
    for operation in found:
        share = cases if "predict" in operation.path else others
        kinds = st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
        strategy = kinds.flatmap(lambda kind, op=operation: op.as_strategy(generation_mode=kind))

        @settings(max_examples=share, suppress_health_check=list(HealthCheck), database=None)
        @given(case=strategy)
        def check(case):
            nonlocal asked
            asked += 1
            answer = case.call(base_url=url, session=session)
            case.validate_response(answer, checks=CHECKS)
            assert answer.status_code < 500

        check()
    return asked


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that just fit overflow inside
def test_made_up_requests_get_documented_answers(small):
    assert attack(small, CASES) >= CASES
    assert ask(small, "GET", "/readyz")[0] == 200


@pytest.mark.nightly
def test_many_made_up_requests_get_documented_answers(small):
    assert attack(small, MANY_CASES) >= MANY_CASES
    assert ask(small, "GET", "/readyz")[0] == 200
