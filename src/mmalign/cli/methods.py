"""`mmalign methods`: the methods that replace a missing modality."""

import json

import typer

from mmalign.cli import options


def methods(as_json: options.AsJson = False) -> None:
    """List the methods that replace a missing modality.

    The cost is the time of a training epoch relative to zero-fill.
    """
    import torch
    from rich.console import Console

    from mmalign.cli.tables import new_table
    from mmalign.model.backbone import count_parameters
    from mmalign.training.config import Config
    from mmalign.training.methods import METHODS

    rows = []
    for name, method in METHODS.items():
        torch.manual_seed(0)
        count = count_parameters(method.make_imputer(Config()))
        rows.append((name, method.source, count, method.cost, method.summary))
    if as_json:
        keys = "method", "source", "parameters", "cost", "summary"
        typer.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    headings = "method", "source", "parameters", "cost", "what it does"
    table = new_table(*headings, words=["source", "what it does"])
    for name, source, count, cost, summary in rows:
        table.add_row(name, source, f"{count:,}", f"{cost:.1f}x", summary)
    Console().print(table)
    typer.echo(
        "The default, experts, imputes nothing: it adds up the evidence of the\n"
        "modalities that a clip has. It is used unless you pass --method, or\n"
        "--visible and --victim."
    )
