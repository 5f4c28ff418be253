"""mmfs compare: methods of selection on the user's own data."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from mmfs import Comparison, ComparisonDisplay, compare
from mmfs.cli.console import Reporter, note, out, say, table_of, wrote
from mmfs.cli.options import (
    Force,
    How,
    Json,
    Page,
    Picture,
    check_outputs,
    folds,
    run_record,
    save_page,
    save_picture,
)
from mmfs.cli.source import METHOD, OUTPUT, Source, option
from mmfs.compare import METHODS
from mmfs.io import Outputs, Table, stage_table
from mmfs.report import as_json, comparison_page

Numbers = Annotated[
    str | None,
    option("-k", help="Numbers of features, as in 5,10,20 (default 1,2,5,10,20,50,100).",
           panel=METHOD),
]  # fmt: skip
Methods = Annotated[
    str | None,
    option("--methods", help=f"Some of {', '.join(METHODS)}, with commas between them; all; "
           "default: the faster ones.", panel=METHOD),
]  # fmt: skip
Scores = Annotated[
    Path | None, option("-o", "--output", help="Write the scores as a table.", panel=OUTPUT)
]
Folds = Annotated[
    int | None, option("--cv", help="Folds of cross-validation (default 5).", panel=METHOD)
]


def compare_methods(
    progress: Reporter,
    *,
    source: Source,
    k: Numbers = None,
    methods: Methods = None,
    cv: Folds = None,
    how: How,
    output: Scores = None,
    plot: Picture = None,
    report: Page = None,
    as_record: Json = False,
    force: Force = False,
) -> None:
    """Compare methods of selection on your data, by cross-validation.

    Examples:

      mmfs compare genes.csv --target diagnosis

      mmfs compare genes.csv --target diagnosis -k 5,10,20 --methods mmfs,mrmr --report c.html
    """
    with Outputs(force) as outputs:
        check_outputs(outputs, source, output, plot, report)
        chosen = None
        if methods is not None:
            chosen = list(METHODS) if methods == "all" else _split(methods)
        data = source.read_labelled(progress)
        assert data.y is not None
        result = compare(
            data.data,
            data.y,
            methods=chosen,
            n_features=None if k is None else _whole(k),
            selector=how.selector(None, progress, data).set_params(verbose=0),
            cv=folds(cv),
            groups=data.groups,
            **data.given,
            random_state=how.seed,
            progress=progress,
        )
        if not result.scores:
            name, problem = next(iter(result.problems.items()))
            raise ValueError(f"no method could take part; {name}: {problem}")
        record: dict[str, Any] = {}
        if report is not None or as_record:
            record = run_record(source.checksums(), data, how)
        if output is not None:
            stage_table(_as_table(result), output, outputs)
        if plot is not None:
            save_picture(ComparisonDisplay(result).plot(), plot, outputs)
        if report is not None:
            save_page(comparison_page(record, result), report, outputs)
    progress.close()
    if as_record:
        frame = result.to_frame().to_dict("records")
        print(as_json(record | {"scores": frame, "problems": result.problems}))
    else:
        _show(result)
    wrote(output, plot, report)


def _show(result: Comparison) -> None:
    rows = []
    for name in result.scores:
        cells = [
            f"{mean:.3f} ±{error:.3f}"
            for mean, error in zip(result.mean(name), result.error(name), strict=True)
        ]
        rows.append((name, *cells, f"{result.typical_seconds(name):.3f}"))
    headings = ("method", *(str(n) for n in result.n_features), "seconds")
    title = f"Cross-validated {result.score_name} by number of features (± standard error)"
    out.print(table_of(headings, rows, title))
    say(f"Without any feature: {result.baseline:.3f}.")
    for name, problem in result.problems.items():
        note(f"note: {name} could not take part: {problem}")


def _as_table(result: Comparison) -> Table:
    frame = result.to_frame()
    numbers = frame.drop(columns="method")
    return Table(
        numbers.to_numpy(dtype=float),
        frame["method"].to_numpy(dtype=str),
        np.array(numbers.columns, dtype=str),
        target_name="method",
    )


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _whole(text: str) -> list[int]:
    parts = _split(text)
    if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"-k takes whole numbers, as in 5,10,20; got {text!r}.")
    return [int(part) for part in parts]
