"""What a service does, beside the model in its own process: python benchmarks/bench_serving.py.

Clips of 12 steps (--steps), one a request, as safetensors over loopback from another process.
Prints throughput; latency at half of that rate and at ten times it, by requests that leave on a
schedule (see open_loop.py); answers that are not those of the clip that was sent; and how much the
service's memory grew. Where the cores are not free, times say little; CPU times then tell what the
service would do with a core for each of its two processes. Nor can two cores offer ten times what
the service answers where clips are short: requests that leave late say so, and --steps 400 helps.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
import torch

import mmalign
from mmalign.data import Clip, Split, load_dataset
from open_loop import Load, Requests, ask_greedily, ask_steadily

KINDS = 256
LATE_SECONDS = 0.02
THROUGHPUT = 20_000


def make_clips(model, count: int, steps: int = 12) -> Split:
    rng = np.random.default_rng(0)
    dims = model.experts.dims()
    clips = [
        Clip(
            str(n),
            None,
            {m: rng.normal(size=(steps, d)).astype(np.float32) for m, d in dims.items()},
        )
        for n in range(count)
    ]
    return Split.from_clips(clips, list(dims), model.task)


def best_in_process(model, clips: Split) -> tuple[int, float, float]:
    """Batch size, and clips a second and a CPU second of the model when it is called directly."""
    rates = {}
    for size in (1, 8, 16, 32, 64, 128, 256):
        part = clips.select(range(size))
        model.predict_proba(part)
        started, used, calls = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - started < 1.5:
            model.predict_proba(part)
            calls += 1
        clips_done = size * calls
        rates[size] = (
            clips_done / (time.perf_counter() - started),
            clips_done / (time.process_time() - used),
        )
    size = max(rates, key=lambda one: rates[one])
    return size, *rates[size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="of the long run")
    parser.add_argument("--connections", type=int, default=96, help="that saturate the service")
    parser.add_argument("--flood", type=int, default=3500, help="connections of the overload")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=5, help="of half load and overload")
    parser.add_argument("--steps", type=int, default=12, help="of each clip")
    parser.add_argument("--serve", default="", help="more options of mmalign serve")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    allow_connections()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        mmalign.MMAlign(epochs=2).fit(load_dataset("smartwatch")["train"]).save(folder)
        model = mmalign.load(folder)
        clips = make_clips(model, KINDS, chosen.steps)
        size, best, best_cpu = best_in_process(model, clips)
        print(f"in process, best batch ({size}): {best:.0f} clips/s, {best_cpu:.0f} a CPU second")
        command = [sys.executable, "-m", "mmalign.cli.main", "serve", str(folder), "--port", "0"]
        server = subprocess.Popen(
            [*command, *chosen.serve.split()], stdout=subprocess.PIPE, text=True
        )
        try:
            url = urlsplit(server.stdout.readline().split()[1])
            requests = Requests(clips, model.predict_proba(clips))
            service = Measured((url.hostname, url.port), requests, server.pid)
            measure(service, (best, best_cpu), chosen)
        finally:
            server.terminate()
            print(f"exit code after SIGTERM: {server.wait(60)}")


def allow_connections() -> None:
    """Let this process and the service open as many sockets as the system permits."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def cpu_seconds(pid: int) -> list[float]:
    """CPU time of each process of the service."""
    process = psutil.Process(pid)
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return [one.user + one.system for one in times]


def memory(pid: int) -> int:
    """Bytes that the service holds, in all of its processes."""
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))


class Measured:
    """A service that is asked, and what it used meanwhile."""

    def __init__(self, address: tuple[str, int], requests: Requests, pid: int) -> None:
        self._about = (address, requests)
        self.pid = pid
        self.wrong = self.answered = 0

    def greedily(self, count: int, connections: int) -> Load:
        """Ask as fast as answers come."""
        return self._counted(ask_greedily(*self._about, count=count, connections=connections))

    def steadily(self, rate: float, seconds: float, connections: int) -> Load:
        """Ask at a rate."""
        load = ask_steadily(*self._about, rate=rate, seconds=seconds, connections=connections)
        return self._counted(load)

    def _counted(self, load: Load) -> Load:
        self.wrong += load.wrong
        self.answered += len(load.latency)
        return load


def measure(service: Measured, bests: tuple[float, float], chosen: argparse.Namespace) -> None:
    service.greedily(1000, chosen.connections)
    full = throughput(service, bests, chosen)
    overload(service, full.rate, chosen)
    before = memory(service.pid)
    long = service.greedily(chosen.requests, chosen.connections)
    grown = (memory(service.pid) - before) / 1e6
    print(f"memory: {grown:+.1f} MB over {len(long.latency)} answers (bar 20 MB over 100,000)")
    print(f"answers that are another clip's: {service.wrong} of {service.answered} (bar 0)")


def throughput(service: Measured, bests: tuple[float, float], chosen: argparse.Namespace) -> Load:
    best, best_cpu = bests
    before = cpu_seconds(service.pid)
    full = service.greedily(THROUGHPUT, chosen.connections)
    used = [after - was for after, was in zip(cpu_seconds(service.pid), before, strict=True)]
    answered = len(full.latency)
    bound = answered / max(used)
    share = full.rate / best
    print(f"throughput: {full.rate:.0f} requests/s, {share:.0%} of in process (bar 60 %)")
    print(f"  p99 {full.p(99):.1f} ms, {len(full.refusals)} refused")
    each = ", ".join(f"{1000 * one / answered:.2f} ms" for one in sorted(used) if one > 0.05)
    print(
        f"  CPU an answer, by process: {each}; with a core for each {bound:.0f} requests/s, "
        f"{bound / best_cpu:.0%} of in process"
    )
    return full


def overload(service: Measured, rate: float, chosen: argparse.Namespace) -> None:
    """Ask for half of what the service can do, then for ten times as much, in turns."""
    calms, overs = [], []
    for _ in range(chosen.rounds):
        calm = service.steadily(rate / 2, chosen.seconds, 100)
        over = service.steadily(10 * rate, chosen.seconds, chosen.flood)
        calms.append(calm.p(99))
        overs.append(over.p(99))
        for name, load in (("half load", calm), ("overload", over)):
            print(
                f"{name}: {load.offered:.0f} requests/s asked ({load.offered / rate:.1f}x), "
                f"{load.rate:.0f} answered/s, p50 {load.p(50):.1f} ms, p99 {load.p(99):.1f} ms; "
                f"{len(load.refusals)} refused, {load.lost} without an answer; "
                f"sent late by p99 {1000 * float(np.percentile(load.lag, 99)):.1f} ms"
            )
        if np.percentile(over.lag, 99) > LATE_SECONDS:
            print("no overload as wanted: this client is too slow for it; see --steps")
    usual, worst = float(np.median(calms)), float(np.median(overs))
    print(
        f"p99 of accepted, median of {chosen.rounds} rounds: {usual:.1f} ms at half load, "
        f"{worst:.1f} ms under overload, {worst / usual:.2f}x (bar 2x)"
    )
    hammer = service.greedily(5000, 10 * chosen.connections)
    print(
        f"{10 * chosen.connections} clients that ask again at once: {hammer.rate:.0f} answered/s, "
        f"p99 {hammer.p(99):.1f} ms, {len(hammer.refusals)} refused"
    )


if __name__ == "__main__":
    main()
