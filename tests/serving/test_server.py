"""SIGTERM under load: who was let in gets an answer, and the process ends well."""

import os
import signal
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import numpy as np
import psutil
import pytest
from safetensors.numpy import save

from mmalign.errors import MMAlignError
from mmalign.serving.server import bind

BINARY = {"Content-Type": "application/vnd.safetensors"}


def start(folder, **settings):
    """The command line in a process of its own, and its URL."""
    command = [sys.executable, "-m", "mmalign.cli.main", "serve", str(folder), "--port", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, **settings
    )
    line = process.stdout.readline()
    assert line.startswith("serving: http://127.0.0.1:"), line
    return process, line.split()[1]


def keep_asking(address: str, counts: dict[str, int], lock: threading.Lock) -> None:
    """Ask over one connection after the other until nobody listens; count what came of it."""
    body = save({"pose": np.zeros((5, 4), np.float32)})
    while True:
        connection = HTTPConnection(address, timeout=20)
        try:
            connection.connect()
        except OSError:
            return  # nobody listens: nothing was let in
        try:
            while True:
                connection.request("POST", "/v1/predict", body, BINARY)
                answer = connection.getresponse()
                answer.read()
                with lock:
                    counts[str(answer.status)] = counts.get(str(answer.status), 0) + 1
                if answer.headers.get("Connection") == "close":
                    break
        except (OSError, HTTPException) as error:
            with lock:
                counts["lost"] = counts.get("lost", 0) + 1
                counts.setdefault("errors", []).append(repr(error))
        finally:
            connection.close()


def wait_for(is_true) -> None:
    deadline = time.monotonic() + 60
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.02)


def stop_under_load(folder, clients: int, answered: int = 20) -> dict:
    process, url = start(folder)
    counts: dict = {}
    lock = threading.Lock()
    target = (urlsplit(url).netloc, counts, lock)
    threads = [threading.Thread(target=keep_asking, args=target) for _ in range(clients)]
    for thread in threads:
        thread.start()
    wait_for(lambda: counts.get("200", 0) >= answered)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    for thread in threads:
        thread.join(30)
    process.stdout.close()
    return counts


def test_sigterm_under_load_loses_nothing(experts):
    counts = stop_under_load(experts, clients=8)
    assert counts.pop("200") >= 20
    assert set(counts) <= {"503"}, counts


@pytest.mark.nightly
def test_twenty_restarts_under_load_lose_nothing(experts):
    answered = 0
    for _ in range(20):
        counts = stop_under_load(experts, clients=16, answered=50)
        answered += counts.pop("200")
        assert set(counts) <= {"503"}, counts
    print(f"{answered} answered, none lost")
    assert answered >= 1000


@pytest.mark.parametrize("clients", [0, 4])
def test_a_service_whose_model_is_killed_says_so_and_ends(experts, clients):
    process, url = start(experts, stderr=subprocess.PIPE)
    counts: dict = {}
    target = (urlsplit(url).netloc, counts, threading.Lock())
    threads = [threading.Thread(target=keep_asking, args=target) for _ in range(clients)]
    for thread in threads:
        thread.start()
    wait_for(lambda: counts.get("200", 0) >= 20 or not clients)
    (worker,) = [
        one
        for one in psutil.Process(process.pid).children()
        if "resource_tracker" not in " ".join(one.cmdline())
    ]
    worker.kill()
    _, complaint = process.communicate(timeout=30)
    for thread in threads:
        thread.join(30)
    assert process.returncode == 2
    assert "the model's process has died" in complaint
    assert "Traceback" not in complaint
    assert set(counts) <= {"200", "503"}, counts
    assert counts.get("503", 0) >= min(clients, 1)  # asked while there was no model


@pytest.mark.nightly
def test_a_service_that_cannot_start_says_why(tmp_path):
    command = [sys.executable, "-m", "mmalign.cli.main", "serve", str(tmp_path / "nothing")]
    command += ["--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "there is no such directory" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_examples_that_do_not_fit_end_the_command(experts):
    command = [sys.executable, "-m", "mmalign.cli.main", "serve", str(experts), "--port", "0"]
    command += ["--examples", "smartwatch"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "these clips are not what the model reads" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_told():
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(MMAlignError, match="Give another --host or --port"):
            bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(MMAlignError, match=r"cannot listen on 192\.0\.2\.1"):
        bind("192.0.2.1", 0)
