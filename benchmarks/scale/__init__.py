"""Data larger than memory, and than one machine."""

from pathlib import Path

STORED = Path(__file__).parent / "results"
