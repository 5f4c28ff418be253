"""Max-margin feature selection."""

from mmfs.choosing import mmfs_path
from mmfs.comparators import FCBF, FGM, GDM, MRMR, QPFS, SVMRFE, MaxRel
from mmfs.selector import MMFS

__version__ = "0.1.0"

__all__ = [
    "FCBF",
    "FGM",
    "GDM",
    "MMFS",
    "MRMR",
    "QPFS",
    "SVMRFE",
    "MaxRel",
    "__version__",
    "mmfs_path",
]
