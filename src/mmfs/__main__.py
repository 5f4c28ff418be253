"""`mmfs` and `python -m mmfs`."""

import sys


def main() -> None:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("mmfs: the command line needs typer and rich: pip install 'mmfs[cli]'.")
    from mmfs.cli import app

    app()


if __name__ == "__main__":
    main()
