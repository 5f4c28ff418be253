"""mmfs select and mmfs explain: which features, and why."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mmfs import (
    MMFS,
    MMFSCV,
    PathDisplay,
    ScoresDisplay,
    SelectionDisplay,
    SimilarityDisplay,
)
from mmfs.cli.console import Reporter, note, out, say, table_of
from mmfs.cli.options import (
    OUTPUT,
    Count,
    Force,
    How,
    Source,
    check_outputs,
    folds,
    number,
    option,
)
from mmfs.io import Outputs, Table, stage_table
from mmfs.report import (
    checksum,
    made_redundant,
    record_of,
    selection_page,
    selection_record,
)

# Dropped features that are explained, the most relevant ones; selected ones shown in the terminal.
EXPLAINED, SHOWN = 200, 50

NUMBERS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)

Output = Annotated[
    Path | None,
    option("-o", "--output", help="Write the data reduced to the selected features, in any format, "
           "and a record of the run as FILE.json.", panel=OUTPUT),
]  # fmt: skip
Page = Annotated[
    Path | None, option("--report", help="Write a page with tables and plots.", panel=OUTPUT)
]
Json = Annotated[
    bool, option("--json", help="Print a record of the run instead of tables.", panel=OUTPUT)
]
Folds = Annotated[
    int | None,
    option("--cv", help="Folds of cross-validation: scores for numbers of features up to -k "
           "(default for -k auto: 5).", panel="Selection"),
]  # fmt: skip
Rule = Annotated[
    str,
    option("--rule", help="With -k auto: best (default), or one_se for the fewest within one "
           "standard error of it.", panel="Selection"),
]  # fmt: skip


def select(
    progress: Reporter,
    *,
    source: Source,
    k: Count = None,
    cv: Folds = None,
    rule: Rule = "best",
    how: How,
    output: Output = None,
    report: Page = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Select features, and say why.

    Examples:

      mmfs select genes.csv --target diagnosis -k 20

      mmfs select genes.tsv.gz --transpose --target labels.txt -k auto --report genes.html

      mmfs select clicks.svm.gz -k 100 -o small.svm --json > record.json
    """
    with Outputs(force) as outputs:
        check_outputs(outputs, output, page=report)
        n_features = None if k == "auto" else number(k)
        data = source.read_labelled(progress)
        start = time.perf_counter()
        with ThreadPoolExecutor(1) as pool:
            wanted = output is not None or report is not None or as_json
            sha256 = pool.submit(checksum, source.data) if wanted else None
            selector, scores = _fitted(data, how, k == "auto", n_features, cv, rule, progress)
            selection = SelectionDisplay.from_estimator(
                selector, data.data, n_dropped=EXPLAINED, names=data.name, plot=False
            )
            seconds = time.perf_counter() - start
            record: dict[str, Any] = {}
            if sha256 is not None:
                command = ["mmfs", *sys.argv[1:]]
                record = record_of(source.data, sha256.result(), data, command)
                record |= selection_record(selector, selection.frame)
        if output is not None:
            _write(data, selector, output, record, outputs)
        if report is not None:
            page = _page(record, selection, selector, data, scores, progress)
            outputs.stage(report).write_text(page, encoding="utf-8")
    progress.close()
    if as_json:
        print(json.dumps(record, indent=2))
    else:
        _show(data, selector, selection, scores, seconds)
    for path in (output, report):
        if path is not None:
            note(f"wrote {path}")


def _fitted(
    data: Table,
    how: How,
    auto: bool,
    n_features: int | None,
    cv: int | None,
    rule: str,
    progress: Reporter,
) -> tuple[MMFS, ScoresDisplay | None]:
    """The selector and, if cross-validation was asked for, scores against numbers of features."""
    selector = how.selector(n_features, progress)
    if not auto:
        selector.fit(data.data, data.y)
        if cv is None:
            return selector, None
    tried = None if auto else [*(n for n in NUMBERS if n < len(selector.indices_))]
    search = MMFSCV(
        n_features=tried if tried is None else [*tried, len(selector.indices_)],
        gammas="auto" if isinstance(selector.gamma, str) else [selector.gamma],
        cv=folds(cv),
        rule=rule,
        selector=how.selector(None, progress).set_params(gamma="auto"),
        random_state=how.seed,
        n_jobs=how.jobs,
        verbose=progress.function,
    ).fit(data.data, data.y, groups=data.groups)
    scores = ScoresDisplay.from_estimator(search, plot=False)
    if auto:
        return search.best_selector_, scores
    scores.chosen = len(selector.indices_)
    return selector, scores


