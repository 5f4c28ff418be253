"""The report: one HTML page that needs nothing else."""

from importlib.resources import files
from pathlib import PurePath
from typing import Any

import numpy as np
from markupsafe import Markup

from mmfs.compare import Comparison
from mmfs.explain import MARGIN_ROUNDING
from mmfs.optional import require
from mmfs.plots import (
    PathDisplay,
    ScoresDisplay,
    SelectionDisplay,
    SimilarityDisplay,
    margin_line,
    readable,
)
from mmfs.report.record import as_json, shown
from mmfs.report.svg import Plot, heat_map, plot_axes

Figure = tuple[str, str, Markup]  # heading, what it shows, drawing

LABELLED = 8  # selected features named in the scatter
CURVES = 10


def selection_page(
    record: dict[str, Any],
    selection: SelectionDisplay,
    similarity: SimilarityDisplay,
    path: PathDisplay | None,
    scores: ScoresDisplay | None,
) -> str:
    """A page on what was selected and why."""
    figures = [relevance_figure(selection), similarity_figure(similarity)]
    if path is not None:
        figures.append(path_figure(path))
    if scores is not None:
        figures.append(scores_figure(scores))
    dropped = selection.frame[~selection.frame["selected"]]
    return _render(
        title=f"Features selected from {_file_name(record)}",
        record=record,
        figures=figures,
        kept=record["selected"],
        dropped=dropped.sort_values("relevance", ascending=False).reset_index().to_dict("records"),
        scores=scores,
        comparison=None,
    )


def comparison_page(record: dict[str, Any], comparison: Comparison) -> str:
    """A page on methods compared."""
    return _render(
        title=f"Methods compared on {_file_name(record)}",
        record=record,
        figures=[comparison_figure(comparison)],
        kept=[],
        dropped=[],
        scores=None,
        comparison=comparison,
    )


def _file_name(record: dict[str, Any]) -> str:
    return PurePath(record["data"]["file"]).name


def _render(**content: Any) -> str:
    jinja2 = require("jinja2", "report", "a report")
    folder = files("mmfs.report")
    parts = {name: Markup((folder / f"page.{name}").read_text("utf-8")) for name in ("css", "js")}
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,
    )
    template = environment.from_string((folder / "page.html").read_text("utf-8"))
    embedded = as_json(content["record"]).replace("<", "\\u003c")
    return template.render(**parts, embedded=Markup(embedded), **content)


def relevance_figure(display: SelectionDisplay) -> Figure:
    frame = display.frame
    ends = margin_line(display)
    x, y = plot_axes([*frame["relevance"], *(end[0] for end in ends)], frame["redundancy"])
    plot = Plot(x, y, "relevance", "redundancy", "Relevance against redundancy")
    plot.line([end[0] for end in ends], [end[1] for end in ends], "margin", "the margin")
    largest = max(float(frame["weight"].max()), 1e-300)
    kept = frame[frame["selected"]].sort_values("rank")
    for row in frame[~frame["selected"]].itertuples():
        plot.point(row.relevance, row.redundancy, 3, "dropped", shown(f"{row.Index}: {row.why}"))
    for row in kept.itertuples():
        size = 4 + 5 * np.sqrt(row.weight / largest)
        plot.point(row.relevance, row.redundancy, size, "kept", shown(f"{row.Index}: {row.why}"))
    places = np.column_stack([x(kept["relevance"]), y(kept["redundancy"])])
    for i in readable(places, LABELLED):
        row = kept.iloc[i]
        plot.note(row["relevance"], row["redundancy"], _shortened(str(row.name)))
    return "Relevance against redundancy", relevance_caption(display), plot.svg()


