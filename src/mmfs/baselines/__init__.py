"""The methods that max-margin feature selection is compared with, each a selector of its own."""

from mmfs.baselines.fcbf import FCBF
from mmfs.baselines.fgm import FGM, GDM
from mmfs.baselines.qpfs import QPFS
from mmfs.baselines.ranking import MRMR, MaxRel
from mmfs.baselines.svmrfe import SVMRFE

__all__ = ["FCBF", "FGM", "GDM", "MRMR", "QPFS", "SVMRFE", "MaxRel"]
