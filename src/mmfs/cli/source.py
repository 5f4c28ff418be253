"""Options that say where data come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mmfs.cli.console import Reporter
from mmfs.io import Asked, FileProblem, Table, checksum, file_and_part, read_table, unlabelled

DATA, METHOD, OUTPUT = "Data", "Selection", "Output"


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

    weights: Annotated[
        str | None,
        option("--weights", help="Column or file that tells how much each row counts.", panel=DATA),
    ] = None
    covariates: Annotated[
        str | None,
        option("--covariates", help="What is known anyway, and to be looked beyond: columns, as in "
               "age,sex, or those of another file, clinic.csv:age,sex.", panel=DATA),
    ] = None  # fmt: skip
    event: Annotated[
        str | None,
        option("--event", help="Where the target holds times, the column or file that tells "
               "whether the event was seen then (1) or not (0).", panel=DATA),
    ] = None  # fmt: skip
    drop_unlabelled: Annotated[
        bool,
        option("--drop-unlabelled", help="Leave out rows without a target.", panel=DATA),
    ] = False

    @property
    def files(self) -> list[Path]:
        """All files that are read, the data first."""
        places = (self.target, self.groups, self.names, self.weights, self.covariates, self.event)
        others = (file_and_part(where)[0] for where in places if where)
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
        if (lost := unlabelled(table.y)).any():
            raise FileProblem(
                f"{lost.sum():,} of {len(lost):,} rows have no target, the first of them row "
                f"{np.argmax(lost) + 1:,}; leave them out by --drop-unlabelled."
            )
        return table
