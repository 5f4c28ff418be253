"""How many features, how sure: paths, cross-validation, stability, error control."""

from mmfs.choosing.path import Path, mmfs_path

__all__ = ["Path", "mmfs_path"]
