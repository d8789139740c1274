"""The `mmalign` command. Commands import what they need when they run: `--help` stays instant."""

import gc
import io
import sys
from typing import Annotated

import typer

from mmalign.cli import bench, data, demo, explain, export, methods, report, serve, train, tune, use
from mmalign.cli.examples import examples
from mmalign.cli.stopping import heed_termination
from mmalign.errors import MMAlignError, is_memory_exhausted, shown
from mmalign.version import __version__

OBJECTS = 50_000
"""After so many new objects garbage is looked for. Modules stay: Python's usual 700 take a tenth of
the time in which a command imports its own."""

app = typer.Typer(
    name="mmalign",
    help="Predict from parallel sequences when modalities are missing.",
    epilog=examples(""),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
for command in (
    demo.demo,
    train.train,
    tune.tune,
    bench.bench,
    methods.methods,
    use.evaluate,
    use.predict,
    explain.explain,
    report.report,
    export.export,
    serve.serve,
):
    app.command(epilog=examples(command.__name__))(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mmalign {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Show the version.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Predict from parallel sequences when modalities are missing."""


def main() -> None:
    """Run the command line; our own errors print one line and exit with 2."""
    gc.set_threshold(OBJECTS)
    heed_termination()
    _show_what_the_terminal_can()
    try:
        app()
    except MMAlignError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {shown(f'{place}{error.strerror or error}')}", err=True)
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not is_memory_exhausted(error):
            raise
        told = "not enough memory. Use shorter or fewer clips, or a smaller dim or batch_size."
        typer.echo(f"error: {told}", err=True)
        sys.exit(2)
    except UnicodeEncodeError as error:
        told = f"{error.object!r} cannot be written as {error.encoding}. Give another name."
        typer.echo(f"error: {shown(told)}", err=True)
        sys.exit(2)


def _show_what_the_terminal_can() -> None:
    """Escape characters that the terminal cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
