"""The parameters of a fit, as they were when it began."""

from dataclasses import dataclass
from typing import Any

from mmfs.progress import Progress


@dataclass(frozen=True)
class Settings:
    """Parameters of an `MMFS`, with the same names and meanings."""

    n_features_to_select: int | float | None
    gamma: float | str
    C: float
    theta: float
    kernel: Any
    relevance: Any
    relevance_scale: str | None
    formulation: str
    center: bool
    rank: str
    solver: str
    task: str
    class_weight: Any
    missing: str
    must_include: Any
    exclude: Any
    feature_groups: Any
    costs: Any
    budget: float | None
    tol: float
    max_iter: int
    keep_scores: bool | str
    random_state: Any
    n_jobs: int | None
    progress: Progress | None = None

    @property
    def tau(self) -> float:
        return self.theta / (1 - self.theta)

    @property
    def constrained(self) -> bool:
        return self.formulation == "constrained"

    @property
    def finds_gamma(self) -> bool:
        return isinstance(self.gamma, str)
