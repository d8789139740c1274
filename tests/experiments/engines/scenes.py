"""Scenes from the life of an engine: real processes that are killed, share work, and fail.

Run: python -m tests.experiments.engines.scenes FOLDER [KILLS]

Prints JSON, by scene. Run by test_local.py in a process of its own, which imports and compiles all
that a run needs once; every engine is a fork of it, so that a restart takes milliseconds.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from mmalign.experiments.engines import worker
from mmalign.experiments.engines.contract import Event
from mmalign.experiments.engines.local import LocalEngine
from mmalign.experiments.grid import Grid
from mmalign.experiments.running import run_grid
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.manifest import MANIFEST
from mmalign.runs.run import Run
from tests.experiments.tiny import SETTINGS, tiny_grid, write_data
from tests.training.small import small_dataset


def big_grid(place: Path, name: str) -> Grid:
    """Eight runs of four epochs."""
    return tiny_grid(
        place / name,
        place / "data",
        seeds=[0, 1, 2, 3],
        settings={**SETTINGS, "epochs": 4},
    )


def in_a_fork(work: Callable[[], object]) -> int:
    """The process id of a child that does the work and ends."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return child


def run(grid: Grid, workers: int = 2) -> Counter[str]:
    """Run a grid in a fork; how often each state was seen."""
    told = grid.folder / "events.json"

    def work() -> None:
        states: Counter[str] = Counter()
        with LocalEngine(workers) as engine:
            run_grid(grid, engine, lambda event: states.update([event.state]))
        told.write_text(json.dumps(states))

    _, status = os.waitpid(in_a_fork(work), 0)
    assert status == 0, status
    states = Counter(json.loads(told.read_text()))
    told.unlink()
    return states


def table(grid: Grid) -> str:
    return (grid.folder / "results.csv").read_text()


def whole(place: Path) -> dict:
    """Uninterrupted, with one worker and with two; the second time it is a matter of nothing."""
    one, two = big_grid(place, "one"), big_grid(place, "two")
    states = run(one, 1)
    started = time.monotonic()
    run(two, 2)
    seconds = time.monotonic() - started
    again = run(two, 2)
    return {
        "states": states,
        "again": again,
        "seconds": seconds,
        "table": table(one),
        "is_same": table(one) == table(two),
        "left_over": [path.name for path in two.folder.rglob(CHECKPOINT)],
    }


def kills(place: Path, count: int, seconds: float) -> dict:
    """Kill the engine at random instants; whenever a grid gets through, another one is begun."""
    chance = random.Random(0)
    killed, number, survivors, resumed = 0, 0, 0, 0
    expected = table(big_grid(place, "one"))
    is_same = []
    while True:
        grid = big_grid(place, f"killed-{number}")
        while killed < count and grid.pending():
            child = in_a_fork(lambda grid=grid: _run_quietly(grid))
            time.sleep(chance.uniform(0, seconds / 8))
            workers = psutil.Process(child).children(recursive=True)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            survivors += len(outliving(workers, seconds=10))
            killed += 1
            resumed += len(list(grid.folder.rglob(CHECKPOINT)))
        number += 1
        run(grid)
        is_same.append(table(grid) == expected)
        if killed == count:
            break
    drafts = [p.name for p in place.glob("killed-*/**/.*") if p.name != ".lock"]
    return {
        "kills": killed,
        "grids": number,
        "is_same": is_same,
        "survivors": survivors,
        "resumed": resumed,
        "left_over": drafts,
    }


