"""`mmfs` and `python -m mmfs`."""

import io
import sys


def main() -> None:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("mmfs: the command line needs typer and rich: pip install 'mmfs[cli]'.")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # terminals that do not know all letters
    try:
        from mmfs.cli import app

        app()
    except KeyboardInterrupt:  # while still starting
        sys.exit(130)


if __name__ == "__main__":
    main()
