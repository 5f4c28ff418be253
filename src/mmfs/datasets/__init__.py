"""Real data sets, and problems with a known answer."""

from mmfs.datasets.catalogue import CATALOGUE
from mmfs.datasets.generators import (
    Planted,
    Wide,
    make_kddb_shaped,
    make_nonlinear,
    make_planted,
    make_webspam_shaped,
    make_wide_sparse,
)
from mmfs.datasets.loading import Dataset, load

__all__ = [
    "CATALOGUE",
    "Dataset",
    "Planted",
    "Wide",
    "load",
    "make_kddb_shaped",
    "make_nonlinear",
    "make_planted",
    "make_webspam_shaped",
    "make_wide_sparse",
]
