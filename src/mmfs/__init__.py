"""Max-margin feature selection."""

from mmfs.choosing import MMFSCV, MMFSIC, KnockoffSelector, StabilitySelector, mmfs_path
from mmfs.comparators import FCBF, FGM, GDM, MRMR, QPFS, SVMRFE, MaxRel
from mmfs.comparing import Comparison, compare
from mmfs.io import write_store
from mmfs.plots import (
    ComparisonDisplay,
    PathDisplay,
    ScoresDisplay,
    SelectionDisplay,
    SimilarityDisplay,
)
from mmfs.selector import MMFS
from mmfs.sources import RowStream as Rows
from mmfs.sources import Store, open_store

__version__ = "0.1.0"

__all__ = [
    "FCBF",
    "FGM",
    "GDM",
    "MMFS",
    "MMFSCV",
    "MMFSIC",
    "MRMR",
    "QPFS",
    "SVMRFE",
    "Comparison",
    "ComparisonDisplay",
    "KnockoffSelector",
    "MaxRel",
    "PathDisplay",
    "Rows",
    "ScoresDisplay",
    "SelectionDisplay",
    "SimilarityDisplay",
    "StabilitySelector",
    "Store",
    "__version__",
    "compare",
    "mmfs_path",
    "open_store",
    "write_store",
]
