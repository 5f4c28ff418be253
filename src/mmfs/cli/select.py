"""mmfs select and mmfs explain: which features, and why."""

import csv
import time
import warnings
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
from mmfs.cli.console import Reporter, note_lost, out, say, table_of, wrote
from mmfs.cli.options import (
    Count,
    Escape,
    Force,
    How,
    Json,
    Page,
    Workers,
    check_outputs,
    folds,
    number,
    run_record,
    save_page,
)
from mmfs.cli.source import OUTPUT, Source, option
from mmfs.io import Outputs, Table, stage_table, without_formula
from mmfs.report import (
    HIGHER,
    as_json,
    in_words,
    selection_page,
    selection_record,
)
from mmfs.warn import ChanceWarning

# Dropped features that are explained, the most relevant ones; selected ones shown in the terminal.
EXPLAINED, SHOWN = 200, 50

Output = Annotated[
    Path | None,
    option("-o", "--output", help="Write the data reduced to the selected features, in any format, "
           "and a record of the run as FILE.json.", panel=OUTPUT),
]  # fmt: skip
Ranking = Annotated[
    Path | None,
    option("--ranking", help="Write the ranked features, with weights and reasons, as CSV.",
           panel=OUTPUT),
]  # fmt: skip
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
    cluster: Workers,
    output: Output = None,
    ranking: Ranking = None,
    report: Page = None,
    as_record: Json = False,
    escape: Escape = False,
    force: Force = False,
) -> None:
    """Select features, and say why.

    Examples:

      mmfs select genes.csv --target diagnosis -k 20

      mmfs select genes.tsv.gz --transpose --target labels.txt -k auto --report genes.html

      mmfs select clicks.svm.gz -k 100 -o small.svm --json > record.json

      mmfs select clicks -k 100 --workers 8
    """
    if rule != "best" and k != "auto":
        raise ValueError("--rule chooses a number of features, so it needs -k auto.")
    n_features = None if k == "auto" else number(k)
    beside = None if output is None else output.with_name(output.name + ".json")
    with Outputs(force) as outputs:
        check_outputs(outputs, source, output, page=report)
        outputs.check(beside, ranking)
        data = source.read_labelled(progress)
        start = time.perf_counter()
        with ThreadPoolExecutor(1) as pool, cluster.at_work(data.data) as X:
            checksums = pool.submit(source.checksums)
            selector, scores, path = _fitted(
                data, X, how, k == "auto", n_features, cv, rule, progress, report is not None
            )
            selection = SelectionDisplay.from_estimator(
                selector, X, n_dropped=EXPLAINED, names=data.name, plot=False
            )
            seconds = time.perf_counter() - start
            record = run_record(checksums.result(), data, how)
            record["data"]["assumed"] += in_words(selector)
        record |= selection_record(selector, selection.frame, data, scores)
        if output is not None and beside is not None:
            small = data.take(np.sort(selector.indices_))
            lost = stage_table(small, output, outputs, escape_formulas=escape)
            outputs.stage(beside).write_text(as_json(record) + "\n", encoding="utf-8")
            note_lost(output, lost)
        if ranking is not None:
            write_ranking(record["selected"], outputs.stage(ranking), escape)
        if report is not None:
            alike = SimilarityDisplay.from_estimator(
                selector, data.data, names=data.name, plot=False
            )
            save_page(selection_page(record, selection, alike, path, scores), report, outputs)
    progress.close()
    if as_record:
        print(as_json(record))
    else:
        _show(record, k == "auto", seconds)
    wrote(output, beside, ranking, report)


def _fitted(
    data: Table,
    X: Any,
    how: How,
    auto: bool,
    n_features: int | None,
    cv: int | None,
    rule: str,
    progress: Reporter,
    with_path: bool,
) -> tuple[MMFS, ScoresDisplay | None, PathDisplay | None]:
    """The selector and, if they are asked for, scores against numbers of features, and the path."""
    warnings.simplefilter("ignore", ChanceWarning)  # what it says is part of the result
    selector, path = how.selector(n_features, progress, data), None
    with_path &= selector.formulation != "constrained"
    names = None if how.feature_groups else data.name
    if not auto:
        if with_path:
            path = PathDisplay(selector.fit_path(X, data.y, **data.given), names)
        else:
            selector.fit(X, data.y, **data.given)
        if cv is None:
            return selector, None, path
    search = MMFSCV(
        n_features=None if auto else len(selector.weights_),
        gammas="auto" if isinstance(selector.gamma, str) else [selector.gamma],
        cv=folds(cv),
        rule=rule,
        selector=how.selector(None, progress, data).set_params(gamma="auto"),
        refit=auto,
        random_state=how.seed,
        n_jobs=how.jobs,
        verbose=progress.function,
    )
    if auto and with_path:
        path = PathDisplay(search.fit_path(X, data.y, groups=data.groups, **data.given), names)
    else:
        search.fit(X, data.y, groups=data.groups, **data.given)
    scores = ScoresDisplay.from_estimator(search, plot=False)
    if auto:
        selector = search.best_selector_
    else:
        scores.chosen = len(selector.weights_)
    return selector, scores, path


