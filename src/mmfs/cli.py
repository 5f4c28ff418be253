"""The command line: arguments to public functions, results to the terminal, nothing else."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import mmfs
from mmfs.demo import Demo, run_demo

app = typer.Typer(
    help="Max-margin feature selection: the jointly most relevant, least redundant features.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mmfs {mmfs.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that come before a command."""


@app.command()
def demo(
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="Number of features to select.")] = 6,
    seed: Annotated[int, typer.Option(help="Seed of the generated data.")] = 0,
) -> None:
    """Select features in a generated problem whose answer is known.

    Six signals decide the target together. Each has a twin: a copy in another unit, a mirror
    image or a noisy copy. Forty columns are noise.
    """
    _show(run_demo(k, seed), Console())


def _show(demo: Demo, console: Console) -> None:
    n_rows, n_columns = demo.shape
    selector = demo.selector
    console.print(f"\n{n_rows} instances, {n_columns} features, target: case or control.\n")
    console.print(
        _table(
            "Selected",
            ("rank", "feature", "alpha", "relevance"),
            [
                (str(row.rank), row.Index, f"{row.alpha:.3f}", f"{row.relevance:.3f}")
                for row in demo.selected.itertuples()
            ],
        )
    )
    console.print(
        f"{demo.found} of {demo.planted} signals found. Of identical columns the first stands "
        "for all, and a mirror image tells as much as what it mirrors.\n"
    )
    console.print(
        _table(
            "Relevant, but dropped",
            ("feature", "relevance", "why"),
            [(row.Index, f"{row.relevance:.3f}", row.why) for row in demo.dropped.itertuples()],
        )
    )
    console.print(
        f"Also dropped: {demo.others} other features, no more relevant than chance, and "
        f"{demo.constant} constant.\n"
    )
    console.print(
        f"Certificate: relative duality gap {selector.gap_:.1e} (asked for: {selector.tol:g}); no "
        "other weights could serve the objective better by more than this fraction.\n"
        f"gamma {selector.gamma_:.3g}, {selector.n_passes_} passes over the data, "
        f"{1000 * demo.seconds:.1f} ms."
    )


def _table(title: str, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left")
    words = {"feature", "why"}
    for heading in headings:
        table.add_column(heading, justify="left" if heading in words else "right")
    for row in rows:
        table.add_row(*row)
    return table
