"""The methods that max-margin feature selection is compared with, each a selector of its own."""

from mmfs.comparators.fcbf import FCBF
from mmfs.comparators.fgm import FGM, GDM
from mmfs.comparators.qpfs import QPFS
from mmfs.comparators.ranking import MRMR, MaxRel
from mmfs.comparators.svmrfe import SVMRFE

__all__ = ["FCBF", "FGM", "GDM", "MRMR", "QPFS", "SVMRFE", "MaxRel"]