def _write(
    data: Table, selector: MMFS, output: Path, record: dict[str, Any], outputs: Outputs
) -> None:
    lost = stage_table(data.take(np.sort(selector.indices_)), output, outputs)
    if lost:
        note(f"note: {output} does not hold {' and '.join(lost)}.")
    beside = output.with_name(output.name + ".json")
    outputs.stage(beside).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _page(
    record: dict[str, Any],
    selection: SelectionDisplay,
    selector: MMFS,
    data: Table,
    scores: ScoresDisplay | None,
    progress: Reporter,
) -> str:
    similarity = SimilarityDisplay.from_estimator(selector, data.data, names=data.name, plot=False)
    path = None
    if selector.formulation != "constrained":
        options = selector.get_params() | {"n_features_to_select": len(selector.indices_)}
        path = PathDisplay.from_data(data.data, data.y, names=data.name, plot=False, **options)
    return selection_page(record, selection, similarity, path, scores)


def _show(
    data: Table,
    selector: MMFS,
    selection: SelectionDisplay,
    scores: ScoresDisplay | None,
    seconds: float,
) -> None:
    frame = selection.frame
    kept = frame[frame["selected"]].sort_values("rank")
    redundant = made_redundant(frame)
    rows = [
        (
            str(row.rank),
            str(row.Index),
            f"{row.alpha:.4f}",
            f"{row.relevance:.3f}",
            f"{row.redundancy:.3f}",
            _few(redundant[str(row.Index)]),
        )
        for row in kept.head(SHOWN).itertuples()
    ]
    headings = ("rank", "feature", "alpha", "relevance", "redundancy", "makes redundant")
    out.print(table_of(headings, rows))
    if len(kept) > SHOWN:
        say(f"... and {len(kept) - SHOWN:,} more; --json, -o and --report have them all.")
    n_rows, n_columns = data.X.shape
    say(
        f"{len(kept):,} of {n_columns:,} features selected from {n_rows:,} instances in "
        f"{seconds:.1f} s and {selector.n_passes_} passes over the data."
    )
    if scores is not None and scores.chosen_score is not None:
        at = int(np.flatnonzero(scores.n_features == scores.chosen)[0])
        say(
            f"Cross-validated {scores.score_name} with {scores.chosen} features: "
            f"{scores.chosen_score:.3f} (standard error {scores.error[at]:.3f})."
        )
    say(
        f"Certificate: relative duality gap {selector.gap_:.1e}, so no other weights could be "
        f"better by more than this fraction."
    )


def _few(names: list[str], most: int = 2) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def explain(
    progress: Reporter,
    *,
    source: Source,
    features: Annotated[
        list[str], typer.Argument(help="Features to explain, by name.", show_default=False)
    ],
    k: Count = None,
    how: How,
    as_json: Json = False,
) -> None:
    """Say why features are selected or dropped.

    Examples:

      mmfs explain genes.csv CST3 --target diagnosis -k 20

      mmfs explain clicks.svm 17 4711 -k 100
    """
    if k == "auto":
        raise ValueError("mmfs explain needs a number for -k; mmfs select -k auto finds one.")
    data = source.read_labelled(progress)
    columns = [data.column(name) for name in features]
    selector = how.selector(number(k), progress).fit(data.data, data.y)
    frame = selector.explain(data.data, columns, names=data.name)
    progress.close()
    if as_json:
        rows = frame.reset_index().astype({"rank": object}).to_dict("records")
        print(json.dumps(rows, indent=2, default=str))
        return
    for row in frame.itertuples():
        rank = f"rank {row.rank} of {len(selector.indices_):,}" if row.selected else "dropped"
        say(f"[bold]{_plain(row.Index)}[/bold] ({rank}): {_plain(row.why)}")
        say(
            f"  alpha {row.alpha:.4f}, relevance {row.relevance:.3f}, redundancy "
            f"{row.redundancy:.3f}, margin {row.margin:+.3f}"
        )
        causes = list(row.causes.items())[:10]
        if causes:
            cells = [(str(name), f"{term:.4f}") for name, term in causes]
            out.print(table_of(("feature", "redundancy through it"), cells))


def _plain(text: Any) -> str:
    from rich.markup import escape

    return escape(str(text))
