"""Options that commands share, and how they become arguments of public functions."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mmfs import MMFS, Store
from mmfs.cli.console import Reporter, one_sentence
from mmfs.io import (
    Asked,
    FileProblem,
    Outputs,
    Table,
    checksum,
    file_and_part,
    format_of,
    read_table,
)
from mmfs.optional import require
from mmfs.report import record_of

DATA, METHOD, OUTPUT = "Data", "Selection", "Output"
PICTURES = (".svg", ".png", ".pdf")


def option(*names: str, help: str, panel: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


@dataclass(frozen=True)
class Source:
    """Where data come from."""

    data: Annotated[
        Path,
        typer.Argument(help="File with the data, or folder of a column store.", show_default=False),
    ]
    target: Annotated[
        str | None,
        option("--target", "-t", help="Column with the target, or a file with it (FILE or "
               "FILE:COLUMN). svmlight and .npz files have their own.", panel=DATA),
    ] = None  # fmt: skip
    include: Annotated[
        list[str] | None,
        option("--include", help="Look only at columns of this name or pattern (gene_*); may be "
               "repeated.", panel=DATA),
    ] = None  # fmt: skip
    exclude: Annotated[
        list[str] | None,
        option("--exclude", help="Leave out columns of this name or pattern; may be repeated.",
               panel=DATA),
    ] = None  # fmt: skip
    numbers_only: Annotated[
        bool,
        option("--numbers-only", help="Leave out columns that do not hold numbers.", panel=DATA),
    ] = False
    names: Annotated[
        str | None,
        option("--names", help="File with the names of the columns, one in a line, or FILE:PART.",
               panel=DATA),
    ] = None  # fmt: skip
    groups: Annotated[
        str | None,
        option("--groups", help="Column or file of groups of rows (patients, days) that "
               "cross-validation keeps together.", panel=DATA),
    ] = None  # fmt: skip
    transpose: Annotated[
        bool, option("--transpose", help="Rows are features, columns instances.", panel=DATA)
    ] = False
    by: Annotated[
        str | None,
        option("--by", help="Column of the file with the target that names its rows, if it is not "
               "found.", panel=DATA),
    ] = None  # fmt: skip
    by_order: Annotated[
        bool,
        option("--by-order", help="Take the rows of that file in the order they are in.",
               panel=DATA),
    ] = False  # fmt: skip
    number_duplicates: Annotated[
        bool,
        option("--number-duplicates", help="Call columns of one name a, a.1, a.2.", panel=DATA),
    ] = False
    format: Annotated[
        str | None,
        option("--format", help="csv, tsv, parquet, arrow, svmlight, npy, npz, mtx or h5ad, "
               "if the name of the file does not tell.", panel=DATA),
    ] = None  # fmt: skip

    stream: Annotated[
        bool,
        option("--stream", help="Leave the data in the file, and read it some rows at a time "
               "whenever it is needed: slow, but for any size.", panel=DATA),
    ] = False  # fmt: skip

    @property
    def files(self) -> list[Path]:
        """All files that are read, the data first."""
        others = (
            file_and_part(where)[0] for where in (self.target, self.groups, self.names) if where
        )
        return list(dict.fromkeys([self.data, *(path for path in others if path.is_file())]))

    def checksums(self) -> dict[str, str]:
        return {str(path): checksum(path) for path in self.files}

    def read(self, report: Reporter) -> Table:
        return read_table(self.data, **self._options(report), stream=self.stream)

    def asked(self, report: Reporter) -> Asked:
        return Asked(self.data, **self._options(report))

    def _options(self, report: Reporter) -> dict[str, Any]:
        given = {name: value for name, value in vars(self).items() if value is not None}
        del given["data"], given["stream"]
        return given | {"progress": report}

    def read_labelled(self, report: Reporter) -> Table:
        table = self.read(report)
        if table.y is None:
            raise FileProblem(
                f"{self.data} does not say what to predict; name its column, or a file, with "
                "--target."
            )
        return table


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
        str, option("--task", help="auto (default), classification or regression.", panel=METHOD)
    ] = "auto"
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

    def selector(self, n_features: int | None, report: Reporter) -> MMFS:
        gamma: float | str = self.gamma
        if gamma != "auto":
            try:
                gamma = float(gamma)
            except ValueError:
                raise ValueError(f"--gamma is 'auto' or a number, not {gamma!r}.") from None
        if self.jobs == 0:
            raise ValueError("--jobs is a number of threads, or -1 for as many as there are cores.")
        options = vars(self) | {"gamma": gamma}
        if self.relevance == "mutual_info":  # of single columns it cannot be found again
            options["keep_scores"] = True
        seed, jobs = options.pop("seed"), options.pop("jobs")
        return MMFS(n_features, random_state=seed, n_jobs=jobs, verbose=report.function, **options)


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
    return record_of(checksums, data, how.task, ["mmfs", *sys.argv[1:]])


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
