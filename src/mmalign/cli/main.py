"""The `mmalign` command. Commands import what they need when they run: `--help` stays instant."""

import sys
from typing import Annotated

import typer

from mmalign.cli import bench, data, demo, explain, export, methods, report, serve, train, tune, use
from mmalign.cli.examples import examples
from mmalign.cli.stopping import exit_code, heed_termination
from mmalign.errors import MMAlignError, shown
from mmalign.version import __version__

app = typer.Typer(
    name="mmalign",
    help="Prediction from parallel sequences when a whole modality is missing.",
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
    """Prediction from parallel sequences when a whole modality is missing."""


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 2."""
    heed_termination()
    try:
        app()
    except MMAlignError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {shown(f'{place}{error.strerror or error}')}", err=True)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        typer.echo("interrupted", err=True)
        sys.exit(exit_code(stop))


if __name__ == "__main__":
    main()
