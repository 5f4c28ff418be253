"""Max-margin feature selection."""

from mmfs.baselines import FCBF, FGM, GDM, MRMR, QPFS, SVMRFE, MaxRel
from mmfs.compare import Comparison, compare
from mmfs.io import write_store
from mmfs.model_selection import (
    MMFSCV,
    MMFSIC,
    KnockoffSelector,
    StabilitySelector,
    mmfs_path,
)
from mmfs.plots import (
    ComparisonDisplay,
    PathDisplay,
    ScoresDisplay,
    SelectionDisplay,
    SimilarityDisplay,
)
from mmfs.selection_path import SelectionPath
from mmfs.selector import MMFS
from mmfs.sources import RowStream, Store, open_store

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
    "RowStream",
    "ScoresDisplay",
    "SelectionDisplay",
    "SelectionPath",
    "SimilarityDisplay",
    "StabilitySelector",
    "Store",
    "__version__",
    "compare",
    "mmfs_path",
    "open_store",
    "write_store",
]
