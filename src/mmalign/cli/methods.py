"""`mmalign methods`: who can stand in for a missing modality."""


def methods() -> None:
    """List the methods: what they do, where they come from, how many parameters they add."""
    import torch
    from rich.console import Console
    from rich.table import Table

    from mmalign.model.backbone import count_parameters
    from mmalign.training.config import Config
    from mmalign.training.methods import METHODS

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("method", "source", "parameters", "what it does"):
        table.add_column(heading, justify="right" if heading == "parameters" else "left")
    for name, method in METHODS.items():
        torch.manual_seed(0)
        imputer = method.make_imputer(Config())
        table.add_row(name, method.source, f"{count_parameters(imputer):,}", method.summary)
    Console().print(table)
