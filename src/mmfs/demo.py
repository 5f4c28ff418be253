"""A small problem whose answer is known, selected from and explained."""

import time
from dataclasses import dataclass
from typing import Any

from mmfs.datasets import make_planted
from mmfs.relevance import level_of_chance
from mmfs.selector import MMFS


@dataclass(frozen=True)
class Demo:
    selector: MMFS
    shape: tuple[int, int]
    selected: Any  # explanations, as DataFrames
    dropped: Any  # of those that are more relevant than chance
    others: int  # left out for want of relevance
    planted: int  # signals there are
    found: int  # signals that a selected feature carries
    constant: int
    seconds: float


def run_demo(n_features: int = 6, random_state: int = 0) -> Demo:
    """Select from the planted problem and sort every column into kept, redundant, irrelevant."""
    import pandas  # comes with the command line, not with the library

    X, y, names = make_planted(random_state=random_state)
    X = pandas.DataFrame(X, columns=names)
    MMFS(n_features).fit(X, y)  # compiles, the first time
    start = time.perf_counter()
    selector = MMFS(n_features).fit(X, y)
    seconds = time.perf_counter() - start

    frame = selector.explain(X, list(names))
    selected = frame[frame["selected"]].sort_values("rank")
    relevant = frame["relevance"] > level_of_chance(X.shape[1], X.shape[0], 1)
    dropped = frame[relevant & ~frame["selected"]]
    dropped = dropped.sort_values("relevance", ascending=False, kind="stable")
    return Demo(
        selector=selector,
        shape=X.shape,
        selected=selected,
        dropped=dropped,
        others=len(frame) - len(selected) - len(dropped) - selector.n_constant_,
        planted=sum(name.startswith("signal") for name in names),
        found=len({name.split()[-1] for name in selected.index if not name.startswith("noise")}),
        constant=selector.n_constant_,
        seconds=seconds,
    )
