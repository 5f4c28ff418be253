"""The command line: arguments to public functions, results to the terminal, nothing else."""

from typing import Annotated

import typer

import mmfs
from mmfs.cli.compare import compare_methods
from mmfs.cli.demo import demo
from mmfs.cli.files import convert, info
from mmfs.cli.options import command
from mmfs.cli.path import path
from mmfs.cli.select import explain, select

app = typer.Typer(
    help="Max-margin feature selection: the jointly most relevant, least redundant features.",
    epilog="Exit codes: 0 done; 1 refused, with a sentence on stderr; 2 wrong usage; 3 a defect; "
    "130 interrupted; 143 terminated.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
command(app, select)
command(app, compare_methods, "compare")
command(app, explain)
command(app, path)
command(app, convert)
command(app, info)
command(app, demo)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mmfs {mmfs.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that come before a command."""
