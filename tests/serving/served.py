"""Models to serve, small and quick, and a service in a thread of this process."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from mmalign.serving.answering import Answering
from mmalign.serving.limits import Limits
from mmalign.serving.loading import facts_of
from mmalign.serving.server import bind, make_server
from mmalign.serving.service import Service
from mmalign.serving.worker import ThreadWorker

JSON = {"Content-Type": "application/json"}


def make_service(model, folder: Path, **settings) -> Service:
    """The model in a thread of this process."""
    examples = settings.pop("examples", None)
    facts = facts_of(model, folder)
    worker = ThreadWorker(Answering(model, facts))
    return Service(worker, facts, Limits(**settings), examples)


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The URL of a service that listens on a free port."""
    is_up, found = threading.Event(), []

    def announce(url: str) -> None:
        found.append(url)
        is_up.set()

    server, sockets = make_server(service, announce), [bind("127.0.0.1", 0)]
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    assert is_up.wait(60)
    yield found[0]
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def ask(url: str, method: str, path: str, body: bytes | None = None, headers=None):
    """Status, headers and content of one request on a connection of its own."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def post(url: str, request, headers=None):
    """Status and parsed answer of a JSON request to predict."""
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    status, _, content = ask(url, "POST", "/v1/predict", body, headers or JSON)
    return status, json.loads(content)


def plain(clip) -> dict:
    """A clip as JSON."""
    found = {
        name: None if steps is None else np.asarray(steps, np.float64).tolist()
        for name, steps in clip.sequences.items()
    }
    return {"id": clip.id, "sequences": found}
