"""A small problem whose answer is known, selected from and explained."""

import time
from dataclasses import dataclass

import numpy as np

from mmfs.datasets import make_planted
from mmfs.relevance import level_of_chance
from mmfs.selector import MMFS

Array = np.ndarray

# Correlation with a selected feature from which on we speak of redundancy.
SIMILAR = 0.5


@dataclass(frozen=True)
class Row:
    name: str
    alpha: float
    relevance: float
    cause: str  # the selected feature that contributes most to its redundancy
    similarity: float  # to that feature


@dataclass(frozen=True)
class Demo:
    selector: MMFS
    shape: tuple[int, int]
    selected: list[Row]
    redundant: list[Row]  # relevant, but left out because of a similar feature
    others: int  # left out for want of relevance or room
    planted: int  # signals there are
    found: int  # signals that a selected feature carries
    constant: list[str]
    seconds: float


def run_demo(n_features: int = 6, random_state: int = 0) -> Demo:
    """Select from the planted problem and sort every column into kept, redundant, irrelevant."""
    X, y, names = make_planted(random_state=random_state)
    MMFS(n_features).fit(X, y)  # compiles, the first time
    start = time.perf_counter()
    selector = MMFS(n_features).fit(X, y)
    seconds = time.perf_counter() - start

    kept = selector.indices_
    with np.errstate(invalid="ignore", divide="ignore"):  # the constant column
        rho = np.abs(np.corrcoef(X, rowvar=False))
    chance = level_of_chance(X.shape[1], X.shape[0], 1)
    dropped = np.flatnonzero(~selector.support_ & (selector.relevance_ > chance))
    dropped = dropped[rho[dropped][:, kept].max(axis=1, initial=0) > SIMILAR]
    dropped = dropped[np.argsort(-selector.relevance_[dropped], kind="stable")]

    def row(j: int) -> Row:
        cause = kept[np.argmax(selector.alpha_[kept] * rho[j, kept])]
        return Row(
            name=names[j],
            alpha=selector.alpha_[j],
            relevance=selector.relevance_[j],
            cause=names[cause],
            similarity=rho[j, cause],
        )

    signals = {name.split()[-1] for name in names if name.startswith("signal")}
    carried = {names[j].split()[-1] for j in kept if not names[j].startswith("noise")}
    constant = [str(name) for name in names[np.ptp(X, axis=0) == 0]]
    return Demo(
        selector=selector,
        shape=X.shape,
        selected=[row(int(j)) for j in kept],
        redundant=[row(int(j)) for j in dropped],
        planted=len(signals),
        found=len(signals & carried),
        others=X.shape[1] - len(kept) - len(dropped) - len(constant),
        constant=constant,
        seconds=seconds,
    )
