"""The real data sets that benchmarks and tests use, by name."""

from benchmarks.datasets.catalogue import CATALOGUE
from benchmarks.datasets.loading import Dataset, load

__all__ = ["CATALOGUE", "Dataset", "load"]
