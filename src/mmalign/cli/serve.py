"""`mmalign serve`: a run behind HTTP, and a page to try it."""

from contextlib import closing
from typing import Annotated

import typer

from mmalign.cli import options
from mmalign.errors import ConfigError, MMAlignError
from mmalign.serving.limits import Limits


def serve(
    run: options.RunPath,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 opens it to other machines.")
    ] = ("127.0.0.1"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    examples: Annotated[
        str | None, typer.Option(help="Dataset whose clips the page shows.")
    ] = None,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    max_batch: Annotated[
        int, typer.Option(min=1, help="Maximum number of clips computed together.")
    ] = Limits.max_batch,
    max_queue: Annotated[
        int, typer.Option(min=1, help="Maximum number of clips in the queue.")
    ] = Limits.max_queue,
    max_clips: Annotated[
        int, typer.Option(min=1, help="Maximum number of clips per request.")
    ] = Limits.max_clips,
    max_steps: Annotated[
        int, typer.Option(min=1, help="Maximum length of a sequence.")
    ] = Limits.max_steps,
    max_bytes: Annotated[
        int, typer.Option(min=1, help="Maximum size of a request in bytes.")
    ] = Limits.max_bytes,
    device: options.Device = "auto",
    threads: options.Threads = 1,
) -> None:
    """Serve predictions over HTTP, with a page to try them.

    POST /v1/predict takes clips with any subset of the modalities.

    The WebSocket /v1/stream takes live sensors; GET /v1/model describes the model.

    On SIGTERM the service answers the requests it has, and exits.
    """
    try:
        from mmalign.serving.server import bind, make_server
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serving needs {error.name}. Install it: pip install 'mmalign[serve]'"
        ) from error
    from mmalign.data import load_dataset
    from mmalign.serving.service import Service
    from mmalign.serving.worker import ProcessWorker, keep_collector_away

    limits = Limits(
        max_batch=max_batch,
        max_queue=max_queue,
        max_clips=max_clips,
        max_steps=max_steps,
        max_bytes=max_bytes,
    )
    with bind(host, port) as listening, closing(ProcessWorker(run, device, threads)) as worker:
        clips = None
        if examples is not None:
            clips = load_dataset(examples, non_finite=non_finite, label=label, vectors=vectors)
        service = Service(worker, worker.facts(), limits, clips)
        keep_collector_away()
        make_server(service, _announce).run(sockets=[listening])
    if service.queue.is_broken:
        raise MMAlignError("the model's process has died; start the service again")


def _announce(address: str) -> None:
    typer.echo(f"serving: {address}  (Ctrl-C to stop)")
