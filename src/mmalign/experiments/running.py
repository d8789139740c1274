"""Run what a grid still lacks."""

from collections.abc import Callable

from mmalign.experiments.cost import longest_first
from mmalign.experiments.engines.contract import Engine, Event
from mmalign.experiments.engines.dispatch import dispatch
from mmalign.experiments.grid import Grid, open_grid
from mmalign.experiments.keeping import Keep, drop_unkept
from mmalign.experiments.tables import write_tables


def run_grid(
    grid: Grid, engine: Engine, watch: Callable[[Event], None], *, keep: Keep = "weights"
) -> None:
    """Do the pending jobs, those that failed before included, and write the tables.

    Finished jobs are kept, unfinished ones go on where they stopped. A job that fails is recorded
    (`Grid.failures`) and does not stop the rest. The tables are written on interruption, too.

    Args:
        grid: What is to be done; its directory may hold more.
        engine: Where it is done; it must have been entered.
        watch: Called with every event.
        keep: Which runs keep their weights when all is done.

    Raises:
        MMAlignError: If the engine cannot go on, or a result file is damaged.
    """
    jobs = longest_first(grid.pending())
    try:
        if jobs:
            for event in dispatch(engine.hire(grid.site, jobs=len(jobs)), grid.site, jobs.items()):
                watch(event)
    finally:
        whole = open_grid(grid.folder)  # another command may have added to it meanwhile
        write_tables(whole)
    drop_unkept(grid, keep)
