"""`mmalign methods`: what can stand in for a missing modality."""

import json

import typer

from mmalign.cli import options


def methods(as_json: options.AsJson = False) -> None:
    """List the methods: where they come from, parameters they add, cost, and what they do.

    Cost is what a training epoch takes beside one of zero-fill.
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
        "experts, the default without --visible and --victim, impute nothing: each modality has\n"
        "experts of its own, and what those say that a clip has is added up."
    )
