"""How fast: against the memory, against filters, against solvers, against peers."""

from pathlib import Path

STORED = Path(__file__).parent / "results"
