"""Rules for gamma: a given one, or the one a scalar search arrives at.

Every inner solver supplies `solve(gamma, shift)`, the alpha that minimises
1/2 alpha'Q alpha + (gamma/2) s^2 - (r - shift)'alpha over the box on the columns it works with,
started from the previous one; a rule calls it once or many times. The searches are over one
number, b = gamma s + shift: all forms of the problem share one family of solutions. A solver that
holds Q can also follow that family from its beginning, by homotopy: `follow`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from mmfs._compiled.active_set import Enough
from mmfs.errors import InputError, Parameter
from mmfs.solvers import tuning

Array = np.ndarray


class Found(NamedTuple):
    """alpha, its gamma (None in the constrained form), and whether that is what was looked for."""

    alpha: Array
    gamma: float | None
    complete: bool = True


class Tried(NamedTuple):
    gamma: float
    alpha: Array
    progress: float  # 1 is what is looked for


class InnerSolver(NamedTuple):
    """Of the columns that it works with."""

    solve: Callable[[float, float], Array]
    follow: Callable[[Enough, float], Found | None] | None = None


class GammaRule(Protocol):
    @property
    def fewest(self) -> int:
        """Columns without which it cannot be followed."""

    def limited(self, n_columns: int) -> "GammaRule":
        """The same where there are only so many columns to choose from."""

    def __call__(
        self, solver: InnerSolver, start: float | None = None, floor: float = 0.0
    ) -> Found:
        """Search from an earlier gamma, and no further than to b = gamma s = `floor`."""


@dataclass(frozen=True)
class FixedGamma:
    """The solution at a given gamma."""

    gamma: float
    fewest: int = 1

    def limited(self, n_columns: int) -> "FixedGamma":
        return self

    def __call__(
        self, solver: InnerSolver, start: float | None = None, floor: float = 0.0
    ) -> Found:
        if solver.follow:  # a better start than the last solution
            solver.follow(Enough(0, np.inf, 0.0, 0.0, self.gamma), tuning.GAMMA_PRECISION)
        return Found(solver.solve(self.gamma, 0.0), self.gamma)


@dataclass(frozen=True)
class LargestGamma:
    """The solution at the largest gamma with at least n support features, or as many as there are.

    And with more, up to `most`, while b, the relevance a feature must have left, is above `level`;
    but no further than to b = `lowest`.
    """

    fewest: int  # n
    level: float = np.inf
    most: float = 0.0
    lowest: float = 0.0

    def limited(self, n_columns: int) -> "LargestGamma":
        fewest, most = min(self.fewest, n_columns), min(self.most, n_columns)
        return replace(self, fewest=fewest, most=most) if self.fewest else self

    def __call__(
        self, solver: InnerSolver, start: float | None = None, floor: float = 0.0
    ) -> Found:
        if solver.follow:
            lowest = max(self.lowest, floor)
            enough = Enough(self.fewest, self.level, self.most, lowest, tuning.GAMMA_MAX)
            if found := solver.follow(enough, tuning.GAMMA_PRECISION):
                return found._replace(complete=found.complete or self.lowest >= floor)
        return self._search(solver, start, floor)

    def _search(self, solver: InnerSolver, start: float | None, floor: float) -> Found:
        def at(gamma: float) -> Tried:
            alpha = solver.solve(gamma, 0.0)
            return Tried(gamma, alpha, self._progress(alpha, gamma, floor))

        here = at(1.0 if start is None else start)
        upward = here.progress >= 1
        away = here.progress if upward else 1 / max(here.progress, 1e-9)
        factor = min(away if start else np.inf, tuning.LARGEST_STEP)
        factor = max(factor, tuning.SMALLEST_STEP)
        # Go on by growing factors until the answer turns ...
        while True:
            last, gamma = here, here.gamma * factor if upward else here.gamma / factor
            factor = factor**tuning.STEP_GROWTH
            here = at(min(max(gamma, tuning.GAMMA_MIN), tuning.GAMMA_MAX))
            if (here.progress >= 1) != upward:
                break
            if here.gamma in (tuning.GAMMA_MIN, tuning.GAMMA_MAX):
                return Found(here.alpha, here.gamma)
        low, high = (last, here) if upward else (here, last)
        # ... then close in: to where progress is 1 on a line between the two, or half-way after two
        # steps that ended on the same side.
        least, sides = np.sqrt(1 + tuning.GAMMA_PRECISION), [True, False]
        while (width := high.gamma / low.gamma) > 1 + tuning.GAMMA_PRECISION:
            share = 0.5
            if sides[-1] != sides[-2] and high.progress > 0 and low.progress < np.inf:
                share = float(np.log(low.progress) / np.log(low.progress / high.progress))
            here = at(min(max(low.gamma * width**share, low.gamma * least), high.gamma / least))
            sides.append(here.progress >= 1)
            low, high = (here, high) if sides[-1] else (low, here)
        return Found(low.alpha, low.gamma, self._progress(low.alpha, low.gamma) >= 1)

    def _progress(self, alpha: Array, gamma: float, floor: float = 0.0) -> float:
        """1 where there is enough, or b is at the lowest or the floor; less before, more beyond."""
        b, n = float(gamma * alpha.sum()), int(np.count_nonzero(alpha))
        if b == 0:
            return 0.0 if self.fewest else np.inf
        deep = max(self.level / b, n / self.most if self.most else np.inf)
        enough = min(n / self.fewest if self.fewest else np.inf, deep)
        return max(enough, self.lowest / b, floor / b)


@dataclass(frozen=True)
class SumToOne:
    """The solution of the constrained form, s = 1.

    With a fixed gamma (any would do, 1 here) and b = gamma s + shift, s falls as shift rises. The
    quadratic in s keeps every sub-problem bounded, also where a fixed b alone would not.
    """

    r_max: float
    C: float

    @property
    def fewest(self) -> int:
        return 2 * int(np.ceil(1 / self.C))

    def limited(self, n_columns: int) -> "SumToOne":
        if n_columns * self.C < 1:
            raise InputError(
                Parameter("formulation", "constrained"), f" asks for weights that sum to 1, but "
                f"{n_columns} distinct columns with weights up to ", Parameter("C", self.C),
                " cannot reach it; take ", Parameter("C"), f" of at least {1 / n_columns:.3g}.",
            )  # fmt: skip
        return self

    def __call__(
        self, solver: InnerSolver, start: float | None = None, floor: float = 0.0
    ) -> Found:
        # s falls from its largest value, at a low shift, to 0 at shift = max r: bracket s = 1 ...
        high, above, width = self.r_max, -1.0, 1.0
        while True:
            low = high - width
            alpha = solver.solve(1.0, low)
            below = float(alpha.sum()) - 1.0
            if below >= -tuning.UNIT_SUM or width > tuning.WIDEST:
                break
            high, above, width = low, below, 2 * width
        # ... and close in. It is piecewise linear, so a secant finds it; halving makes sure.
        secant = True
        while abs(alpha.sum() - 1.0) > tuning.UNIT_SUM and high - low > tuning.UNIT_SUM * max(
            1.0, abs(high)
        ):
            shift = low + (high - low) * (below / (below - above) if secant else 0.5)
            alpha = solver.solve(1.0, shift)
            value = float(alpha.sum()) - 1.0
            if value > 0:
                low, below = shift, value
            else:
                high, above = shift, value
            secant = not secant
        return Found(self.exact(alpha), None)

    def exact(self, alpha: Array) -> Array:
        """alpha with the last rounding error in its sum removed, within the box."""
        for _ in range(len(alpha)):
            free = (alpha > 0) & (alpha < self.C)
            if not free.any():
                break
            missing = 1.0 - alpha[~free].sum()
            alpha = np.where(free, np.minimum(alpha * (missing / alpha[free].sum()), self.C), alpha)
            if abs(alpha.sum() - 1.0) <= tuning.UNIT_SUM:
                break
        return alpha
