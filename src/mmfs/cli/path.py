"""mmfs path: what enters as the pressure towards few features falls."""

from pathlib import Path
from typing import Annotated

import numpy as np

from mmfs import PathDisplay, mmfs_path
from mmfs.cli.console import Reporter, out, table_of, wrote
from mmfs.cli.options import Force, How, Picture, check_outputs, save_picture
from mmfs.cli.source import METHOD, OUTPUT, Source, option
from mmfs.io import Outputs, Table, stage_table

Most = Annotated[
    int | None,
    option("-k", help="Where to end: at the gamma for so many features (default 100, or half as "
           "many as there are rows or columns).", panel=METHOD, min=1),
]  # fmt: skip
Points = Annotated[
    int, option("--points", help="Points on the path (default 50).", panel=METHOD, min=2)
]
Weights = Annotated[
    Path | None,
    option("-o", "--output", help="Write gamma, bias, gap and the weights of all features that "
           "enter, a row per point.", panel=OUTPUT),
]  # fmt: skip


def path(
    progress: Reporter,
    *,
    source: Source,
    k: Most = None,
    points: Points = 50,
    how: How,
    output: Weights = None,
    plot: Picture = None,
    force: Force = False,
) -> None:
    """Follow the selection as the pressure towards few features falls.

    Examples:

      mmfs path genes.csv --target diagnosis -k 30

      mmfs path genes.csv --target diagnosis --plot path.svg -o weights.csv
    """
    with Outputs(force) as outputs:
        check_outputs(outputs, source, output, plot)
        data = source.read_labelled(progress)
        options = how.selector(k, progress, data).get_params()
        found = mmfs_path(data.data, data.y, gammas=points, **data.given, **options)
        display = PathDisplay(found, None if how.feature_groups else data.name)
        if output is not None:
            stage_table(_weights(display), output, outputs)
        if plot is not None:
            save_picture(display.plot(), plot, outputs)
    progress.close()
    rows = []
    for i in range(len(found)):
        entering = [display.name(j) for j in found.order[found.entered == i]]
        if entering:
            gamma, n = f"{found.gammas[i]:.4g}", str(found.n_support[i])
            rows.append((gamma, n, f"{found.gaps[i]:.1e}", ", ".join(entering)))
    out.print(table_of(("gamma", "support", "gap", "enters"), rows))
    wrote(output, plot)


def _weights(display: PathDisplay) -> Table:
    path = display.path
    facts = {"gamma": path.gammas, "b": path.b, "n_support": path.n_support, "gap": path.gaps}
    weights = path.alphas.tocsr()[path.order].toarray().T
    names = [*facts, *(f"alpha of {display.name(j)}" for j in path.order)]
    return Table(np.column_stack([*facts.values(), weights]), feature_names=np.array(names))
