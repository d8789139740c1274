"""The Ray engine, on a cluster of two workers: the same bytes as the local one."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from mmalign.errors import MMAlignError
from mmalign.experiments.engines.ray import RayEngine
from tests.experiments.tiny import write_data

pytest.importorskip("ray", reason="ray is not installed: pip install 'mmalign[ray]'")

WORDS = ["--suite", "main", "--pairs", "visible:victim", "--survival", "0.5,0.01", "--seeds", "2"]
SETTINGS = ["dim=8", "heads=2", "window=2", "batch_size=16", "epochs=2"]
SMALL = [word for setting in SETTINGS for word in ("--set", setting)]


def command(data: Path, out: Path, *words: object) -> list[str]:
    whole = [sys.executable, "-m", "mmalign.cli.main", "bench", data, *WORDS, *SMALL]
    return [*map(str, whole), "--methods", "zero-fill,mmalign", "--out", *map(str, (out, *words))]


def bench(
    data: Path, out: Path, *words: object, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(data, out, *words), capture_output=True, text=True, env=env)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("data") / "twin")


@pytest.fixture(scope="module")
def local(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("local") / "grid"
    done = bench(data, out, "--jobs", 2)
    assert done.returncode == 1, done.stderr  # at survival 0.01 no training clip is complete
    return out


def results(out: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in out.glob("runs/*/result.json")}


@pytest.mark.nightly  # 40 s of starting processes; .ci/run asks for it by name
def test_two_workers_of_a_ray_cluster_write_the_same_files(data, local, tmp_path):
    out = tmp_path / "grid"
    done = bench(data, out, "--engine", "ray", "--jobs", 2)
    assert done.returncode == 1, done.stderr
    assert "4 of 8 runs are done" in done.stdout
    assert done.stderr.count("no training clip has the victim modality") == 8  # told, and listed
    assert len(results(out)) == 4
    assert results(out) == results(local)
    assert (out / "results.csv").read_bytes() == (local / "results.csv").read_bytes()
    errors = [json.loads(file.read_text())["error"] for file in out.glob("errors/*.json")]
    assert len(errors) == 4


@pytest.mark.nightly
def test_a_cluster_that_runs_already(data, local, tmp_path):
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    ray += ["--port", "26379", "--num-cpus", "2", "--include-dashboard=false"]
    ray += ["--disable-usage-stats"]
    env = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    cluster = subprocess.Popen(ray, stdout=subprocess.DEVNULL, env=env)
    address = "127.0.0.1:26379"
    try:
        _wait_for_port(26379)
        done = bench(data, tmp_path / "grid", "--engine", "ray", "--address", address, env=env)
    finally:
        cluster.terminate()
        cluster.wait()
    assert done.returncode == 1, done.stderr
    assert results(tmp_path / "grid") == results(local)


@pytest.mark.nightly
def test_a_worker_of_ray_that_is_killed_costs_no_result(data, local, tmp_path):
    out, told = tmp_path / "grid", tmp_path / "told"
    words = command(data, out, "--engine", "ray", "--jobs", 2)
    with told.open("w") as stream:
        # Ray makes its workers nice; on a busy machine nobody would wait for them.
        env = {**os.environ, "RAY_worker_niceness": "0"}
        engine = subprocess.Popen(words, stdout=stream, stderr=stream, env=env)
        locks = {out / "runs" / name / ".lock" for name in results(local)}
        _kill_the_owner(psutil.Process(engine.pid), locks)
        code = engine.wait()
    assert code == 1, told.read_text()  # as without a kill: at survival 0.01 nothing is complete
    assert "its worker was lost" in told.read_text()
    assert results(out) == results(local)
    assert (out / "results.csv").read_bytes() == (local / "results.csv").read_bytes()


def _kill_the_owner(engine: psutil.Process, locks: set[Path]) -> None:
    """Kill the first of its workers that is found to hold one of the locks."""
    while engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE:
        for process in engine.children(recursive=True):
            with suppress(psutil.Error):
                if locks & {Path(file.path) for file in process.open_files()}:
                    process.kill()
                    return
        time.sleep(0.02)  # a run takes half a second
    pytest.fail("the command ended before a worker was at work")


def _wait_for_port(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"nobody listens at port {port}")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999"])
def test_an_address_where_nobody_listens_is_told_at_once(address):
    with pytest.raises(MMAlignError, match=f"no Ray cluster at {address} "), RayEngine(2, address):
        pass
