"""How many features, how sure: paths, cross-validation, stability, error control."""

from mmfs.model_selection.criteria import MMFSIC
from mmfs.model_selection.cv import MMFSCV
from mmfs.model_selection.knockoffs import KnockoffSelector
from mmfs.model_selection.path import mmfs_path
from mmfs.model_selection.stability import StabilitySelector

__all__ = [
    "MMFSCV",
    "MMFSIC",
    "KnockoffSelector",
    "StabilitySelector",
    "mmfs_path",
]
