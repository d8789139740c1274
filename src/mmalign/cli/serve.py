"""`mmalign serve`: a run behind HTTP, and a page to try it."""

from typing import Annotated

import typer

from mmalign.cli import options
from mmalign.errors import ConfigError, MMAlignError


def serve(
    run: options.RunPath,
    host: Annotated[str, typer.Option(help="Address to listen on; default: this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    examples: Annotated[
        str | None, typer.Option(help="Dataset whose clips the page shows; any format, or a name.")
    ] = None,
    max_batch: Annotated[int, typer.Option(min=1, help="Clips computed at once.")] = 12,
    max_queue: Annotated[int, typer.Option(min=1, help="Clips that may wait.")] = 12,
    max_clips: Annotated[int, typer.Option(min=1, help="Clips of a request.")] = 256,
    max_steps: Annotated[int, typer.Option(min=1, help="Steps of a sequence.")] = 2000,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 8 << 20,
    device: options.Device = "auto",
    threads: options.Threads = 1,
) -> None:
    """Answer over HTTP, whatever modalities a request brings; open the address for a page.

    POST /v1/predict takes clips, /v1/stream a live sensor; GET /v1/model tells what the model
    reads. SIGTERM answers what was sent, then ends.
    """
    try:
        from mmalign.serving.server import bind, make_server
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serving needs {error.name}. Install it: pip install 'mmalign[serve]'"
        ) from error
    from mmalign.data import load_dataset
    from mmalign.serving.limits import Limits
    from mmalign.serving.service import Service
    from mmalign.serving.worker import ProcessWorker, keep_collector_away

    limits = Limits(
        max_batch=max_batch,
        max_queue=max_queue,
        max_clips=max_clips,
        max_steps=max_steps,
        max_bytes=max_bytes,
    )
    with bind(host, port) as listening:
        worker = ProcessWorker(run, device, threads)
        clips = None if examples is None else load_dataset(examples)
        service = Service(worker, worker.facts(), limits, clips)
        keep_collector_away()
        make_server(service, _announce).run(sockets=[listening])
    if service.queue.is_broken:
        raise MMAlignError("the model's process has died; start the service again")


def _announce(address: str) -> None:
    typer.echo(f"serving: {address}  (Ctrl-C stops)")