def write_ranking(rows: list[dict[str, Any]], path: Path, escape: bool) -> None:
    with path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            row = row | {"makes_redundant": "; ".join(row["makes_redundant"])}
            plain = {key: without_formula(cell) for key, cell in row.items()}
            writer.writerow(plain if escape else row)


def _show(record: dict[str, Any], auto: bool, seconds: float) -> None:
    kept, data, result = record["selected"], record["data"], record["result"]
    if result["noise"] is not None:
        say(f"This may be noise: {result['noise']}")
    rows = [
        (
            str(row["rank"]),
            row["feature"],
            "in" if row["must_be_in"] else f"{row['weight']:.4f}",
            f"{row['relevance']:.3f}",
            f"{row['redundancy']:.3f}",
            row["direction"].removeprefix(HIGHER),
            _few(row["makes_redundant"]),
        )
        for row in kept[:SHOWN]
    ]
    direction = "higher in" if kept[0]["direction"].startswith(HIGHER) else "direction"
    headings = ("rank", "feature", "weight", "relevance", "redundancy", direction)
    out.print(table_of((*headings, "makes redundant"), rows))
    if len(kept) > SHOWN:
        say(f"... and {len(kept) - SHOWN:,} more; --ranking, --json and --report have them all.")
    say(
        f"{len(kept):,} of {data['features']:,} features selected from {data['instances']:,} "
        f"instances in {seconds:.1f} s and {result['scans']} scans of the data."
    )
    say(f"Target {data['target'] or ''}: {data['target_holds']}.".replace(" :", ":"))
    if data["assumed"]:
        say(f"Assumed: {'; '.join(data['assumed'])}.")
    without = sum(row["weight"] == 0 and not row["must_be_in"] for row in kept)
    if without:
        say(f"{without} of them have no weight: they are next in line, to make up the number.")
    if record["scores"] is not None:
        _show_scores(record["scores"], auto)
    say(f"Rank: {result['ranked_by']}.")
    say(
        f"Certificate: relative duality gap {result['relative_gap']:.1e} over all features; no "
        "other joint solution to choose from could be better by more than this fraction."
    )


def _show_scores(scores: dict[str, Any], auto: bool) -> None:
    curve = list(zip(scores["n_features"], scores["mean"], scores["standard_error"], strict=True))
    cells = [(str(n), f"{mean:.3f}", f"{error:.3f}") for n, mean, error in curve]
    out.print(table_of(("features", scores["score"], "standard error"), cells))
    chosen = next(mean for n, mean, _ in curve if n == scores["chosen"])
    note_on = " (chosen among those tried, so somewhat optimistic)" if auto else ""
    say(
        f"Cross-validated {scores['score']} with {scores['chosen']} features: {chosen:.3f}"
        f"{note_on}; without any: {scores['without_features']:.3f}."
    )
    _, best, error = max(curve, key=lambda point: point[1])
    fewest = next(n for n, mean, _ in curve if mean >= best - error)
    if auto and fewest < scores["chosen"]:
        say(f"{fewest} features are within one standard error of the best: --rule one_se.")


def _few(names: list[str], most: int = 1) -> str:
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
    as_record: Json = False,
) -> None:
    """Say why features are selected or dropped.

    Examples:

      mmfs explain genes.csv CST3 --target diagnosis -k 20

      mmfs explain clicks.svm 17 4711 -k 100
    """
    if k == "auto":
        raise ValueError("mmfs explain needs a number for -k; mmfs select -k auto finds one.")
    data = source.read_labelled(progress)
    columns: Any = features
    if how.feature_groups is None:
        columns = [data.column(name) for name in features]
    selector = how.selector(number(k), progress, data)
    selector.fit(data.data, data.y, **data.given)
    frame = selector.explain(data.data, columns, names=data.name)
    progress.close()
    if as_record:
        rows = frame.reset_index().astype({"rank": object}).to_dict("records")
        print(as_json([row | {"rank": row["rank"] if row["selected"] else None} for row in rows]))
        return
    for row in frame.itertuples():
        rank = f"rank {row.rank} of {len(selector.weights_):,}" if row.selected else "dropped"
        say(f"{row.Index} ({rank}): {row.why}")
        say(
            f"  weight {row.weight:.4f}, relevance {row.relevance:.3f}, redundancy "
            f"{row.redundancy:.3f}, margin {row.margin + 0.0:.3f}"
        )
        causes = list(row.causes.items())[:10]
        if causes:
            cells = [(str(name), f"{term:.4f}") for name, term in causes]
            out.print(table_of(("feature", "redundancy through it"), cells))
