"""`mmalign methods`: what can stand in for a missing modality."""

import typer


def methods() -> None:
    """List the methods: where they come from, parameters they add, cost, and what they do.

    Cost is what a training epoch takes beside one of zero-fill.
    """
    import torch
    from rich.console import Console

    from mmalign.cli.tables import new_table
    from mmalign.model.backbone import count_parameters
    from mmalign.training.config import Config
    from mmalign.training.methods import METHODS

    headings = "method", "source", "parameters", "cost", "what it does"
    table = new_table(*headings, words=["source", "what it does"])
    for name, method in METHODS.items():
        torch.manual_seed(0)
        imputer = method.make_imputer(Config())
        parameters, cost = f"{count_parameters(imputer):,}", f"{method.cost:.1f}x"
        table.add_row(name, method.source, parameters, cost, method.summary)
    Console().print(table)
    typer.echo(
        "experts, the default without --visible and --victim, impute nothing: each modality has\n"
        "experts of its own, and what those say that a clip has is added up."
    )
