"""What every solver returns."""

from dataclasses import dataclass

import numpy as np

from mmfs.problem import Verdict


@dataclass(frozen=True)
class Solution:
    """Support columns J with their alpha > 0, and the judge's word on them."""

    J: np.ndarray
    alpha: np.ndarray
    gamma: float | None  # None: the constrained form
    verdict: Verdict
    n_iter: int
