"""Options that commands share, and how they become arguments of public functions."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mmfs import MMFS, Store
from mmfs.cli.console import Reporter, one_sentence
from mmfs.cli.source import METHOD, OUTPUT, Source, option
from mmfs.io import (
    FileProblem,
    Outputs,
    Table,
    format_of,
    read_pairs,
)
from mmfs.optional import require
from mmfs.report import record_of

PICTURES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class How:
    """How features are selected: the parameters of MMFS."""

    kernel: Annotated[
        str,
        option("--kernel", help="aligned (default), linear, poly2, rbf or hsic.", panel=METHOD),
    ] = "aligned"
    relevance: Annotated[
        str,
        option("--relevance", help="correlation (default), mutual_info, binned_mutual_info or "
               "hsic.", panel=METHOD),
    ] = "correlation"  # fmt: skip
    gamma: Annotated[
        str, option("--gamma", help="Pressure towards few features: auto (default) or a number.",
                    panel=METHOD)
    ] = "auto"  # fmt: skip
    C: Annotated[
        float, option("--C", help="Largest weight of a feature (default 1; inf).", panel=METHOD)
    ] = 1.0
    theta: Annotated[
        float, option("--theta", help="Weight of relevance against redundancy (default 0.5).",
                      panel=METHOD)
    ] = 0.5  # fmt: skip
    formulation: Annotated[
        str, option("--formulation", help="squared_bias (default) or constrained.", panel=METHOD)
    ] = "squared_bias"
    rank: Annotated[
        str, option("--rank", help="auto (default), elimination, alpha, or path: order of entry.",
                    panel=METHOD)
    ] = "auto"  # fmt: skip
    task: Annotated[
        str, option("--task", help="auto (default), classification, regression or survival.",
                    panel=METHOD)
    ] = "auto"  # fmt: skip
    class_weight: Annotated[
        str | None,
        option("--class-weight", help="balanced: all classes weigh the same.", panel=METHOD),
    ] = None
    missing: Annotated[
        str,
        option("--missing", help="allow (default): missing values stand for the mean of their "
               "column; refuse: they are an error.", panel=METHOD),
    ] = "allow"  # fmt: skip
    must_include: Annotated[
        list[str] | None,
        option("--must-include", help="A feature that is selected in any case, and by which others "
               "are judged; may be repeated.", panel=METHOD),
    ] = None  # fmt: skip
    feature_groups: Annotated[
        Path | None,
        option("--feature-groups", help="CSV file with the columns feature and group: features of "
               "a group are kept or dropped together.", panel=METHOD),
    ] = None  # fmt: skip
    costs: Annotated[
        Path | None,
        option("--costs", help="CSV file with the columns feature and cost.", panel=METHOD),
    ] = None
    budget: Annotated[
        float | None,
        option("--budget", help="What the selected features may cost together.", panel=METHOD),
    ] = None
    center: Annotated[
        bool, option("--center/--no-center", help="Whether columns are centred.", panel=METHOD)
    ] = True
    tol: Annotated[
        float, option("--tol", help="Duality gap at which to stop (default 1e-4).", panel=METHOD)
    ] = 1e-4
    seed: Annotated[
        int, option("--seed", help="Seed of everything random (default 0).", panel=METHOD, min=0)
    ] = 0
    jobs: Annotated[int | None, option("--jobs", "-j", help="Threads.", panel=METHOD)] = None

    def selector(self, n_features: int | None, report: Reporter, data: Table) -> MMFS:
        gamma: float | str = self.gamma
        if gamma != "auto":
            try:
                gamma = float(gamma)
            except ValueError:
                raise ValueError(f"--gamma is 'auto' or a number, not {gamma!r}.") from None
        if self.jobs == 0:
            raise ValueError("--jobs is a number of threads, or -1 for as many as there are cores.")
        options = vars(self) | {"gamma": gamma, "task": self.task_of(data)}
        options |= self._of_columns(data)
        if self.relevance == "mutual_info":  # of single columns it cannot be found again
            options["keep_scores"] = True
        seed, jobs = options.pop("seed"), options.pop("jobs")
        return MMFS(n_features, random_state=seed, n_jobs=jobs, verbose=report.function, **options)

    def task_of(self, data: Table) -> str:
        return "survival" if data.censored else self.task

    def _of_columns(self, data: Table) -> dict[str, Any]:
        """Options that name columns, by number where these have no names."""
        named = data.feature_names is not None

        def place(name: str) -> Any:
            return name if named else data.column(name)

        found: dict[str, Any] = {"must_include": None, "feature_groups": None, "costs": None}
        if self.must_include:
            found["must_include"] = [place(name) for name in self.must_include]
        if self.feature_groups is not None:
            groups: dict[str, list] = {}
            for name, group in read_pairs(self.feature_groups):
                groups.setdefault(group, []).append(place(name))
            found["feature_groups"] = groups
        if self.costs is not None:
            costs = np.full(data.X.shape[1], np.nan)
            for name, cost in read_pairs(self.costs):
                column = data.column(name)
                if not np.isnan(costs[column]):
                    raise FileProblem(f"{self.costs} has two costs for {name!r}; keep one.")
                costs[column] = _number_in(self.costs, name, cost)
            if (lost := np.flatnonzero(np.isnan(costs))).size:
                raise FileProblem(f"{self.costs} has no cost for {data.name(int(lost[0]))!r}.")
            found["costs"] = costs
        return found


def _number_in(path: Path, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileProblem(f"{path} has {text!r} as the cost of {name!r}; pass a number.") from None


@dataclass(frozen=True)
class Workers:
    """Who reads the data: this process, or those of a Dask cluster."""

    scheduler: Annotated[
        str | None,
        option("--scheduler", help="Address of a Dask cluster whose workers read the column store.",
               panel=METHOD),
    ] = None  # fmt: skip
    workers: Annotated[
        int | None,
        option("--workers", help="Or a number of processes here that do so.", panel=METHOD, min=1),
    ] = None

    @contextmanager
    def at_work(self, X: Any) -> Iterator[Any]:
        """X, or what the workers have of it, as long as they are there."""
        if self.scheduler is None and self.workers is None:
            yield X
            return
        if self.scheduler and self.workers:
            raise ValueError("give --scheduler or --workers, not both.")
        if not isinstance(X, Store):
            raise ValueError(
                "workers read from a column store; make one with mmfs convert FILE FOLDER."
            )
        distributed = require("distributed", "dask", "a cluster")
        try:
            where = {"address": self.scheduler, "timeout": 10} if self.scheduler else {
                "n_workers": self.workers, "threads_per_worker": 1, "dashboard_address": ":0",
            }  # fmt: skip
            client = distributed.Client(**where)
        except (OSError, ValueError) as error:
            where_not = f"answers at {self.scheduler}" if self.scheduler else "could be started"
            raise ValueError(f"no cluster {where_not} ({error}).") from None
        with client:
            yield X.to_dask()


Count = Annotated[
    str | None,
    option("-k", help="How many features: a number, or auto for as many as predict best by "
           "cross-validation. Without it: all that tell more than chance.", panel=METHOD),
]  # fmt: skip
Page = Annotated[
    Path | None, option("--report", help="Write a page with tables and plots.", panel=OUTPUT)
]
Json = Annotated[
    bool, option("--json", help="Print a record of the run instead of tables.", panel=OUTPUT)
]
Picture = Annotated[
    Path | None,
    option("--plot", help="Write a plot (.svg, .png, .pdf).", panel=OUTPUT),
]
Escape = Annotated[
    bool,
    option("--escape-formulas", help="Write ' before texts in CSV files that start with = + - or @,"
           " so that spreadsheets do not run them.", panel=OUTPUT),
]  # fmt: skip
Force = Annotated[bool, option("--force", help="Replace files that exist.", panel=OUTPUT)]


def number(k: str | None) -> int | None:
    """What -k says, if it is a number or nothing."""
    if k is None:
        return None
    if not k.isdecimal() or int(k) == 0:
        raise ValueError(f"-k is a whole number of at least 1, or 'auto', not {k!r}.")
    return int(k)


def folds(cv: int | None) -> int:
    if cv is not None and cv < 2:
        raise ValueError(f"--cv takes at least 2 folds, not {cv}.")
    return cv or 5


def check_outputs(
    outputs: Outputs,
    source: Source,
    table: Path | None,
    plot: Path | None = None,
    page: Path | None = None,
) -> None:
    """Refuse what cannot be written before any work is done for it."""
    if table is not None:
        format_of(table)
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise FileProblem(f"{page} cannot be a report; let its name end in .html.")
    for path in (table, plot, page):
        if path is not None and path.resolve() in [file.resolve() for file in source.files]:
            raise FileProblem(f"{path} is what is read; write to another file.")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise FileProblem(f"{plot} cannot be a plot; let its name end in {', '.join(PICTURES)}.")
    outputs.check(table, plot, page)


def run_record(checksums: dict[str, str], data: Table, how: How) -> dict[str, Any]:
    return record_of(checksums, data, how.task_of(data), ["mmfs", *sys.argv[1:]])


def save_page(page: str, path: Path, outputs: Outputs) -> None:
    outputs.stage(path).write_bytes(page.encode("utf-8", "backslashreplace"))


def save_picture(display: Any, path: Path, outputs: Outputs) -> None:
    kind = path.suffix.lower().removeprefix(".")
    display.figure_.savefig(outputs.stage(path), format=kind, dpi=150)


@dataclass(frozen=True)
class Talk:
    """What every command understands."""

    quiet: Annotated[
        bool, option("--quiet", "-q", help="No progress on stderr.", panel="Messages")
    ] = False
    debug: Annotated[bool, option("--debug", help="Tracebacks with errors.", panel="Messages")] = (
        False
    )


GROUPS = (Source, How, Workers, Talk)


def command(app: typer.Typer, function: Callable[..., None], name: str | None = None) -> None:
    """Register a function whose parameters may be groups of options, such as `Source`.

    It is called with a Reporter, then with its parameters as keywords.
    """
    own = dict(inspect.signature(function).parameters)
    del own["progress"]
    own["talk"] = inspect.Parameter("talk", inspect.Parameter.KEYWORD_ONLY, annotation=Talk)
    groups = {name: one.annotation for name, one in own.items() if one.annotation in GROUPS}
    members = {name: inspect.signature(group).parameters for name, group in groups.items()}
    given = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, one in own.items()
        for option in members.get(name, {name: one}).values()
    ]

    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{member: values.pop(member) for member in members[name]})
        talk = values.pop("talk")
        with one_sentence(talk.quiet, talk.debug) as progress:
            function(progress, **values)

    run.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in given}
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    app.command(name)(run)