def relevance_caption(display: SelectionDisplay) -> str:
    """What is true of every point of the figure."""
    frame = display.frame
    below = frame["margin"] < -MARGIN_ROUNDING * display.tau  # dropped ones have no weight
    ahead = int((below & ~frame["selected"]).sum())
    extra = int((frame["selected"] & (frame["weight"] == 0)).sum())
    words = [
        "Each point is a feature: what it tells of the target, and how much of that the other "
        "selected features tell already. Below the dashed line, the margin, a feature adds to "
        "them; above it, or on it, it does not.",
        "Selected features with a weight (size) are below it.",
    ]
    if extra:
        words.append(f"{extra} selected without a weight, to make up the number, are not.")
    if ahead:
        words.append(f"{ahead} dropped ones are below it too: next in line, had more been asked.")
    if ahead < int((~frame["selected"]).sum()):
        others = "The other dropped ones" if ahead else "Dropped ones"
        words.append(f"{others} are above it or on it: not relevant enough, or redundant.")
    return " ".join(words)


def similarity_figure(display: SimilarityDisplay) -> Figure:
    names = [shown(name) for name in display.names]
    drawing = heat_map(names, display.similarities, display.n_selected, "Similarity of features")
    words = (
        f"Selected: {display.n_selected}; those after the gap are, of the most relevant dropped "
        "ones, the most like one of them. Red: alike, blue: opposed, pale: unrelated."
    )
    return "Similarity", words, drawing


def path_figure(display: PathDisplay) -> Figure:
    gammas = display.path.gammas
    curves = display.curves(CURVES)
    heights = np.concatenate([alpha for _, alpha in curves]) if curves else np.zeros(1)
    x, y = plot_axes(gammas, heights, log_x=True, flip_x=True)
    plot = Plot(x, y, "gamma", "alpha", "Weights along the path")
    for i, (name, alpha) in enumerate(curves):
        plot.line(gammas, alpha, f"series s{i % 12}", name)
    words = (
        "Weights of features in the joint solution over all features, as the pressure towards few "
        "of them falls, from left to right."
    )
    return "Path", words, plot.svg() + _legend([name for name, _ in curves])


def scores_figure(display: ScoresDisplay) -> Figure:
    low, high = display.mean - display.error, display.mean + display.error
    x, y = plot_axes(display.n_features, [*low, *high], log_x=True)
    plot = Plot(x, y, "features", display.score_name, "Score against the number of features")
    plot.band(display.n_features, low, high, "band")
    plot.line(display.n_features, display.mean, "series s0", "mean over folds")
    for n, mean, error in zip(display.n_features, display.mean, display.error, strict=True):
        kind = "kept" if n == display.chosen else "s0 dot"
        plot.point(n, mean, 4, kind, f"{n} features: {mean:.4f}, standard error {error:.4f}")
    words = (
        "Cross-validated, with the features selected anew in every fold; the band is one standard "
        "error to either side."
    )
    return f"{display.score_name.capitalize()} against number of features", words, plot.svg()


def comparison_figure(comparison: Comparison) -> Figure:
    means = {name: comparison.mean(name) for name in comparison.scores}
    heights = [comparison.baseline, *(value for mean in means.values() for value in mean)]
    x, y = plot_axes(comparison.n_features, heights, log_x=True)
    plot = Plot(x, y, "features", comparison.score_name, "Methods compared")
    ends = comparison.n_features[[0, -1]]
    plot.line(ends, [comparison.baseline] * 2, "margin", "no features")
    for i, (name, mean) in enumerate(means.items()):
        plot.line(comparison.n_features, mean, f"series s{i % 12}", name)
        for n, value in zip(comparison.n_features, mean, strict=True):
            plot.point(n, value, 3, f"s{i % 12} dot", f"{name}, {n} features: {value:.4f}")
    words = "Mean over folds, with the features selected anew in every fold. Dashed: no features."
    return "Methods compared", words, plot.svg() + _legend(list(means))


def _legend(names: list[str]) -> Markup:
    items = Markup("").join(
        Markup('<li><i class="s{}"></i>{}</li>').format(i % 12, _shortened(name))
        for i, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def _shortened(name: str) -> str:
    name = shown(name)
    return name if len(name) <= 28 else name[:27] + "…"
