"""Max-margin feature selection."""

from mmfs.selector import MMFS

__version__ = "0.1.0"

__all__ = ["MMFS", "__version__"]
