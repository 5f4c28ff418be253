"""mmfs demo: a problem whose answer is known."""

from pathlib import Path
from typing import Annotated

import typer

from mmfs.cli.console import Reporter, out, say, table_of, wrote
from mmfs.cli.options import OUTPUT, Force, option
from mmfs.datasets import make_planted
from mmfs.demo import run_demo
from mmfs.io import Table, write_table


def demo(
    progress: Reporter,
    *,
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="Number of features to select.")] = 6,
    seed: Annotated[int, typer.Option(help="Seed of the generated data.", min=0)] = 0,
    output: Annotated[
        Path | None,
        option("-o", "--output", help="Write the data, to try other commands on.", panel=OUTPUT),
    ] = None,
    force: Force = False,
) -> None:
    """Select features in a generated problem whose answer is known.

    Six signals decide the target together. Each has a twin: a copy in another unit, a mirror
    image or a noisy copy. Forty columns are noise.

    Examples:

      mmfs demo

      mmfs demo -o planted.csv
    """
    if output is not None:
        X, y, names = make_planted(random_state=seed)
        write_table(Table(X, y, names, target_name="group"), output, force=force)
    demo = run_demo(k, seed)
    n_rows, n_columns = demo.shape
    selector = demo.selector
    say(f"\n{n_rows} instances, {n_columns} features, target: case or control.\n")
    kept = [
        (str(row.rank), row.Index, f"{row.weight:.3f}", f"{row.relevance:.3f}")
        for row in demo.selected.itertuples()
    ]
    out.print(table_of(("rank", "feature", "weight", "relevance"), kept, "Selected"))
    say(
        f"{demo.found} of {demo.planted} signals found. Of identical columns the first stands "
        "for all, and a mirror image tells as much as what it mirrors.\n"
    )
    dropped = [(row.Index, f"{row.relevance:.3f}", row.why) for row in demo.dropped.itertuples()]
    out.print(table_of(("feature", "relevance", "why"), dropped, "Relevant, but dropped"))
    say(
        f"Also dropped: {demo.others} other features, no more relevant than chance, and "
        f"{demo.constant} constant.\n"
    )
    say(
        f"Certificate: relative duality gap {selector.gap_:.1e} (asked for: {selector.tol:g}); no "
        "other weights could serve the objective better by more than this fraction.\n"
        f"gamma {selector.gamma_:.3g}, {selector.n_scans_} scans of the data, "
        f"{1000 * demo.seconds:.1f} ms."
    )
    wrote(output)
