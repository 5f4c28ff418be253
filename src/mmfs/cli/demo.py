"""mmfs demo: a problem whose answer is known."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import typer

from mmfs import MMFS
from mmfs.cli.console import Reporter, out, say, table_of, wrote
from mmfs.cli.options import Force
from mmfs.cli.source import OUTPUT, option
from mmfs.datasets import make_planted
from mmfs.io import Table, write_table
from mmfs.relevance import level_of_chance


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
        f"{selector.n_constant_} constant.\n"
    )
    say(
        f"Certificate: relative duality gap {selector.gap_:.1e} (asked for: {selector.tol:g}); no "
        "other weights could serve the objective better by more than this fraction.\n"
        f"gamma {selector.gamma_:.3g}, {selector.n_scans_} scans of the data, "
        f"{1000 * demo.seconds:.1f} ms."
    )
    wrote(output)


def run_demo(n_features: int = 6, random_state: int = 0) -> SimpleNamespace:
    """Select from the planted problem and sort every column into kept, redundant, irrelevant."""
    import pandas  # slow to load

    X, y, names = make_planted(random_state=random_state)
    X = pandas.DataFrame(X, columns=names)
    MMFS(n_features).fit(X, y)  # compiles, the first time
    start = time.perf_counter()
    selector = MMFS(n_features).fit(X, y)
    seconds = time.perf_counter() - start

    frame = selector.explain(X, list(names))
    selected = frame[frame["selected"]].sort_values("rank")
    n_varying = X.shape[1] - selector.n_constant_
    relevant = frame["relevance"] > level_of_chance(n_varying, X.shape[0], 1)
    dropped = frame[relevant & ~frame["selected"]]
    dropped = dropped.sort_values("relevance", ascending=False, kind="stable")
    return SimpleNamespace(
        selector=selector,
        shape=X.shape,
        seconds=seconds,
        selected=selected,
        dropped=dropped,  # of those that are more relevant than chance
        others=len(frame) - len(selected) - len(dropped) - selector.n_constant_,
        planted=sum(name.startswith("signal") for name in names),
        found=len({name.split()[-1] for name in selected.index if not name.startswith("noise")}),
    )
