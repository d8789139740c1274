"""What a service does, beside the model in its own process: python benchmarks/bench_serving.py.

Clips of 12 steps, one a request, as safetensors over loopback from another process. Prints
throughput, latency unloaded and under overload, answers that are not those of the clip that was
sent, and how much the server's memory grew. Where the cores are not free, times say little; CPU
times then tell what the service would do with a core for each of its two processes.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
import torch
from safetensors.numpy import save

import mmalign
from mmalign.data import Clip, Split, load_dataset

STEPS, KINDS = 12, 256


@dataclass
class Load:
    """What came of the requests of some connections."""

    seconds: list[float] = field(default_factory=list)
    answered: int = 0
    refused: int = 0
    wrong: int = 0
    elapsed: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.elapsed

    def percentile(self, share: float) -> float:
        """Milliseconds within which that share of the answers came."""
        return 1000 * float(np.percentile(self.seconds, share))


def make_clips(model, count: int) -> Split:
    rng = np.random.default_rng(0)
    dims = model.experts.dims()
    clips = [
        Clip(
            str(n),
            None,
            {m: rng.normal(size=(STEPS, d)).astype(np.float32) for m, d in dims.items()},
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


class Asker:
    """One connection that asks again and again; every request carries an id of its own."""

    def __init__(self, address: str, clips: Split, expected: np.ndarray) -> None:
        self._host, self._port = address.split(":")
        self._clips, self._expected = clips, expected
        self._requests = [self._made(row) for row in range(KINDS)]

    def _made(self, row: int) -> tuple[bytes, bytes]:
        """A request around its id, which always has nine digits."""
        tensors = {name: column[row] for name, column in self._clips.sequences.items()}
        body = save(tensors, {"ids": '["#########"]'})
        head = f"POST /v1/predict HTTP/1.1\r\nHost: {self._host}\r\n"
        kind = "Content-Type: application/vnd.safetensors\r\n"
        whole = f"{head}{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body
        before, after = whole.split(b"#########")
        return before, after

    def request(self, number: int) -> bytes:
        """The request with this number as its id."""
        before, after = self._requests[number % KINDS]
        return b"%b%09d%b" % (before, number, after)

    async def run(self, numbers, load: Load, pause: float) -> None:
        """Ask for all numbers that nobody else takes; wait a while after a refusal."""
        reader, writer = await asyncio.open_connection(self._host, int(self._port))
        for number in numbers:
            started = time.perf_counter()
            writer.write(self.request(number))
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            content = await reader.readexactly(size)
            if head.startswith(b"HTTP/1.1 200"):
                load.seconds.append(time.perf_counter() - started)
                load.answered += 1
                load.wrong += self.is_wrong(number, content)
            else:
                load.refused += 1
                await asyncio.sleep(pause)
        writer.close()

    def is_wrong(self, number: int, content: bytes) -> bool:
        """Whether the answer is not the one for this number's clip."""
        (answer,) = json.loads(content)["answers"]
        shares = np.array(list(answer["probabilities"].values()))
        return answer["id"] != f"{number:09d}" or bool(
            np.abs(shares - self._expected[number % KINDS]).max() > 1e-5
        )


def ask(asker: Asker, *, connections: int, requests: int, pause: float = 0.0) -> Load:
    """Ask from so many connections at once, so many requests in all."""
    load, numbers = Load(), iter(range(requests))

    async def everybody() -> None:
        await asyncio.gather(*(asker.run(numbers, load, pause) for _ in range(connections)))

    started = time.perf_counter()
    asyncio.run(everybody())
    load.elapsed = time.perf_counter() - started
    return load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="of the long run")
    parser.add_argument("--connections", type=int, default=16, help="that saturate the service")
    parser.add_argument("--serve", default="", help="more options of mmalign serve")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        mmalign.MMAlign(epochs=2).fit(load_dataset("smartwatch")["train"]).save(folder)
        model = mmalign.load(folder)
        clips = make_clips(model, KINDS)
        size, best, best_cpu = best_in_process(model, clips)
        print(f"in process, best batch ({size}): {best:.0f} clips/s, {best_cpu:.0f} a CPU second")
        command = [sys.executable, "-m", "mmalign.cli.main", "serve", str(folder), "--port", "0"]
        server = subprocess.Popen(
            [*command, *chosen.serve.split()], stdout=subprocess.PIPE, text=True
        )
        try:
            address = urlsplit(server.stdout.readline().split()[1]).netloc
            measure(
                Asker(address, clips, model.predict_proba(clips)),
                server.pid,
                (best, best_cpu),
                chosen,
            )
        finally:
            server.terminate()
            print(f"exit code after SIGTERM: {server.wait(60)}")


def cpu_seconds(pid: int) -> list[float]:
    """CPU time of each process of the service."""
    process = psutil.Process(pid)
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return [one.user + one.system for one in times]


def memory(pid: int) -> int:
    """Bytes that the service holds, in all of its processes."""
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))


def measure(asker: Asker, pid: int, bests: tuple[float, float], chosen: argparse.Namespace) -> None:
    best, best_cpu = bests
    ask(asker, connections=chosen.connections, requests=1000)
    calm = ask(asker, connections=1, requests=1000)
    print(f"unloaded: p50 {calm.percentile(50):.1f} ms, p99 {calm.percentile(99):.1f} ms")
    before = cpu_seconds(pid)
    full = ask(asker, connections=chosen.connections, requests=5000)
    used = [after - was for after, was in zip(cpu_seconds(pid), before, strict=True)]
    bound = full.answered / max(used)
    print(
        f"throughput: {full.rate:.0f} requests/s, {full.rate / best:.0%} of in process (bar 60 %)"
    )
    print(f"  p99 {full.percentile(99):.1f} ms, {full.refused} refused")
    each = ", ".join(f"{1000 * one / full.answered:.2f} ms" for one in sorted(used) if one > 0.05)
    print(
        f"  CPU an answer, by process: {each}; with a core for each {bound:.0f} requests/s, "
        f"{bound / best_cpu:.0%} of in process"
    )
    many = 10 * chosen.connections
    over = ask(asker, connections=many, requests=20_000)
    offered = (over.answered + over.refused) / over.elapsed
    ratio = over.percentile(99) / calm.percentile(99)
    print(
        f"overload, {many} connections, {offered:.0f} requests/s asked ({offered / full.rate:.1f}x)"
    )
    print(
        f"  {over.rate:.0f} answered/s, p99 of accepted {over.percentile(99):.1f} ms, "
        f"{ratio:.1f}x unloaded (bar 2x); {over.refused} refused with 503"
    )
    before = memory(pid)
    long = ask(asker, connections=chosen.connections, requests=chosen.requests)
    grown = (memory(pid) - before) / 1e6
    wrong = calm.wrong + full.wrong + over.wrong + long.wrong
    answered = calm.answered + full.answered + over.answered + long.answered
    print(f"memory: {grown:+.1f} MB over {long.answered} answers (bar 20 MB over 100,000)")
    print(f"answers that are another clip's: {wrong} of {answered} (bar 0)")


if __name__ == "__main__":
    main()
