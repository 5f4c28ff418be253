"""How many features, how sure: paths, cross-validation, stability, error control."""

from mmfs.choosing.criteria import MMFSIC
from mmfs.choosing.cv import MMFSCV
from mmfs.choosing.knockoffs import KnockoffSelector
from mmfs.choosing.path import Path, mmfs_path
from mmfs.choosing.stability import StabilitySelector

__all__ = ["MMFSCV", "MMFSIC", "KnockoffSelector", "Path", "StabilitySelector", "mmfs_path"]
