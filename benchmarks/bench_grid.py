"""A grid of 20 runs with one worker and with two: are both cores busy, and is it worth it?

Run: python benchmarks/bench_grid.py [--rounds N]
Bars, on two cores: both busy >= 85 % of the time, start-up included; two workers >= 1.7 x the
throughput of one.

Where others want the cores, too, look at the second pair of figures: time that our processes spent
waiting for a core is read from the kernel (schedstat), counts as busy, and is taken off the clock.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

CORES = 2
RUNS = 20
WORDS = (
    "bench smartwatch --suite main --pairs accelerometer:gyroscope --survival 0.5 "
    "--methods zero-fill,mmalign,uniform-window,dynamic-window,mmalign-improved --seeds 4 "
    "--set epochs=3"
)


@dataclass
class Meter:
    """Seconds on a core and waiting for one, of a process and all that it starts."""

    process: psutil.Popen
    seen: dict[int, tuple[float, float]] = field(default_factory=dict)

    def watch(self) -> None:
        """Look twenty times a second, until the process ends."""
        while self.process.poll() is None:
            with suppress(psutil.Error):
                for one in (self.process, *self.process.children(recursive=True)):
                    self.note(one.pid)
            time.sleep(0.05)

    def note(self, pid: int) -> None:
        """What the kernel says of one process by now."""
        with suppress(OSError):
            threads = [*Path(f"/proc/{pid}/task").iterdir()]
            fields = [(thread / "schedstat").read_text().split() for thread in threads]
            self.seen[pid] = (
                sum(int(on_core) for on_core, *_ in fields) / 1e9,
                sum(int(waited) for _, waited, _ in fields) / 1e9,
            )

    def totals(self) -> tuple[float, float, float]:
        """Seconds on a core; seconds that the command waited for one; that its workers did."""
        on_core = sum(seconds for seconds, _ in self.seen.values())
        waited = sum(seconds for _, seconds in self.seen.values())
        alone = self.seen[self.process.pid][1]
        return on_core, alone, waited - alone


@dataclass(frozen=True)
class Measured:
    """One run of the whole command."""

    wall: float
    on_core: float
    waited_alone: float
    waited_together: float
    workers: int

    @property
    def undisturbed(self) -> float:
        """What the clock would show if nobody else wanted the cores.

        The command itself computes before its workers start and after they end.
        """
        return self.wall - self.waited_alone - self.waited_together / self.workers


def measure(workers: int) -> Measured:
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "mmalign.cli.main", *WORDS.split()]
        command += ["--jobs", str(workers), "--out", f"{out}/grid"]
        started = time.perf_counter()
        process = psutil.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        meter = Meter(process)
        watcher = threading.Thread(target=meter.watch)
        watcher.start()
        told = process.communicate()[0].decode()
        wall = time.perf_counter() - started
        watcher.join()
        if f"{RUNS} of {RUNS} runs are done" not in told:
            raise SystemExit(f"not all runs were done: {told}")
        return Measured(wall, *meter.totals(), workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, help="of the grid with one and two")
    rounds = parser.parse_args().rounds
    found: dict[int, list[Measured]] = {1: [], 2: []}
    for number in range(rounds):
        for workers in (1, 2) if number % 2 == 0 else (2, 1):  # interleaved, in turn
            found[workers].append(measure(workers))
            last = found[workers][-1]
            print(
                f"{workers} worker{'s' * (workers > 1)}: {last.wall:5.1f} s by the clock, "
                f"{last.on_core:5.1f} s on a core; undisturbed {last.undisturbed:5.1f} s",
                flush=True,
            )
    one, two = ([*found[workers]] for workers in (1, 2))
    busy = statistics.median(m.on_core / (CORES * m.wall) for m in two)
    wanted = statistics.median(m.on_core / (CORES * m.undisturbed) for m in two)
    ratio = statistics.median(m.wall for m in one) / statistics.median(m.wall for m in two)
    fair = statistics.median(m.undisturbed for m in one) / statistics.median(
        m.undisturbed for m in two
    )
    print(
        f"as it was:   both cores busy {busy:4.0%} (bar 85 %), throughput {ratio:.2f} x (bar 1.7)"
    )
    print(
        f"undisturbed: both cores busy {wanted:4.0%} (bar 85 %), throughput {fair:.2f} x (bar 1.7)"
    )


if __name__ == "__main__":
    main()
