"""What is asked of a solver: the solution at one gamma, or the one a scalar search arrives at.

Every solver supplies `solve(gamma, shift)`, the alpha that minimises
1/2 alpha'Q alpha + (gamma/2) s^2 - (r - shift)'alpha over the box on the columns it works with,
started from the previous one; an aim calls it once or many times. The searches are over one
number, b = gamma s + shift: all forms of the problem share one family of solutions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq

Array = np.ndarray
Solve = Callable[[float, float], Array]

# Search range and precision of gamma: a step of the precision changes alpha by as much.
GAMMA_MIN, GAMMA_MAX, PRECISION = 1e-8, 1e8, 1e-3


class Found(NamedTuple):
    """alpha, its gamma (None in the constrained form), and whether the aim has been reached."""

    alpha: Array
    gamma: float | None
    complete: bool = True


class Aim(Protocol):
    @property
    def fewest(self) -> int:
        """Columns without which it cannot be reached."""

    def __call__(self, solve: Solve, start: float | None = None, floor: float = 0.0) -> Found:
        """Search from an earlier gamma, and no further than to b = gamma s = `floor`."""


@dataclass(frozen=True)
class AtGamma:
    """The solution at a given gamma."""

    gamma: float
    fewest: int = 1

    def __call__(self, solve: Solve, start: float | None = None, floor: float = 0.0) -> Found:
        return Found(solve(self.gamma, 0.0), self.gamma)


@dataclass(frozen=True)
class LargestGamma:
    """The solution at the largest gamma where `reached(alpha, gamma)` holds."""

    reached: Callable[[Array, float], bool]
    fewest: int = 1

    def __call__(self, solve: Solve, start: float | None = None, floor: float = 0.0) -> Found:
        def far_enough(alpha: Array, gamma: float) -> bool:
            return self.reached(alpha, gamma) or gamma * alpha.sum() <= floor

        gamma = 1.0 if start is None else start
        factor = 4.0 if start is None else 1.05
        alpha = solve(gamma, 0.0)
        upward = far_enough(alpha, gamma)
        # Go on by growing factors until the answer turns ...
        while True:
            last, last_alpha = gamma, alpha
            gamma, factor = (gamma * factor if upward else gamma / factor), factor**1.5
            alpha = solve(gamma, 0.0)
            if far_enough(alpha, gamma) != upward or not GAMMA_MIN < gamma < GAMMA_MAX:
                break
        low, high = (last, gamma) if upward else (gamma, last)
        best = last_alpha if upward else alpha
        # ... then bisect between the last gamma on either side.
        while high / low > 1 + PRECISION:
            gamma = float(np.sqrt(low * high))
            alpha = solve(gamma, 0.0)
            if far_enough(alpha, gamma):
                low, best = gamma, alpha
            else:
                high = gamma
        return Found(best, low, self.reached(best, low) or low <= GAMMA_MIN)


def enough_support(n: int, r_max: float) -> LargestGamma:
    """At least n support features, or as many as there are before relevance is used up."""

    def reached(alpha: Array, gamma: float) -> bool:
        b = float(gamma * alpha.sum())
        return int(np.count_nonzero(alpha)) >= n or 0 < b <= 0.01 * r_max

    return LargestGamma(reached, fewest=n)


def below_level(level: float) -> LargestGamma:
    """b = gamma s, the relevance a feature must have left to enter, is at most `level`."""
    return LargestGamma(lambda alpha, gamma: bool(gamma * alpha.sum() <= level))


@dataclass(frozen=True)
class UnitSum:
    """The solution of the constrained form, s = 1.

    With a fixed gamma (any would do, 1 here) and b = gamma s + shift, s falls as shift rises. The
    quadratic in s keeps every sub-problem bounded, also where a fixed b alone would not.
    """

    r_max: float
    C: float

    @property
    def fewest(self) -> int:
        return int(np.ceil(1 / self.C))

    def __call__(self, solve: Solve, start: float | None = None, floor: float = 0.0) -> Found:
        def excess(shift: float) -> float:
            return float(solve(1.0, shift).sum()) - 1.0

        high, width = self.r_max, 1.0
        while excess(high - width) < 0.0:
            high, width = high - width, 2 * width
        shift = brentq(excess, high - width, high, xtol=1e-14, rtol=1e-14)
        return Found(self.exact(solve(1.0, shift)), None)

    def exact(self, alpha: Array) -> Array:
        """alpha with the last rounding error in its sum removed from those below C."""
        free = alpha < self.C
        full = self.C * np.count_nonzero(~free) if not free.all() else 0.0
        scale = (1.0 - full) / alpha[free].sum() if alpha[free].any() else 1.0
        return np.where(free, scale * alpha, alpha)