def outliving(workers: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that still run when the time is over; who reaps the dead, and when, does not matter."""
    deadline = time.monotonic() + seconds
    while (alive := [w for w in workers if is_alive(w)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return alive


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _run_quietly(grid: Grid) -> None:
    with LocalEngine(2) as engine:
        run_grid(grid, engine, lambda _: None)


def sharing(place: Path) -> dict:
    """Two engines on one grid at once: every run is done by one of them, once."""
    grid = big_grid(place, "shared")
    diary = place / "diary"
    train = Run._train

    def written_down(run: Run, on_epoch) -> dict:
        with diary.open("a") as stream:
            stream.write(f"{os.getppid()} {run.out.name}\n")
        return train(run, on_epoch)

    Run._train = written_down
    try:
        engines = [in_a_fork(lambda: _run_quietly(grid)) for _ in range(2)]
        codes = [os.waitpid(engine, 0)[1] for engine in engines]
    finally:
        Run._train = train
    lines = [line.split() for line in diary.read_text().splitlines()]
    return {
        "codes": codes,
        "by_engine": list(Counter(engine for engine, _ in lines).values()),
        "runs": len(grid.jobs),
        "times": list(Counter(address for _, address in lines).values()),
        "is_same": table(grid) == table(big_grid(place, "one")),
    }


def lost_workers(place: Path) -> dict:
    """A job whose worker is killed is tried once more; killed again, it has failed."""
    grid = tiny_grid(place / "lost", place / "data", settings={**SETTINGS, "epochs": 6})
    told = place / "lost.json"
    unlucky, unlikely = list(grid.jobs)[:2]

    def work() -> None:
        events: list[Event] = []
        lives = {unlucky: 1, unlikely: 2}

        def watch(event: Event) -> None:
            events.append(event)
            if event.state == "started" and lives.get(event.address):
                lives[event.address] -= 1
                _kill_worker_of(grid, event.address)

        with LocalEngine(2) as engine:
            run_grid(grid, engine, watch)
        told.write_text(json.dumps([(e.address, e.state, e.error) for e in events]))

    _, status = os.waitpid(in_a_fork(work), 0)
    failures = grid.failures()
    states = run(grid)
    events = json.loads(told.read_text())
    return {
        "status": status,
        "unlucky": [state for address, state, _ in events if address == unlucky],
        "unlikely": [state for address, state, _ in events if address == unlikely],
        "error": failures.get(unlikely),
        "failures": len(failures),
        "again": states,
        "failures_again": len(grid.failures()),
        "error_files": len(list((grid.folder / "errors").glob("*.json"))),
    }


def _kill_worker_of(grid: Grid, address: str) -> None:
    """Kill the worker that holds the job's directory."""
    lock = str(grid.run_folder(address) / ".lock")
    while True:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if lock in [file.path for file in process.open_files()]:
                    process.kill()
                    return
        time.sleep(0.005)


def failing(place: Path) -> dict:
    """Too few complete clips for one survival rate: those runs fail, the others do not care."""
    grid = tiny_grid(place / "failing", place / "data", survivals=[0.5, 0.01])
    states = run(grid)
    return {
        "states": states,
        "errors": sorted(set(grid.failures().values())),
        "rows": len(table(grid).splitlines()) - 1,
    }


def damaged(place: Path) -> dict:
    """A checkpoint that was cut short, and one of another run, cost their epochs only."""
    grid = tiny_grid(place / "damaged", place / "data", methods=["mmalign"])
    run(grid)
    expected = table(grid)
    for address, content in zip(grid.jobs, (b"short", b""), strict=True):
        (grid.run_folder(address) / MANIFEST).unlink()
        (grid.run_folder(address) / CHECKPOINT).write_bytes(content)
    states = run(grid)
    return {"states": states, "is_same": table(grid) == expected}


def other_data(place: Path) -> dict:
    """Workers that see other data than the grid was made for refuse."""
    grid = tiny_grid(place / "other", "twin", methods=["zero-fill"])
    return {"states": run(grid), "errors": sorted(set(grid.failures().values()))}


def warm_up(folder: Path) -> None:
    """Import what is imported when it is first used."""
    grid = tiny_grid(folder, methods=["mmalign"], seeds=[0, 1])
    for address, job in grid.jobs.items():
        worker.perform(job, small_dataset(), grid.run_folder(address))


def main() -> None:
    place = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    write_data(place / "data")
    warm_up(place / "warm")
    scenes = {"whole": whole(place)}
    seconds = scenes["whole"]["seconds"]
    scenes["kills"] = kills(place, count, seconds)
    for scene in (sharing, lost_workers, failing, damaged, other_data):
        scenes[scene.__name__] = scene(place)
    print(json.dumps(scenes))


if __name__ == "__main__":
    main()
