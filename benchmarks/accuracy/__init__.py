"""The paper's tables and figures, made again."""

from pathlib import Path

STORED = Path(__file__).parent / "results"
