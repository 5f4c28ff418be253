"""Problems with a known answer."""

from mmfs.datasets.generators import Planted, make_nonlinear, make_planted, make_wide_sparse

__all__ = ["Planted", "make_nonlinear", "make_planted", "make_wide_sparse"]
